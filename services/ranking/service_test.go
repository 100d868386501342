package ranking_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/stream"
	"github.com/acclaim-dev/acclaim/services/ranking"
)

func question(channel, id string) ranking.Question {
	return ranking.Question{Environment: "production", Extension: "x", Channel: channel, ID: id}
}

func top(t *testing.T, s *ranking.Service, q ranking.Question) []ranking.Score {
	t.Helper()
	scores, err := s.Top(t.Context(), q, 100)
	if err != nil {
		t.Fatal(err)
	}
	return scores
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
	for _, limit := range []int{0, -1, ranking.MaxLimit + 1} {
		if _, err := s.Top(ctx, q, limit); fault.KindOf(err) != fault.Invalid {
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
