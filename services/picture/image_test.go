package picture_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/picture"
)

const side = contract.MaxPictureSide

// pngOf returns a PNG of a size, whose pixels paint returns.
func pngOf(t testing.TB, width, height int, paint func(x, y int) color.NRGBA) []byte {
	t.Helper()
	pixels := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			pixels.SetNRGBA(x, y, paint(x, y))
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, pixels); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func red(int, int) color.NRGBA { return color.NRGBA{255, 0, 0, 255} }

// riffOf returns a WebP of chunks.
func riffOf(chunks ...[]byte) []byte {
	return chunkOf("RIFF", append([]byte("WEBP"), bytes.Join(chunks, nil)...))
}

func chunkOf(name string, data []byte) []byte {
	chunk := append(binary.LittleEndian.AppendUint32([]byte(name), uint32(len(data))), data...)
	return append(chunk, make([]byte, len(data)%2)...)
}

// vp8l returns the lossless pixels of a size in one colour: 14 bytes, whatever the size.
func vp8l(width, height int) []byte {
	data, free := []byte{0x2f}, 0 // bits of the last byte
	put := func(value, count int) {
		for i := range count {
			if free == 0 {
				data, free = append(data, 0), 8
			}
			data[len(data)-1] |= byte(value>>i&1) << (8 - free)
			free--
		}
	}
	put(width-1, 14)
	put(height-1, 14)
	put(0, 1+3+1+1+1)                                         // no alpha, version 0, no transform, no cache of colours, one group of codes
	for _, symbol := range []int{0x10, 0xff, 0x20, 0xff, 0} { // green, red, blue, alpha, distance
		put(0b101, 3) // a simple code of one symbol of 8 bits
		put(symbol, 8)
	}
	return chunkOf("VP8L", data)
}

// canvas returns the extended header of a WebP of 8 rows.
func canvas(flags byte, width int) []byte {
	data := []byte{flags, 0, 0, 0, byte(width - 1), byte((width - 1) >> 8), 0, 7, 0, 0}
	return chunkOf("VP8X", data)
}

// resized returns a PNG whose header has another size than its pixels.
func resized(t testing.TB, width, height uint32) []byte {
	data := pngOf(t, 1, 1, red)
	binary.BigEndian.PutUint32(data[16:], width)
	binary.BigEndian.PutUint32(data[20:], height)
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return data
}

