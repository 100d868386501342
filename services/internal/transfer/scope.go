package transfer

import (
	"fmt"
	"slices"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/key"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/state"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// The kinds of what can be exported.
const (
	Votes         = "votes" // with configurations, modifiers and resets
	Accumulations = "accumulations"
	Rankings      = "rankings"
	Documents     = "documents" // state and configuration
)

// Kinds returns all kinds in the order in which they are exported.
func Kinds() []string { return []string{Votes, Accumulations, Rankings, Documents} }

// Scope is what an export is of.
type Scope struct {
	Extension    string   `json:"extension"`    // client id
	Environments []string `json:"environments"` // in the order of the export
	Kinds        []string `json:"kinds"`        // likewise
}

func (s Scope) check() error {
	if s.Extension == "" || len(s.Environments) == 0 || len(s.Kinds) == 0 {
		return fmt.Errorf("an export is of an extension, its environments and kinds, not of %+v", s)
	}
	for _, kind := range s.Kinds {
		if !slices.Contains(Kinds(), kind) {
			return fmt.Errorf("%q is none of the kinds %q", kind, Kinds())
		}
	}
	return nil
}

// Prefixes returns what the names of the scope's streams and the keys of its
// documents begin with.
func (s Scope) Prefixes() (prefixes []string) {
	for _, environment := range s.Environments {
		for _, kind := range s.Kinds {
			prefixes = append(prefixes, s.prefix(environment, kind))
		}
	}
	return prefixes
}

func (s Scope) prefix(environment, kind string) string {
	first := state.Kind
	if kind != Documents {
		first = streamKinds()[kind].first
	}
	return key.Join(first, environment, s.Extension) + "/"
}

// rank returns where in an export things of an environment and kind come, and
// whether they belong to the scope.
func (s Scope) rank(environment, extension, kind string) (rank int, ok bool) {
	e, k := slices.Index(s.Environments, environment), slices.Index(s.Kinds, kind)
	return e*len(s.Kinds) + k, e >= 0 && k >= 0 && extension == s.Extension
}

// place is what a stream belongs to. It has the fields of [voting.Poll].
type place struct {
	Environment string `json:"environment"`
	Extension   string `json:"extension"`
	Channel     string `json:"channel,omitempty"` // none: it belongs to the extension
	ID          string `json:"id"`
}

// streamKind is how the streams of a kind are exported.
type streamKind struct {
	first string // element of the streams' names
	codec stream.EntryCodec
	ties  bool // as in [stream.Options]
	name  func(place) string
	parse func(name string) (place, error)
}

func streamKinds() map[string]streamKind {
	return map[string]streamKind{
		Votes: {
			first: voting.Kind,
			codec: voting.Readable{},
			ties:  true,
			name:  func(p place) string { return voting.Poll(p).Stream() },
			parse: func(name string) (place, error) {
				p, err := voting.ParseStream(name)
				return place(p), err
			},
		},
		Accumulations: {
			first: accumulation.Kind,
			codec: accumulation.Readable{},
			name:  func(p place) string { return bufferOf(p).Stream() },
			parse: func(name string) (place, error) {
				b, err := accumulation.ParseStream(name)
				return place{Environment: b.Environment, Extension: b.Extension, ID: b.Name}, err
			},
		},
		Rankings: {
			first: ranking.Kind,
			codec: ranking.Readable{},
			ties:  true,
			name:  func(p place) string { return ranking.Question(p).Stream() },
			parse: func(name string) (place, error) {
				q, err := ranking.ParseStream(name)
				return place(q), err
			},
		},
	}
}

func bufferOf(p place) accumulation.Buffer {
	return accumulation.Buffer{Environment: p.Environment, Extension: p.Extension, Name: p.ID}
}
