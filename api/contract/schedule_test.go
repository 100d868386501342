package contract

import (
	"testing"
	"time"
)

// TestStatus: section 3 and decisions, "Voting".
func TestStatus(t *testing.T) {
	for _, test := range []struct {
		startsAt, endsAt, now int64
		want                  Status
	}{
		{0, 0, 1, Active}, {10, 0, 9, Pending}, {10, 0, 10, Active}, {0, 10, 9, Active}, {0, 10, 10, Expired},
		{10, 20, 9, Pending}, {10, 20, 19, Active}, {10, 20, 20, Expired}, {10, 10, 9, Pending}, {10, 10, 10, Expired},
	} {
		s := Schedule{StartsAt: test.startsAt, EndsAt: test.endsAt}
		for _, part := range []time.Duration{0, 999 * time.Millisecond} {
			if got := s.Status(time.Unix(test.now, int64(part))); got != test.want {
				t.Errorf("from %d to %d at %d+%v: %s, want %s", test.startsAt, test.endsAt, test.now, part, got, test.want)
			}
		}
	}
}

// TestResolveEnd: decisions, "Voting". Only a negative end means now.
func TestResolveEnd(t *testing.T) {
	for end, want := range map[int64]int64{-5: 7, -1: 7, 0: 0, 9: 9} {
		s := Schedule{EndsAt: end}
		s.ResolveEnd(7_999)
		if s.EndsAt != want {
			t.Errorf("the end %d is resolved to %d, want %d", end, s.EndsAt, want)
		}
	}
}

// TestScheduleProblem: section 8, both sides of each bound.
func TestScheduleProblem(t *testing.T) {
	for s, want := range map[Schedule]string{
		{}: "", {5, 0}: "", {0, 5}: "", {5, 5}: "", {1 << 62, 1 << 62}: "",
		{-1, 0}: "startsAt must not be negative", {-1, 5}: "startsAt must not be negative",
		{6, 5}: "startsAt must not be after endsAt",
	} {
		if got := s.ScheduleProblem(); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
}
