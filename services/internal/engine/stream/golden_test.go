package stream

import (
	"strings"
	"testing"
)

// TestStoredFormats: what logs hold beside entries is read by every later version.
func TestStoredFormats(t *testing.T) {
	zeros := func(n int) string { return strings.Repeat("\x00", n) }
	groups := encodeMemberships([]storedGroup{{id: GroupID{0: 0xab, 15: 1}, stored: commandBitmap{5}}, {stored: commandBitmap{}}})
	if want := "\x02\xab" + zeros(14) + "\x01\x01\x05" + zeros(17); string(groups) != want {
		t.Errorf("the encoding of groups is %q, want %q", groups, want)
	}
	for kind, want := range map[byte]string{
		RecordErasing:    "\x00\x01\x01\x02U1\berased-1\x00\x01x",
		RecordErased:     "\x00\x02\x01\x02U1\berased-1\x00\x01x",
		RecordChecksum:   "\x00\x03\x01" + zeros(30) + "\x02",
		RecordTruncating: "\x00\x04" + zeros(6) + "\x01,",
		RecordTruncated:  "\x00\x05" + zeros(6) + "\x01,",
		RecordCheckpoint: "\x00\x06" + zeros(7) + "\x01" + zeros(7) + "\x02\x03" + zeros(31) + zeros(3) + "\x04s",
		RecordTombstone:  "\x00\x07",
	} {
		n := &ControlRecord{
			Kind: kind, Names: []IDReplacement{{"U1", "erased-1"}, {"", "x"}}, Drop: true, Until: 300, Checksum: Digest{0: 1, 31: 2},
			Checkpoint: Snapshot{Head: Head{Seq: 1, At: 2, Sum: Digest{0: 3}}, Format: 4, State: []byte("s")},
		}
		if got := string(n.encodePayload()); got != want {
			t.Errorf("the encoding of a record of kind %d is %q, want %q", kind, got, want)
		}
	}
}
