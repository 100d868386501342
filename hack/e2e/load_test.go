package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/acclaim-dev/acclaim/hack/processor"
)

// How much a load asks for: so many workers, each so often.
const (
	workers  = 5
	interval = 100 * time.Millisecond
)

// load is viewers who vote once each, at one entrance after the other, and clients that
// read, until it is stopped.
type load struct {
	poll      string
	entrances []entrance
	stop      context.CancelFunc
	done      sync.WaitGroup

	mu           sync.Mutex
	requests     int
	votes        map[string]vote // by voter
	acknowledged int
	last         time.Time     // a vote was acknowledged
	pause        time.Duration // the longest between two of them
	failures     failures
	// unclear are the failures while the host took processors away: they say nothing
	// about the program, as long as they are few.
	unclear    failures
	processors func() processor.Time
	clock      []moment // each second
	outcome    *outcome // once it has finished
}

// moment is one at which a load looks at the time that the host takes away.
type moment struct {
	at         time.Time
	processors processor.Time
}

// aftermath is the time before a request in which stolen processors still delay it:
// database, kubelet and ingress catch up first.
const aftermath = 10 * time.Second

// vote is one that was sent. What was not acknowledged may or may not count.
type vote struct {
	value        int64
	acknowledged bool
}

// start starts a load on a poll of its own, through the ingress to production. It reads
// from every other service.
func (w *world) start(ctx context.Context, poll string) *load {
	return startLoad(ctx, poll, []string{"/accumulate?id=clicks", "/rank?id=word", "/channel_state", "/vote_config?id=colour"}, w.front())
}

// startLoad starts a load on a poll of its own that reads paths besides.
func startLoad(ctx context.Context, poll string, reads []string, entrances ...entrance) *load {
	l := &load{poll: poll, entrances: entrances, votes: map[string]vote{}, last: time.Now(), processors: processor.ReadTime}
	ctx, l.stop = context.WithCancel(ctx)
	l.tick()
	l.every(ctx, time.Second, func(int) { l.tick() })
	l.viewers(ctx, "U", workers, interval)
	l.every(ctx, interval, func(n int) {
		path, began := reads[n%len(reads)], time.Now()
		got, err := l.entrance(n).backend().send(context.WithoutCancel(ctx), http.MethodGet, path, nil)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.judge("GET "+path, began, got, err)
	})
	return l
}

// entrance returns that of a worker's request.
func (l *load) entrance(n int) entrance { return l.entrances[n%len(l.entrances)] }

// viewers adds viewers, whose names begin with a prefix, until the context ends.
func (l *load) viewers(ctx context.Context, prefix string, workers int, interval time.Duration) {
	for worker := range workers {
		l.every(ctx, interval, func(n int) {
			l.vote(l.entrance(worker+n), fmt.Sprintf("%s%d-%d", prefix, worker, n), int64(n%3))
		})
	}
}

// every does something again and again until the context ends. What has begun is
// finished.
func (l *load) every(ctx context.Context, interval time.Duration, do func(n int)) {
	l.done.Go(func() {
		defer GinkgoRecover()
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				do(n)
			}
		}
	})
}

func (l *load) vote(at entrance, voter string, value int64) {
	began := time.Now()
	got, err := at.viewer(voter).send(context.Background(), http.MethodPost, "/vote?id="+l.poll, object{"value": value})
	l.mu.Lock()
	defer l.mu.Unlock()
	acknowledged := l.judge("POST /vote", began, got, err)
	l.votes[voter] = vote{value, acknowledged}
	if acknowledged {
		l.acknowledged++
		l.pause, l.last = max(l.pause, time.Since(l.last)), time.Now()
	}
}

// tick notes the processors' time.
func (l *load) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock = append(l.clock, moment{time.Now(), l.processors()})
}

