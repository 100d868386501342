package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/process/cli"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// asProgram is the environment variable that makes the test binary run as the
// program, so that a test can kill it.
const asProgram = "ACCLAIM_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	// A client that has no idle connection opens one and may then use another: a program that
	// ends waits five seconds for a request on a connection that had none.
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 100
	// Tests of the program mostly wait, for elections, restarts and answers, so there are more
	// of them at a time than processors. -parallel, which is read after this, has precedence.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// process is a running program.
type process struct {
	cmd    *exec.Cmd
	out    io.Reader
	base   string
	admin  string
	stderr *bytes.Buffer
}

// startProgram runs a command of the program until it is ready.
func startProgram(t *testing.T, dir, command string, flags ...string) *process {
	t.Helper()
	p := newProgram(t, dir, command, flags...)
	p.launch(t)
	p.awaitReady(t)
	return p
}

// newProgram returns a command of the program without starting it.
func newProgram(t *testing.T, dir, command string, flags ...string) *process {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.CommandContext(t.Context(), binary, command, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--data-dir", dir, "--extensions", registryFile(), "--log-level", "error")}
	p.cmd.Args = append(p.cmd.Args, flags...)
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	p.stderr = &bytes.Buffer{}
	p.cmd.Stderr = p.stderr
	return p
}

// launch starts the program and does not wait until it is ready. When the test ends, so does
// the program, with the test's context.
func (p *process) launch(t *testing.T) {
	t.Helper()
	var err error
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Wait() }) // it was killed, unless the test has waited already
}

// A program that a test leaves running has ended when the test has, and is no zombie.
func TestProgramsEndWithTheirTest(t *testing.T) {
	var p *process
	t.Run("left running", func(t *testing.T) { p = startProgram(t, t.TempDir(), "serve") })
	if p.cmd.ProcessState == nil {
		t.Error("the program was not waited for")
	}
}

// awaitReady reads the ready line and returns its fields.
func (p *process) awaitReady(t *testing.T) map[string]string {
	t.Helper()
	line, err := bufio.NewReader(p.out).ReadString('\n')
	if err != nil {
		_ = p.cmd.Process.Kill() // it may have ended already
		_ = p.cmd.Wait()
		t.Fatalf("no ready line: %v\n%s", err, p.stderr)
	}
	fields := map[string]string{}
	for field := range strings.FieldsSeq(line) {
		name, value, _ := strings.Cut(field, "=")
		fields[name] = value
	}
	p.base, p.admin = fields["base"], fields["admin"]
	go func() { _, _ = io.Copy(io.Discard, p.out) }() // ends with the process
	return fields
}

func registryFile() string { return filepath.Join("..", "config", "extensions.yaml") }

const sampleExtension = "sample-extension"

// The exit codes that the help of the program documents.
const (
	exitProblems = 1
	exitFailed   = 2
)

// runCommand runs a command in this process and returns what it prints and its exit
// code.
func runCommand(t *testing.T, input io.Reader, args ...string) (out, problem string, status int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = cli.Execute(t.Context(), args, input, &stdout, &stderr)
	return stdout.String(), stderr.String(), status
}

// runCommandTo is runCommand with progress and errors written to stderr as they come.
func runCommandTo(t *testing.T, stderr io.Writer, args ...string) (out string, status int) {
	t.Helper()
	var stdout bytes.Buffer
	status = cli.Execute(t.Context(), args, nil, &stdout, stderr)
	return stdout.String(), status
}

// sign returns an Authorization header of the sample extension.
func sign(t *testing.T, role, opaque string) string {
	t.Helper()
	return signGrant(t, sandbox.Grant{Role: role, ChannelID: "1", OpaqueID: opaque})
}

