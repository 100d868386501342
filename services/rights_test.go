package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/face/gamelink"
	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

// Every request of the table of rights is answered to every caller as its cell says, on every
// face, and with credentials that are no longer in force as the table's list of these says. With the race
// detector, which 80,000 requests would occupy for ten minutes, it is brief: `make test` runs it once more
// without.
func TestRights(t *testing.T) {
	t.Parallel()
	w := &rightsTries{brief: raceDetector, rightsWorld: newRightsWorld(t, deployProgram)}
	w.checkGames()
	w.checkFeeds()
	w.checkHTTP("/v1", "/v1/e")
	w.check("production", &rightsHTTP{w, "production", w.origin, ""}, w.table.rows("pages"))
	w.check("production", &rightsHTTP{w, "production", w.admin, ""}, w.table.rows("admin"))
	w.checkOpen()
	t.Logf("%d cells tried", w.cells.Load())
}

// No operation is without a row, and no row without an operation.
func TestRightsAreComplete(t *testing.T) {
	table := loadRights(t)
	served := map[string][]string{
		"gamelink": gamelink.Operations(), "admin": httpapi.OperatorRoutes(), "events": eventNames(t), "pages": pageNames(t),
		"pushes": pushNames(t), "peer": peerMessageNames(t),
	}
	for _, route := range httpapi.Routes() {
		face := "http"
		if route.Service == operation.SandboxService {
			face = "sandbox"
		}
		if route.Shared {
			face = "public"
		}
		served[face] = append(served[face], route.Method+" "+route.Path)
	}
	for face, operations := range served {
		listed := map[string]bool{}
		for _, row := range table.rows(face) {
			if name, _, _ := strings.Cut(row.Op, ":<id>"); face != "events" || !strings.HasPrefix(name, "a message") {
				listed[name] = true
			}
		}
		slices.Sort(operations)
		if diff := cmp.Diff(slices.Compact(operations), slices.Sorted(maps.Keys(listed))); diff != "" {
			t.Errorf("%s: operations (-), rows of %s (+):\n%s", face, rightsFile, diff)
		}
	}
}

// pageNames returns the requests of the pages and their files.
func pageNames(t *testing.T) (names []string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Join("internal", "face", "page", "static"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		names = append(names, "GET /live/"+strings.TrimSuffix(file.Name(), "index.html"))
	}
	// The description of the API and the code of a link are no files there, and one page is elsewhere.
	return append(names, "GET /live/openapi.yaml", "GET /vote/qr.svg", "GET /vote/main/1/devices")
}

// eventNames returns the names of events, of the contract and others that the program makes, up to
// their colon, and of what it tells games by messages.
func eventNames(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("internal", "feed", "event", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && eventName.MatchString(literal.Value) {
				names = append(names, strings.Trim(literal.Value, `":`))
			}
			return true
		})
	}
	for _, name := range contract.Events() {
		names = append(names, strings.TrimSuffix(name, ":"))
	}
	return append(names, operation.DatastreamMessage, operation.PurchaseMessage)
}

// eventName matches a string that is the name of an event.
var eventName = regexp.MustCompile(`^"([a-z_]+:|[a-z_]+_update:?)"$`)

// rightsTries sends requests and compares the answers with cells.
type rightsTries struct {
	*rightsWorld
	// brief tries of each row one caller for each outcome, no credentials that are not in force, and
	// does not look at what refused requests leave.
	brief bool
	cells atomic.Int64
}

// rightsFace sends the requests of some rows at one address.
type rightsFace interface {
	// refused tries a row with the credentials that are not in force.
	refused(row *rightsRow)
	// try sends the request of a row as a caller and returns what the cell does not allow.
	try(row *rightsRow, caller string) (problem string)
	changesNothing(row *rightsRow) bool
}

// check tries rows: each first as those callers that it must not serve, which must change
// nothing.
func (w *rightsTries) check(environment string, face rightsFace, rows []*rightsRow) {
	w.Helper()
	w.plant(environment) // again what the requests before have deleted
	for _, row := range rows {
		var before map[string]string
		if !w.brief && !face.changesNothing(row) {
			before = w.snapshot(environment)
		}
		if !w.brief {
			face.refused(row)
		}
		w.tryCells(environment, face, row, false)
		if before != nil {
			for _, change := range changed(before, w.snapshot(environment)) {
				w.Errorf("%s %s: by callers that may not: %s", environment, row.title(), change)
			}
		}
		w.tryCells(environment, face, row, true)
	}
}

// tryCells tries the cells that are ok, or the others.
func (w *rightsTries) tryCells(environment string, face rightsFace, row *rightsRow, ok bool) {
	w.Helper()
	tried := map[string]bool{}
	for _, caller := range w.table.callersIn(environment) {
		cell := row.cells[caller.Name]
		if (cell == "ok") != ok || row.Once && caller.Name != "none" || w.brief && tried[cell] {
			continue
		}
		tried[cell] = true
		if problem := face.try(row, caller.Name); problem != "" {
			w.Errorf("%s %s as %s: %s", environment, row.title(), caller.Name, problem)
		}
		if ok && row.Ends {
			w.pair(mainSide(environment), w.current[environment])
		}
	}
}