// judge reports whether a request succeeded and remembers it if not.
func (l *load) judge(request string, began time.Time, got answer, err error) bool {
	l.requests++
	if err == nil && got.status == http.StatusOK {
		return true
	}
	kind := &l.failures
	if l.stolen(began) > processor.MuchStolen {
		kind = &l.unclear
	}
	kind.add(fmt.Sprintf("%s: %d %s %v", request, got.status, got.body, err), time.Now())
	return false
}

// stolen returns the share of the processors' time that the host has taken away since
// a request began and in the aftermath before it.
func (l *load) stolen(began time.Time) float64 {
	since := l.clock[0]
	for _, m := range l.clock {
		if m.at.Before(began.Add(-aftermath)) {
			since = m
		}
	}
	return l.processors().StolenShare(since.processors)
}

// expectNoFailure fails for each kind of failure. Those while the host took processors
// away may be a tenth of the requests: a program that answers nothing fails.
func (l *load) expectNoFailure() {
	GinkgoHelper()
	l.outcome.Planned = true
	Expect(l.failures.lines()).To(BeEmpty())
	Expect(l.unclear.count()).To(BeNumerically("<=", l.requests/10), "too many requests failed, even for a host that takes processors away")
}

// expectNoneSoFar fails for each kind of failure until now.
func (l *load) expectNoneSoFar() {
	GinkgoHelper()
	l.mu.Lock()
	defer l.mu.Unlock()
	Expect(l.failures.lines()).To(BeEmpty())
}

// counted waits until so many more votes are acknowledged.
func (l *load) counted(ctx context.Context, more int) {
	votes := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.acknowledged
	}
	Eventually(ctx, votes).Should(BeNumerically(">=", votes()+more))
}

// finish stops the load and proves its votes: each that was acknowledged is in
// the log exactly once, it has no vote that was not sent, and statistics are the
// fold of the log.
func (l *load) finish(ctx context.Context, w *world, during string) {
	l.stop()
	l.done.Wait()
	l.outcome = &outcome{Requests: l.requests, Failures: l.failures.count(), Unclear: l.unclear.count()}
	w.report.Loads = append(w.report.Loads, l.outcome)
	w.report.add("failed requests, "+during, fmt.Sprintf("%d of %d, votes paused for %s at most",
		l.failures.count(), l.requests, l.pause.Round(time.Millisecond)))
	for _, line := range l.failures.lines() {
		AddReportEntry("failure", line)
	}
	for _, line := range l.unclear.lines() {
		w.report.leave(during, line)
	}
	// The machine may be too slow for the database at this moment; a read may be repeated.
	var log []record
	reader := l.entrances[0]
	Eventually(ctx, func() (err error) { log, err = reader.backend().log(ctx, l.poll); return err }).Should(Succeed())
	Expect(l.contradictions(log)).To(BeEmpty())
	fold := statistics{Specific: make([]int64, 3)}
	for _, r := range log {
		fold.Count++
		fold.Sum += r.Value
		fold.Specific[r.Value]++
	}
	var s statistics
	Eventually(ctx, func() error { return reader.backend().get(ctx, "/vote?id="+l.poll, &s) }).Should(Succeed())
	Expect(s).To(And(HaveField("Count", fold.Count), HaveField("Sum", fold.Sum)))
	Expect(s.Specific[:3]).To(Equal(fold.Specific))
}

// contradictions returns the differences between a log and the expected one.
func (l *load) contradictions(log []record) []string {
	var found []string
	stored := map[string]bool{}
	for _, r := range log {
		if stored[r.Opaque] {
			found = append(found, r.Opaque+" is in the log twice")
		}
		stored[r.Opaque] = true
		if sent, known := l.votes[r.Opaque]; !known || sent.value != r.Value {
			found = append(found, fmt.Sprintf("%s did not vote %d", r.Opaque, r.Value))
		}
	}
	for voter, sent := range l.votes {
		if sent.acknowledged && !stored[voter] {
			found = append(found, voter+" is not in the log, and was acknowledged")
		}
	}
	return found
}
