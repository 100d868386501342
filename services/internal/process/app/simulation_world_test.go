package app

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
	"github.com/acclaim-dev/acclaim/services/internal/testing/simnet"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
)

// simulatedWorld is one run: processes, what they stand on, and their clients.
type simulatedWorld struct {
	t        *testing.T
	rng      *rand.Rand // of the faults
	registry string
	logger   *slog.Logger
	network  *simnet.Network
	clients  *simulatedClients
	receiver *simulatedReceiver // nil where the extension has no sinks
	ended    sync.WaitGroup     // processes that close

	// One of these is the store of the processes.
	database *mongotest.ReplicaSet
	members  []*simnet.Host // of the database
	disk     *vfs.MemFS
	full     atomic.Bool // the disk

	// lateReads is set while a read may miss what was acknowledged before it.
	lateReads bool
	// openUntil bounds the transactions that processes which have ended may have left open.
	openUntil time.Time

	mu    sync.Mutex
	slots []*simulatedProcess
	boots int
}

// simulatedProcess is one life of a process.
type simulatedProcess struct {
	host   *simnet.Host
	ip     string
	clock  *offsetClock
	ctx    context.Context // until it has ended
	cancel context.CancelFunc
	opened chan struct{} // closed when process is set, or nil for good
	sinks  *http.Transport
	*Process
}

// offsetClock is the clock of a machine, which is off by some time and steps.
type offsetClock struct {
	mu     sync.Mutex
	offset time.Duration
}

// Now implements [stream.Clock].
func (c *offsetClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

// Sleep implements [stream.Clock].
func (*offsetClock) Sleep(ctx context.Context, d time.Duration) error {
	return stream.SystemClock().Sleep(ctx, d)
}

func (c *offsetClock) set(offset time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = offset
}

const (
	simulatedProcesses = 3
	simulatedFaults    = 4
	// embeddedShare is the share of worlds with the embedded store: one of so many.
	embeddedShare = 4
	// lateShare is the share of those whose database ignores linearizable reads. That a
	// command counts once rests on no read, and this shows it.
	lateShare = 8
	// askedShare is the share of those whose database has no change stream, so that processes ask
	// one another.
	askedShare = 5
)

// usualAcknowledge is the time until a primary knows what a member has.
const usualAcknowledge = 2 * time.Millisecond

// usualLinks are those of one data center.
func usualLinks() simnet.LinkFaults { return simnet.LinkFaults{Delay: 2 * time.Millisecond} }

func newSimulatedWorld(t *testing.T, seed uint64, registry string, logger *slog.Logger) *simulatedWorld {
	w := &simulatedWorld{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), registry: registry, logger: logger,
		network: simnet.New(rand.New(rand.NewPCG(seed, 2)), usualLinks()),
	}
	size := simulatedProcesses
	if seed%embeddedShare == embeddedShare-1 {
		w.disk, size = vfs.NewCrashableMem(), 1
	} else {
		w.startDatabase(seed)
	}
	for i := range size {
		w.slots = append(w.slots, w.boot(i, w.drawOffset()))
	}
	w.clients = newSimulatedClients(w, seed)
	return w
}

func (w *simulatedWorld) startDatabase(seed uint64) {
	for i := range 3 {
		w.members = append(w.members, w.network.Host(fmt.Sprint("10.0.0.", i+1)))
	}
	timing := mongotest.ReplicaTiming{
		Heartbeat: 500 * time.Millisecond, ElectionTimeout: 2 * time.Second, OneWay: 5 * time.Millisecond, Acknowledge: usualAcknowledge, Seed: seed,
	}
	if w.lateReads = seed%lateShare == 1; w.lateReads {
		timing.Precision = -1 // a time-out of the server is answered before the driver's
	}
	w.database = mongotest.StartReplicaSetOn(w.t, len(w.members), timing, func(ctx context.Context, member int) (net.Listener, error) {
		return w.members[member].Listen(ctx, "tcp", "127.0.0.1:0")
	})
	if w.lateReads {
		w.database.IgnoreLinearizable()
	}
	if seed%askedShare == 1 {
		w.database.RefuseChangeStreams()
	}
}

// drawStep draws where the clock of a process is set to while it runs: one in three times far
// from the others.
func (w *simulatedWorld) drawStep() time.Duration {
	if w.rng.IntN(3) == 0 {
		return time.Duration(w.rng.IntN(345)-45) * time.Second
	}
	return w.drawOffset()
}

func (w *simulatedWorld) drawOffset() time.Duration {
	return time.Duration(w.rng.Int64N(int64(time.Second))) - time.Second/2
}

// boot starts a process in a slot, which serves when it can.
func (w *simulatedWorld) boot(slot int, offset time.Duration) *simulatedProcess {
	w.boots++
	ip := fmt.Sprintf("10.1.%d.%d", w.boots, slot+1)
	p := &simulatedProcess{ip: ip, host: w.network.Host(ip), clock: &offsetClock{offset: offset}, opened: make(chan struct{})}
	p.sinks = &http.Transport{DialContext: dialFrom(p.host)}
	config := Config{
		Listen: ip + ":80", AdminListen: ip + ":81", PeerListen: ip + ":82", GameListen: ip + ":83",
		Extensions: w.registry, ShutdownTimeout: 20 * time.Second, Services: Services(),
		Mounts: []Mount{DefaultMount(tenant.Production)}, Logger: w.logger.With("process", ip),
		Machine:          Machine{Listen: p.host.Listen, Dial: p.host.Dial, Transport: p.sinks, Clock: p.clock},
		SinkAllowPrivate: true,
	}
	if w.database != nil {
		config.Store.MongoDBURI = w.database.URI()
	} else {
		config.Store.DataDir, config.Machine.Disk = "/data", &fillingDisk{w.disk, &w.full}
	}
	p.ctx, p.cancel = context.WithCancel(w.t.Context())
	w.ended.Go(func() {
		defer close(p.opened)
		process, err := Open(p.ctx, config)
		if err != nil {
			if p.ctx.Err() == nil {
				w.t.Errorf("a process does not start: %v", err)
			}
			return
		}
		p.Process = process
		w.ended.Go(func() { process.services.sinks.Run(p.ctx) })
	})
	return p
}

