package contract

// Limits of the pictures of options (section 4.24).
const (
	MaxPictures     = 64       // of a channel
	MaxPictureBytes = 64 << 10 // of what is sent, decoded
	MaxPictureBody  = 96 << 10 // that has them in base64
	MaxPictureSide  = 256      // pixels

	PicturesPerSecond = 1 // of a channel
	PicturesAtOnce    = 128
)

// Picture is one that staff has uploaded for the options of polls.
type Picture struct {
	// ID follows from the pixels, so that a picture never changes.
	ID      string `json:"id"`
	Bytes   int    `json:"bytes"` // of the PNG that is served
	Width   int    `json:"width"`
	Height  int    `json:"height"`
	Created int64  `json:"created"` // Unix seconds
}

// pictureID is the length of an id: 128 bits in base64url.
const pictureID = 22

// IsPictureID reports whether text may be the id of a picture.
func IsPictureID(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return len(text) == pictureID
}

// PictureName names a picture in its address.
type PictureName struct{ Client, Channel, Picture string }