// fill replaces the placeholders of a text: the mark that later reads look for comes only from
// callers that may write.
func (w *rightsTries) fill(environment, text string, ok bool) string {
	mark, side := "x", mainSide(environment)
	if ok {
		mark = "one"
	}
	pairs := []string{"{mark}", mark, "{extension}", side.extension, "{app}", "app-" + side.extension,
		"{name}", environment + ":" + side.extension + ":"}
	if strings.Contains(text, "{receipt}") { // a signature takes time
		pairs = append(pairs, "{receipt}", side.receipt(w.address(), "5", 1))
	}
	for name, value := range w.planted[environment] {
		pairs = append(pairs, name, value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// rightsHTTP is a prefix of the API.
type rightsHTTP struct {
	w                       *rightsTries
	environment, base, name string
}

// checkHTTP tries all rows of HTTP under prefixes of each environment.
func (w *rightsTries) checkHTTP(prefixes ...string) {
	w.Helper()
	for _, environment := range w.environments {
		rows, above := w.table.rows("http"), ""
		if environment == "sandbox" {
			rows, above = append(rows, w.table.rows("sandbox")...), "/sandbox"
		}
		inEnvironment := func(rows []*rightsRow) []*rightsRow {
			return slices.DeleteFunc(slices.Clone(rows), func(r *rightsRow) bool { return r.Production && environment != "production" })
		}
		for _, prefix := range prefixes {
			w.check(environment, &rightsHTTP{w, environment, w.origin, above + prefix}, inEnvironment(rows))
		}
		w.check(environment, &rightsHTTP{w, environment, w.origin, above}, inEnvironment(w.table.rows("public")))
	}
}

func (p *rightsHTTP) changesNothing(row *rightsRow) bool { return row.method() == http.MethodGet }

func (p *rightsHTTP) refused(row *rightsRow) {
	p.w.Helper()
	if row.As == "open" {
		return // it reads no credential
	}
	var group errgroup.Group
	group.SetLimit(4)
	for _, again := range p.w.table.Again {
		for caller, header := range p.w.again[p.environment][again.Name].headers {
			group.Go(func() error {
				if status, answer := p.send(row, header, false); strconv.Itoa(status) != again.HTTP {
					p.w.Errorf("%s%s as %s, %s: %d %s, want %s", p.name, row.title(), caller, again.Name, status, answer, again.HTTP)
				}
				return nil
			})
		}
	}
	for caller, header := range p.w.foreign[p.environment] {
		group.Go(func() error {
			if _, answer := p.send(row, header, false); textOfMain.MatchString(answer) {
				p.w.Errorf("%s%s as %s of another extension: %s", p.name, row.title(), caller, answer)
			}
			return nil
		})
	}
	_ = group.Wait() // each reports its own failure
}

// textOfMain matches what is in the data of the extension that requests are about alone.
var textOfMain = regexp.MustCompile(`[a-z]-one|"U?77"`)

func (p *rightsHTTP) try(row *rightsRow, caller string) (problem string) {
	p.w.Helper()
	status, answer := p.send(row, p.w.current[p.environment].headers[caller], row.cells[caller] == "ok")
	if problem := row.compare(p.w.fill(p.environment, row.Sees, true), row.cells[caller], status, answer); problem != "" {
		return p.name + ": " + problem
	}
	return ""
}

func (p *rightsHTTP) send(row *rightsRow, header string, ok bool) (status int, answer string) {
	p.w.Helper()
	p.w.cells.Add(1)
	path := strings.NewReplacer("{client}", "main", "{channel}", "1", "{poll}", "shown", "{picture}", "ECJFpxVllbUoK26I0buVRQ", "{file}", "checkpoint").Replace(row.path())
	address, query := p.base+p.name+path, p.w.fill(p.environment, row.Query, ok)
	if strings.Contains(query, "{credential}") {
		query, header = strings.ReplaceAll(query, "{credential}", url.QueryEscape(header)), ""
	}
	if query != "" {
		address += "?" + query
	}
	return p.w.send(row.method(), address, header, p.w.fill(p.environment, row.Body, ok), row.Stream)
}

// compare returns what an answer has that the outcome does not allow. Only an answer in full
// matches the pattern, if there is one.
func (r *rightsRow) compare(pattern, want string, status int, answer string) string {
	through := status/100 == 2 || status == r.Answer
	sees := pattern != "" && regexp.MustCompile(pattern).MatchString(answer)
	switch {
	case want == "ok" && through && sees == (pattern != ""):
		return ""
	case (want == "own" || want == "less") && (through || want == "own" && status == http.StatusNotFound) && !sees:
		return ""
	case want == strconv.Itoa(status):
		return ""
	}
	return fmt.Sprintf("%d %s, want %s", status, answer, want)
}