func TestEncodeRefuses(t *testing.T) {
	const neither, large, broken = "The picture is neither PNG nor WebP", "The picture must have at most 256 x 256 pixels", "The picture is damaged or animated"
	whole := pngOf(t, 8, 8, red)
	for name, test := range map[string]struct {
		data   []byte
		reason string
	}{
		"nothing":                        {nil, neither},
		"SVG":                            {[]byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`), neither},
		"HTML":                           {[]byte("<!doctype html><script>alert(1)</script>"), neither},
		"GIF":                            {[]byte("GIF89a\x01\x00\x01\x00\x80\x00\x00"), neither},
		"JPEG":                           {[]byte("\xff\xd8\xff\xe0\x00\x10JFIF"), neither},
		"HTML before a PNG":              {append([]byte("<html>"), whole...), neither},
		"other RIFF":                     {append([]byte("RIFF\x04\x00\x00\x00WAVE"), whole...), neither},
		"half of a PNG":                  {whole[:len(whole)/2], broken},
		"the header of a PNG":            {whole[:33], broken},
		"the signature of a PNG":         {whole[:8], broken},
		"a PNG that is too wide":         {pngOf(t, side+1, 1, red), large},
		"a PNG that is too high":         {pngOf(t, 1, side+1, red), large},
		"a bomb of a PNG":                {resized(t, 1<<31-1, 1), large},
		"a square bomb of a PNG":         {resized(t, 40_000, 40_000), large},
		"a PNG with fewer pixels":        {resized(t, side, side), broken},
		"half of a WebP":                 {riffOf(vp8l(8, 8))[:20], broken},
		"a bomb of a WebP":               {riffOf(vp8l(1<<14, 1<<14)), large},
		"a bomb under a small canvas":    {riffOf(canvas(0, 8), vp8l(1<<14, 1<<14)), broken},
		"a large canvas":                 {riffOf(canvas(0, 1<<14), vp8l(8, 8)), large},
		"an animated WebP":               {riffOf(canvas(1<<1, 8), chunkOf("ANIM", make([]byte, 6)), chunkOf("ANMF", append(make([]byte, 16), vp8l(8, 8)...))), broken},
		"a WebP without pixels":          {riffOf(), broken},
		"65,537 bytes":                   {append(whole, make([]byte, contract.MaxPictureBytes+1-len(whole))...), "data is larger than 65536 bytes"},
		"65,537 bytes that are nothing":  {make([]byte, contract.MaxPictureBytes+1), "data is larger than 65536 bytes"},
		"a PNG with a wrong check value": {append(bytes.Clone(whole[:29]), append([]byte{0, 0, 0, 0}, whole[33:]...)...), broken},
	} {
		kind := fault.Invalid
		if len(test.data) > contract.MaxPictureBytes {
			kind = fault.TooLarge
		}
		t.Run(name, func(t *testing.T) {
			_, err := picture.Encode(test.data)
			refused(t, err, kind, test.reason)
		})
	}
}

// What is served holds the pixels and nothing else of what was sent.
func TestEncodeAgain(t *testing.T) {
	noise := rand.New(rand.NewPCG(1, 2))
	text := chunkedText(t, pngOf(t, 8, 8, red), "the camera was in Paris")
	for name, data := range map[string][]byte{
		"PNG":                 pngOf(t, 8, 8, red),
		"PNG with a text":     text,
		"PNG with a page":     append(pngOf(t, 8, 8, red), "<script>alert(1)</script>"...),
		"PNG and an archive":  append(pngOf(t, 8, 8, red), "PK\x03\x04"...),
		"64 KiB":              append(pngOf(t, 8, 8, red), make([]byte, contract.MaxPictureBytes-len(pngOf(t, 8, 8, red)))...),
		"WebP":                riffOf(vp8l(8, 8)),
		"WebP with a canvas":  riffOf(canvas(0, 8), chunkOf("EXIF", []byte("in Paris")), vp8l(8, 8)),
		"WebP with a page":    append(riffOf(vp8l(8, 8)), "<script>alert(1)</script>"...),
		"WebP of many pixels": riffOf(vp8l(side, side)),
	} {
		i, err := picture.Encode(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		served := read(t, i)
		for _, trace := range []string{"script", "home", "PK\x03", "tEXt"} {
			if bytes.Contains(served, []byte(trace)) {
				t.Errorf("%s: the picture that is served has %q", name, trace)
			}
		}
		before, after := decodePNG(t, served).At(3, 3), color.NRGBA{255, 0, 0, 255}
		if strings.HasPrefix(name, "WebP") {
			after = color.NRGBA{0xff, 0x10, 0x20, 0xff}
		}
		if r, g, b, a := before.RGBA(); [4]uint32{r >> 8, g >> 8, b >> 8, a >> 8} != [4]uint32{uint32(after.R), uint32(after.G), uint32(after.B), uint32(after.A)} {
			t.Errorf("%s: the pixel is %v, want %v", name, before, after)
		}
	}
	// Pixels that do not compress fit into a document.
	data := pngOf(t, 100, 100, func(int, int) color.NRGBA {
		return color.NRGBA{byte(noise.Uint32()), byte(noise.Uint32()), byte(noise.Uint32()), byte(noise.Uint32())}
	})
	if i, err := picture.Encode(data); err != nil || i.Size() < 30_000 {
		t.Errorf("noise: %v, %v", i, err)
	}
}

// chunkedText adds a text to a PNG.
func chunkedText(t *testing.T, data []byte, text string) []byte {
	t.Helper()
	chunk := append([]byte("tEXtComment\x00"), text...)
	framed := binary.BigEndian.AppendUint32(nil, uint32(len(chunk)-4))
	framed = binary.BigEndian.AppendUint32(append(framed, chunk...), crc32.ChecksumIEEE(chunk))
	return append(append(bytes.Clone(data[:33]), framed...), data[33:]...)
}

func decodePNG(t *testing.T, data []byte) image.Image {
	t.Helper()
	decoded, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

func FuzzEncode(f *testing.F) {
	f.Add(pngOf(f, 8, 8, red))
	f.Add(riffOf(vp8l(8, 8)))
	f.Add(riffOf(canvas(1<<4, 8), chunkOf("ALPH", make([]byte, 65)), vp8l(8, 8)))
	f.Fuzz(func(t *testing.T, data []byte) {
		i, err := picture.Encode(data)
		if err == nil && i.Size() > side*side*4+4<<10 {
			t.Errorf("%d bytes", i.Size())
		}
		if kind := fault.KindOf(err); err != nil && kind != fault.Invalid && kind != fault.TooLarge {
			t.Error(err)
		}
	})
}
