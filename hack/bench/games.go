package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// measureGames measures the memory of games that are connected, have authenticated and say
// nothing, each in a channel of its own; then the time from a vote to its update in one of
// them. There are as many games as listeners, or as the program takes.
func (b *bench) measureGames(ctx context.Context, r *liveReport) (err error) {
	p, err := startProcess(ctx, nil, b.binary, "serve", b.registry, filepath.Join(b.dir, "games"),
		"--gamelink-listen", "127.0.0.1:0", "--connections-per-address", strconv.Itoa(b.listeners+connecting))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if r.Games, err = b.countGames(ctx, p); err != nil {
		return err
	}
	b.logf("games      connecting %d", r.Games)
	games := make([]*websocket.Conn, r.Games)
	defer func() {
		for _, game := range games {
			if game != nil {
				_ = game.CloseNow() // nothing is under way
			}
		}
	}()
	if games[0], err = connectGame(ctx, p.Games, 0); err != nil { // so that what they share is there before
		return err
	}
	before, err := p.client.collectGarbage(ctx)
	if err != nil {
		return err
	}
	group, dialing := errgroup.WithContext(ctx)
	group.SetLimit(connecting)
	for i := 1; i < len(games); i++ {
		group.Go(func() (err error) {
			games[i], err = connectGame(dialing, p.Games, i)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	after, err := p.client.collectGarbage(ctx)
	if err != nil {
		return err
	}
	for i, game := range games { // each still answers
		if err := askGame(ctx, game, `{"action":"get","params":{"request_id":1,"target":"channel"}}`); err != nil {
			return fmt.Errorf("game %d: %w", i, err)
		}
	}
	r.Game = memoryOfEach(before, after, len(games)-1)
	r.ToGame, err = measureGameDelay(ctx, p.client, p.Games, "game")
	return err
}

// countGames returns the number of games that a program takes beside the one that connects last,
// and at most that of listeners.
func (b *bench) countGames(ctx context.Context, p *program) (int, error) {
	metrics, err := harness.ReadMetrics(ctx, p.client.admin)
	if err != nil {
		return 0, err
	}
	games := min(b.listeners, int(metrics[`acclaim_budget_limit{budget="game_connections"}`])-1)
	if games < 2 {
		return 0, fmt.Errorf("%d games, by -listeners and the open files: two must fit", games)
	}
	return games, nil
}

// measureGameDelay measures the time from a vote until a game has its update. Each vote is a
// poll's first.
func measureGameDelay(ctx context.Context, c *client, address, prefix string) (delaySample, error) {
	voter, err := broadcasterCredential(loadedChannel)
	if err != nil {
		return delaySample{}, err
	}
	game, err := connectGame(ctx, address, loadedChannel)
	if err != nil {
		return delaySample{}, err
	}
	defer func() { _ = game.CloseNow() }() // nothing is under way
	latency := newHistogram()
	for n := range quietRounds {
		id := fmt.Sprintf("%s-%d", prefix, n)
		if err := subscribeGame(ctx, game, id); err != nil {
			return delaySample{}, err
		}
		start := time.Now()
		if err := c.post(ctx, voter, "vote?id="+id, `{"value":1}`); err != nil {
			return delaySample{}, err
		}
		reading, cancel := context.WithTimeout(ctx, grace)
		_, update, err := game.Read(reading)
		cancel()
		if err != nil {
			return delaySample{}, fmt.Errorf("the update of a vote: %w", err)
		}
		if !strings.Contains(string(update), strconv.Quote(id)) {
			return delaySample{}, fmt.Errorf("the update of a vote in %s is %s", id, update)
		}
		if err := latency.RecordValue(time.Since(start).Microseconds()); err != nil {
			return delaySample{}, err
		}
	}
	return sampleOf(latency), nil
}

// connectGame connects a game of a channel and authenticates it.
func connectGame(ctx context.Context, address string, number int) (*websocket.Conn, error) {
	credential, err := broadcasterCredential(number)
	if err != nil {
		return nil, err
	}
	return connectAs(ctx, address, credential)
}

// connectBackend connects a game that acts in all channels.
func connectBackend(ctx context.Context, address string) (*websocket.Conn, error) {
	credential, err := newCredential("backend", channel, "")
	if err != nil {
		return nil, err
	}
	game, err := connectAs(ctx, address, credential)
	if game != nil {
		game.SetReadLimit(8 << 20) // the push of a match has the results of all channels
	}
	return game, err
}

func connectAs(ctx context.Context, address, credential string) (*websocket.Conn, error) {
	game, response, err := websocket.Dial(ctx, address+"/0.0.2/"+extension, nil)
	if response != nil && response.Body != nil {
		_ = response.Body.Close() // empty
	}
	if err != nil {
		return nil, err
	}
	_, token, _ := strings.Cut(credential, " ")
	return game, askGame(ctx, game, fmt.Sprintf(`{"action":"authenticate","params":{"request_id":0},"data":{"client_id":%q,"jwt":%q}}`, extension, token))
}

// askGame sends a request and reads its answer.
func askGame(ctx context.Context, game *websocket.Conn, request string) error {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := game.Write(ctx, websocket.MessageText, []byte(request)); err != nil {
		return err
	}
	_, answer, err := game.Read(ctx)
	if err == nil && strings.Contains(string(answer), `"errors"`) {
		err = fmt.Errorf("%s is refused: %s", request, answer)
	}
	return err
}
