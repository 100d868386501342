package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// machine is a file system that runs out of space and of descriptors.
type machine struct {
	vfs.FS
	full     atomic.Bool            // writing fails
	broken   atomic.Bool            // writing fails, for another reason
	only     atomic.Pointer[string] // but for files with another name than this
	pretend  atomic.Bool            // that there is room when it is full
	free     atomic.Uint64          // bytes
	rejected atomic.Int64           // writes
	opened   atomic.Int64           // files
	limit    atomic.Int64           // of them, 0 for none
	asked    atomic.Int64           // how often for its free bytes
}

func newMachine() *machine {
	m := &machine{FS: vfs.NewMem()}
	m.free.Store(1 << 30)
	return m
}

func (m *machine) GetDiskUsage(string) (vfs.DiskUsage, error) {
	m.asked.Add(1)
	if m.full.Load() && !m.pretend.Load() {
		return vfs.DiskUsage{}, nil
	}
	return vfs.DiskUsage{AvailBytes: m.free.Load()}, nil
}

func (m *machine) open(name string, open func() (vfs.File, error)) (vfs.File, error) {
	if limit := m.limit.Load(); limit > 0 && m.opened.Load() >= limit {
		return nil, syscall.EMFILE
	}
	file, err := open()
	if err != nil {
		return nil, err
	}
	m.opened.Add(1)
	return &machineFile{File: file, name: name, machine: m}, nil
}

func (m *machine) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return m.open(name, func() (vfs.File, error) { return m.FS.Create(name, c) })
}

func (m *machine) Open(name string, options ...vfs.OpenOption) (vfs.File, error) {
	return m.open(name, func() (vfs.File, error) { return m.FS.Open(name, options...) })
}

func (m *machine) OpenDir(name string) (vfs.File, error) {
	return m.open(name, func() (vfs.File, error) { return m.FS.OpenDir(name) })
}

type machineFile struct {
	vfs.File
	name    string
	machine *machine
}

func (f *machineFile) Write(content []byte) (int, error) {
	only := f.machine.only.Load()
	if only == nil || strings.Contains(f.name, *only) {
		if f.machine.broken.Load() {
			return 0, syscall.EIO
		}
		if f.machine.full.Load() {
			f.machine.rejected.Add(1)
			return 0, syscall.ENOSPC
		}
	}
	return f.File.Write(content)
}

func (f *machineFile) Close() error {
	f.machine.opened.Add(-1)
	return f.File.Close()
}

func newMachineHarness(t *testing.T) (*harness, *machine) {
	t.Helper()
	m := newMachine()
	c := memoryConfig(m)
	c.disk = 1 << 20
	h := &harness{Store: mustOpen(t, "/data", c), config: c}
	t.Cleanup(func() { mustClose(t, h.Store) })
	return h, m
}

func wantStorage(t *testing.T, err error, reason string) {
	t.Helper()
	if fault.KindOf(err) != fault.Storage || !strings.Contains(err.Error(), reason) {
		t.Errorf("error is %v, want one of kind Storage with %q", err, reason)
	}
}

// TestMeasurementsOfTheReserve: writes share them.
func TestMeasurementsOfTheReserve(t *testing.T) {
	m := newMachine()
	c := memoryConfig(m)
	c.measure = time.Hour
	s := mustOpen(t, "/data", c)
	defer mustClose(t, s)
	before := m.asked.Load() // Pebble asks, too
	appendChunks(t, s, "s", 1, 100)
	if s.Low() {
		t.Error("the disk is low")
	}
	if asked := m.asked.Load() - before; asked > 1 {
		t.Errorf("100 writes asked %d times for the room on the disk, want once", asked)
	}
}

// TestFullDisk: with less space than the reserve the store refuses every write,
// reads on, and writes again when there is more.
func TestFullDisk(t *testing.T) {
	h, m := newMachineHarness(t)
	appendChunks(t, h.Store, "s", 1, 3)
	if h.Low() {
		t.Error("with space for a thousand times the reserve the disk is low")
	}
	m.free.Store(3 << 19) // the reserve and a half
	appendChunks(t, h.Store, "low", 1, 1)
	if !h.Low() {
		t.Error("the disk is not low")
	}
	m.free.Store(1000)
	for _, err := range []error{
		h.Append(t.Context(), newChunk("s", 4)),
		h.Put(t.Context(), newWrite("d", 1)),
		h.SaveSnapshot(t.Context(), "s", stream.Snapshot{State: []byte("state")}),
	} {
		wantStorage(t, err, "the disk is full, nothing was stored")
	}
	wantStorage(t, h.WriteErr(), "the disk is full, nothing was stored")
	if err := h.Err(); err != nil {
		t.Errorf("a store that can be read has failed: %v", err)
	}
	wantStream(t, h.Store, "s", 3)
	h.Reopen(t)
	wantStream(t, h.Store, "s", 3)
	m.free.Store(1 << 30)
	if err := h.WriteErr(); err != nil {
		t.Errorf("with space again: %v", err)
	}
	appendChunks(t, h.Store, "s", 4, 5)
	wantStream(t, h.Store, "s", 5)
	wantDocument(t, h.Store, "d", 0)
}

