package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/acclaim-dev/acclaim/services/internal/testing/cputime"
)

// typicalDocument returns a document of about so many bytes: a list of players and
// some settings.
func typicalDocument(size int) []byte {
	var players []string
	for n := 0; n < size-100; n += len(players[len(players)-1]) + 1 {
		i := len(players)
		players = append(players, fmt.Sprintf(`{"id":"U%d","name":"Player %d","score":%d.5,"alive":true,"items":["sword","map"]}`, 1000+i, i, i*37))
	}
	return fmt.Appendf(nil, `{"round":1,"phase":"vote","players":[%s],"settings":{"speed":1.5,"map":{"name":"north","size":[64,64]}}}`, strings.Join(players, ","))
}

// typicalPatch returns a patch of so many operations.
func typicalPatch(operations int) []byte {
	kinds := []string{
		`{"op":"replace","path":"/players/3/score","value":12.25}`,
		`{"op":"test","path":"/phase","value":"vote"}`,
		`{"op":"add","path":"/players/-","value":{"id":"U7","name":"New","score":0,"alive":true,"items":[]}}`,
		`{"op":"add","path":"/settings/map/name","value":"south"}`,
		`{"op":"copy","from":"/players/0/items","path":"/players/1/items"}`,
	}
	var list []string
	for i := range operations {
		list = append(list, kinds[i%len(kinds)])
	}
	return fmt.Appendf(nil, "[%s]", strings.Join(list, ","))
}

// applyLibrary does the work of Patch and apply with github.com/evanphx/json-patch:
// the checks before and after it stay.
func applyLibrary(body, change []byte) ([]byte, error) {
	if !utf8.Valid(change) || !json.Valid(change) {
		return nil, errMalformed
	}
	patch, err := jsonpatch.DecodePatch(change)
	if err != nil {
		return nil, errNoPatch
	}
	options := jsonpatch.NewApplyOptions()
	options.SupportNegativeIndices, options.EscapeHTML = false, false
	options.AccumulatedCopySizeLimit = copyFactor * DefaultMaxBytes
	patched, err := patch.ApplyWithOptions(body, options)
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, patched); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(compact.Bytes(), []byte{'{'}) {
		return nil, errors.New("not an object")
	}
	return compact.Bytes(), nil
}

// BenchmarkPatch compares this package with the library.
func BenchmarkPatch(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		for _, operations := range []int{1, 10} {
			body, change := typicalDocument(size), typicalPatch(operations)
			for name, apply := range map[string]func(body, change []byte) ([]byte, error){
				"ours": func(body, change []byte) ([]byte, error) {
					patch, err := Patch(change)
					if err != nil {
						return nil, err
					}
					apply, err := patch.prepare()
					if err != nil {
						return nil, err
					}
					return apply(body, DefaultMaxBytes)
				},
				"library": applyLibrary,
			} {
				b.Run(fmt.Sprintf("bytes=%d/operations=%d/%s", size, operations, name), func(b *testing.B) {
					b.ReportAllocs()
					report := cputime.Measure(b)
					for b.Loop() {
						if _, err := apply(body, change); err != nil {
							b.Fatal(err)
						}
					}
					report()
				})
			}
		}
	}
}

// BenchmarkMerge merges one member into a document.
func BenchmarkMerge(b *testing.B) {
	for _, size := range []int{1 << 8, 1 << 10, 32 << 10} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			body := typicalDocument(size)
			b.ReportAllocs()
			report := cputime.Measure(b)
			for b.Loop() {
				patch, err := Merge([]byte(`{"round":17}`))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := (Edit{Change: patch}).applyTo(Document{Body: body}); err != nil {
					b.Fatal(err)
				}
			}
			report()
		})
	}
}
