// Package publish reports the lists of polls whose votes can be checked to the log of results, signs
// the log, and makes the files and receipts that viewers check. Each process reports the polls that it
// has changed; several may report and sign the same, as the rules of the log and of signing make equal
// bytes of equal logs.
//
// It may not know HTTP, nor what a vote is allowed to be. It signs only what was read back from the
// store as durable. A [Mark] beside the key says what was signed last: where the log lacks that, the
// store is a copy or was rolled back, and a new log begins, under a new origin.
//
// The invariant of signing: a mark is replaced only by the checkpoint of a log that continues it, and a
// checkpoint is shown only once it is in the mark. So all that is shown of one origin is one history,
// whatever happens to the store, and whichever process signs, as long as the mark is not set back.
package publish

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/semaphore"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/feed/cosign"
	"github.com/acclaim-dev/acclaim/services/resultlog"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// Mark keeps the newest checkpoint outside of the store. It is safe for concurrent use by several processes.
type Mark interface {
	// Load returns what was stored last. While it fails, nothing new is signed.
	Load(ctx context.Context) (Marked, error)
	// Replace durably stores a checkpoint in place of what was loaded or stored before. The error is
	// [ErrMarkChanged] where something else is there meanwhile. While it fails, nothing new is signed.
	Replace(ctx context.Context, old Marked, checkpoint []byte) (Marked, error)
}

// Marked has the content of a [Mark] at one time.
type Marked struct {
	Checkpoint []byte // nil where there is none
	Version    string // of the content, which publishers only hand back
}

// ErrMarkChanged is the error for a mark that another process has replaced.
var ErrMarkChanged = errors.New("the mark of the log has changed meanwhile")

// Options configure a publisher.
type Options struct {
	Polls *voting.Service
	Log   *resultlog.Service
	// Key signs. Origin is the log's name before its random suffix.
	Key    ed25519.PrivateKey
	Origin string
	// EarlierKey signs beside Key after a rotation; nil for none.
	EarlierKey ed25519.PrivateKey
	Mark       Mark // nil: a log that was rolled back is not noticed
	// Witnesses cosign the log; nil for none.
	Witnesses *Witnessing
	Clock     stream.Clock
	Logger    *slog.Logger
}

const (
	// interval is the time between two rounds of reports.
	interval = time.Second
	// reportsPerRound bounds the leaves of a round: the log grows by no more, and a poll's result is
	// as old as the queue is long.
	reportsPerRound = 100
	// reportsAtOnce bounds the polls that are read at one time.
	reportsAtOnce = 8
	// maxQueued bounds the polls that wait. Those beyond it wait for the next look at all of them.
	maxQueued = 1 << 16
	// lookEvery is the time between two looks at all polls with unfinished lists: one may have
	// changed in a process that ended before it reported that.
	lookEvery = time.Minute
	// checkpointFor is the time for which a signed checkpoint is served without another look.
	checkpointFor = time.Second
	// closePatience limits the last reports of a process that ends.
	closePatience = 2 * time.Second
	// keptFiles and readsAtOnce bound the memory and the reads of the store for files.
	keptFiles, readsAtOnce = 1 << 10, 4
	// markTries bounds the looks at a mark that other processes replace.
	markTries = 4
)