// TestDiskFillsUp takes the last space while writers write, again and again. Each
// write waits, or is refused and not stored, and the store works again by itself.
func TestDiskFillsUp(t *testing.T) {
	h, m := newMachineHarness(t)
	var seqs [4]uint64
	for round := range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		var writers sync.WaitGroup
		var total, refused atomic.Int64
		for i := range seqs {
			writers.Go(func() {
				for ctx.Err() == nil {
					err := h.Append(t.Context(), newChunk(fmt.Sprint("stream-", i), seqs[i]+1))
					switch {
					case err == nil:
						seqs[i]++
						total.Add(1)
					case fault.KindOf(err) == fault.Storage:
						refused.Add(1)
					default:
						t.Errorf("append: %v", err)
						return
					}
				}
			})
		}
		wait := func(counter func() int64, more int64) {
			for target := counter() + more; counter() < target && !t.Failed(); {
				runtime.Gosched()
			}
		}
		wait(total.Load, 50)
		m.pretend.Store(round%2 > 0)
		m.full.Store(true)
		wait(func() int64 { return refused.Load() + m.rejected.Load() }, 2) // refused, or waiting
		if h.WriteErr() == nil {
			t.Error("a store on a full disk accepts writes")
		}
		wantDocument(t, h.Store, "d", 0) // reads go on
		m.full.Store(false)
		wait(total.Load, 50)
		cancel()
		writers.Wait()
	}
	h.Reopen(t)
	for i, seq := range seqs {
		wantStream(t, h.Store, fmt.Sprint("stream-", i), seq)
	}
}

// TestWriteUnderWayIsUncertain: a caller that stops waiting while its write waits
// for the disk learns that the outcome is unknown, and later what it is.
func TestWriteUnderWayIsUncertain(t *testing.T) {
	h, m := newMachineHarness(t)
	m.pretend.Store(true) // the store does not refuse the write
	m.full.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	writing.Go(func() {
		if err := h.Append(ctx, newChunk("s", 1)); fault.KindOf(err) != fault.Uncertain {
			t.Errorf("append: %v, want one of kind Uncertain", err)
		}
	})
	for m.rejected.Load() == 0 {
		runtime.Gosched()
	}
	cancel()
	writing.Wait()
	m.full.Store(false)
	if err := h.Append(t.Context(), newChunk("s", 1)); !errors.Is(err, stream.ErrConflict) {
		t.Errorf("the same chunk again: %v, want ErrConflict", err)
	}
	wantStream(t, h.Store, "s", 1)
}

// TestLogCannotBeWritten: the program ends with status 1.
func TestLogCannotBeWritten(t *testing.T) {
	m, exits := newMachine(), make(chan int, 1)
	c := memoryConfig(m)
	c.exit = func(status int) { exits <- status }
	s := mustOpen(t, "/data", c)
	appendChunks(t, s, "s", 1, 3)
	m.broken.Store(true)
	go func() { _ = s.Append(context.WithoutCancel(t.Context()), newChunk("s", 4)) }()
	if status := <-exits; status != 1 {
		t.Errorf("the program ended with %d", status)
	}
}

// TestTooManyOpenFiles leaves no descriptor: the store refuses writes, reads, and
// writes again when there are more.
func TestTooManyOpenFiles(t *testing.T) {
	h, m := newMachineHarness(t)
	appendChunks(t, h.Store, "s", 1, 3)
	m.limit.Store(m.opened.Load())
	wantStorage(t, h.Append(t.Context(), newChunk("s", 4)), "too many open files, nothing was stored")
	wantStream(t, h.Store, "s", 3)
	m.limit.Store(0)
	appendChunks(t, h.Store, "s", 4, 200)
	h.Reopen(t)
	wantStream(t, h.Store, "s", 200)
}

// TestFatalInBackground: when Pebble's own goroutine cannot go on the program ends
// with status 1 and says what to do.
func TestFatalInBackground(t *testing.T) {
	m, log, exits := newMachine(), &lines{}, make(chan int, 1)
	c := memoryConfig(m)
	c.log = slog.New(slog.NewTextHandler(log, nil))
	c.exit = func(status int) {
		select {
		case exits <- status:
		default:
		}
	}
	s := mustOpen(t, "/data", c)
	appendChunks(t, s, "s", 1, 3)
	manifest := "MANIFEST"
	m.only.Store(&manifest)
	m.broken.Store(true)
	if _, err := s.db.AsyncFlush(); err != nil {
		t.Fatal(err)
	}
	if status := <-exits; status != 1 {
		t.Errorf("the program ended with %d", status)
	}
	if !strings.Contains(log.String(), "check the disk, then start the program again") {
		t.Errorf("the log does not say what to do:\n%s", log)
	}
}

// lines collects the log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestPanicInReadIsDamage: it fails that read only.
func TestPanicInReadIsDamage(t *testing.T) {
	h := newHarness(t, defaultConfig())
	err := h.view(func(*pebble.DB) error { panic("a page that makes no sense") })
	if !errors.Is(err, stream.ErrDamaged) {
		t.Errorf("error is %v, want ErrDamaged", err)
	}
	appendChunks(t, h.Store, "s", 1, 1)
}
