package extension

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
)

// knownRenderings is the number of Backends whose rendering is kept: each holds up to two
// files of a mebibyte, and their entries.
const knownRenderings = 16

// Renderer renders registries, and that of a Backend for several namespaces once for all of
// them: a change of one Extension wakes each namespace, and each needs the same rendering.
// It is safe for concurrent use.
type Renderer struct {
	render func(registry.Input) registry.Rendering
	mu     sync.Mutex // held while a shared registry is rendered: who waits needs the result
	known  *lru.Cache[types.UID, knownRendering]
}

// knownRendering is a rendering and the mark of what it was made of.
type knownRendering struct {
	mark [sha256.Size]byte
	registry.Rendering
}

// NewRenderer returns a renderer that calls a function, which is [registry.Render] but in
// tests.
func NewRenderer(render func(registry.Input) registry.Rendering) *Renderer {
	known, err := lru.New[types.UID, knownRendering](knownRenderings)
	if err != nil {
		panic(err) // the size is positive
	}
	return &Renderer{render: render, known: known}
}

// renderAll decides what belongs into the registries of a namespace's Backends.
func (r *Renderer) renderAll(s *namespaceState) {
	s.alone = r.render(registry.Input{Extensions: s.extensions, Secrets: s.secrets, Host: s.namespace})
	for _, b := range s.backends {
		in := registry.Input{Secrets: s.secrets, Host: b.Namespace, Guests: b.Spec.AllowedNamespaces}
		for _, extensions := range [][]v1alpha1.Extension{s.extensions, s.others} {
			for i := range extensions {
				if b.serves(&extensions[i]) {
					in.Extensions = append(in.Extensions, extensions[i])
				}
			}
		}
		if sharing.IsShared(b.Backend) {
			b.rendering = r.renderShared(b, in)
		} else {
			b.rendering = r.render(in)
		}
	}
}

// renderShared returns the rendering of a Backend for several namespaces, whose callers
// must not change it.
func (r *Renderer) renderShared(b *servedBackend, in registry.Input) registry.Rendering {
	mark := markOf(b, in)
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.known.Get(b.UID); ok && known.mark == mark {
		return known.Rendering
	}
	rendering := r.render(in)
	r.known.Add(b.UID, knownRendering{mark, rendering})
	return rendering
}

// markOf returns a hash of everything that the rendering of a Backend depends on, whatever
// the order of its Extensions.
func markOf(b *servedBackend, in registry.Input) (mark [sha256.Size]byte) {
	type version struct {
		UID        types.UID
		Generation int64
	}
	type source struct {
		version
		Secrets map[string]map[string][]byte
	}
	sources := make([]source, 0, len(in.Extensions))
	for i := range in.Extensions {
		e := &in.Extensions[i]
		named := registry.SecretNames(e)
		contents := maps.Clone(in.Secrets[e.Namespace])
		maps.DeleteFunc(contents, func(name string, _ map[string][]byte) bool { return !slices.Contains(named, name) })
		sources = append(sources, source{version{e.UID, e.Generation}, contents})
	}
	slices.SortFunc(sources, func(a, b source) int { return strings.Compare(string(a.UID), string(b.UID)) })
	hash := sha256.New()
	if err := json.NewEncoder(hash).Encode([]any{version{b.UID, b.Generation}, sources}); err != nil {
		panic(err) // strings and integers, and a hash takes everything
	}
	hash.Sum(mark[:0])
	return mark
}
