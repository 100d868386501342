package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"sync"
)

// openStream subscribes and returns the status that the program answers with.
func (a *attacker) openStream(ctx context.Context, credential, query string, keep bool) (string, error) {
	conn, err := a.begin(ctx, formatHead("GET", "/v1/events"+query, credential, -1)+"\r\n")
	if err != nil {
		return "", err
	}
	defer conn.end()
	line, err := bufio.NewReader(conn).ReadString('\n')
	status := strings.Fields(line + " no status")[1]
	switch {
	case keep && status == "200":
		_, err = holdUntilClosed(ctx, conn, 0, 0)
	case keep:
		wait(ctx, returnPause)
	}
	return status, err
}

// floodSubscribers asks for events that do not come, so that the program does not notice
// by a failing write that a subscriber has gone.
func floodSubscribers(ctx context.Context, a *attacker) {
	a.flood(ctx, 32, func(ctx context.Context, _ int64) (string, error) {
		return a.openStream(ctx, a.Viewer, "?topic=extension_state_update", false)
	})
}

func hoardSubscribers(ctx context.Context, a *attacker) {
	a.flood(ctx, manyConnections, func(ctx context.Context, _ int64) (string, error) {
		return a.openStream(ctx, a.Viewer, "?topic=*", true)
	})
}

func floodTopics(ctx context.Context, a *attacker) {
	a.flood(ctx, 32, func(ctx context.Context, n int64) (string, error) {
		topics := make([]string, 32)
		for i := range topics {
			topics[i] = fmt.Sprintf("topic=vote_update:x%d-%d", n, i)
		}
		return a.openStream(ctx, a.Viewer, "?"+strings.Join(topics, "&"), false)
	})
}

// floodAndWrite connects its writers before it takes the descriptors.
func floodAndWrite(ctx context.Context, a *attacker) {
	const writers = 4
	client := a.newClient(writers)
	var connected, all sync.WaitGroup
	connected.Add(writers)
	body := `{"d":"` + text(60_000) + `"}`
	all.Go(func() {
		a.flood(ctx, writers, func(ctx context.Context, n int64) (string, error) {
			outcome, err := a.send(ctx, client, a.Viewer, "POST", "/v1/accumulate?id=z", body)
			if n < writers {
				connected.Done()
			}
			return "append: " + outcome, err
		})
	})
	connected.Wait()
	hoardSubscribers(ctx, a)
	all.Wait()
}

// text returns n letters.
func text(n int) string { return strings.Repeat("x", n) }
