package publish

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/feed/cosign"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// testWitness is a witness as c2sp.org/tlog-witness has it, of one log.
type testWitness struct {
	t    *testing.T
	name string
	key  ed25519.PrivateKey
	url  string

	mu     sync.Mutex
	keys   verifiable.Keys // of the log; nil: the log is unknown
	tree   tlog.Tree
	lose   bool           // the next answer, after the signature
	broken bool           // every answer
	held   *chan struct{} // answers wait for it
	asked  int
}

func newTestWitness(t *testing.T, name string) *testWitness {
	seed := sha256.Sum256([]byte(name))
	w := &testWitness{t: t, name: name, key: ed25519.NewKeyFromSeed(seed[:])}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	w.url = server.URL + "/prefix/"
	return w
}

// policyLine is the line of a policy for the witness.
func (w *testWitness) policyLine() string {
	return fmt.Sprintf("witness %s %s+%x+%s %s\n", w.name, w.name, w.keyHash(), base64.StdEncoding.EncodeToString(w.keyData()), w.url)
}

func (w *testWitness) keyData() []byte {
	return append([]byte{4}, w.key.Public().(ed25519.PublicKey)...)
}

func (w *testWitness) keyHash() []byte {
	sum := sha256.Sum256(append([]byte(w.name+"\n"), w.keyData()...))
	return sum[:4]
}

func (w *testWitness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	held := w.held
	w.mu.Unlock()
	if held != nil {
		<-*held
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/prefix/add-checkpoint" {
		http.Error(rw, "what?", http.StatusBadRequest)
		return
	}
	status, answer := w.addCheckpoint(body)
	if w.broken || w.lose {
		w.lose = false
		status, answer = http.StatusInternalServerError, "broken"
	}
	if status == http.StatusConflict {
		rw.Header().Set("Content-Type", "text/x.tlog.size")
	}
	rw.WriteHeader(status)
	_, _ = io.WriteString(rw, answer)
}

// addCheckpoint returns the answer to a request.
func (w *testWitness) addCheckpoint(body []byte) (status int, answer string) {
	head, checkpoint, _ := bytes.Cut(body, []byte("\n\n"))
	lines := bufio.NewScanner(bytes.NewReader(append(head, '\n')))
	lines.Scan()
	var old int64
	if _, err := fmt.Sscanf(lines.Text(), "old %d", &old); err != nil {
		return http.StatusBadRequest, err.Error()
	}
	var proof tlog.TreeProof
	for lines.Scan() {
		h, err := tlog.ParseHash(lines.Text())
		if err != nil {
			return http.StatusBadRequest, err.Error()
		}
		proof = append(proof, h)
	}
	if w.keys == nil {
		return http.StatusNotFound, "unknown log"
	}
	tree, err := w.keys.Open(checkpoint, w.keys.Origin())
	switch {
	case err != nil:
		return http.StatusForbidden, err.Error()
	case old > tree.N:
		return http.StatusBadRequest, "old"
	case old != w.tree.N, old == tree.N && w.tree != tree:
		return http.StatusConflict, fmt.Sprintf("%d\n", w.tree.N)
	case old > 0 && old < tree.N && tlog.CheckTree(proof, tree.N, tree.Hash, old, w.tree.Hash) != nil:
		return http.StatusUnprocessableEntity, "inconsistent"
	}
	w.tree = tree
	text, _, _ := bytes.Cut(checkpoint, []byte("\n\n"))
	sig := ed25519.Sign(w.key, fmt.Appendf(nil, "cosignature/v1\ntime 1800000000\n%s\n", text))
	sig = append(binary.BigEndian.AppendUint64(bytes.Clone(w.keyHash()), 1800000000), sig...)
	return http.StatusOK, fmt.Sprintf("— other.example AAAAAAAA\n— %s %s\n", w.name, base64.StdEncoding.EncodeToString(sig))
}

// witnessed adds witnesses to a world, and returns what asks them.
func (w *world) witnessed(quorum string, witnesses ...*testWitness) *cosigner {
	w.t.Helper()
	text := ""
	for _, other := range witnesses {
		text += other.policyLine()
	}
	policy, err := verifiable.ParsePolicy(text + quorum)
	w.must(err)
	w.Witnesses = &Witnessing{policy, cosign.NewClient(http.DefaultTransport)}
	return &cosigner{witnesses: policy.Witnesses()}
}

func (w *world) isWitnessed(size int64) {
	w.t.Helper()
	file, err := w.ReadFile(w.t.Context(), "witnessed")
	w.must(err)
	tree, err := w.keys().Open(file.Data, w.keys().Origin())
	if err != nil || tree.N != size || !w.Witnesses.Policy.Accepts(file.Data) || strings.Contains(string(file.Data), "other.example") {
		w.t.Errorf("witnessed is %s, %v, want %d leaves", file.Data, err, size)
	}
}

