package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/testing/simnet"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

const (
	simulatedSecret   = "c2ltdWxhdGVkLXdvcmxkLW9mLXByb2Nlc3Nlcy1hbmQtY2xpZW50cw=="
	simulatedRegistry = `extensions:
- clientID: simulated
  secrets: [{value: ` + simulatedSecret + `}]
`
	simulatedVoters = 6
	simulatedPolls  = 3
	thinkTime       = 600 * time.Millisecond
	multiPoll       = "multi"
	multiConfig     = `{"id":"multi","config":{"totalVotesPerUser":3,"distinctOptionsPerUser":2,"votesPerOption":2}}`
	multiVotes      = 3 // of one viewer
	// The viewers in whose states one write adds an id to all.
	teamUsers = "101,102,103"
	// Callers that are no viewers.
	asBroadcaster, asAdmin = "B", "A"
)

// simulatedClients send operations to the processes of a world, and record what they know
// of the outcomes.
type simulatedClients struct {
	w       *simulatedWorld
	seed    uint64
	web     *http.Client
	secret  []byte
	over    atomic.Bool
	running sync.WaitGroup

	mu      sync.Mutex
	fates   map[string]map[string]fate // by what they change and their id
	seen    map[string]map[string]bool // ids that a read that ended has returned
	entries map[string]int             // of the buffer, as its reader has seen them
}

// fate is the outcome of an operation as its client knows it.
type fate int

const (
	unknown fate = iota // under way, or without a certain answer
	stored
	refused
)

func newSimulatedClients(w *simulatedWorld, seed uint64) *simulatedClients {
	registry, err := tenant.Parse([]byte(simulatedRegistry))
	if err != nil {
		w.t.Fatal(err)
	}
	extension, _ := registry.ByClientID("simulated")
	secret, _ := extension.SigningSecret(tenant.Production, time.Now())
	return &simulatedClients{
		w: w, seed: seed, secret: secret.Value,
		web:   &http.Client{Transport: &http.Transport{DialContext: dialFrom(w.network.Host("10.2.0.1")), MaxIdleConnsPerHost: 64}},
		fates: map[string]map[string]fate{}, seen: map[string]map[string]bool{}, entries: map[string]int{},
	}
}

// dialFrom dials from a host, and gives up after some seconds.
func dialFrom(host *simnet.Host) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return host.Dial(ctx, network, address)
	}
}

// start sends the first operations, which have no faults, and then starts the clients.
func (c *simulatedClients) start() {
	for _, first := range [][4]string{
		{http.MethodPost, "/vote_config", asBroadcaster, multiConfig},
		{http.MethodPatch, "/channel_state", asBroadcaster, `{"members":[]}`},
		{http.MethodPatch, "/extension_viewer_state", asAdmin, teamPatch(`{"members":[]}`)},
	} {
		if f, why := c.send(0, first[0], first[1], roleOf(first[2]), first[2], first[3], nil); f != stored {
			c.w.t.Fatalf("%s: %s", first[1], why)
		}
	}
	for number := range simulatedVoters {
		c.running.Go(func() { c.runClient(uint64(number)) })
	}
	c.running.Go(c.followBuffer)
}

func (c *simulatedClients) stop() {
	c.over.Store(true)
	c.running.Wait()
}

func (c *simulatedClients) close() { c.web.CloseIdleConnections() }

func (c *simulatedClients) runClient(number uint64) {
	rng := rand.New(rand.NewPCG(c.seed, 100+number))
	for i := 0; !c.over.Load(); i++ {
		c.w.wait(time.Duration(rng.Int64N(int64(thinkTime))))
		c.operate(rng, rng.IntN(len(c.w.slots)), fmt.Sprintf("U%d-%d", number, i), fmt.Sprintf("M%d", i/4))
	}
}

