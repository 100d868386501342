package voting

import (
	"slices"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Refusals of the pictures of options.
var (
	errPictures  = fault.New(fault.Invalid, "pictures needs a poll of one channel, no more entries than options has, and all processes of one release")
	errPictureID = fault.New(fault.Invalid, "each of pictures must be the id of a picture or empty")
)

// checkPictures returns why the poll with the given id may not show its pictures, or nil. Whether the
// channel has them is not known here: a picture that it lacks is not shown.
func (c *Config) checkPictures(id string) error {
	switch {
	case len(c.Pictures) == 0:
		return nil
	case isGlobal(id) || len(c.Pictures) > len(c.Options):
		return errPictures
	case slices.ContainsFunc(c.Pictures, func(id string) bool { return id != "" && !contract.IsPictureID(id) }):
		return errPictureID
	}
	return nil
}
