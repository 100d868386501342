package ranking

import (
	"encoding/json"
	"fmt"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// EntryCodec exports and imports the entries of questions.
type EntryCodec struct{}

var _ stream.EntryCodec = EntryCodec{}

// readableKinds returns the values of the member "entry", by kind.
func readableKinds() []string {
	return []string{entryAnswered: "answer", entryCleared: "clear", entryConfigured: "config", entryShown: "show", entryHidden: "hide", entryMerged: "merge"}
}

// readableEntry is an entry as JSON. Members that a kind of entry does not have, and those of
// an answer to a question without a configuration, are absent.
type readableEntry struct {
	Entry            string     `json:"entry"`
	Identity         string     `json:"identity,omitempty"`
	Key              string     `json:"key,omitempty"` // of an answer never empty
	Group            string     `json:"group,omitempty"`
	AnswersPerViewer int        `json:"answersPerViewer,omitempty"`
	Held             bool       `json:"held,omitempty"`
	Into             string     `json:"into,omitempty"`
	Config           *Config    `json:"config,omitempty"`
	Actor            StaffActor `json:"actor,omitzero"`
}

// Readable implements [stream.EntryCodec].
func (EntryCodec) Readable(r *wire.Reader) any {
	e := questionRules{}.DecodeEntry(r)
	out := readableEntry{Entry: readableKinds()[e.kind], Identity: e.identity, Key: e.key, Config: e.config, Held: e.held, Actor: e.actor}
	switch {
	case e.kind == entryMerged:
		out.Into = e.group
	case e.groupKey() != e.key:
		out.Group = e.group
	}
	if e.keep > 1 {
		out.AnswersPerViewer = e.keep
	}
	return out
}

// AppendReadable implements [stream.EntryCodec].
func (EntryCodec) AppendReadable(buf, object []byte) ([]byte, error) {
	var in readableEntry
	if err := json.Unmarshal(object, &in); err != nil {
		return nil, err
	}
	for kind, name := range readableKinds() {
		if name != in.Entry {
			continue
		}
		e := answerEntry{kind: entryKind(kind), identity: in.Identity, key: in.Key, group: in.Group, keep: in.AnswersPerViewer, held: in.Held, config: in.Config, actor: in.Actor}
		if e.kind == entryMerged {
			e.group = in.Into
		}
		if e.kind == entryAnswered && e.identity == "" || e.kind == entryConfigured && (e.config == nil || e.config.checkLimits() != nil) {
			break
		}
		begin := len(buf)
		buf = questionRules{}.AppendEntry(buf, e)
		r := wire.NewReader(buf[begin:])
		questionRules{}.DecodeEntry(r)
		return buf, r.End()
	}
	return nil, fmt.Errorf("%.64q by %.64q is not an entry of a question", in.Entry, in.Identity)
}
