package accumulation

import "testing"

// TestStoredFormats: what logs and snapshots hold is read by every later version.
func TestStoredFormats(t *testing.T) {
	r, s := bufferRules{}, Submission{"1", "U1", "2", []byte("{}")}
	for want, got := range map[string][]byte{
		"\x011\x02U1\x012\x02{}":                 r.AppendEntry(nil, s),
		"\x02\x011\x02U1\x012\x02{}":             r.AppendCommand(nil, bufferCommand{Submission: s, existing: true}),
		"\x00\x011\x02U1\x012\x02{}\x01\xd7\x04": r.AppendCommand(r.AppendCommand(nil, bufferCommand{Submission: s}), bufferCommand{query: true, start: -300}),
		"\x00\x00\x00\x00\x00":                   r.AppendCommand(nil, bufferCommand{}),
		"\xac\x02\x0e":                           r.AppendResult(nil, readPosition{300, 7}, readPosition{}),
		"\x01\x00\x00\x00\x00\x00\x00\x80\x09\x00\x00\x00\x00\x00\x00\x00" +
			"\x08\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x00": r.AppendSnapshot(nil, &chunkIndex{chunks: 1, last: 9, marks: []int64{9}, cleared: 8, skipped: 2}),
		"A\x00\x00\x00\x00\x00\x00\x00\a\x00\x00\x00\x00\x00\x00\x00" +
			"\x03\x00\x00\x00\x00\x00\x00\x00\a\x00\x00\x00\x00\x00\x00\x00": r.AppendSnapshot(nil, &chunkIndex{chunks: 65, last: 7, marks: []int64{3, 7}}),
	} {
		if string(got) != want {
			t.Errorf("the encoding is %q, want %q", got, want)
		}
	}
}
