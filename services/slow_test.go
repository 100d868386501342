package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/testing/faultproxy"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

// While the database takes a second for each answer, more votes arrive than it can
// store. The program refuses votes that would wait too long before the database has
// answered at all, and stores the accepted ones within a few more answers. The log
// contains the acknowledged votes only.
func TestDatabaseSlow(t *testing.T) {
	t.Parallel()
	const votes, fewest = crowdSize * crowdEach, 500 // sent, and refused at least
	proxy, uri := mongotest.StartProxy(t, mongotest.Start(t))
	p := startProgram(t, t.TempDir(), "serve", "--mongodb-uri", mongotest.WithLongTimeouts(uri))
	viewer := sign(t, "viewer", "U")

	proxy.Inject(func(string) faultproxy.Action { return faultproxy.Action{Delay: time.Second + time.Second/2} })
	if f, why := send(p, http.MethodPost, "/vote", viewer, `{"value":1}`, nil); f != stored {
		t.Fatal(why)
	}
	release := make(chan struct{})
	var inserts atomic.Int64
	proxy.Inject(func(command string) faultproxy.Action {
		if command == "insert" {
			inserts.Add(1)
			<-release
		}
		return faultproxy.Action{}
	})

	c := gather(t, p, viewer)
	var all sync.WaitGroup
	shed := make(chan struct{}, votes)
	var accepted, refusals atomic.Int64
	for i := range votes {
		all.Go(func() {
			status, retry, err := c.vote(t.Context(), i)
			switch {
			case err == nil && status == http.StatusOK:
				accepted.Add(1)
			case err == nil && status == http.StatusServiceUnavailable && retry != "":
				refusals.Add(1)
				shed <- struct{}{}
			default:
				t.Errorf("status %d, retry after %q, %v", status, retry, err)
			}
		})
	}
	for range fewest {
		<-shed
	}
	const queued = `acclaim_stream_queued_commands{domain="voting"}`
	arrived := 0
	for arrived < votes { // one that comes after the release needs a further insert
		arrived = int(refusals.Load()) + metric(t, p, queued)
	}
	if n := accepted.Load(); n > 0 {
		t.Errorf("%d votes were acknowledged by a database that has not answered", n)
	}
	wantReady(t, p, http.StatusOK) // slow is not away
	before := inserts.Load()
	close(release)
	all.Wait()
	t.Logf("%d accepted, %d refused, %d inserts after the database went on", accepted.Load(), refusals.Load(), inserts.Load()-before)
	if n := inserts.Load() - before; n > 5 {
		t.Errorf("the last of those accepted waited for %d inserts", n)
	}
	var logged logAnswer
	if f, why := send(p, http.MethodGet, "/vote_logs", sign(t, "backend", ""), "", &logged); f != stored {
		t.Fatal(why)
	}
	if n := accepted.Load() + 1; int64(len(logged.Result)) != n {
		t.Errorf("%d votes are in the log, %d were acknowledged", len(logged.Result), n)
	}
}

// While the database takes a second for each answer, a thousand polls receive a
// vote. The program refuses votes that would wait too long before the database has
// stored anything. Few votes wait, and every acknowledged one is stored.
func TestDatabaseSlowForManyPolls(t *testing.T) {
	t.Parallel()
	const polls, fewest, mostWaiting = 1000, 300, 500 // in all, refused at least, waiting at most
	proxy, uri := mongotest.StartProxy(t, mongotest.Start(t))
	p := startProgram(t, t.TempDir(), "serve", "--mongodb-uri", mongotest.WithLongTimeouts(uri))
	viewer := sign(t, "viewer", "U")
	c := gather(t, p, viewer)
	for i := range polls { // read into memory
		if status, _, err := c.send(t.Context(), i, http.MethodGet, fmt.Sprint("?id=p", i), ""); err != nil || status != http.StatusOK {
			t.Fatalf("status %d, %v", status, err)
		}
	}
	slow := faultproxy.Action{Delay: time.Second}
	proxy.Inject(func(string) faultproxy.Action { return slow })
	if f, why := send(p, http.MethodPost, "/vote", viewer, `{"value":1}`, nil); f != stored {
		t.Fatal(why)
	}
	release := make(chan struct{})
	proxy.Inject(func(command string) faultproxy.Action {
		if command == "insert" {
			<-release
		}
		return slow
	})

	var all sync.WaitGroup
	shed := make(chan struct{}, polls)
	fates := make([]int, polls)
	for i := range polls {
		all.Go(func() {
			status, retry, err := c.send(t.Context(), i, http.MethodPost, fmt.Sprint("?id=p", i), `{"value":1}`)
			if err != nil || status != http.StatusOK && (status != http.StatusServiceUnavailable || retry == "") {
				t.Errorf("status %d, retry after %q, %v", status, retry, err)
			}
			if fates[i] = status; status != http.StatusOK {
				shed <- struct{}{}
			}
		})
	}
	for range fewest {
		<-shed
	}
	waiting := metric(t, p, "acclaim_database_pool_waiters") // which stay until the release
	if waiting > mostWaiting {
		t.Errorf("%d wait for the database, want at most %d", waiting, mostWaiting)
	}
	proxy.Inject(nil)
	close(release)
	all.Wait()
	counts := map[int]int{}
	for i, status := range fates {
		counts[status]++
		var tally struct{ Count int }
		f, why := send(p, http.MethodGet, fmt.Sprint("/vote?id=p", i), viewer, "", &tally)
		if f != stored || (tally.Count == 1) != (status == http.StatusOK) {
			t.Errorf("poll %d was answered %d and has %d votes; %s", i, status, tally.Count, why)
		}
	}
	t.Logf("%d waited; the votes were answered %v", waiting, counts)
}

// metric returns the value of a metric of the program.
func metric(t *testing.T, p *process, name string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.admin+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	value := 0.0 // large ones have an exponent
	_, after, _ := strings.Cut(string(text), "\n"+name+" ")
	if _, err := fmt.Sscan(after, &value); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return int(value)
}

// crowd sends many requests of one identity over few connections.
type crowd struct {
	url, header string
	clients     []*http.Client // each has one connection
}

const (
	crowdSize = 16
	crowdEach = 240 // requests at a time on a connection, which takes 250
)

// gather opens the connections of a crowd.
func gather(t *testing.T, p *process, header string) *crowd {
	t.Helper()
	c := &crowd{url: p.base + "/vote", header: header}
	for range crowdSize {
		var protocols http.Protocols
		protocols.SetUnencryptedHTTP2(true)
		c.clients = append(c.clients, &http.Client{Transport: &http.Transport{Protocols: &protocols}})
		if status, _, err := c.send(t.Context(), len(c.clients)-1, http.MethodGet, "", ""); err != nil || status != http.StatusOK {
			t.Fatalf("status %d, %v", status, err)
		}
	}
	return c
}

func (c *crowd) vote(ctx context.Context, i int) (status int, retryAfter string, err error) {
	return c.send(ctx, i, http.MethodPost, "", `{"value":1}`)
}

func (c *crowd) send(ctx context.Context, i int, method, query, body string) (status int, retryAfter string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+query, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", c.header)
	res, err := c.clients[i%len(c.clients)].Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, res.Header.Get("Retry-After"), err
}
