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
	acknowledged map[string]int64 // values by voter
	inDoubt      map[string]int64 // votes that were not acknowledged
	failures     []string
}

// start starts a load on a poll of its own.
func (w *world) start(ctx context.Context, poll string) *load {
	l := &load{poll: poll, acknowledged: map[string]int64{}, inDoubt: map[string]int64{}}
	ctx, l.stop = context.WithCancel(ctx)
	for worker := range workers {
		l.every(ctx, func(n int) { l.vote(w, fmt.Sprintf("U%d-%d", worker, n), int64(n%3)) })
	}
	reads := []string{"/accumulate?id=clicks", "/rank?id=word", "/channel_state", "/vote_config?id=colour"}
	l.every(ctx, func(n int) {
		path := reads[n%len(reads)]
		got, err := w.backend().send(context.WithoutCancel(ctx), http.MethodGet, path, nil)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.judge("GET "+path, got, err)
	})
	return l
}

// every does something again and again until the load is stopped. What has begun
// is finished.
func (l *load) every(ctx context.Context, do func(n int)) {
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
	if l.judge("POST /vote", got, err) {
		l.acknowledged[voter] = value
	} else {
		l.inDoubt[voter] = value
	}
}

// judge says whether a request succeeded and remembers it if not.
func (l *load) judge(request string, got answer, err error) bool {
	l.requests++
	if err == nil && got.status == http.StatusOK {
		return true
	}
	l.failures = append(l.failures, fmt.Sprintf("%s %s: %d %s %v", time.Now().UTC().Format("15:04:05.000"), request, got.status, got.body, err))
	return false
}

// failed returns the failures so far.
func (l *load) failed() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string{}, l.failures...)
}

// counted waits until so many more votes are acknowledged.
func (l *load) counted(ctx context.Context, more int) {
	votes := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.acknowledged)
	}
	Eventually(ctx, votes).Should(BeNumerically(">=", votes()+more))
}

// finish stops the load and proves its votes: each that was acknowledged is in
// the log exactly once, nothing is there that nobody sent, and statistics are the
// fold of the log.
func (l *load) finish(ctx context.Context, w *world, during string) {
	l.stop()
	l.done.Wait()
	w.report.add("failed requests, "+during, fmt.Sprintf("%d of %d", len(l.failures), l.requests))
	for i, failure := range l.failures {
		if i == 10 || i == len(l.failures)-1 {
			AddReportEntry("the last failure", l.failures[len(l.failures)-1])
			break
		}
		AddReportEntry("failure", failure)
	}
	log, err := w.backend().log(ctx, l.poll)
	Expect(err).NotTo(HaveOccurred())
	fold := statistics{Specific: make([]int64, 3)}
	stored := map[string]int64{}
	for _, r := range log {
		Expect(stored).NotTo(HaveKey(r.Opaque), "this vote is in the log twice")
		stored[r.Opaque] = r.Value
		fold.Count++
		fold.Sum += r.Value
		fold.Specific[r.Value]++
	}
	for voter, value := range l.acknowledged {
		Expect(stored).To(HaveKeyWithValue(voter, value), "this vote was acknowledged")
		delete(stored, voter)
	}
	for voter, value := range stored {
		Expect(l.inDoubt).To(HaveKeyWithValue(voter, value), "nobody sent this vote")
	}
	var s statistics
	Expect(w.backend().get(ctx, "/vote?id="+l.poll, &s)).To(Succeed())
	Expect(s).To(And(HaveField("Count", fold.Count), HaveField("Sum", fold.Sum)))
	Expect(s.Specific[:3]).To(Equal(fold.Specific))
}
