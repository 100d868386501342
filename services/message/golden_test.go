package message

import "testing"

// TestStoredFormats: what logs and snapshots hold is read by every later version.
func TestStoredFormats(t *testing.T) {
	r, m := feedRules{}, Message{To: "U1", Name: "n", Data: []byte("{}")}
	for want, got := range map[string][]byte{
		"\x02U1\x01n\x02{}":                 r.AppendEntry(nil, m),
		"\x01\x02U1\x01n\x02{}\x02\xac\x02": r.AppendCommand(r.AppendCommand(nil, feedCommand{message: m}), feedCommand{query: true, after: 300}),
		"\xac\x02\x01\x02U1\x01n\x02{}":     r.AppendSnapshot(nil, &recentMessages{last: 300, recent: []Message{m}}),
	} {
		if string(got) != want {
			t.Errorf("the encoding is %q, want %q", got, want)
		}
	}
}