// kill ends a process as kill -9 does, or as the end of its machine does: from now on
// nothing that it does has an effect.
func (w *simulatedWorld) kill(slot int, vanish bool) *simulatedProcess {
	p := w.process(slot)
	w.openUntil = time.Now().Add(mongotest.TransactionLifetime)
	if vanish {
		p.host.Vanish()
	} else {
		p.host.Kill()
	}
	p.cancel()
	w.ended.Go(func() {
		if <-p.opened; p.Process != nil {
			_ = p.Close(context.Background()) // of no consequence
		}
		p.sinks.CloseIdleConnections()
	})
	return p
}

// replace starts another process and lets the one in its slot drain: before, where only
// one may have the store.
func (w *simulatedWorld) replace(slot int) {
	old := w.process(slot)
	w.openUntil = time.Now().Add(mongotest.TransactionLifetime)
	if w.disk != nil {
		w.drain(old)
		w.put(slot, w.boot(slot, w.drawOffset()))
		return
	}
	w.put(slot, w.boot(slot, w.drawOffset()))
	w.ended.Go(func() { w.drain(old) })
}

func (w *simulatedWorld) drain(p *simulatedProcess) {
	if <-p.opened; p.Process != nil {
		_ = p.Close(context.Background()) // what it left undone has no answer, and is checked
	}
	p.sinks.CloseIdleConnections()
	p.cancel()
}

func (w *simulatedWorld) process(slot int) *simulatedProcess {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.slots[slot]
}

func (w *simulatedWorld) put(slot int, p *simulatedProcess) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slots[slot] = p
}

// run runs the clients while faults happen and until all is well again, and checks.
func (w *simulatedWorld) run() {
	for i := range w.slots {
		<-w.process(i).opened
	}
	if w.receiver != nil {
		w.receiver.awaitSinks()
	}
	w.clients.start()
	for range simulatedFaults {
		w.pause(2 * time.Second)
		w.disturb()
	}
	w.note("all faults are healed")
	w.wait(recoveryBound)
	w.clients.stop()
	if w.database != nil {
		w.wait(time.Until(w.openUntil))
	}
	w.lateReads = false // all is committed
	w.checkRecovered()
	w.clients.check()
	if w.receiver != nil {
		w.receiver.check()
	}
	w.checkStored()
	w.clients.close()
	for i := range w.slots {
		p := w.process(i)
		if err := p.Close(w.t.Context()); err != nil {
			w.t.Errorf("close: %v", err)
		}
		p.cancel()
		p.sinks.CloseIdleConnections()
	}
	w.ended.Wait()
	w.wait(2 * time.Minute) // a connection that was opened while its process ended is idle until then
}

func (w *simulatedWorld) note(what string, with ...any) { w.logger.Info("SIMULATION "+what, with...) }

func (w *simulatedWorld) pause(most time.Duration) {
	w.wait(time.Duration(w.rng.Int64N(int64(most))))
}

// wait lets time of the bubble pass.
func (w *simulatedWorld) wait(d time.Duration) {
	_ = stream.SystemClock().Sleep(w.t.Context(), d) // the test goes on after its last moment
}

// checkRecovered checks that every process is ready, that all operations succeed at once,
// and that each poll has one owner.
func (w *simulatedWorld) checkRecovered() {
	for i := range w.slots {
		if status, _, err := w.clients.exchange(i, ":81", http.MethodGet, "/readyz", "", "", nil); status != http.StatusOK {
			w.t.Errorf("process %d is not ready %v after the last fault: status %d, %v", i, recoveryBound, status, err)
		}
	}
	w.clients.checkCalm()
	if w.database != nil {
		w.checkOwners()
	}
}

// checkOwners checks that all processes agree on the owner of each poll.
func (w *simulatedWorld) checkOwners() {
	store := w.process(0).services.store
	for name, err := range store.Streams(w.t.Context(), "") {
		if err != nil {
			w.t.Fatal(err)
		}
		kind, _, _ := strings.Cut(name, "/")
		owners, itself := map[string]bool{}, 0
		for i := range w.slots {
			backend, ok := w.process(i).services.store.(*databaseBackend)
			if !ok {
				w.t.Fatal("no database")
			}
			peers := backend.node.Peers(kind)
			if owner := peers.Owner(name); owner != nil {
				owners[owner.ID()] = true
				continue
			}
			itself++
			if n := peers.Contenders(name); n > 0 {
				w.t.Errorf("process %d, the owner of %s, counts %d contenders", i, name, n)
			}
		}
		if itself != 1 || len(owners) != 1 {
			w.t.Errorf("%s: %d processes own it, and the others know %d owners", name, itself, len(owners))
		}
	}
}

// checkStored verifies everything stored, in a process that has nothing in memory.
func (w *simulatedWorld) checkStored() {
	p := w.process(0)
	found, err := admin.Verify(w.t.Context(), p.services.store, Domains(p.services.store), func(int) {}, "")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, problem := range found.Problems {
		w.t.Errorf("verify: %+v", problem)
	}
}
