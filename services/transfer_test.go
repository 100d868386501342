package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/transfer"
)

// mustExport returns an export of the sample extension.
func mustExport(t *testing.T, store ...string) string {
	t.Helper()
	out, problem, status := runCommand(t, nil, append([]string{"export", "--extension", sampleExtension}, store...)...)
	if status != 0 {
		t.Fatalf("export: status %d\n%s", status, problem)
	}
	return out
}

func mustImport(t *testing.T, file string, store ...string) string {
	t.Helper()
	out, problem, status := runCommand(t, strings.NewReader(file), append([]string{"import", "-"}, store...)...)
	if status != 0 {
		t.Fatalf("import: status %d\n%s%s", status, out, problem)
	}
	return out
}

func (p *process) end(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

// A picture of one pixel that staff uploads, and the id that follows from it.
const (
	onePixel   = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAADklEQVR4nGL6DwgAAP//AQUBAlrdOc0AAAAASUVORK5CYII="
	onePixelID = "ECJFpxVllbUoK26I0buVRQ"
)

// use sends commands of every kind that stores something.
func use(t *testing.T, p *process) {
	t.Helper()
	viewers := []string{sign(t, "viewer", "U1"), sign(t, "viewer", "A\"汉\"")}
	broadcaster, backend := sign(t, "broadcaster", "B"), sign(t, "backend", "")
	large := strings.Repeat("é\\u2028<", 6_000)
	for _, c := range []struct{ method, path, header, body string }{
		{"POST", "/pictures", broadcaster, `{"data":"` + onePixel + `"}`},
		{"POST", "/vote", viewers[0], `{"value":3}`},
		{"POST", "/vote", viewers[0], `{"value":-5}`},
		{"POST", "/vote", viewers[1], `{"value":100}`},
		{"POST", "/vote_modifier", broadcaster, `{"user":"U1","add":4}`},
		{"POST", "/vote_config", broadcaster, `{"id":"ü <1>","config":{"totalVotesPerUser":9,"votesPerOption":9,"distinctOptionsPerUser":2,"prompt":"<é>","options":["a","b"],"pictures":["","` + onePixelID + `"],"userData":{"n":1.50}}}`},
		{"POST", "/vote?id=%C3%BC%20%3C1%3E", viewers[0], `{"value":1,"count":7}`},
		{"DELETE", "/vote?id=%C3%BC%20%3C1%3E", broadcaster, ""},
		{"POST", "/vote?id=%C3%BC%20%3C1%3E", viewers[1], `{"value":2}`},
		{"POST", "/vote?id=global", viewers[1], `{"value":7}`},
		{"POST", "/accumulate", viewers[0], `{"a":1.50,"é":["\u2028"]}`},
		{"POST", "/accumulate", viewers[1], `{"large":"` + large + `"}`},
		{"POST", "/accumulate", viewers[0], `{}`},
		{"POST", "/accumulate?id=cleared", viewers[0], `{"cleared":true}`},
		{"DELETE", "/accumulate?id=cleared", backend, ""},
		{"POST", "/accumulate?id=cleared", viewers[0], `{"n":1}`},
		{"POST", "/rank", viewers[0], `{"key":"=tea"}`},
		{"POST", "/rank", viewers[1], `{"key":"=tea"}`},
		{"POST", "/rank?id=global", viewers[1], `{"key":"coffee"}`},
		{"DELETE", "/rank?id=global", backend, ""},
		{"POST", "/extension_state", backend, `{"deep":{"n":[1.50,"<é>"]}}`},
		{"POST", "/viewer_state", viewers[1], `{"mine":true}`},
		{"GET", "/user_info", viewers[0], ""}, // makes a salt
	} {
		if f, why := send(p, c.method, c.path, c.header, c.body, nil); f != stored {
			t.Fatalf("%s %s: %s", c.method, c.path, why)
		}
	}
	for i := range 40 {
		if f, why := send(p, "PATCH", "/channel_state", broadcaster, fmt.Sprintf(`{"n":%d}`, i), nil); f != stored {
			t.Fatal(why)
		}
	}
}

// answerTo returns the answer to a GET, but for the time in it.
func answerTo(t *testing.T, p *process, role, path string) string {
	t.Helper()
	res, err := p.exchange(http.MethodGet, path, sign(t, role, "U1"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	body = regexp.MustCompile(`"server_time":\d+`).ReplaceAll(body, nil)
	return fmt.Sprint(res.Status, res.Header.Get("ETag"), string(body))
}

// allAnswers returns what a program answers, entity tags included.
func allAnswers(t *testing.T, p *process) map[string]string {
	t.Helper()
	all := map[string]string{}
	ask := func(path string) string {
		for _, role := range []string{"viewer", "broadcaster", "backend"} {
			all[role+" "+path] = answerTo(t, p, role, path)
		}
		return all["backend "+path]
	}
	for _, path := range []string{
		"/vote", "/vote?id=%C3%BC%20%3C1%3E", "/vote?id=global", "/vote_logs", "/vote_logs?id=global", "/vote_config?id=%C3%BC%20%3C1%3E",
		"/accumulate", "/rank", "/rank?id=global", "/all_state", "/channel_state", "/viewer_state", "/config", "/user_info", "/pictures",
		"/../public/" + sampleExtension + "/1/" + onePixelID + "/picture.png",
	} {
		if answer := ask(path); len(answer) < 10 {
			t.Errorf("%s: %s", path, answer)
		}
	}
	var page struct{ Next string }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(ask("/vote_logs?id=%C3%BC%20%3C1%3E&limit=5"), "200 OK")), &page); err != nil || page.Next == "" {
		t.Fatalf("page %+v, %v", page, err)
	}
	ask("/vote_logs?id=%C3%BC%20%3C1%3E&after=" + page.Next)
	var entries struct{ Data []struct{ Observed int64 } }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(all["backend /accumulate"], "200 OK")), &entries); err != nil || len(entries.Data) != 3 {
		t.Fatalf("%d entries, %v", len(entries.Data), err)
	}
	ask(fmt.Sprint("/accumulate?start=", entries.Data[0].Observed))
	return all
}

