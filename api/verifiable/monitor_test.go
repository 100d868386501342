package verifiable_test

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// story is a poll in which Alice, Bob and Carol vote, while a monitor watches.
type story struct {
	*publisher
	poll  *poll
	alice int64
	// receipt is Alice's.
	receipt []byte
	monitor *verifiable.Monitor
}

func tell(t *testing.T) *story {
	t.Helper()
	s := &story{publisher: newPublisher(t)}
	s.poll = s.begin("lunch", lunch())
	s.alice = s.poll.vote("alice", 1)
	s.poll.vote("bob", 0)
	s.poll.sign()
	s.receipt = s.poll.receipt("alice", s.alice)
	s.monitor = verifiable.NewMonitor(s.keys())
	must(t, s.monitor.Update(t.Context(), source(s.publisher)))
	s.poll.vote("carol", 2)
	return s
}

// end closes the poll and signs its result.
func (s *story) end() {
	s.t.Helper()
	s.poll.close()
	s.poll.sign()
}

func kinds(list []verifiable.Finding) []verifiable.FindingKind {
	names := []verifiable.FindingKind{}
	for _, f := range list {
		names = append(names, f.Kind)
	}
	return names
}

func expect(t *testing.T, got []verifiable.Finding, want verifiable.FindingKind) {
	t.Helper()
	for _, f := range got {
		t.Log(f)
	}
	if len(got) > 0 && want == "" || want != "" && !slices.Contains(kinds(got), want) {
		t.Errorf("found %v, want %q", kinds(got), want)
	}
}

// A monitor follows the log to a new key, and a poll over reset, end and reopening.
func TestHonestMonitor(t *testing.T) {
	s := tell(t)
	s.end()
	seed := [32]byte{1}
	next, err := verifiable.NewSigner(origin, ed25519.NewKeyFromSeed(seed[:]))
	must(t, err)
	s.append(&verifiable.LogLeaf{Kind: verifiable.LogKey, Key: next.Key().String()})
	s.poll.open()
	s.poll.sign()
	s.poll.vote("dave", 0)
	s.end()
	expect(t, s.publisher.monitor(s.monitor), "")
	s.signer = next
	s.poll.reset()
	s.poll.sign()
	s.begin("lunch", lunch()).sign()
	// More leaves than a tile holds.
	dinner := s.begin("dinner", lunch())
	for i := range 300 {
		dinner.vote(fmt.Sprint("voter ", i), int16(i%3))
		dinner.sign()
	}
	state, err := json.Marshal(s.monitor)
	must(t, err)
	var again verifiable.Monitor
	must(t, json.Unmarshal(state, &again))
	expect(t, s.publisher.monitor(&again), "")
	for _, damaged := range []string{`{"keys":["` + again.Keys[0] + `"],"log":{"size":1}}`, `{"keys":[]}`, `{"keys":["` + again.Keys[0] + `"],"polls":null}`} {
		var m verifiable.Monitor
		must(t, json.Unmarshal([]byte(damaged), &m))
		if m.Update(t.Context(), source(s.publisher)) == nil {
			t.Errorf("%s is accepted", damaged)
		}
	}
	if again.Log.Tree() != treeOf(s.log) || len(again.Polls) != 2 {
		t.Errorf("the monitor is at size %d with %d polls", again.Log.Size, len(again.Polls))
	}
}

func source(p *publisher) verifiable.Source { return verifiable.Directory{FS: p.files()} }

func (p *publisher) audit(q *poll) *verifiable.AuditReport {
	p.t.Helper()
	report, err := verifiable.Audit(p.t.Context(), source(p), p.keys(), q.name.ResultPath())
	must(p.t, err)
	return report
}

func (p *publisher) monitor(m *verifiable.Monitor) []verifiable.Finding {
	p.t.Helper()
	must(p.t, m.Update(p.t.Context(), source(p)))
	return m.Findings
}
