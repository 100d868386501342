package peer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/cluster/peer"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// registry is the database's part.
type registry struct {
	mu      sync.Mutex
	members map[string]peer.Member
	err     error
}

func newRegistry() *registry { return &registry{members: map[string]peer.Member{}} }

func (r *registry) WriteHeartbeat(_ context.Context, m peer.Member) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.members[m.ID] = m
	}
	return r.err
}

func (r *registry) Members(context.Context) ([]peer.Member, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.members)), r.err
}

func (r *registry) Leave(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.members, id)
	return r.err
}

const kind = "poll"

// start returns a node in whose place engine answers, and that serves streams
// with the given prefixes.
func start(t testing.TB, r *registry, engine peer.ServeFunc, serves ...string) *peer.Node {
	t.Helper()
	return startAt(t, r, listen(t), "", engine, serves...)
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func startAt(t testing.TB, r *registry, listener net.Listener, advertise string, engine peer.ServeFunc, serves ...string) *peer.Node {
	t.Helper()
	n := newNode(t, r, listener, advertise, engine, serves...)
	run(t.Context(), t, n)
	return n
}

func newNode(t testing.TB, r *registry, listener net.Listener, advertise string, engine peer.ServeFunc, serves ...string) *peer.Node {
	t.Helper()
	n, err := peer.New(peer.Config{
		Registry:  r,
		Listener:  listener,
		Advertise: advertise,
		Serves:    serves,
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	n.Handle(kind, engine)
	if err := n.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n
}

func run(ctx context.Context, t testing.TB, n *peer.Node) {
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

// saying is an engine that answers everything with its name and the request.
func saying(name string) peer.ServeFunc {
	return func(_ context.Context, request []byte, answer func([]byte)) error {
		answer(append([]byte(name+":"), request...))
		return nil
	}
}

// ask sends a request to the owner of a stream, and returns "here" when that is
// the node itself.
func ask(t *testing.T, n *peer.Node, name string) string {
	t.Helper()
	owner := n.Peers(kind).Owner(name)
	if owner == nil {
		return "here"
	}
	answer, err := send(t, owner, "hello")
	if err != nil {
		t.Errorf("send: %v", err)
	}
	return answer
}

// send sends a request and returns the parts of its answer together.
func send(t *testing.T, to stream.Peer, request string) (answer string, err error) {
	t.Helper()
	err = to.Send(t.Context(), []byte(request), func(part []byte) { answer += string(part) })
	return answer, err
}

func TestNodesAgreeOnOwnersAndReachThem(t *testing.T) {
	r := newRegistry()
	nodes := map[string]*peer.Node{}
	for _, name := range []string{"a", "b", "c"} {
		nodes[name] = start(t, r, saying(name), "poll/")
	}
	for _, n := range nodes {
		if err := n.Join(t.Context()); err != nil { // sees the nodes that joined later
			t.Fatal(err)
		}
	}
	owned := map[string]int{}
	for i := range 300 {
		stream := fmt.Sprint("poll/production/", i)
		owners := map[string]bool{}
		for name, n := range nodes {
			if answer := ask(t, n, stream); answer == "here" {
				owners[name+":hello"] = true
			} else {
				owners[answer] = true
			}
		}
		if len(owners) != 1 {
			t.Fatalf("%s is at home with %v", stream, owners)
		}
		owned[slices.Collect(maps.Keys(owners))[0]]++
	}
	for name, n := range owned {
		if n < 50 || n > 150 {
			t.Errorf("%s owns %d of 300 streams, want about 100", name, n)
		}
	}
}

func TestStreamsAreAtHomeWhereTheyAreServed(t *testing.T) {
	r := newRegistry()
	start(t, r, saying("sandbox"), "poll/sandbox/", "rank/")
	n := start(t, r, saying("production"), "poll/production/")
	for name, want := range map[string]string{
		"poll/sandbox/1":    "sandbox:hello",
		"poll/production/1": "here",
		"buffer/sandbox/1":  "here", // no member serves it
	} {
		if got := ask(t, n, name); got != want {
			t.Errorf("%s is at home with %q, want %q", name, got, want)
		}
	}
}

func TestSlowPeerIsNotTakenForDead(t *testing.T) {
	r := newRegistry()
	start(t, r, func(_ context.Context, request []byte, answer func([]byte)) error {
		<-time.After(1500 * time.Millisecond) // longer than a peer may be silent
		answer(request)
		return nil
	}, "poll/")
	n := start(t, r, saying("n"))
	if got := ask(t, n, "poll/1"); got != "hello" {
		t.Errorf("the slow peer answered %q", got)
	}
}

// The parts of an answer arrive as they are given, and requests do not wait for one another.
func TestPartsOfAnAnswer(t *testing.T) {
	r, more := newRegistry(), make(chan struct{})
	start(t, r, func(_ context.Context, request []byte, answer func([]byte)) error {
		answer(request)
		if string(request) == "slow" {
			<-more
			answer([]byte("!"))
		}
		return nil
	}, "poll/")
	owner := start(t, r, saying("n")).Peers(kind).Owner("poll/1")
	parts, ended := make(chan string), make(chan error, 1)
	go func() { ended <- owner.Send(t.Context(), []byte("slow"), func(part []byte) { parts <- string(part) }) }()
	if got := <-parts; got != "slow" {
		t.Errorf("the first part is %q", got)
	}
	if got, err := send(t, owner, "quick"); got != "quick" || err != nil {
		t.Errorf("beside it: %q, %v", got, err)
	}
	close(more)
	if got := <-parts; got != "!" {
		t.Errorf("the second part is %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Requests under way are counted at both ends, until they have their answers.
func TestTraffic(t *testing.T) {
	r, arrived, release := newRegistry(), make(chan struct{}), make(chan struct{})
	member := start(t, r, func(_ context.Context, request []byte, answer func([]byte)) error {
		arrived <- struct{}{}
		<-release
		answer(request)
		return nil
	}, "poll/")
	n := start(t, r, saying("n"))
	owner := n.Peers(kind).Owner("poll/1")
	const requests, size = 5, 1000
	ended := make(chan error, requests)
	for range requests {
		go func() { ended <- owner.Send(t.Context(), make([]byte, size), func([]byte) {}) }()
	}
	for range requests {
		<-arrived
	}
	sent, _ := n.Traffic()
	_, received := member.Traffic()
	for end, got := range map[string]peer.Traffic{"sent": sent, "received": received} {
		// A sign of life may be under way too.
		if got.Requests < requests || got.Bytes < requests*size || got.Bytes > requests*(size+100) || got.Refused != 0 {
			t.Errorf("%s: %+v", end, got)
		}
	}
	close(release)
	for range requests {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	deadline := time.After(time.Minute)
	for sent, _ := n.Traffic(); sent != (peer.Traffic{}); sent, _ = n.Traffic() { // a probe may be under way
		select {
		case <-deadline:
			t.Fatalf("all are answered, and %+v is under way", sent)
		default:
			runtime.Gosched()
		}
	}
}

// mute returns the address of a listener that accepts connections and says
// nothing.
func mute(t *testing.T) string {
	t.Helper()
	l := listen(t)
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// A member that cannot be reached when a node joins is not asked.
func TestUnreachablePeerIsNotAsked(t *testing.T) {
	closed := listen(t)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for name, address := range map[string]string{"refusing": closed.Addr().String(), "mute": mute(t)} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry()
			startAt(t, r, listen(t), address, saying("peer"), "poll/")
			n := start(t, r, saying("n"))
			if owner := n.Peers(kind).Owner("poll/1"); owner != nil {
				t.Error("the peer is asked")
			}
			if alive, unreachable := n.Count(); alive != 2 || unreachable != 1 {
				t.Errorf("%d alive, %d unreachable, want 2 and 1", alive, unreachable)
			}
			if rivals := n.Peers(kind).Contenders("poll/1"); rivals != 1 {
				t.Errorf("%d rivals, want 1", rivals)
			}
		})
	}
}

// All members know that a member which others cannot reach has contenders.
func TestAvoidedMemberHasContenders(t *testing.T) {
	r := newRegistry()
	closed := listen(t)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	owner := startAt(t, r, listen(t), closed.Addr().String(), saying("owner"), "poll/")
	n := start(t, r, saying("n"))
	for _, node := range []*peer.Node{n, owner} { // n writes its finding, owner reads it
		if err := node.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if rivals := owner.Peers(kind).Contenders("poll/1"); rivals != 1 {
		t.Errorf("%d rivals, want 1", rivals)
	}
	if rivals := owner.Peers(kind).Contenders("rank/1"); rivals != 0 {
		t.Errorf("%d rivals for what is at home nowhere, want none", rivals)
	}
}

// A member that goes away later is found out by the first request.
func TestPeerThatGoesAway(t *testing.T) {
	r := newRegistry()
	ctx, kill := context.WithCancel(t.Context())
	gone := newNode(t, r, listen(t), "", saying("gone"), "poll/")
	ended := make(chan error, 1)
	go func() { ended <- gone.Run(ctx) }()
	n := start(t, r, saying("n"))
	owner := n.Peers(kind).Owner("poll/1")
	if answer, err := send(t, owner, ""); err != nil {
		t.Fatalf("send: %q, %v", answer, err)
	}
	kill()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if _, err := send(t, owner, ""); err == nil {
		t.Error("a peer that is gone has answered")
	}
	if again := n.Peers(kind).Owner("poll/1"); again != nil {
		t.Error("the peer is still asked")
	}
	if _, err := send(t, owner, ""); !errors.Is(err, stream.ErrNotSent) {
		t.Errorf("send once more: %v, want ErrNotSent", err)
	}
}

// The process that runs a request ends before it answers.
// A node whose listener fails is no member any more. It closes the connections to the others, too:
// where the end of one does not arrive, nothing else would.
func TestFailedListenerClosesConnections(t *testing.T) {
	r := newRegistry()
	start(t, r, saying("other"), "poll/")
	listener := listen(t)
	n := newNode(t, r, listener, "", saying("self"))
	ended := make(chan error, 1)
	go func() { ended <- n.Run(t.Context()) }()
	other := n.Peers(kind).Owner("poll/a")
	if answer, err := send(t, other, "hello"); err != nil || answer != "other:hello" {
		t.Fatal(answer, err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the node runs without a listener")
	}
	if _, err := send(t, other, "hello"); !errors.Is(err, stream.ErrNotSent) {
		t.Errorf("send: %v, want that nothing was sent", err)
	}
}

func TestLostAnswerLeavesTheOutcomeOpen(t *testing.T) {
	r := newRegistry()
	ctx, kill := context.WithCancel(t.Context())
	answered := make(chan struct{})
	run(ctx, t, newNode(t, r, listen(t), "", func(context.Context, []byte, func([]byte)) error {
		kill()
		<-answered
		return nil
	}, "poll/"))
	n := start(t, r, saying("n"))
	_, err := send(t, n.Peers(kind).Owner("poll/1"), "")
	close(answered)
	if err == nil || errors.Is(err, stream.ErrNotSent) {
		t.Errorf("send: %v, want an error that leaves the outcome open", err)
	}
}

// A process does not forward to one of another version: it runs the commands itself, and
// says why.
func TestOtherVersionIsNotAsked(t *testing.T) {
	r := newRegistry()
	start(t, r, saying("owner"), "poll/")
	var said bytes.Buffer
	other, err := peer.New(peer.Config{Registry: r, Listener: listen(t), Logger: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	other.SpeakVersion("2")
	if err := other.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, other, "poll/1"); got != "here" {
		t.Errorf("asked %q", got)
	}
	if alive, unreachable := other.Count(); alive != 2 || unreachable != 1 {
		t.Errorf("%d alive, %d of them unreachable", alive, unreachable)
	}
	if !strings.Contains(said.String(), "requests between processes have version 3 here, not 2") {
		t.Errorf("the log is %q", said.String())
	}
}

func TestLeavingNodeIsNotAsked(t *testing.T) {
	r := newRegistry()
	leaving := start(t, r, saying("leaving"), "poll/")
	n := start(t, r, saying("n"))
	owner := n.Peers(kind).Owner("poll/1")
	if err := leaving.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := send(t, owner, ""); !errors.Is(err, stream.ErrNotSent) {
		t.Errorf("send: %v, want ErrNotSent", err)
	}
	if again := n.Peers(kind).Owner("poll/1"); again != nil {
		t.Error("the leaving node is still asked")
	}
}

// A process over another database has a certificate, too, and may know the
// address, but is in another registry.
func TestStrangersAreRefused(t *testing.T) {
	r := newRegistry()
	start(t, r, saying("n"), "poll/")
	other := newRegistry()
	maps.Copy(other.members, r.members)
	stranger := start(t, other, saying("stranger"))
	if owner := stranger.Peers(kind).Owner("poll/1"); owner != nil {
		t.Error("a stranger got through")
	}
}

// What listens at a member's address with another certificate is not it.
func TestImpostorIsNotTrusted(t *testing.T) {
	r := newRegistry()
	start(t, r, saying("real"), "poll/")
	for id, m := range r.members {
		m.Digest = make([]byte, len(m.Digest))
		r.members[id] = m
	}
	n := start(t, r, saying("n"))
	if owner := n.Peers(kind).Owner("poll/1"); owner != nil {
		t.Error("an impostor is asked")
	}
}

func TestEveryAddressNeedsAnAdvertisedOne(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	if _, err := peer.New(peer.Config{Listener: listener}); err == nil {
		t.Error("accepted a listener that has no address of its own")
	}
}

// Members that serve other streams are no replicas.
func TestReplicas(t *testing.T) {
	r := newRegistry()
	startAt(t, r, listen(t), "", saying("other"), "buffer/")
	startAt(t, r, listen(t), "", saying("same"), "poll/", "feed/")
	n := startAt(t, r, listen(t), "", saying("n"), "poll/")
	if got := n.Replicas(); got != 2 {
		t.Errorf("%d replicas, want 2", got)
	}
}

// Commands of a level are read by all once no member of an earlier release is alive.
func TestLevels(t *testing.T) {
	r := newRegistry()
	n := startAt(t, r, listen(t), "", saying("n"), "poll/")
	startAt(t, r, listen(t), "", saying("same"), "poll/")
	for _, step := range []struct {
		change func() error
		read   bool
	}{
		{func() error { return nil }, true},
		{func() error { return r.WriteHeartbeat(t.Context(), peer.Member{ID: "old", Heartbeat: 1}) }, false},
		{func() error { return r.Leave(t.Context(), "old") }, true},
	} {
		if err := errors.Join(step.change(), n.Join(t.Context())); err != nil {
			t.Fatal(err)
		}
		if got := n.Read(stream.CurrentLevel); got != step.read || !n.Read(0) || n.Read(stream.CurrentLevel+1) {
			t.Errorf("read: %v, want %v; level 0: %v, a later one: %v", got, step.read, n.Read(0), n.Read(stream.CurrentLevel+1))
		}
	}
}
