package main

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/httpapi"
)

// Every request of the table of rights is answered to every caller as its cell says, on every
// face, and with credentials that are no longer in force as the table says of these.
func TestRights(t *testing.T) {
	t.Parallel()
	w := newRightsWorld(t)
	tries := &rightsTries{rightsWorld: w}
	tries.checkHTTP()
	t.Logf("%d cells tried", tries.cells)
}

// No operation is without a row, and no row without an operation.
func TestRightsAreComplete(t *testing.T) {
	table := loadRights(t)
	served := map[string][]string{}
	for _, route := range httpapi.Routes() {
		face := "http"
		if route.Service == httpapi.SandboxService {
			face = "sandbox"
		}
		served[face] = append(served[face], route.Method+" "+route.Path)
	}
	for face, operations := range served {
		listed := map[string]bool{}
		for _, row := range table.rows(face) {
			listed[row.Op] = true
		}
		slices.Sort(operations)
		if diff := cmp.Diff(slices.Compact(operations), slices.Sorted(maps.Keys(listed))); diff != "" {
			t.Errorf("%s: operations (-), rows of %s (+):\n%s", face, rightsFile, diff)
		}
	}
}

// rightsTries sends requests and compares the answers with cells.
type rightsTries struct {
	*rightsWorld
	mu    sync.Mutex
	cells int
}

func (w *rightsTries) count() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cells++
}

// prefix is one of the addresses of an environment.
type rightsPrefix struct{ environment, below string }

// checkHTTP tries all rows of HTTP under every prefix.
func (w *rightsTries) checkHTTP() {
	w.Helper()
	origin := strings.TrimSuffix(w.base, "/v1")
	for _, p := range []rightsPrefix{{"production", "/v1"}, {"production", "/v1/e"}, {"sandbox", "/sandbox/v1"}, {"sandbox", "/sandbox/v1/e"}} {
		rows := w.table.rows("http")
		if p.environment == "sandbox" {
			rows = append(rows, w.table.rows("sandbox")...)
		}
		w.plant(p.environment) // again what the requests before have deleted
		for _, row := range rows {
			w.checkRow(origin+p.below, p, row)
		}
	}
}

// checkRow sends a request as all callers: first as those that it must not serve, which must
// change nothing.
func (w *rightsTries) checkRow(base string, p rightsPrefix, row *rightsRow) {
	w.Helper()
	var before map[string]string
	reads := row.method() == http.MethodGet
	if !reads {
		before = w.snapshot(p.environment)
	}
	for _, again := range w.table.Again {
		w.checkAgain(base, p, row, again)
	}
	for _, caller := range w.table.Callers {
		if row.cells[caller.Name] != "ok" {
			w.checkCell(base, p, row, caller.Name)
		}
	}
	if !reads {
		for _, change := range changed(before, w.snapshot(p.environment)) {
			w.Errorf("%s%s by callers that may not: %s", p.below, row.title(), change)
		}
	}
	for _, caller := range w.table.Callers {
		if row.cells[caller.Name] == "ok" {
			w.checkCell(base, p, row, caller.Name)
			if row.Ends {
				w.pair(mainSide(p.environment), w.current[p.environment])
			}
		}
	}
}

// checkAgain sends a request with the credentials that are not in force.
func (w *rightsTries) checkAgain(base string, p rightsPrefix, row *rightsRow, again rightsAgain) {
	w.Helper()
	if row.As == "open" {
		return // it reads no credential
	}
	credentials := w.again[p.environment][again.Name]
	for _, caller := range slices.Sorted(maps.Keys(credentials.headers)) {
		status, answer := w.request(base, p, row, credentials.headers[caller], "x")
		if strconv.Itoa(status) != again.HTTP {
			w.Errorf("%s %s as %s, %s: %d %s, want %s", p.below, row.title(), caller, again.Name, status, answer, again.HTTP)
		}
	}
}

// checkCell sends a request as one caller.
func (w *rightsTries) checkCell(base string, p rightsPrefix, row *rightsRow, caller string) {
	w.Helper()
	want, mark := row.cells[caller], "x"
	if want == "ok" {
		mark = "one"
	}
	status, answer := w.request(base, p, row, w.current[p.environment].headers[caller], mark)
	if problem := row.compare(want, status, answer); problem != "" {
		w.Errorf("%s %s as %s: %s", p.below, row.title(), caller, problem)
	}
}

// compare returns what an answer has that the outcome does not allow.
func (r *rightsRow) compare(want string, status int, answer string) string {
	through := status/100 == 2 || status == r.Answer
	sees := r.Sees != "" && regexp.MustCompile(r.Sees).MatchString(answer)
	switch {
	case want == "ok" && through && sees == (r.Sees != ""):
		return ""
	case (want == "own" || want == "less") && (through || want == "own" && status == http.StatusNotFound) && !sees:
		return ""
	case want == strconv.Itoa(status):
		return ""
	}
	return fmt.Sprintf("%d %s, want %s", status, answer, want)
}

func (w *rightsTries) request(base string, p rightsPrefix, row *rightsRow, header, mark string) (status int, answer string) {
	w.Helper()
	w.count()
	side := mainSide(p.environment)
	body := strings.NewReplacer("{mark}", mark, "{extension}", side.extension, "{app}", "app-"+side.extension,
		"{name}", p.environment+":"+side.extension+":", "{receipt}", side.receipt(strconv.Itoa(w.cells), "5", 1)).Replace(row.Body)
	url := base + row.path()
	if row.Query != "" {
		url += "?" + row.Query
	}
	return w.send(row.method(), url, header, body, row.Stream)
}
