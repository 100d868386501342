package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/faultproxy"
	"github.com/acclaim-dev/acclaim/services/internal/mongotest"
)

// While the database takes a second for each answer, more votes come than it can
// take. What would wait for too long is refused before the database has answered
// at all, what was accepted is stored within a few more answers, and that is what
// the log holds.
func TestDatabaseSlow(t *testing.T) {
	const votes, fewest = 6000, 1500 // sent, and refused at least
	proxy, uri := mongotest.Through(t, mongotest.Start(t))
	p := startProgram(t, t.TempDir(), "serve", "--mongodb-uri", uri+"&timeoutMS=300000")
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

	c := newCrowd(p)
	var all sync.WaitGroup
	shed := make(chan struct{}, votes)
	var accepted, refusals atomic.Int64
	for range votes {
		all.Go(func() {
			status, retry, err := c.post(t.Context(), "/vote", viewer, `{"value":1}`)
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
	if n := accepted.Load(); n > 0 {
		t.Errorf("%d votes were acknowledged by a database that has not answered", n)
	}
	wantReady(t, p, http.StatusOK) // slow is not away
	before := inserts.Load()
	close(release)
	all.Wait()
	t.Logf("%d accepted, %d refused, %d inserts after the database went on", accepted.Load(), refusals.Load(), inserts.Load()-before)
	if n := inserts.Load() - before; n > 20 {
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

// crowd is many clients over few connections.
type crowd struct {
	base   string
	client http.Client
}

func newCrowd(p *process) *crowd {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	return &crowd{p.base, http.Client{Transport: &http.Transport{Protocols: &protocols}}}
}

func (c *crowd) post(ctx context.Context, path, header, body string) (status int, retryAfter string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", header)
	res, err := c.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, res.Header.Get("Retry-After"), err
}
