package picture

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/draw"
	"image/png"
	"io"

	"golang.org/x/image/webp"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// maxEncoded is the most bytes of a PNG with the most pixels: the pixels themselves, with the filter
// of each row, and what frames them where they do not compress.
const maxEncoded = contract.MaxPictureSide*(1+4*contract.MaxPictureSide) + 1<<10

// Image is a picture as it is served.
type Image struct {
	id            string
	width, height int
	png           []byte
}

// Size returns the bytes that the picture takes.
func (i *Image) Size() int { return len(i.png) }

// format is one of the formats that staff may upload. The registry of package image is not used: what
// other packages register there would be decoded, too.
type format struct {
	decodeConfig func(io.Reader) (image.Config, error)
	decode       func(io.Reader) (image.Image, error)
}

// formatOf returns the format of an encoded picture, false for any other.
func formatOf(data []byte) (format, bool) {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return format{png.DecodeConfig, png.Decode}, true
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return format{webp.DecodeConfig, webp.Decode}, true
	}
	return format{}, false
}

// Encode decodes a picture and encodes its pixels again, so that nothing else of what was sent is
// served. It measures the picture before it makes room for pixels.
func Encode(data []byte) (*Image, error) {
	if len(data) > contract.MaxPictureBytes {
		return nil, fault.Newf(fault.TooLarge, "data is larger than %d bytes", contract.MaxPictureBytes)
	}
	f, known := formatOf(data)
	if !known {
		return nil, fault.New(fault.Invalid, "The picture is neither PNG nor WebP")
	}
	size, err := f.decodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, errBroken(err)
	}
	if size.Width > contract.MaxPictureSide || size.Height > contract.MaxPictureSide {
		return nil, fault.Newf(fault.Invalid, "The picture must have at most %[1]d x %[1]d pixels", contract.MaxPictureSide)
	}
	decoded, err := f.decode(bytes.NewReader(data))
	if err != nil {
		return nil, errBroken(err)
	}
	// One form of pixels of at most 4 bytes, whatever the picture had.
	pixels := image.NewNRGBA(image.Rect(0, 0, decoded.Bounds().Dx(), decoded.Bounds().Dy()))
	draw.Draw(pixels, pixels.Rect, decoded, decoded.Bounds().Min, draw.Src)
	var out bytes.Buffer
	if err := png.Encode(&out, pixels); err != nil {
		return nil, errBroken(err) // it has no pixels
	}
	return &Image{id: idOf(pixels), width: pixels.Rect.Dx(), height: pixels.Rect.Dy(), png: out.Bytes()}, nil
}

// idOf returns the id of a picture. It does not follow from the PNG, whose bytes depend on the release
// of the encoder.
func idOf(pixels *image.NRGBA) string {
	size := binary.BigEndian.AppendUint32(nil, uint32(pixels.Rect.Dx()))
	sum := sha256.Sum256(append(size, pixels.Pix...))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

func errBroken(cause error) error {
	return fault.Wrap(fault.Invalid, cause, "The picture is damaged or animated")
}
