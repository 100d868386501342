package document_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Whatever a caller sends, the document stays a JSON object that can be patched,
// and a refusal changes nothing.
func FuzzParseChange(f *testing.F) {
	f.Add(`{"a":[1,{"b":null}]}`, `[{"op":"move","from":"/a/0","path":"/a/-"},{"op":"test","path":"/a/0/b","value":null}]`)
	f.Add(`{"a":1}`, `{"a":null,"b":{"c":[null]}}`)
	f.Add(`{"":{"~":1}}`, `[{"op":"copy","from":"//~0","path":"/~1"},{"op":"remove","path":"/"}]`)
	f.Fuzz(func(t *testing.T, body, change string) {
		if _, err := document.Replace([]byte(body)); err != nil {
			return
		}
		got, err := apply(t, body, document.ParseChange, change)
		if err != nil {
			if kind := fault.KindOf(err); kind != fault.Invalid && kind != fault.TooLarge {
				t.Errorf("error of kind %d: %v", kind, err)
			}
			if got != body {
				t.Errorf("refused (%v), but the document is %s", err, got)
			}
			return
		}
		again, err := apply(t, got, document.ParseChange, `{}`)
		if err != nil || again != got {
			t.Errorf("stored %s, read as %s, error %v", got, again, err)
		}
	})
}

// generator makes random values and patches of a kind for which the library that
// they are compared with follows the RFCs: no null in an array, no empty name,
// numbers written one way only, no path to the whole document.
type generator struct{ *rand.Rand }

func pick[T any](g generator, choices ...T) T { return choices[g.IntN(len(choices))] }

func (g generator) value(depth int) any {
	switch n := g.IntN(6); {
	case n == 0 && depth > 0:
		return []any{g.value(depth - 1), g.value(depth - 1)}[:g.IntN(3)]
	case n <= 2 && depth > 0:
		return g.object(depth - 1)
	case n == 3:
		return pick(g, "x", "é<", "")
	}
	return g.IntN(3)
}

func (g generator) object(depth int) map[string]any {
	object := map[string]any{}
	for range g.IntN(4) {
		object[pick(g, "a", "b", "c/~")] = g.value(depth)
	}
	return object
}

// merge is an object that may remove members.
func (g generator) merge(depth int) map[string]any {
	object := g.object(depth)
	for name := range object {
		switch g.IntN(3) {
		case 0:
			object[name] = nil
		case 1:
			if depth > 0 {
				object[name] = g.merge(depth - 1)
			}
		}
	}
	return object
}

func (g generator) path() string {
	path := ""
	for range 1 + g.IntN(3) {
		path += pick(g, "/a", "/b", "/c~1~0", "/0", "/1", "/-")
	}
	return path
}

func (g generator) operation() map[string]any {
	return map[string]any{
		"op":    pick(g, "add", "remove", "replace", "move", "copy", "test"),
		"path":  g.path(),
		"from":  g.path(),
		"value": g.value(2),
	}
}

func marshal(t *testing.T, value any) string {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

func FuzzPatchAgainstLibrary(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := generator{rand.New(rand.NewPCG(seed, 0))}
		body := marshal(t, g.object(3))
		for range 4 {
			operations := []any{}
			for range 1 + g.IntN(3) {
				operations = append(operations, g.operation())
			}
			change := marshal(t, operations)
			got, err := apply(t, body, document.ParseChange, change)
			want, libraryErr := applyLibrary(t, body, change)
			if (err == nil) != (libraryErr == nil) {
				t.Fatalf("%s patched with %s: %v; the library says %v", body, change, err, libraryErr)
			}
			if err == nil && got != canonical(t, want) {
				t.Fatalf("%s patched with %s is %s; the library says %s", body, change, got, want)
			}
			body = got
		}
	})
}

func applyLibrary(t *testing.T, body, change string) (string, error) {
	t.Helper()
	patch, err := jsonpatch.DecodePatch([]byte(change))
	if err != nil {
		t.Fatal(err)
	}
	options := jsonpatch.NewApplyOptions()
	options.SupportNegativeIndices = false
	patched, err := patch.ApplyWithOptions([]byte(body), options)
	return string(patched), err
}

func FuzzMergeAgainstLibrary(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := generator{rand.New(rand.NewPCG(seed, 0))}
		body := marshal(t, g.object(3))
		for range 4 {
			change := marshal(t, g.merge(3))
			got, err := apply(t, body, document.ParseChange, change)
			if err != nil {
				t.Fatal(err)
			}
			want, err := jsonpatch.MergePatch([]byte(body), []byte(change))
			if err != nil || canonical(t, got) != canonical(t, string(want)) {
				t.Fatalf("%s merged with %s is %s; the library says %s, error %v", body, change, got, want, err)
			}
			body = got
		}
	})
}
