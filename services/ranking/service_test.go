package ranking_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/ranking"
)

func question(channel, id string) ranking.Question {
	return ranking.Question{Environment: "production", Extension: "x", Channel: channel, ID: id}
}

func top(t *testing.T, s *ranking.Service, q ranking.Question) []ranking.Score {
	t.Helper()
	board, err := s.Board(t.Context(), q, ranking.Visible, 100)
	if err != nil {
		t.Fatal(err)
	}
	return board.Scores
}

func TestAnswers(t *testing.T) {
	s := ranking.NewService(storetest.NewMemory(), stream.SystemClock(), stream.Options{})
	ctx, q := t.Context(), question("1", "default")
	submit := func(identity, key string) ranking.Answer {
		t.Helper()
		answer, err := s.Submit(ctx, q, identity, key)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	tea := "tea"
	if diff := cmp.Diff(ranking.Answer{Accepted: true}, submit("U1", "tea")); diff != "" {
		t.Errorf("the first answer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(ranking.Answer{Accepted: true, Original: &tea}, submit("U1", "mate")); diff != "" {
		t.Errorf("the second answer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(ranking.Answer{}, submit("U1", strings.Repeat("x", 257))); diff != "" {
		t.Errorf("an answer that is too long (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]ranking.Score{{Key: "mate", Score: 1}}, top(t, s, q)); diff != "" {
		t.Errorf("the earlier answer stands (-want +got):\n%s", diff)
	}
	for name, c := range map[string][2]string{"no identity": {"", "tea"}, "no key": {"U1", ""}} {
		if _, err := s.Submit(ctx, q, c[0], c[1]); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, limit := range []int{0, -1, contract.MaxRanking + 1} {
		if _, err := s.Board(ctx, q, ranking.Visible, limit); fault.KindOf(err) != fault.Invalid {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	for range 2 {
		if err := s.Clear(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	if scores := top(t, s, q); len(scores) != 0 {
		t.Errorf("after clearing: %v", scores)
	}
}

func TestScopes(t *testing.T) { // section 2.1
	s := ranking.NewService(storetest.NewMemory(), stream.SystemClock(), stream.Options{})
	for _, id := range []string{"default", "global-mood"} {
		if _, err := s.Submit(t.Context(), question("1", id), "U1", "tea"); err != nil {
			t.Fatal(err)
		}
	}
	if scores := top(t, s, question("2", "default")); len(scores) != 0 {
		t.Errorf("another channel sees %v", scores)
	}
	if scores := top(t, s, question("2", "global-mood")); len(scores) != 1 {
		t.Errorf("another channel sees %v of a global question", scores)
	}
}

// Answers through several replicas at once are counted once each.
func TestConcurrentAnswers(t *testing.T) {
	store := storetest.NewMemory()
	var replicas []*ranking.Service
	for range 3 {
		replicas = append(replicas, ranking.NewService(store, stream.SystemClock(), stream.Options{}))
	}
	q := question("1", "default")
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			for _, key := range []string{"first", "second"} {
				if _, err := replicas[i%3].Submit(t.Context(), q, fmt.Sprint("U", i), key); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, s := range replicas {
		if diff := cmp.Diff([]ranking.Score{{Key: "second", Score: 60}}, top(t, s, q)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// Verification replays held, hidden and merged answers to what the snapshot and the checkpoint
// have, and finds a snapshot that shows what waits for staff.
func TestVerifyOfModeratedAnswers(t *testing.T) {
	store, ctx, q := storetest.NewMemory(), t.Context(), question("1", "default")
	s := ranking.NewService(store, stream.SystemClock(), stream.Options{SnapshotTail: 1})
	config := ranking.DefaultConfig()
	config.Normalization, config.HoldAnswers, config.AnswersPerViewer = contract.CompatibleAnswers, true, 2
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	verify := func(want error) {
		t.Helper()
		must(s.Close(ctx)) // with its snapshots
		s = ranking.NewService(store, stream.SystemClock(), stream.Options{SnapshotTail: 1})
		if report, err := s.Verify(ctx, q.Stream()); !errors.Is(err, want) || !report.Snapshot {
			t.Errorf("%+v, %v, want %v", report, err, want)
		}
	}
	must(s.Configure(ctx, q, config))
	for i, key := range []string{"Tea", "tea", "mate", "rude", "waits", "maté"} {
		_, err := s.Submit(ctx, q, fmt.Sprint("U", i%4), key)
		must(err)
	}
	verify(nil)
	for _, m := range []ranking.Moderation{
		{Action: ranking.Show, Key: "tea"}, {Action: ranking.Hide, Key: "rude"}, {Action: ranking.Merge, Key: "mate", Into: "tea"},
		{Action: ranking.Hide, Key: "before it comes"}, {Action: ranking.Merge, Key: "maté", Into: "mate"},
	} {
		m.Actor = ranking.StaffActor{Role: "broadcaster", ID: "1"}
		must(s.Moderate(ctx, q, m))
		verify(nil)
	}
	_, err := s.Truncate(ctx, q.Stream(), time.Now().Add(time.Hour))
	must(err)
	_, err = s.Submit(ctx, q, "U9", "RUDE")
	must(err)
	hidden := func() ranking.Score {
		t.Helper()
		board, err := s.Board(ctx, q, ranking.Hidden, 1)
		must(err)
		return board.Scores[0]
	}
	if got := hidden().Actor; got != (ranking.StaffActor{Role: "broadcaster", ID: "1"}) {
		t.Errorf("hidden by %+v", got)
	}
	_, err = s.Erase(ctx, q.Stream(), rewrite.Viewer{IDs: []string{"U1", "1"}})
	must(err)
	verify(nil)
	if got := hidden().Actor; got.Role != "broadcaster" || got.ID == "1" || got.ID == "" {
		t.Errorf("after the erasure of the staff member hidden by %+v", got)
	}

	// A snapshot of the same place in the log, but of a question that holds nothing back.
	other := storetest.NewMemory()
	shown := ranking.NewService(other, stream.SystemClock(), stream.Options{SnapshotTail: 1})
	_, err = shown.Submit(ctx, q, "U4", "waits")
	must(err)
	must(shown.Close(ctx))
	right, ok, err := store.LoadSnapshot(ctx, q.Stream())
	must(err)
	wrong, found, err := other.LoadSnapshot(ctx, q.Stream())
	must(err)
	if !ok || !found {
		t.Fatal("there is no snapshot")
	}
	wrong.Head = right.Head
	must(store.SaveSnapshot(ctx, q.Stream(), wrong))
	if _, err := s.Verify(ctx, q.Stream()); !errors.Is(err, stream.ErrDamaged) {
		t.Errorf("a snapshot that shows held answers: %v", err)
	}
}