// Data moves from the embedded store into a database and from there into another
// embedded store. Every export is the same file, verification finds no problem, and
// every program gives the same answers.
func TestExportAndImport(t *testing.T) {
	t.Parallel()
	for name, start := range databases {
		t.Run(name, func(t *testing.T) { testExportAndImport(t, []string{"--mongodb-uri", start(t)}) })
	}
}

func testExportAndImport(t *testing.T, database []string) {
	first, last := t.TempDir(), filepath.Join(t.TempDir(), "new")
	p := startProgram(t, first, "serve")
	use(t, p)
	want := allAnswers(t, p)
	p.end(t)

	file := mustExport(t, "--data-dir", first)
	if strings.Contains(file, `"payload"`) || strings.Contains(file, `"raw"`) {
		t.Errorf("not all of it is readable:\n%s", file)
	}
	out := mustImport(t, file, database...)
	if !strings.Contains(out, "documents: 6\n\n") || !strings.Contains(out, "poll       3       9        9") {
		t.Errorf("import says\n%s", out)
	}
	if again := mustExport(t, database...); again != file {
		t.Errorf("the export of the database differs (-first +second):\n%s", cmp.Diff(file, again))
	}
	mustImport(t, mustExport(t, database...), "--data-dir", last)
	if again := mustExport(t, "--data-dir", last); again != file {
		t.Errorf("the third export differs (-first +third):\n%s", cmp.Diff(file, again))
	}
	if out := mustImport(t, file, "--data-dir", last); !strings.Contains(out, "stored    chunks: 0, documents: 0\n") {
		t.Errorf("the same import again says\n%s", out)
	}
	for _, store := range [][]string{database, {"--data-dir", last}} {
		if out, status := runVerify(t, store...); status != 0 {
			t.Errorf("verify: status %d\n%s", status, out)
		}
		p := startProgram(t, t.TempDir(), "serve", store...)
		if diff := cmp.Diff(want, allAnswers(t, p)); diff != "" {
			t.Errorf("answers of %s (-first +imported):\n%s", store, diff)
		}
		use(t, p) // an imported store accepts commands
		p.end(t)
		if out, status := runVerify(t, store...); status != 0 {
			t.Errorf("verify after use: status %d\n%s", status, out)
		}
	}
}

// Programs that share a database record the groups that they forwarded. An export
// while they run is complete, and an import keeps the groups.
func TestExportOfAFleet(t *testing.T) {
	t.Parallel()
	uri, dir := mongotest.Start(t), t.TempDir()
	f := startFleet(t, []string{uri}, 2)
	file := ""
	for i := 0; !strings.Contains(file, `"groups":[`); i++ {
		for voter := range 40 {
			header := sign(t, "viewer", fmt.Sprintf("U%d-%d", i, voter))
			if fate, why := send(f.any(voter), http.MethodPost, "/vote", header, `{"value":1}`, nil); fate != stored {
				t.Fatal(why)
			}
		}
		if file = mustExport(t, "--mongodb-uri", uri); i == 20 {
			t.Fatal("nothing was passed on")
		}
	}
	mustImport(t, file, "--data-dir", dir)
	if again := mustExport(t, "--data-dir", dir); again != file {
		t.Errorf("the second export differs (-first +second):\n%s", cmp.Diff(file, again))
	}
}

