package processor

import "testing"

func TestStolenShare(t *testing.T) {
	const begin, end = "cpu  10 0 10 70 0 0 0 10 5 0\ncpu0 1 1", "cpu  30 0 10 100 0 0 0 60 5 0\ncpu0 1 1"
	if got := ParseTime(end).StolenShare(ParseTime(begin)); got != 0.5 {
		t.Errorf("stolen: %v, want a half", got)
	}
	for _, text := range []string{"", "cpu 1 2 3", "cpux 1 2 3 4 5 6 7 8", "cpu 1 2 3 x 5 6 7 8"} {
		if got := ParseTime(text); got != (Time{}) {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