// Publisher reports, signs and serves. Close ends it.
type Publisher struct {
	Options
	queue pollQueue
	ends  map[voting.Poll]time.Time // of polls that are open

	rounds sync.Mutex // orders the rounds
	mu     sync.Mutex // orders signing
	signed *signedLog
	marked *Marked // the mark as this publisher left it; nil where another process may have replaced it
	begun  string  // origin of the log that this publisher began last

	files *lru.Cache[fileKey, []byte]
	reads *semaphore.Weighted

	witnessed    atomic.Pointer[cosigned]
	contradicted atomic.Bool  // by a witness
	taken        atomic.Bool  // the mark is another log's
	unwitnessed  atomic.Int64 // rounds in which not all witnesses signed

	refused atomic.Int64 // reports that contradicted the log
	failed  atomic.Int64 // rounds, and requests that could not be signed for
	looked  time.Time    // at all unfinished lists
	again   atomic.Bool  // look at all of them at once

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// New starts a publisher, which o.Polls notifies of changed lists.
func New(o Options) *Publisher {
	p := newPublisher(o)
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.done.Go(func() { p.run(ctx) })
	if o.Witnesses != nil {
		p.done.Go(func() { p.cosign(ctx) })
	}
	return p
}

func newPublisher(o Options) *Publisher {
	files, err := lru.New[fileKey, []byte](keptFiles)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	p := &Publisher{Options: o, ends: map[voting.Poll]time.Time{}, files: files, reads: semaphore.NewWeighted(readsAtOnce), cancel: func() {}}
	o.Polls.ListVotes(p.queue.add)
	return p
}

// Close ends the rounds, reports what waits, and returns. What it could not report, other processes
// find, or this one when it starts again.
func (p *Publisher) Close(ctx context.Context) error {
	p.cancel()
	p.done.Wait()
	ctx, cancel := context.WithTimeout(ctx, closePatience)
	defer cancel()
	if err := p.Flush(ctx); err != nil {
		p.Logger.Warn("not all results were signed before the end", "error", err)
	}
	return nil
}

// Flush reports what waits now.
func (p *Publisher) Flush(ctx context.Context) error {
	for {
		if err := p.reportOnce(ctx); err != nil || p.queue.len() == 0 {
			return err
		}
	}
}

// Stats are figures of a publisher.
type Stats struct {
	Queued          int   // polls that wait for a report
	Refused, Failed int64 // reports that contradict the log, rounds that failed
	Size            int64 // of the log as it was signed last
	Witnessed       int64 // leaves that a quorum of witnesses signed
	Unwitnessed     int64 // rounds in which not all witnesses signed
	Taken           int   // 1 while the mark is that of another log
}

// Stats returns the present figures.
func (p *Publisher) Stats() Stats {
	s := Stats{Queued: p.queue.len(), Refused: p.refused.Load(), Failed: p.failed.Load(), Unwitnessed: p.unwitnessed.Load()}
	if w := p.witnessed.Load(); w != nil {
		s.Witnessed = w.tree.N
	}
	if p.taken.Load() {
		s.Taken = 1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.signed != nil {
		s.Size = p.signed.tree.N
	}
	return s
}

func (p *Publisher) run(ctx context.Context) {
	for p.Clock.Sleep(ctx, interval) == nil {
		if err := p.reportOnce(ctx); err != nil && ctx.Err() == nil {
			p.failed.Add(1)
			p.Logger.Warn("results were not signed; they are tried again", "error", err)
		}
	}
}

// checkOrigin returns an error unless a setting can be the beginning of an origin.
func checkOrigin(setting string) error { return verifiable.CheckOrigin(setting + "/00000000") }

// CheckSettings returns an error unless a publisher can sign with a key under an origin, and ask the
// witnesses of a policy, which may be nil.
func CheckSettings(key ed25519.PrivateKey, origin string, policy *verifiable.Policy) error {
	if len(key) != ed25519.PrivateKeySize {
		return fmt.Errorf("the key of the log is not one of Ed25519")
	}
	if policy != nil {
		for _, w := range policy.Witnesses() {
			if err := cosign.CheckAddress(&w); err != nil {
				return err
			}
		}
	}
	return checkOrigin(origin)
}

func newOrigin(setting string) string {
	var suffix [4]byte
	_, _ = rand.Read(suffix[:]) // it never fails
	return setting + "/" + hex.EncodeToString(suffix[:])
}

func (p *Publisher) isOurs(origin string) bool {
	rest, ok := strings.CutPrefix(origin, p.Origin+"/")
	return ok && len(rest) == 8
}

// pollQueue holds each poll that waits once, in the order in which they came.
type pollQueue struct {
	mu      sync.Mutex
	waiting map[voting.Poll]struct{}
	order   []voting.Poll
}

// add adds a poll unless it waits, or too many do.
func (q *pollQueue) add(p voting.Poll) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.waiting[p]; ok || len(q.order) >= maxQueued {
		return
	}
	if q.waiting == nil {
		q.waiting = map[voting.Poll]struct{}{}
	}
	q.waiting[p] = struct{}{}
	q.order = append(q.order, p)
}

func (q *pollQueue) take(n int) []voting.Poll {
	q.mu.Lock()
	defer q.mu.Unlock()
	n = min(n, len(q.order))
	taken := q.order[:n:n]
	if q.order = q.order[n:]; len(q.order) == 0 {
		q.order = nil
	}
	for _, p := range taken {
		delete(q.waiting, p)
	}
	return taken
}

func (q *pollQueue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.order)
}
