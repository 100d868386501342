package match_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/match"
)

// A match ends an hour after the last request that names it, or the end of its last poll. One
// of the same name is empty then.
func TestLapse(t *testing.T) {
	documents := document.NewService(storetest.NewMemory(), storetest.Hasty{}, document.Options{})
	s, n, start := match.NewService(documents), match.Name{Environment: "production", Extension: "ext", ID: "m"}, time.Unix(1_000_000, 0)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	check := func(minutes, channels int, want fault.Kind) {
		t.Helper()
		m, err := s.Read(t.Context(), n, at(minutes))
		if fault.KindOf(err) != want && (want != 0 || err != nil) || len(m.Channels) != channels {
			t.Errorf("after %d minutes: %+v, %v", minutes, m, err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.Create(t.Context(), n, at(0)))
	_, _, err := s.AddChannels(t.Context(), n, []string{"1", "2"}, at(0))
	must(err)
	check(59, 2, 0)
	check(60, 0, fault.NotFound)
	must(s.Keep(t.Context(), n, at(30)))
	check(89, 2, 0)
	_, err = s.SetPoll(t.Context(), n, "p", match.Poll{Config: []byte("{}"), Ends: at(120).Unix()}, at(31))
	must(err)
	check(179, 2, 0)
	check(180, 0, fault.NotFound)
	if err := s.Keep(t.Context(), n, at(180)); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	must(s.Create(t.Context(), n, at(180)))
	check(180, 0, 0)
}

// A poll that has ended makes room for another.
func TestPollLimit(t *testing.T) {
	documents := document.NewService(storetest.NewMemory(), storetest.Hasty{}, document.Options{})
	s, n, now := match.NewService(documents), match.Name{Environment: "production", Extension: "ext", ID: "m"}, time.Unix(1_000_000, 0)
	if err := s.Create(t.Context(), n, now); err != nil {
		t.Fatal(err)
	}
	set := func(id string, ends int64) error {
		_, err := s.SetPoll(t.Context(), n, id, match.Poll{Config: []byte("{}"), Ends: ends}, now)
		return err
	}
	for i := range 32 {
		if err := set(fmt.Sprint(i), now.Unix()+1); err != nil {
			t.Fatal(err)
		}
	}
	if err := set("more", 0); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	if err := set("3", now.Unix()); err != nil {
		t.Error(err)
	}
	if err := set("more", 0); err != nil {
		t.Error(err)
	}
	if m, err := s.DeletePoll(t.Context(), n, "more", now); err != nil || len(m.Polls) != 31 {
		t.Errorf("%d polls, %v", len(m.Polls), err)
	}
}

// Clients compare the reasons to the letter.
func TestLimitReasons(t *testing.T) {
	documents := document.NewService(storetest.NewMemory(), storetest.Hasty{}, document.Options{})
	s, n, now := match.NewService(documents), match.Name{Environment: "production", Extension: "ext", ID: "m"}, time.Unix(1_000_000, 0)
	if err := s.Create(t.Context(), n, now); err != nil {
		t.Fatal(err)
	}
	var full error
	for i := range 33 {
		_, full = s.SetPoll(t.Context(), n, fmt.Sprint(i), match.Poll{Config: []byte("{}")}, now)
	}
	long := n
	long.ID = strings.Repeat("x", 129)
	_, _, channel := s.AddChannels(t.Context(), n, []string{"1", ""}, now)
	for want, err := range map[string]error{
		"id must have 1 to 128 bytes":                      s.Create(t.Context(), long, now),
		"channel_ids must have 1 to 128 bytes each":        channel,
		"A match has at most 32 polls that have not ended": full,
	} {
		if fault.KindOf(err) != fault.Invalid || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