// operate sends one random operation to a process. id is of this operation alone, and
// other clients share the viewer that votes several times.
func (c *simulatedClients) operate(rng *rand.Rand, slot int, id, shared string) (fate, string) {
	poll := fmt.Sprint("p", rng.IntN(simulatedPolls))
	value := rng.IntN(3)
	switch rng.IntN(12) {
	case 0, 1:
		return c.change(slot, poll, id, http.MethodPost, "/vote?id="+poll, id, `{"value":1}`)
	case 2:
		return c.change(slot, multiPoll, fmt.Sprintf("%s as %s for %d", id, shared, value), http.MethodPost, "/vote?id="+multiPoll, shared, fmt.Sprintf(`{"value":%d}`, value))
	case 3, 4:
		return c.change(slot, "members", id, http.MethodPatch, "/channel_state", asBroadcaster, fmt.Sprintf(`[{"op":"add","path":"/members/-","value":%q}]`, id))
	case 5:
		return c.change(slot, "entries", id, http.MethodPost, "/accumulate", id, fmt.Sprintf(`{"id":%q}`, id))
	case 6:
		return c.readMembers(slot)
	case 7:
		return c.change(slot, "team", id, http.MethodPatch, "/extension_viewer_state", asAdmin, teamPatch(fmt.Sprintf(`[{"op":"add","path":"/members/-","value":%q}]`, id)))
	case 8:
		_, f, why := c.readTeam(slot)
		return f, why
	case 9:
		return c.change(slot, saidEvent, id, http.MethodPost, "/broadcast", asBroadcaster, fmt.Sprintf(`{"event":%q,"data":%q}`, saidEvent, id))
	default:
		return c.readPoll(slot, poll)
	}
}

// change sends an operation that adds an id to something, and records its fate.
func (c *simulatedClients) change(slot int, what, id, method, path, viewer, body string) (fate, string) {
	c.note(what, id, unknown)
	f, why := c.send(slot, method, path, roleOf(viewer), viewer, body, nil)
	c.note(what, id, f)
	return f, why
}

func roleOf(viewer string) string {
	switch viewer {
	case asBroadcaster:
		return "broadcaster"
	case asAdmin:
		return "admin"
	}
	return "viewer"
}

// teamPatch is the body that patches the state of each of the team.
func teamPatch(patch string) string {
	var patches []string
	for user := range strings.SplitSeq(teamUsers, ",") {
		patches = append(patches, fmt.Sprintf("%q:%s", user, patch))
	}
	return "{" + strings.Join(patches, ",") + "}"
}

func (c *simulatedClients) note(what, id string, f fate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fates[what] == nil {
		c.fates[what], c.seen[what] = map[string]fate{}, map[string]bool{}
	}
	c.fates[what][id] = f
}