// Witnesses cosign the log as it grows, also after an answer is lost, and a receipt has what they say.
func TestWitnessesCosign(t *testing.T) {
	w, one, two := newWorld(t), newTestWitness(t, "one.example"), newTestWitness(t, "two.example")
	c := w.witnessed("group both all one.example two.example\nquorum both\n", one, two)
	w.must(w.cosignOnce(t.Context(), c)) // there is no log
	w.configure("p", voting.Config{})
	w.round()
	if err := w.cosignOnce(t.Context(), c); err == nil {
		t.Error("witnesses that do not know the log signed it")
	}
	if _, err := w.ReadFile(t.Context(), "witnessed"); err == nil {
		t.Error("a checkpoint that no quorum signed is shown as witnessed")
	}
	one.keys, two.keys = w.keys(), w.keys()
	w.must(w.cosignOnce(t.Context(), c))
	w.isWitnessed(2)
	w.vote("p", "a", 1)
	w.round()
	one.lose = true
	if err := w.cosignOnce(t.Context(), c); err == nil {
		t.Error("a lost answer is none")
	}
	w.isWitnessed(2)
	w.must(w.cosignOnce(t.Context(), c))
	w.isWitnessed(3)
	asked := one.asked
	w.must(w.cosignOnce(t.Context(), c))
	if one.asked != asked {
		t.Error("a witness is asked about a log that has not moved")
	}
	again := &cosigner{witnesses: c.witnesses} // of a process that has just started
	w.vote("p", "b", 1)
	w.round()
	w.must(w.cosignOnce(t.Context(), again))
	w.isWitnessed(4)
	w.end("p")
	w.must(w.cosignOnce(t.Context(), again))
	_, text := w.receipt("p", "a", 1)
	if file, err := w.ReadFile(t.Context(), "checkpoint"); err != nil || !w.Witnesses.Policy.Accepts(file.Data) || !strings.Contains(string(text), "— one.example ") {
		t.Errorf("the newest checkpoint, or a receipt, lacks the cosignatures: %s, %v", file.Data, err)
	}
}

// A witness that does not answer delays neither checkpoints nor receipts.
func TestWitnessThatIsDown(t *testing.T) {
	w, one, two := newWorld(t), newTestWitness(t, "one.example"), newTestWitness(t, "two.example")
	c := w.witnessed("group any any one.example two.example\nquorum any\n", one, two)
	w.configure("p", voting.Config{})
	w.round()
	one.keys = w.keys()
	wait := make(chan struct{})
	two.held, two.broken = &wait, true
	ended := make(chan error)
	go func() { ended <- w.cosignOnce(t.Context(), c) }()
	w.vote("p", "a", 1)
	w.round()
	if report, _ := w.receipt("p", "a", 1); report.Recorded.Answer != verifiable.Yes {
		t.Errorf("while a witness is asked: %+v", report)
	}
	close(wait)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "two.example") {
		t.Errorf("the witness that is down: %v", err)
	}
	w.isWitnessed(2)
}

// Where a witness has signed another history, this one is signed no more.
func TestWitnessNamesForks(t *testing.T) {
	for name, test := range map[string]struct {
		tree      func(signed tlog.Tree) tlog.Tree
		continues bool
	}{
		"longer":                {func(s tlog.Tree) tlog.Tree { return tlog.Tree{N: s.N + 5, Hash: tlog.Hash{1}} }, false},
		"another root":          {func(s tlog.Tree) tlog.Tree { return tlog.Tree{N: s.N, Hash: tlog.Hash{1}} }, false},
		"another, shorter root": {func(s tlog.Tree) tlog.Tree { return tlog.Tree{N: s.N - 1, Hash: tlog.Hash{1}} }, false},
		"the same":              {func(s tlog.Tree) tlog.Tree { return s }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, one := newWorld(t), newTestWitness(t, "one.example")
			c := w.witnessed("quorum one.example\n", one)
			w.configure("p", voting.Config{})
			w.round()
			one.keys = w.keys()
			s, err := w.signLog(t.Context(), 0)
			w.must(err)
			one.tree = test.tree(s.tree)
			err = w.cosignOnce(t.Context(), c)
			if (err == nil) != test.continues {
				t.Errorf("the witness's answer: %v", err)
			}
			w.clock.pass(checkpointFor)
			if _, err := w.ReadFile(t.Context(), "checkpoint"); (err == nil) != test.continues {
				t.Errorf("the checkpoint afterwards: %v", err)
			}
		})
	}
}
