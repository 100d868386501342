package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// How much a load asks for: so many workers, each so often.
const (
	workers  = 5
	interval = 100 * time.Millisecond
)

// load is viewers who vote once each, through the ingress, and clients that read
// from every other service, until it is stopped.
type load struct {
	poll string
	stop context.CancelFunc
	done sync.WaitGroup

	mu           sync.Mutex
	requests     int
	votes        map[string]vote // by voter
	acknowledged int
	last         time.Time     // a vote was acknowledged
	pause        time.Duration // the longest between two of them
	failures     failures
}

// vote is one that was sent. What was not acknowledged may or may not count.
type vote struct {
	value        int64
	acknowledged bool
}

// start starts a load on a poll of its own.
func (w *world) start(ctx context.Context, poll string) *load {
	l := &load{poll: poll, votes: map[string]vote{}, last: time.Now()}
	ctx, l.stop = context.WithCancel(ctx)
	l.viewers(ctx, w, "U", workers, interval)
	reads := []string{"/accumulate?id=clicks", "/rank?id=word", "/channel_state", "/vote_config?id=colour"}
	l.every(ctx, interval, func(n int) {
		path := reads[n%len(reads)]
		got, err := w.backend().send(context.WithoutCancel(ctx), http.MethodGet, path, nil)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.judge("GET "+path, got, err)
	})
	return l
}

// viewers adds viewers, whose names begin with a prefix, until the context ends.
func (l *load) viewers(ctx context.Context, w *world, prefix string, workers int, interval time.Duration) {
	for worker := range workers {
		l.every(ctx, interval, func(n int) { l.vote(w, fmt.Sprintf("%s%d-%d", prefix, worker, n), int64(n%3)) })
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

func (l *load) vote(w *world, voter string, value int64) {
	got, err := w.viewer(voter).send(context.Background(), http.MethodPost, "/vote?id="+l.poll, object{"value": value})
	l.mu.Lock()
	defer l.mu.Unlock()
	acknowledged := l.judge("POST /vote", got, err)
	l.votes[voter] = vote{value, acknowledged}
	if acknowledged {
		l.acknowledged++
		l.pause, l.last = max(l.pause, time.Since(l.last)), time.Now()
	}
}

// judge reports whether a request succeeded and remembers it if not.
func (l *load) judge(request string, got answer, err error) bool {
	l.requests++
	if err == nil && got.status == http.StatusOK {
		return true
	}
	l.failures.add(fmt.Sprintf("%s: %d %s %v", request, got.status, got.body, err), time.Now())
	return false
}

// failed returns a line for each kind of failure so far.
func (l *load) failed() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failures.lines()
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
	w.report.add("failed requests, "+during, fmt.Sprintf("%d of %d, votes paused for %s at most",
		l.failures.count(), l.requests, l.pause.Round(time.Millisecond)))
	for _, line := range l.failures.lines() {
		AddReportEntry("failure", line)
	}
	// The machine may be too slow for the database at this moment; a read may be repeated.
	var log []record
	Eventually(ctx, func() (err error) { log, err = w.backend().log(ctx, l.poll); return err }).Should(Succeed())
	Expect(l.contradictions(log)).To(BeEmpty())
	fold := statistics{Specific: make([]int64, 3)}
	for _, r := range log {
		fold.Count++
		fold.Sum += r.Value
		fold.Specific[r.Value]++
	}
	var s statistics
	Eventually(ctx, func() error { return w.backend().get(ctx, "/vote?id="+l.poll, &s) }).Should(Succeed())
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