// known returns the ids that a read which begins now must return: those whose operation
// was acknowledged, or that a read has returned.
func (c *simulatedClients) known(what string) (ids []string) {
	if c.w.lateReads {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, f := range c.fates[what] {
		if f == stored || c.seen[what][id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// readMembers reads the document and compares it with what it must hold.
func (c *simulatedClients) readMembers(slot int) (fate, string) {
	must := c.known("members")
	var state struct{ Members []string }
	f, why := c.send(slot, http.MethodGet, "/channel_state", "broadcaster", "B", "", &state)
	if f == stored {
		c.compare("members", must, state.Members)
	}
	return f, why
}

// readTeam reads the documents that are written together and compares each with what it
// must hold. A read may come between the documents, so they may differ.
func (c *simulatedClients) readTeam(slot int) (states map[string]struct{ Members []string }, f fate, why string) {
	must := c.known("team")
	f, why = c.send(slot, http.MethodGet, "/extension_viewer_state?user_ids="+teamUsers, "backend", "", "", &states)
	if f == stored {
		for user := range strings.SplitSeq(teamUsers, ",") {
			c.compare("team", must, states[user].Members)
		}
	}
	return states, f, why
}

// checkTeam checks that each write is in all documents or in none.
func (c *simulatedClients) checkTeam(slot int) {
	states, f, why := c.readTeam(slot)
	if f != stored {
		c.w.t.Errorf("read the team: %s", why)
	}
	var first []string
	for user := range strings.SplitSeq(teamUsers, ",") {
		if first == nil {
			first = states[user].Members
		}
		if members := states[user].Members; !slices.Equal(members, first) {
			c.w.t.Errorf("the state of %s has %v, the first one %v", user, members, first)
		}
	}
}

// readPoll reads the log of a poll and compares it with what it must hold.
func (c *simulatedClients) readPoll(slot int, poll string) (fate, string) {
	must := c.known(poll)
	var logged struct{ Result []struct{ Opaque string } }
	f, why := c.send(slot, http.MethodGet, "/vote_logs?id="+poll, "backend", "", "", &logged)
	if f != stored {
		return f, why
	}
	var found []string
	for _, record := range logged.Result {
		found = append(found, record.Opaque)
	}
	c.compare(poll, must, found)
	must = c.known(poll)
	var statistics struct{ Count int }
	if f, why = c.send(slot, http.MethodGet, "/vote?id="+poll, "backend", "", "", &statistics); f == stored && statistics.Count < len(must) {
		c.w.t.Errorf("%s has %d votes in its statistics, and at least %d were acknowledged before", poll, statistics.Count, len(must))
	}
	return f, why
}

// compare checks that what a read has found is everything that it must, each id once, and
// none that was refused or never sent.
func (c *simulatedClients) compare(what string, must, found []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	times := map[string]int{}
	for _, id := range found {
		times[id]++
		if f, sent := c.fates[what][id]; !sent || f == refused || times[id] > 1 {
			c.w.t.Errorf("%s: %s, sent: %t, fate %d, is there %d times", what, id, sent, f, times[id])
			continue
		}
		c.seen[what][id] = true
	}
	for _, id := range must {
		if times[id] == 0 {
			c.w.t.Errorf("%s: %s was acknowledged or read before, and a read misses it", what, id)
		}
	}
}

// followBuffer follows the accumulation buffer, page by page, until the clients have ended and
// nothing more comes.
func (c *simulatedClients) followBuffer() {
	rng := rand.New(rand.NewPCG(c.seed, 99))
	for start, last := int64(0), false; ; {
		c.w.wait(thinkTime)
		ended := c.over.Load()
		var page struct {
			Data   []struct{ Data struct{ ID string } }
			Latest int64
		}
		f, _ := c.send(rng.IntN(len(c.w.slots)), http.MethodGet, fmt.Sprintf("/accumulate?start=%d", start), "backend", "", "", &page)
		if f != stored {
			if ended && c.w.t.Failed() {
				return
			}
			continue
		}
		for _, entry := range page.Data {
			c.entries[entry.Data.ID]++
		}
		if page.Latest > 0 {
			start = page.Latest
		} else if ended && last {
			return
		}
		last = ended && page.Latest == 0
	}
}

// checkCalm sends each kind of operation through each process; every one must succeed at
// once.
func (c *simulatedClients) checkCalm() {
	for slot := range c.w.slots {
		for n := range 3 * simulatedPolls {
			rng := rand.New(rand.NewPCG(c.seed, uint64(1000+n)))
			began := time.Now()
			f, why := c.operate(rng, slot, fmt.Sprintf("calm%d-%d", slot, n), fmt.Sprintf("calm%d-%d", slot, n))
			if took := time.Since(began); f != stored || took > calmBound {
				c.w.t.Errorf("operation %d through process %d, %v after the last fault: fate %d after %v, %s", n, slot, recoveryBound, f, took, why)
			}
		}
	}
}

// check compares the fates with what each process, and one that has just started, returns.
func (c *simulatedClients) check() {
	c.w.replace(0)
	<-c.w.process(0).opened
	came := map[fate]int{}
	for slot := range c.w.slots {
		for n := range simulatedPolls {
			if f, why := c.readPoll(slot, fmt.Sprint("p", n)); f != stored {
				c.w.t.Errorf("read poll %d: %s", n, why)
			}
		}
		if f, why := c.readMembers(slot); f != stored {
			c.w.t.Errorf("read the document: %s", why)
		}
		c.checkTeam(slot)
		c.checkLimits(slot)
	}
	for id, f := range c.fates["entries"] {
		if n := c.entries[id]; f == stored && n != 1 || f == refused && n != 0 || n > 1 {
			if !strings.HasPrefix(id, "calm") { // which came after the reader had ended
				c.w.t.Errorf("entry %s, fate %d, was read %d times", id, f, n)
			}
		}
	}
	for _, of := range c.fates {
		for _, f := range of {
			came[f]++
		}
	}
	c.w.note("operations", "stored", came[stored], "refused", came[refused], "unknown", came[unknown])
	if came[stored] < came[refused]+came[unknown] {
		c.w.t.Errorf("%d operations were stored, %d refused, %d are unknown: too few to tell", came[stored], came[refused], came[unknown])
	}
}

// checkLimits checks the log of the poll in which viewers try to vote more often than
// they may.
func (c *simulatedClients) checkLimits(slot int) {
	var logged struct {
		Result []struct {
			Opaque string
			Value  int
		}
	}
	if f, why := c.send(slot, http.MethodGet, "/vote_logs?id="+multiPoll, "backend", "", "", &logged); f != stored {
		c.w.t.Errorf("read the log: %s", why)
		return
	}
	least, most, votes, options := map[string]int{}, map[string]int{}, map[string]int{}, map[string]map[int]int{}
	for what, f := range c.fates[multiPoll] {
		var id, as, viewer string
		_, _ = fmt.Sscan(what, &id, &as, &viewer) // as it was written
		if f != refused {
			most[viewer]++
		}
		if f == stored {
			least[viewer]++
		}
	}
	for _, record := range logged.Result {
		votes[record.Opaque]++
		if options[record.Opaque] == nil {
			options[record.Opaque] = map[int]int{}
		}
		options[record.Opaque][record.Value]++
	}
	for viewer := range most {
		if n := votes[viewer]; n < least[viewer] || n > min(most[viewer], multiVotes) || len(options[viewer]) > 2 {
			c.w.t.Errorf("%s has %d votes for %v, %d were accepted and %d sent", viewer, n, options[viewer], least[viewer], most[viewer])
		}
		for value, n := range options[viewer] {
			if n > 2 {
				c.w.t.Errorf("%s has %d votes for %d", viewer, n, value)
			}
		}
	}
}

// send sends a request to the process in a slot and returns its fate. It must have an
// answer, or lose its connection, within answerBound or readBound. A read stores nothing,
// so its outcome is never unknown.
func (c *simulatedClients) send(slot int, method, path, role, viewer, body string, into any) (fate, string) {
	began := time.Now()
	token, err := sandbox.IssueToken(sandbox.Grant{
		Role: role, ChannelID: "1", OpaqueID: viewer, ExtensionID: "simulated", Stage: string(tenant.Production),
	}, c.secret, began)
	if err != nil {
		c.w.t.Fatal(err)
	}
	status, said, err := c.exchange(slot, ":80", method, "/v1"+path, "simulated "+token, body, into)
	bound := answerBound
	if method == http.MethodGet {
		bound = readBound
		if status == http.StatusInternalServerError {
			c.w.t.Errorf("%s %s: status %d, %s", method, path, status, said)
		}
	}
	if took := time.Since(began); took > bound {
		c.w.t.Errorf("%s %s took %v, more than %v: status %d, %v", method, path, took, bound, status, err)
	}
	c.w.note("answer", "slot", slot, "method", method, "path", path, "viewer", viewer, "status", status, "error", err, "took", time.Since(began))
	switch {
	case err != nil:
		return unknown, err.Error()
	case status == http.StatusOK:
		return stored, ""
	case status == http.StatusInternalServerError:
		return unknown, said
	case !slices.Contains([]int{http.StatusServiceUnavailable, http.StatusConflict, http.StatusForbidden, http.StatusTooManyRequests, http.StatusBadRequest}, status):
		c.w.t.Errorf("%s %s: status %d, %s", method, path, status, said)
	}
	return refused, fmt.Sprint("status ", status, " ", said)
}

// exchange sends a request to a port of the process in a slot. It gives up when that has
// ended, and after twice the bound, so that a run ends.
func (c *simulatedClients) exchange(slot int, port, method, path, authorization, body string, into any) (status int, said string, err error) {
	ctx, cancel := context.WithTimeout(c.w.t.Context(), 2*answerBound)
	defer cancel()
	p := c.w.process(slot)
	defer context.AfterFunc(p.ctx, cancel)()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+p.ip+port+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := c.web.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode == http.StatusOK && into != nil {
		err = errors.Join(json.Unmarshal(content, into))
	}
	return response.StatusCode, string(content), err
}
