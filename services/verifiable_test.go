package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// checkedVotes are the votes of a poll that a program acknowledged, and what a monitor has seen.
type checkedVotes struct {
	t       *testing.T
	p       *process
	poll    verifiable.PollName
	mu      sync.Mutex
	nonces  map[string]verifiable.Nonce // of voters whose vote was acknowledged
	monitor *verifiable.Monitor
}

// ReadFile implements [verifiable.Source] over the running program.
func (c *checkedVotes) ReadFile(ctx context.Context, path string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.p.base, "/v1")+"/"+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: %s: %s", fs.ErrNotExist, response.Status, data)
	}
	return data, err
}

// vote votes until the context ends, each time as another viewer.
func (c *checkedVotes) vote(ctx context.Context, name string) {
	for i := 0; ctx.Err() == nil; i++ {
		voter := fmt.Sprint("U", name, i)
		nonce := verifiable.Nonce([]byte(fmt.Sprintf("%-16s", voter)))
		hash := verifiable.HashNonce(c.poll.Key(), nonce)
		body := fmt.Sprintf(`{"value":%d,"nonceHash":"%s"}`, i%2, base64.StdEncoding.EncodeToString(hash[:]))
		if status, err := c.p.do(http.MethodPost, "/vote?id="+c.poll.Poll, sign(c.t, "viewer", voter), body, nil); err == nil && status == http.StatusOK {
			c.mu.Lock()
			c.nonces[voter] = nonce
			c.mu.Unlock()
		}
	}
}

// receipt returns the receipt of a voter, once the vote is signed.
func (c *checkedVotes) receipt(voter string) []byte {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		response, err := c.p.exchange(http.MethodGet, "/receipt?id="+c.poll.Poll, sign(c.t, "viewer", voter), "")
		if err != nil {
			c.t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err == nil && response.StatusCode == http.StatusOK {
			return text
		}
		if response.StatusCode != http.StatusNotFound || !strings.Contains(string(text), "yet") {
			c.t.Fatalf("no receipt of %s: %s %s", voter, response.Status, text)
		}
	}
	c.t.Fatalf("the vote of %s is not signed", voter)
	return nil
}

// follow has the monitor read on. It finds no fault.
func (c *checkedVotes) follow(keys verifiable.Keys) {
	c.t.Helper()
	if c.monitor == nil {
		c.monitor = verifiable.NewMonitor(keys)
	}
	if err := c.monitor.Update(c.t.Context(), c); err != nil || len(c.monitor.Findings) > 0 {
		c.t.Fatalf("the monitor: %v, %v", err, c.monitor.Findings)
	}
}

// A program that is killed while it takes votes and signs goes on with the same log: a monitor finds
// nothing, and every vote that was acknowledged is recorded and, in the end, counted.
func TestKilledWhileItSigns(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	c := &checkedVotes{t: t, poll: verifiable.PollName{Client: sampleExtension, Channel: "1", Poll: "lunch"}, nonces: map[string]verifiable.Nonce{}}
	c.p = startProgram(t, dir, "serve")
	configure := func(config string) {
		t.Helper()
		if status, err := c.p.do(http.MethodPost, "/vote_config", sign(t, "broadcaster", "U1"), `{"id":"lunch","config":`+config+`}`, nil); err != nil || status != http.StatusOK {
			t.Fatalf("the configuration: %d, %v", status, err)
		}
	}
	configure(`{"verifiable":true}`)
	vkey, err := c.ReadFile(t.Context(), "log/vkeys")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := verifiable.ParseKeys([]string{strings.TrimSpace(string(vkey))})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		var voters sync.WaitGroup
		for i := range 4 {
			voters.Go(func() { c.vote(ctx, fmt.Sprint(round, "-", i, "-")) })
		}
		for range 3 { // the log grows meanwhile
			c.receipt(c.someVoter())
			c.follow(keys)
		}
		_ = c.p.cmd.Process.Kill()
		cancel()
		voters.Wait()
		_ = c.p.cmd.Wait()
		c.p = startProgram(t, dir, "serve")
		c.follow(keys)
	}
	configure(`{"verifiable":true,"endsAt":-1}`)
	c.checkAll(keys)
}

// someVoter returns a voter whose vote was acknowledged, when there is one.
func (c *checkedVotes) someVoter() string {
	for c.t.Context().Err() == nil {
		c.mu.Lock()
		for voter := range c.nonces {
			c.mu.Unlock()
			return voter
		}
		c.mu.Unlock()
	}
	return ""
}

// checkAll checks the receipts of all voters against the final result, and recounts that.
func (c *checkedVotes) checkAll(keys verifiable.Keys) {
	t := c.t
	t.Helper()
	var audit *verifiable.AuditReport
	for audit == nil || !audit.Final {
		var err error
		audit, err = verifiable.Audit(t.Context(), c, keys, c.poll.ResultPath())
		if err != nil && !errors.Is(err, fs.ErrNotExist) || len(audit.Findings) > 0 {
			t.Fatalf("the audit: %v, %v", err, audit.Findings)
		}
	}
	if audit.Voters < len(c.nonces) || int64(audit.Voters) != audit.Votes {
		t.Errorf("%d votes of %d voters, acknowledged were %d", audit.Votes, audit.Voters, len(c.nonces))
	}
	checked := 0
	for voter, nonce := range c.nonces {
		if checked++; checked > 50 {
			break
		}
		r, err := verifiable.ParseReceipt(c.receipt(voter))
		if err != nil {
			t.Fatal(err)
		}
		r.Nonce = &nonce
		report, err := verifiable.VerifyReceipt(t.Context(), r.Text(), verifiable.ReceiptCheck{Keys: keys, Source: c})
		if err != nil || report.Recorded.Answer != verifiable.Yes || report.Counted.Answer != verifiable.Yes {
			t.Errorf("%s: %v, %+v", voter, err, report)
		}
	}
	c.follow(keys)
	t.Logf("%d votes were acknowledged, %d are counted, %d leaves are signed", len(c.nonces), audit.Votes, c.monitor.Log.Size)
}
