package ranking

import (
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/engine/wire"
)

// TestStoredFormats: what logs and snapshots hold is read by every later version.
func TestStoredFormats(t *testing.T) {
	r, tea := questionRules{}, "tea"
	answer := answerEntry{identity: "U1", key: tea}
	config := DefaultConfig()
	config.Blocked = []string{"<é>"}
	b, full := newBoard(), newBoard()
	r.Apply(b, 0, answer)
	for _, e := range []answerEntry{
		{kind: entryConfigured, config: &config},
		{identity: "U1", key: "Tea", group: tea, keep: 2, held: true},
		{kind: entryHidden, key: "x"},
	} {
		r.Apply(full, 0, e)
	}
	json := `{"normalization":"none","minLength":1,"maxLength":256,"blocked":["<é>"],"answersPerViewer":1,"startsAt":0,"endsAt":0,"holdAnswers":false}`
	tagged := "\x80\x80\x80\x80\x10\x02U1\x03Tea\x03tea\x01\x01" + "\x84\x80\x80\x80\x10\x01x"
	for want, got := range map[string][]byte{
		"\x02U1\x03tea\x00":  r.AppendEntry(r.AppendEntry(nil, answer), answerEntry{kind: entryCleared}),
		"\x91N\x02U1\x03tea": r.AppendCommand(nil, questionCommand{answerEntry: answer, existing: true}),
		"\x00\x02U1\x03tea\xac\x02\x01\x92N": r.AppendCommand(r.AppendCommand(r.AppendCommand(nil,
			questionCommand{answerEntry: answer}), questionCommand{top: 300, standing: Held}), questionCommand{asks: true}),
		"\x03\x03tea\x05\x01\x03tea\x00\x8b\x01":       r.AppendResult(nil, commandResult{Answer: Answer{Accepted: true, Original: &tea}, top: []Score{{Key: tea, Score: -70}}, held: 5}, commandResult{}),
		"\x0c\x01r\x00\x00":                            r.AppendResult(nil, commandResult{Answer: Answer{Held: true, Reason: "r"}}, commandResult{}),
		"\x10\x8a\x01" + json + "\x00\x00":             r.AppendResult(nil, commandResult{config: &config}, commandResult{}),
		"\x02U1\x03tea":                                r.AppendSnapshot(nil, b),
		"\x82\x80\x80\x80\x10\x8a\x01" + json + tagged: r.AppendSnapshot(nil, full),
		"\x83\x80\x80\x80\x10\x03tea\x85\x80\x80\x80\x10\x03tea\x01x": r.AppendEntry(r.AppendEntry(nil,
			answerEntry{kind: entryShown, key: tea}), answerEntry{kind: entryMerged, key: tea, group: "x"}),
		"\x84\x82\x80\x80\x10\x03tea\x05admin\x011": r.AppendEntry(nil, answerEntry{kind: entryHidden, key: tea, actor: StaffActor{Role: "admin", ID: "1"}}),
		"\x20\x00\x01\x03tea\x00\x02\x05admin\x00":  r.AppendResult(nil, commandResult{top: []Score{{Key: tea, Score: 1, Actor: StaffActor{Role: "admin"}}}}, commandResult{}),
	} {
		if string(got) != want {
			t.Errorf("the encoding is %q, want %q", got, want)
		}
	}
}

// A tagged entry is damage to a release that knows none: it must not take it for another one.
func TestEarlierReleasesRefuseTaggedEntries(t *testing.T) {
	for _, e := range []answerEntry{
		{kind: entryConfigured, config: &Config{}}, {kind: entryShown, key: "a"}, {kind: entryHidden, key: "a"},
		{kind: entryMerged, key: "a", group: "b"}, {identity: "U1", key: "A", group: "a"},
		{kind: entryHidden, key: "a", actor: StaffActor{Role: "admin"}},
	} {
		r := wire.NewReader(questionRules{}.AppendEntry(nil, e))
		if r.Text(); r.Err() == nil { // the identity, as they read it
			t.Errorf("%+v", e)
		}
	}
}