// signGrant returns an Authorization header of the sample extension for a grant.
func signGrant(t *testing.T, g sandbox.Grant) string {
	t.Helper()
	g.ExtensionID, g.Stage = sampleExtension, string(tenant.Production)
	token, err := sandbox.IssueToken(g, sampleSecret(t), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return sampleExtension + " " + token
}

// sampleSecret returns the secret of the sample extension.
func sampleSecret(t *testing.T) []byte {
	t.Helper()
	secret, err := readSampleSecret()
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// readSampleSecret reads the registry once, as clients sign thousands of requests.
var readSampleSecret = sync.OnceValues(func() ([]byte, error) {
	directory, err := tenant.Open(registryFile(), nil)
	if err != nil {
		return nil, err
	}
	extension, _ := directory.Registry().ByClientID(sampleExtension)
	secret, ok := extension.SigningSecret(tenant.Production, time.Now())
	if !ok {
		return nil, errors.New("the sample extension has no active secret")
	}
	return secret.Value, nil
})

func (p *process) exchange(method, path, header, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(context.Background(), method, p.base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", header)
	return http.DefaultClient.Do(req)
}

func (p *process) do(method, path, header, body string, into any) (status int, err error) {
	res, err := p.exchange(method, path, header, body)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if into == nil {
		_, err = io.Copy(io.Discard, res.Body)
		return res.StatusCode, err
	}
	return res.StatusCode, json.NewDecoder(res.Body).Decode(into)
}

// votes records the votes that the clients sent to one run of the program, and
// their outcomes.
type votes struct {
	mu           sync.Mutex
	acknowledged map[string]bool
	sent         map[string]bool
	voting       progress
}

// vote lets each of n clients vote with new identities until the program dies.
func (v *votes) vote(t *testing.T, p *process, life, clients int) (wait func()) {
	var all sync.WaitGroup
	v.voting.join(clients)
	for c := range clients {
		all.Go(func() {
			defer v.voting.leave()
			for i := 0; ; i++ {
				voter := fmt.Sprintf("U%d-%d-%d", life, c, i)
				header := sign(t, "viewer", voter)
				v.mu.Lock()
				v.sent[voter] = true
				v.mu.Unlock()
				status, err := p.do(http.MethodPost, "/vote", header, fmt.Sprintf(`{"value":%d}`, i%40), nil)
				if err != nil {
					return
				}
				if status != http.StatusOK {
					t.Errorf("vote: status %d", status)
					return
				}
				v.mu.Lock()
				v.acknowledged[voter] = true
				v.mu.Unlock()
				v.voting.add()
			}
		})
	}
	return all.Wait
}

type logAnswer struct {
	Result []struct {
		Opaque string `json:"opaque"`
		Value  int64  `json:"value"`
	} `json:"result"`
}

type statisticsAnswer struct {
	Sum, Count int64
	Specific   [32]int64
}

// check compares the program's log and statistics with the answers that the clients
// received.
func (v *votes) check(t *testing.T, p *process) {
	t.Helper()
	var logged logAnswer
	var stats, fold statisticsAnswer
	backend := sign(t, "backend", "")
	if _, err := p.do(http.MethodGet, "/vote_logs", backend, "", &logged); err != nil {
		t.Fatal(err)
	}
	if _, err := p.do(http.MethodGet, "/vote", backend, "", &stats); err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, record := range logged.Result {
		times[record.Opaque]++
		fold.Count++
		fold.Sum += record.Value
		if record.Value < 32 {
			fold.Specific[record.Value]++
		}
	}
	for voter := range v.acknowledged {
		if times[voter] != 1 {
			t.Errorf("the acknowledged vote of %s is in the log %d times", voter, times[voter])
		}
	}
	for voter, n := range times {
		if n > 1 || !v.sent[voter] {
			t.Errorf("%s is in the log %d times, sent: %v", voter, n, v.sent[voter])
		}
	}
	if stats != fold {
		t.Errorf("statistics are %+v, the fold of the log %+v", stats, fold)
	}
}

// A program that is killed under load, repeatedly, keeps every acknowledged vote
// exactly once.
func TestKilledProgramKeepsWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	known := &votes{acknowledged: map[string]bool{}, sent: map[string]bool{}}
	rng := rand.New(rand.NewPCG(1, 2))
	for life := range 12 {
		p := startProgram(t, dir, "serve")
		known.check(t, p)
		wait := known.vote(t, p, life, 16)
		// The number of votes decides when the program is killed, not the time.
		known.voting.await(t, 50+rng.IntN(400))
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.cmd.Wait() // it was killed
		wait()
	}
	p := startProgram(t, dir, "serve")
	known.check(t, p)
	if n := len(known.acknowledged); n < 12*50 {
		t.Errorf("only %d votes were acknowledged", n)
	}
}

// SIGTERM lets every request that was accepted finish, and ends with status 0.
func TestTerminatedProgramDrains(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startProgram(t, dir, "serve")
	known := &votes{acknowledged: map[string]bool{}, sent: map[string]bool{}}
	wait := known.vote(t, p, 0, 16)
	known.voting.await(t, 300)
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
	wait()
	known.check(t, startProgram(t, dir, "serve"))
}

// A second program on the same data folder ends at once with an error.
func TestSecondProgramOnTheSameData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	startProgram(t, dir, "serve")
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	second := exec.CommandContext(t.Context(), binary, "voting", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--data-dir", dir, "--extensions", registryFile())
	second.Env = append(os.Environ(), asProgram+"=1")
	out, err := second.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "in use by another process") {
		t.Errorf("%v\n%s", err, out)
	}
}
