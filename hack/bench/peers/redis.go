package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/redis/rueidis"
)

// castScript stores ballots in the hash of a poll and keeps its totals in another. Redis runs
// a script as a whole, and writes it to the log as a whole.
const castScript = `
local count, sum = 0, 0
for i = 1, #ARGV, 2 do
	local before = redis.call('HGET', KEYS[1], ARGV[i])
	if before then
		sum = sum - before
	else
		count = count + 1
	end
	redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
	sum = sum + ARGV[i + 1]
end
redis.call('HINCRBY', KEYS[2], 'count', count)
redis.call('HINCRBY', KEYS[2], 'sum', sum)
return count`

// redis sends the commands of requests that arrive together in one write, as its client does
// by default.
type redis struct {
	client rueidis.Client
	script *rueidis.Lua
}

func openRedis(ctx context.Context, dir string) (*peer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "socket")
	server := exec.Command("redis-server", "--port", "0", "--unixsocket", socket, "--dir", dir, //nolint:noctx // it ends by stopProcess
		"--appendonly", "yes", "--appendfsync", "always", "--save", "")
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("Debian's package is redis-server: %w", err)
	}
	connect := func() (rueidis.Client, error) {
		return rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{socket}, DisableCache: true, ForceSingleClient: true,
			DialCtxFn: func(ctx context.Context, socket string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return d.DialContext(ctx, "unix", socket)
			},
		})
	}
	client, err := backoff.Retry(ctx, connect, backoff.WithMaxElapsedTime(time.Minute))
	if err != nil {
		return nil, errors.Join(err, stopProcess(server, syscall.SIGTERM))
	}
	store := &redis{client, rueidis.NewLuaScript(castScript)}
	return &peer{newHandler(store), func() error {
		client.Close()
		return stopProcess(server, syscall.SIGTERM)
	}}, nil
}

func (r *redis) cast(ctx context.Context, poll string, ballots []ballot) error {
	args := make([]string, 0, 2*len(ballots))
	for _, b := range ballots {
		args = append(args, b.Voter, strconv.Itoa(int(b.Value)))
	}
	return r.script.Exec(ctx, r.client, []string{"ballots:" + poll, "totals:" + poll}, args).Error()
}

func (r *redis) count(ctx context.Context, poll string) (s statistics, err error) {
	totals, err := r.client.Do(ctx, r.client.B().Hgetall().Key("totals:"+poll).Build()).AsIntMap()
	return statistics{Count: totals["count"], Sum: totals["sum"]}, err
}
