package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/testing/sinktest"
)

// outlets receive a history from the programs beside their answers: a webhook, a
// publication and tables.
type outlets struct {
	to *sinktest.Server
	// table is an export that was made while faults happened, and the rounds that it may hold.
	table  string
	within bounds
}

// openSinks starts the receiver of a webhook and of publications, which fails now and then,
// and returns the flags of programs that deliver to it.
func (o *outlets) openSinks(t *testing.T) (flags []string) {
	o.to = sinktest.Start(t, sinktest.Options{
		Prefix: "production:sample-extension:", Secret: "hook-key-of-more-than-32-bytes-0123456", Key: "sample-secret-that-everyone-knows",
		Mood: func(r sinktest.Request) sinktest.ServerMood {
			moods := map[int]sinktest.ServerMood{5: sinktest.Errs, 11: sinktest.ResetsUnread, 17: sinktest.ResetsRead, 22: sinktest.Busy}
			return moods[r.N%23]
		},
	})
	return []string{"--sink-allow-private", "--extensions", sinkRegistry(t, o.to, "only")}
}

// awaitSinks waits until both sinks deliver: they begin with what is written after that.
func (w *historyWorld) awaitSinks() {
	voter := 0
	w.eventually(func() bool {
		voteFor(w.fleet.t, w.fleet.any(0), "first", voter)
		voter++
		return len(w.to.TakenEvents("/hook")) > 0 && len(w.to.TakenEvents("/pubsub")) > 0
	})
}

// checkSinks waits until both sinks have received everything, and checks that they have: each
// message, of each client for the first time in order, and the final count of the votes.
func (w *historyWorld) checkSinks() {
	for _, path := range []string{"/hook", "/pubsub"} {
		missing := ""
		w.eventually(func() bool {
			missing = w.missingFrom(path)
			return missing == ""
		})
		if missing != "" {
			w.fleet.t.Errorf("%s has %s", path, missing)
		}
	}
}

// missingFrom describes what a sink has not received, "" for nothing.
func (w *historyWorld) missingFrom(path string) string {
	var next [historians]int64
	count, total := int64(0), int64(0)
	for _, e := range w.to.TakenEvents(path) {
		switch e.Name {
		case "tick":
			c, n, err := parseTick(e.Data)
			if err != nil || n > next[c] {
				return fmt.Sprintf("message %s where %d of client %d is due, %v", e.Data, next[c], c, err)
			}
			next[c] = max(next[c], n+talkEvery) // it may come again
		case "vote_update:" + historyPoll:
			var update struct{ Stats struct{ Count int64 } }
			if err := json.Unmarshal(e.Data, &update); err != nil {
				return fmt.Sprintf("%s: %v", e.Data, err)
			}
			count = update.Stats.Count
		}
	}
	for c := range historians {
		total += w.history.rounds[c].Load()
		if sent := w.messages[c].Load(); next[c] != sent*talkEvery {
			return fmt.Sprintf("%d messages of client %d, not %d", next[c]/talkEvery, c, sent)
		}
	}
	if count != 3*total {
		return fmt.Sprintf("a count of %d votes, not %d", count, 3*total)
	}
	return ""
}

// parseTick returns the client and the round of a message.
func parseTick(data json.RawMessage) (c, n int64, err error) {
	var key string
	if err := json.Unmarshal(data, &key); err != nil {
		return 0, 0, err
	}
	if _, err = fmt.Sscanf(strings.ReplaceAll(key, "-", " "), "%d %d", &c, &n); err == nil && (c < 0 || c >= historians) {
		err = fmt.Errorf("client %d", c)
	}
	return c, n, err
}

// exportTable writes the votes as a table while faults happen, and again where that meets an
// election.
func (w *historyWorld) exportTable() {
	t := w.fleet.t
	w.within.least = w.snapshot()
	for attempt := 0; ; attempt++ {
		out, problem, status := runCommand(t, nil, "export", "--extension", sampleExtension, "--kind", "votes", "--format", "csv", "--mongodb-uri", w.uris[2])
		if status == 0 {
			w.table = out
			break
		}
		if attempt == 20 || t.Context().Err() != nil {
			t.Errorf("export: status %d, %s", status, problem)
			return
		}
		w.done.await(t, 1)
	}
	for c, rounds := range w.snapshot() {
		w.within.most[c] = rounds + 1 // the one under way
	}
}

// checkTables checks the table from between, and those of a program that has everything.
func (w *historyWorld) checkTables(p *process) {
	t := w.fleet.t
	rounds := w.snapshot()
	checkVoteTable(t, w.table, w.within)
	status, table := requestExport(t, p, "backend", "format=csv&kind=votes")
	if status != http.StatusOK {
		t.Errorf("GET /export: %d %s", status, table)
	}
	checkVoteTable(t, table, bounds{rounds, rounds})
}

// checkVoteTable checks that a table has a row for each vote of the clients.
func checkVoteTable(t *testing.T, table string, within bounds) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Errorf("a table of %d rows: %v", len(rows), err)
		return
	}
	id, opaque, value := slices.Index(rows[0], "id"), slices.Index(rows[0], "opaque"), slices.Index(rows[0], "value")
	times := map[string]int64{}
	for _, row := range rows[1:] {
		if row[id] == historyPoll {
			times[row[opaque]+" for "+row[value]]++
		}
	}
	for c := range historians {
		for value, who := range map[int]string{1: "U", 2: "V", 3: "W"} {
			within.want(t, c, "rows of "+who, times[fmt.Sprintf("%s%d for %d", who, c, value)])
		}
	}
}
