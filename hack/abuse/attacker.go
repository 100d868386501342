package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// attackCommand is the argument with which this program attacks instead of
// measuring. It is not an option: only launch passes it.
const attackCommand = "attack"

// attacker is one process that attacks from one address. It has what every page
// hands out, tokens of viewers, and the token of a streamer who installed the
// extension.
type attacker struct {
	Attack   string
	Duration time.Duration
	Address  string // host:port of the API
	Games    string // base address of GameLink
	Peers    string // host:port of the listener for members; empty without
	Issuer   string // base address of the issuer at which people sign in; empty without
	Rig      string // host:port of the rig; empty without
	Registry string // path of the file that declares the extensions
	Source   string // the attacker's own address
	Data     string // folder on the program's small disk; empty without
	// Credentials of one viewer of the victims' channel, of a crowd of them, of the
	// broadcaster of another channel, and of a viewer of the other extension.
	Viewer, Broadcaster, Stranger string
	Crowd                         []string

	mu       sync.Mutex
	outcomes map[string]int
}

const crowdSize = 64

func newAttacker(attack attackCase, p *program, source string) (*attacker, error) {
	a := &attacker{Attack: attack.name, Duration: attack.buildUp + attackLength, Address: p.address, Games: p.games, Rig: p.rig, Registry: p.registry, Source: source}
	if attack.smallDisk {
		a.Data = p.data
	}
	var err error
	if a.Crowd, err = newViewers(crowdSize, "Uattacker"); err != nil {
		return nil, err
	}
	a.Viewer = a.Crowd[0]
	if a.Broadcaster, err = newCredential(extension, "broadcaster", "666", "U-streamer"); err != nil {
		return nil, err
	}
	a.Stranger, err = newCredential(otherExtension, "viewer", "666", "U-stranger")
	return a, err
}

// serveAttack reads an attacker, attacks for its duration, and writes what it did.
func serveAttack(ctx context.Context, in io.Reader, out io.Writer) error {
	a := &attacker{outcomes: map[string]int{}}
	if err := json.NewDecoder(in).Decode(a); err != nil {
		return err
	}
	attack, err := findAttack(a.Attack)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.Duration)
	defer cancel()
	attack.run(ctx, a)
	a.mu.Lock()
	defer a.mu.Unlock()
	return json.NewEncoder(out).Encode(a.outcomes)
}

func (a *attacker) count(outcome string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.outcomes[outcome]++
}

// breachMark begins the outcomes that no attack may have.
const breachMark = "BREACH: "

// breach records that the attacker got something that only others may have. It fails the row.
func (a *attacker) breach(what string) { a.count(breachMark + what) }

// breachIf records a breach where the attacker has counted an outcome that no honest client may get.
func (a *attacker) breachIf(outcome, what string) { a.breachAbove(0, outcome, what) }

// breachAbove records a breach where the attacker has counted an outcome more often than it may.
func (a *attacker) breachAbove(most int, outcome, what string) {
	a.mu.Lock()
	counted := a.outcomes[outcome]
	a.mu.Unlock()
	if counted > most {
		a.breach(what)
	}
}

// from returns an attacker at the n-th address of the attacker's network, from 1 to 254. It
// counts for itself.
func (a *attacker) from(n int64) *attacker {
	return &attacker{Address: a.Address, Games: a.Games, Issuer: a.Issuer, Source: strings.TrimSuffix(a.Source, "1") + strconv.FormatInt(n, 10), outcomes: map[string]int{}}
}

// flood repeats do with workers in parallel until the context is done, and counts
// what it returns; n numbers the calls. It pauses after an error, as when the program
// refuses connections.
func (a *attacker) flood(ctx context.Context, workers int, do func(ctx context.Context, n int64) (string, error)) {
	var number atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for ctx.Err() == nil {
				outcome, err := do(ctx, number.Add(1)-1)
				switch {
				case ctx.Err() != nil && err != nil:
					a.count("under way at the end")
				case err != nil:
					a.count(describeError(err))
					wait(ctx, 20*time.Millisecond)
				default:
					a.count(outcome)
				}
			}
		})
	}
	all.Wait()
}

func wait(ctx context.Context, pause time.Duration) {
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}

// dial connects from the attacker's address. The connection ends with the context.
func (a *attacker) dial(ctx context.Context) (*boundConn, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(a.Source)}, Timeout: 2 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", a.Address)
	if err != nil {
		return nil, err
	}
	release := context.AfterFunc(ctx, func() { _ = conn.Close() })
	return &boundConn{conn.(*net.TCPConn), release}, nil
}

// boundConn is a connection that a context closes.
type boundConn struct {
	*net.TCPConn
	release func() bool
}

// end closes the connection before the context does.
func (c *boundConn) end() {
	c.release()
	_ = c.Close() // the attacker does not care
}

// begin connects and sends the beginning of a request.
func (a *attacker) begin(ctx context.Context, head string) (*boundConn, error) {
	conn, err := a.dial(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, head); err != nil {
		conn.end()
		return nil, err
	}
	return conn, nil
}

// formatHead writes the head of an HTTP/1.1 request, without the empty line that
// ends it.
func formatHead(method, path, credential string, length int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: x\r\n", method, path)
	if credential != "" {
		fmt.Fprintf(&b, "Authorization: %s\r\n", credential)
	}
	if length >= 0 {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", length)
	}
	return b.String()
}

// returnPause is the time after which an attacker whose connection the program closed
// comes back.
const returnPause = 300 * time.Millisecond

// holdUntilClosed waits until the program closes a connection, sending a byte each
// pause if that is not 0, and then as long as an attacker takes to come back. It returns
// the program's answer, if there was one.
func holdUntilClosed(ctx context.Context, conn *boundConn, pause time.Duration, dripped byte) (string, error) {
	defer conn.end()
	if pause > 0 {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			for ctx.Err() == nil {
				wait(ctx, pause)
				_, _ = conn.Write([]byte{dripped}) // its end is seen by the reader
			}
		}()
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	wait(ctx, returnPause)
	if fields := strings.Fields(line); len(fields) > 1 {
		return fields[1], nil
	}
	if err == io.EOF {
		return "closed", nil
	}
	return "", err
}

// newClient returns a client that keeps as many connections as it is asked for.
func (a *attacker) newClient(connections int) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(a.Source)}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext,
		MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections, DisableCompression: true}}
}

// send makes a request and returns the status as an outcome.
func (a *attacker) send(ctx context.Context, client *http.Client, credential, method, path, body string) (string, error) {
	status, _, err := harness.Ask(ctx, client, method, "http://"+a.Address+path, credential, body)
	if status == 0 {
		return "", err
	}
	return fmt.Sprint(status), err
}

// repeat floods with requests that request describes, over connections of one client.
func (a *attacker) repeat(ctx context.Context, connections int, request func(n int64) (credential, method, path, body string)) {
	client := a.newClient(connections)
	defer client.CloseIdleConnections()
	a.flood(ctx, connections, func(ctx context.Context, n int64) (string, error) {
		credential, method, path, body := request(n)
		return a.send(ctx, client, credential, method, path, body)
	})
}
