package main

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

const (
	changers     = 8   // polls that are changed at the same time
	racesOfEach  = 250 // of a poll
	hidesResults = `{"resultsVisibility":"staff"}`
)

// Two clients change different members of one configuration at the same time, through one
// program or through different ones: no change is lost, and results that staff has hidden stay so.
func TestChangesAtTheSameTime(t *testing.T) {
	t.Parallel()
	t.Run("one program", func(t *testing.T) {
		t.Parallel()
		p := startProgram(t, t.TempDir(), "serve")
		raceChanges(t, func(int) *process { return p })
	})
	t.Run("three programs", func(t *testing.T) {
		t.Parallel()
		raceChanges(t, startFleet(t, []string{mongotest.WithLongTimeouts(mongotest.Start(t))}, 3).any)
	})
}

// testChanges races changes through two programs of this version while a third is of the other
// one, which cannot get them.
func (m *mixedVersions) testChanges(t *testing.T) {
	m.start(t)
	m.change(1, m.fleet.replace)
	raceChanges(t, func(place int) *process { return m.fleet.any(place % 2 * 2) })
}

func raceChanges(t *testing.T, program func(place int) *process) {
	var all sync.WaitGroup
	for n := range changers {
		all.Go(func() { (&changeRace{t: t, program: program, id: fmt.Sprint("race", n)}).run(n) })
	}
	all.Wait()
}

// changeRace is a poll and a question whose configurations change.
type changeRace struct {
	t       *testing.T
	program func(place int) *process
	id      string
}

func (r *changeRace) run(n int) {
	staff, viewer := sign(r.t, "broadcaster", "B"), sign(r.t, "viewer", "1")
	r.write(n, http.MethodPost, "/vote", viewer, "{}")
	for i := range racesOfEach {
		r.write(n, http.MethodPatch, "/vote_config", staff, fmt.Sprintf(`{"id":%q,"config":{"resultsVisibility":null,"prompt":null}}`, r.id))
		var both sync.WaitGroup
		for place, change := range []string{hidesResults, fmt.Sprintf(`{"prompt":"%d","disabled":%t}`, i, i%2 == 0)} {
			both.Go(func() {
				r.write(n+place, http.MethodPatch, "/vote_config", staff, fmt.Sprintf(`{"id":%q,"config":%s}`, r.id, change))
			})
		}
		both.Wait()
		var poll struct {
			ResultsVisibility, Prompt string
			Disabled                  bool
		}
		r.read(n+2, "/poll", viewer, &poll)
		if poll.ResultsVisibility != "staff" || poll.Prompt != fmt.Sprint(i) || poll.Disabled != (i%2 == 0) {
			r.t.Errorf("%s: a change of race %d is lost: %+v", r.id, i, poll)
		}
		var votes struct{ Hidden bool }
		if r.read(n+1, "/vote", viewer, &votes); !votes.Hidden {
			r.t.Errorf("%s: after race %d a viewer sees the results", r.id, i)
		}
		if i%10 == 0 {
			r.raceQuestion(n, i, staff)
		}
	}
}

// raceQuestion is a race about the question with the poll's id.
func (r *changeRace) raceQuestion(n, i int, staff string) {
	r.write(n, http.MethodPost, "/rank_config", staff, `{}`)
	var both sync.WaitGroup
	for place, change := range []string{`{"holdAnswers":true}`, fmt.Sprintf(`{"blocked":["w%d"]}`, i)} {
		both.Go(func() {
			r.write(n+place, http.MethodPatch, "/rank_config", staff, fmt.Sprintf(`{"id":%q,"config":%s}`, r.id, change))
		})
	}
	both.Wait()
	var config struct {
		HoldAnswers bool
		Blocked     []string
	}
	if r.read(n+2, "/rank_config", staff, &config); !config.HoldAnswers || len(config.Blocked) != 1 {
		r.t.Errorf("%s: a change of race %d is lost: %+v", r.id, i, config)
	}
}

func (r *changeRace) write(place int, method, path, header, body string) {
	if fate, why := send(r.program(place), method, path+"?id="+r.id, header, body, nil); fate != stored {
		r.t.Errorf("%s %s: %s", method, body, why)
	}
}

func (r *changeRace) read(place int, path, header string, into any) {
	if fate, why := send(r.program(place), http.MethodGet, path+"?id="+r.id, header, "", into); fate != stored {
		r.t.Errorf("GET %s: %s", path, why)
	}
}