func TestExportAndImportThatFail(t *testing.T) {
	t.Parallel()
	dir, damaged := t.TempDir(), t.TempDir()
	fillStore(t, dir)
	file := mustExport(t, "--data-dir", dir)
	mustImport(t, file, "--data-dir", damaged)
	damage(t, damaged)
	of := func(store string, flags ...string) []string {
		return append([]string{"export", "--data-dir", store, "--extension", sampleExtension}, flags...)
	}
	missing := filepath.Join(t.TempDir(), "nowhere")
	for name, c := range map[string]struct {
		input  string
		args   []string
		status int
		want   string
	}{
		"damaged":        {"", of(damaged), exitProblems, "chunk 3 does not continue chunk 2"},
		"nothing stored": {"", []string{"export", "--data-dir", dir, "--extension", "mistyped"}, 0, "nothing of that is stored"},
		"no extension":   {"", []string{"export", "--data-dir", dir}, exitFailed, "--extension"},
		"no store":       {"", of(missing), exitFailed, "nowhere"},
		"kind":           {"", of(dir, "--kind", "vote"), exitFailed, "poll, buffer"},
		"no kind":        {"", of(dir, "--kind", ""), exitFailed, "--kind"},
		"format":         {"", of(dir, "--format", "xml"), exitFailed, "xml"},
		"CSV of all":     {"", of(dir, "--format", "csv"), exitFailed, "one kind at a time"},
		"environment":    {"", of(dir, "--environment", "moon"), exitFailed, "moon"},
		"argument":       {"", of(dir, "nonsense"), exitFailed, "nonsense"},
		"flag":           {"", of(dir, "--nonsense"), exitFailed, "--nonsense"},
		"output":         {"", of(dir, "-o", filepath.Join(missing, "x")), exitFailed, "nowhere"},
		"no file":        {"", []string{"import", "--data-dir", dir, missing}, exitFailed, "nowhere"},
		"no argument":    {"", []string{"import", "--data-dir", dir}, exitFailed, "accepts 1 arg"},
		"cut off":        {file[:len(file)/2], []string{"import", "--data-dir", t.TempDir(), "-"}, exitProblems, "cut off\nstored of it: chunks: "},
		"changed":        {strings.Replace(file, `"value":3`, `"value":4`, 1), []string{"import", "--data-dir", t.TempDir(), "-"}, exitProblems, "line 2"},
		"something else": {strings.ReplaceAll(longExport(t, 1), `long`, `default`), []string{"import", "--data-dir", dir, "-"}, exitProblems, "was changed"},
		"empty":          {"", []string{"import", "--data-dir", t.TempDir(), "-"}, exitProblems, "empty"},
		"store goes on":  {file, []string{"import", "--data-dir", damaged, "-"}, exitProblems, "goes on with chunk 3"},
		"a table":        {"a,b\n", []string{"import", "--data-dir", t.TempDir(), "-"}, exitProblems, "CSV"},
	} {
		if out, problem, status := runCommand(t, strings.NewReader(c.input), c.args...); status != c.status || !strings.Contains(problem, c.want) {
			t.Errorf("%s: status %d, want %d and %q\n%s%s", name, status, c.status, c.want, out, problem)
		}
	}
	if again := mustExport(t, "--data-dir", dir); again != file {
		t.Error("something was changed")
	}
}

