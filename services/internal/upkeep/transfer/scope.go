package transfer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/ranking"
	"github.com/acclaim-dev/acclaim/services/roster"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// The kinds of what can be exported, as files have them.
const (
	Votes         = "votes" // with configurations, modifiers and resets
	Accumulations = "accumulations"
	Rankings      = "rankings"
	Viewers       = "viewers"   // those that share their user id, and when they were seen first
	Documents     = "documents" // state and configuration
)

// Kinds returns all kinds in the order in which they are exported.
func Kinds() []string { return []string{Votes, Accumulations, Rankings, Viewers, Documents} }

// KindNames returns the names by which people select the kinds, in the same order. An
// extension's state and configuration are documents, its list of viewers the roster.
func KindNames() []string {
	return []string{key.Poll, key.Buffer, "question", key.Roster, key.Document}
}

// Scope selects the data of an export.
type Scope struct {
	Extension    string   `json:"extension"`    // client id
	Environments []string `json:"environments"` // in the order of the export
	Kinds        []string `json:"kinds"`        // likewise
}

// The formats of an export.
const (
	JSONL = "jsonl"
	CSV   = "csv"
)

// Complete returns the scope with each kind once and in the order of an export, so that equal
// stores give equal files, and with all kinds where it names none. It accepts the names of
// kinds and the kinds themselves. The error is of the kind
// fault.Invalid and begins with the name of what is wrong: kind or format.
func (s Scope) Complete(format string) (Scope, error) {
	asked := slices.Clone(s.Kinds)
	for i, kind := range asked {
		if named := slices.Index(KindNames(), kind); named >= 0 {
			asked[i] = Kinds()[named]
		} else if !slices.Contains(Kinds(), kind) {
			return s, fault.Newf(fault.Invalid, "kind: %q is none of %s", kind, strings.Join(KindNames(), ", "))
		}
	}
	s.Kinds = slices.DeleteFunc(Kinds(), func(kind string) bool { return len(asked) > 0 && !slices.Contains(asked, kind) })
	switch {
	case format != JSONL && format != CSV:
		return s, fault.Newf(fault.Invalid, "format: %q is neither %s nor %s", format, JSONL, CSV)
	case format == CSV && len(s.Kinds) > 1:
		return s, fault.Newf(fault.Invalid, "kind: CSV holds one kind at a time; name one of %s", strings.Join(KindNames(), ", "))
	}
	return s, nil
}

func (s Scope) checkScope() error {
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

// Prefixes returns the prefixes of the names of the scope's streams and documents.
func (s Scope) Prefixes() (prefixes []string) {
	for _, environment := range s.Environments {
		for _, kind := range s.Kinds {
			prefixes = append(prefixes, s.namePrefix(environment, kind))
		}
	}
	return prefixes
}

func (s Scope) namePrefix(environment, kind string) string {
	stored := key.Document
	if kind != Documents {
		stored = streamKinds()[kind].key
	}
	return key.Prefix(stored, environment, s.Extension)
}

// exportRank returns the position of an environment and kind in an export, and
// whether they belong to the scope.
func (s Scope) exportRank(environment, extension, kind string) (rank int, ok bool) {
	e, k := slices.Index(s.Environments, environment), slices.Index(s.Kinds, kind)
	return e*len(s.Kinds) + k, e >= 0 && k >= 0 && extension == s.Extension
}

// streamIdentity identifies a stream. It has the fields of [voting.Poll].
type streamIdentity struct {
	Environment string `json:"environment"`
	Extension   string `json:"extension"`
	Channel     string `json:"channel,omitempty"` // none: it belongs to the extension
	ID          string `json:"id"`
}

// streamKind describes the streams of a kind.
type streamKind struct {
	key   string // kind of the streams' names
	codec stream.EntryCodec
	ties  bool // as in [stream.Options]
	name  func(streamIdentity) string
	parse func(name string) (streamIdentity, error)
}

func streamKinds() map[string]streamKind {
	return map[string]streamKind{
		Votes: {
			key:   voting.Kind,
			codec: voting.EntryCodec{},
			ties:  true,
			name:  func(p streamIdentity) string { return voting.Poll(p).Stream() },
			parse: func(name string) (streamIdentity, error) {
				p, err := voting.ParseStream(name)
				return streamIdentity(p), err
			},
		},
		Accumulations: {
			key:   accumulation.Kind,
			codec: accumulation.EntryCodec{},
			name:  func(p streamIdentity) string { return bufferOf(p).Stream() },
			parse: func(name string) (streamIdentity, error) {
				b, err := accumulation.ParseStream(name)
				return streamIdentity{Environment: b.Environment, Extension: b.Extension, ID: b.Name}, err
			},
		},
		Rankings: {
			key:   ranking.Kind,
			codec: ranking.EntryCodec{},
			ties:  true,
			name:  func(p streamIdentity) string { return ranking.Question(p).Stream() },
			parse: func(name string) (streamIdentity, error) {
				q, err := ranking.ParseStream(name)
				return streamIdentity(q), err
			},
		},
		Viewers: {
			key:   roster.Kind,
			codec: roster.EntryCodec{},
			ties:  true,
			name: func(p streamIdentity) string {
				return roster.Roster{Environment: p.Environment, Extension: p.Extension}.Stream()
			},
			parse: func(name string) (streamIdentity, error) {
				r, err := roster.ParseStream(name)
				return streamIdentity{Environment: r.Environment, Extension: r.Extension, ID: roster.OnlyID}, err
			},
		},
	}
}

func bufferOf(p streamIdentity) accumulation.Buffer {
	return accumulation.Buffer{Environment: p.Environment, Extension: p.Extension, Name: p.ID}
}
