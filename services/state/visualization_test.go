package state_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/acclaim-dev/acclaim/services/state"
)

func visualizationID(t *testing.T, s *state.Service, c state.Caller) string {
	t.Helper()
	id, err := s.VisualizationID(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestVisualizationID(t *testing.T) {
	s := newService()
	id := visualizationID(t, s, someone)
	if id == "" || strings.Contains(id, someone.UserID+someone.Extension) {
		t.Errorf("id is %q", id)
	}
	elsewhere := someone
	elsewhere.Channel, elsewhere.OpaqueID = "other", "U9"
	if visualizationID(t, s, elsewhere) != id {
		t.Error("a viewer has another id in another channel")
	}
	for name, differ := range map[string]func(*state.Caller){
		"environment": func(c *state.Caller) { c.Environment = "sandbox" },
		"extension":   func(c *state.Caller) { c.Extension = "other" },
		"user":        func(c *state.Caller) { c.UserID = "2" },
		"not shared":  func(c *state.Caller) { c.UserID = "" },
	} {
		other := someone
		differ(&other)
		if visualizationID(t, s, other) == id {
			t.Errorf("%s: the same id", name)
		}
	}
	if visualizationID(t, newService(), someone) == id {
		t.Error("the id can be computed from outside")
	}
}

// The first requests of an extension agree on one salt.
func TestVisualizationIDIsStableFromTheFirst(t *testing.T) {
	s := newService()
	ids := make([]string, 50)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() { ids[i], _ = s.VisualizationID(t.Context(), someone) })
	}
	all.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Fatalf("ids %q and %q", ids[0], id)
		}
	}
}