// The export file appears when it is complete and not before. An export writes to a
// pipe directly.
func TestExportIntoAFile(t *testing.T) {
	t.Parallel()
	dir, damaged, folder := t.TempDir(), t.TempDir(), t.TempDir()
	fillStore(t, dir)
	fillStore(t, damaged)
	damage(t, damaged)
	want, target := mustExport(t, "--data-dir", dir), filepath.Join(folder, "x.jsonl")
	into := func(store, name string) int {
		_, _, status := runCommand(t, nil, "export", "--data-dir", store, "--extension", sampleExtension, "-o", name)
		return status
	}
	for range 2 {
		if status := into(damaged, target); status != exitProblems {
			t.Errorf("damaged: status %d", status)
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("a failed export left %v, %v", left, err)
	}
	link := filepath.Join(folder, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{target, target, link} {
		if status := into(dir, name); status != 0 {
			t.Errorf("%s: status %d", name, status)
		}
	}
	into(damaged, target)
	if got, err := os.ReadFile(target); err != nil || string(got) != want {
		t.Errorf("the file differs, %v", err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		got, _ := os.ReadFile(pipe)
		read <- string(got)
	}()
	if status := into(dir, pipe); status != 0 || <-read != want {
		t.Errorf("through a pipe: status %d, or another file", status)
	}
}

// exportTables returns an export of the sample extension as CSV, by kind.
func exportTables(t *testing.T, store ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, kind := range transfer.Kinds() {
		args := append([]string{"export", "--extension", sampleExtension, "--kind", kind, "--format", "csv"}, store...)
		out, problem, status := runCommand(t, nil, args...)
		if status != 0 {
			t.Fatalf("%s: status %d\n%s", kind, status, problem)
		}
		all[kind] = out
	}
	return all
}

// Both stores export the same tables.
func TestExportAsCSV(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	database := []string{"--mongodb-uri", mongotest.Start(t)}
	p := startProgram(t, dir, "serve")
	use(t, p)
	if status, err := p.do("GET", "/user_info", signViewer(t, "U9", "9"), "", nil); status != http.StatusOK || err != nil {
		t.Fatal(status, err)
	}
	p.end(t)
	tables := exportTables(t, "--data-dir", dir)
	for kind, want := range map[string]string{
		"votes":         ",vote,,U1,false,true,3,1,,,\n",
		"accumulations": ",1,U1,,\"{\"\"a\"\":1.50,",
		"rankings":      ",answer,U1,'=tea,,,,,\n",
		"viewers":       ",seen,9\n",
		"documents":     `,"[""state"",""channel"",""1""]",40,`,
	} {
		if !strings.Contains(tables[kind], want) {
			t.Errorf("%s: no %q in\n%s", kind, want, tables[kind])
		}
	}
	mustImport(t, mustExport(t, "--data-dir", dir), database...)
	if diff := cmp.Diff(tables, exportTables(t, database...)); diff != "" {
		t.Errorf("the export of the database differs (-embedded +database):\n%s", diff)
	}
}

// Equal stores give equal files, in whatever order the flags name the kinds.
func TestExportOfKindsInAnyOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fillStore(t, dir)
	want := mustExport(t, "--data-dir", dir, "--kind", "votes,documents")
	if got := mustExport(t, "--data-dir", dir, "--kind", "documents", "--kind", "votes,votes"); got != want {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
	if strings.Contains(want, "accumulations") || !strings.Contains(want, `"key":["state","channel","1"]`) {
		t.Errorf("the export is\n%s", want)
	}
}

// requestExport asks a program for an export of its extension.
func requestExport(t *testing.T, p *process, role, query string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.admin+"/export?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", sign(t, role, ""))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

// A running program gives a backend the file that the command writes of its extension.
func TestExportRoute(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		dir := t.TempDir()
		testExportRoute(t, dir, "--data-dir", dir)
	})
	for name, start := range databases {
		t.Run(name, func(t *testing.T) { testExportRoute(t, t.TempDir(), "--mongodb-uri", start(t)) })
	}
}

func testExportRoute(t *testing.T, dir string, store ...string) {
	p := startProgram(t, dir, "serve", store...)
	use(t, p)
	queries := map[string][]string{
		"":                                  nil,
		"kind=documents,votes":              {"--kind", "votes,documents"},
		"format=csv&kind=votes":             {"--format", "csv", "--kind", "votes"},
		"environment=sandbox&kind=rankings": {"--environment", "sandbox", "--kind", "rankings"},
	}
	got := map[string]string{}
	for query := range queries {
		status, body := requestExport(t, p, "backend", query)
		if status != http.StatusOK {
			t.Errorf("%q: %d %s", query, status, body)
		}
		got[query] = body
	}
	for query, says := range map[string]string{"kind=messages": "none of poll", "format=xml": "neither jsonl nor csv", "format=csv": "CSV holds one"} {
		if status, body := requestExport(t, p, "backend", query); status != http.StatusBadRequest || !strings.Contains(body, says) {
			t.Errorf("%q: %d %s", query, status, body)
		}
	}
	p.end(t)
	for query, flags := range queries {
		if diff := cmp.Diff(mustExport(t, append(flags, store...)...), got[query]); diff != "" {
			t.Errorf("%q (-command +route):\n%s", query, diff)
		}
	}
}
