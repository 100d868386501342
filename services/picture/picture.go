// Package picture is the domain of the pictures that staff uploads for the options of polls (section
// 4.24).
//
// A picture belongs to a channel, and its id follows from its pixels: an id always names the same
// picture, and a configuration that has the id needs no other record. One document of the channel
// lists its pictures, and each picture is a document of its own.
//
// The package may not know HTTP or a database, has no clock of its own and imports no other domain.
package picture

import (
	"context"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// maxBytes limits the document of a picture, which holds it in base64.
const maxBytes = maxEncoded*4/3 + 1<<10

// Channel is a channel of an extension in one environment.
type Channel struct{ Environment, Extension, ID string }

func (c Channel) list() string { return c.name(key.Pictures, "") }

// Picture returns the name of the document of a picture.
func (c Channel) Picture(id string) string { return c.name(key.Picture, id) }

func (c Channel) name(scope key.Scope, id string) string {
	return key.Name{Kind: key.Document, Environment: c.Environment, Extension: c.Extension, Scope: scope, Channel: c.ID, ID: id}.String()
}

// listRecord is the document of a channel.
type listRecord struct {
	Pictures []contract.Picture `json:"pictures,omitempty"` // the oldest first
}

func (r *listRecord) find(id string) int {
	return slices.IndexFunc(r.Pictures, func(p contract.Picture) bool { return p.ID == id })
}

// imageRecord is the document of a picture. That of a removed one is empty: a document cannot be
// deleted together with a change of another one.
type imageRecord struct {
	PNG []byte `json:"png,omitempty"`
}

// Service answers for the pictures of a store.
type Service struct {
	documents *document.Service
	allRead   func() bool
}

// NewService returns a service over documents, which its owner closes. It adds no pictures until
// allRead reports that all processes over the store read their names; nil is for a store of this
// process.
func NewService(documents *document.Service, allRead func() bool) *Service {
	return &Service{documents, allRead}
}

func errNone() error { return fault.New(fault.NotFound, "No such picture") }

// Add adds a picture to a channel, which may have it already.
func (s *Service) Add(ctx context.Context, c Channel, i *Image, now time.Time) (added contract.Picture, err error) {
	if s.allRead != nil && !s.allRead() {
		return added, fault.New(fault.Unavailable, "Pictures wait for processes of an earlier version")
	}
	listed := document.ComputeRecord(func(r *listRecord) error {
		if at := r.find(i.id); at >= 0 {
			r.Pictures[at].Bytes = len(i.png) // another release may have encoded it
			added = r.Pictures[at]
			return nil
		}
		if len(r.Pictures) >= contract.MaxPictures {
			return fault.Newf(fault.Invalid, "A channel has at most %d pictures", contract.MaxPictures)
		}
		added = contract.Picture{ID: i.id, Bytes: len(i.png), Width: i.width, Height: i.height, Created: now.Unix()}
		r.Pictures = append(r.Pictures, added)
		return nil
	})
	held := document.ComputeRecord(func(r *imageRecord) error { r.PNG = i.png; return nil })
	// A store without transactions may keep the first write alone: the list then names a picture that
	// has to be added again, and none is held that no list names.
	err = s.documents.EditAll(ctx, []document.Edit{{Key: c.list(), Change: listed}, {Key: c.Picture(i.id), Change: held, MaxBytes: maxBytes}})
	return added, err
}

// List returns the pictures of a channel, the oldest first.
func (s *Service) List(ctx context.Context, c Channel) ([]contract.Picture, error) {
	record, err := document.ReadRecord[listRecord](ctx, s.documents, c.list())
	return record.Pictures, err
}

// Remove removes a picture of a channel. One that the list does not name is fault.NotFound.
func (s *Service) Remove(ctx context.Context, c Channel, id string) error {
	emptied := document.ComputeRecord(func(r *imageRecord) error { r.PNG = nil; return nil })
	unlisted := document.ComputeRecord(func(r *listRecord) error {
		at := r.find(id)
		if at < 0 {
			return errNone()
		}
		r.Pictures = slices.Delete(r.Pictures, at, at+1)
		return nil
	})
	return s.documents.EditAll(ctx, []document.Edit{{Key: c.Picture(id), Change: emptied, MaxBytes: maxBytes}, {Key: c.list(), Change: unlisted}})
}

// Read returns a picture of a channel as a PNG, or fault.NotFound.
func (s *Service) Read(ctx context.Context, c Channel, id string) ([]byte, error) {
	record, err := document.ReadRecord[imageRecord](ctx, s.documents, c.Picture(id))
	if err == nil && len(record.PNG) == 0 {
		err = errNone()
	}
	return record.PNG, err
}
