package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgresql keeps a row for each voter and poll. Nothing counts on the way: a row with the
// totals would make all votes of a poll wait for one another.
type postgresql struct{ pool *pgxpool.Pool }

// postgresqlSettings keep checkpoints out of short measurements. fsync, full_page_writes and
// synchronous_commit stay on, as they are by default.
func postgresqlSettings() []string {
	return []string{"listen_addresses=", "shared_buffers=512MB", "max_wal_size=8GB", "checkpoint_timeout=30min", "wal_buffers=64MB"}
}

// postgresqlConnections is the size of the pool, just below what a cluster allows by default: with
// fewer it was slower.
const postgresqlConnections = 96

// openPostgreSQL makes a cluster of Debian's PostgreSQL, the newest that is installed.
func openPostgreSQL(ctx context.Context, dir string) (_ *peer, err error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		return nil, errors.Join(err, errors.New("PostgreSQL is not installed: Debian's package is postgresql"))
	}
	slices.Sort(found)
	bin := found[len(found)-1]
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	as, err := unprivileged(dir)
	if err != nil {
		return nil, err
	}
	files := filepath.Join(dir, "files")
	prepare := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", files, "-U", "peer", "-A", "trust", "-E", "UTF8", "--no-locale")
	prepare.Dir, prepare.SysProcAttr = dir, as
	if out, err := prepare.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	args := []string{"-D", files, "-k", dir}
	for _, setting := range postgresqlSettings() {
		args = append(args, "-c", setting)
	}
	server := exec.Command(filepath.Join(bin, "postgres"), args...) //nolint:noctx // it ends by stopProcess
	server.Dir, server.SysProcAttr = dir, as
	if err := server.Start(); err != nil {
		return nil, err
	}
	store, err := connectPostgreSQL(ctx, dir)
	if err != nil {
		return nil, errors.Join(err, stopProcess(server, syscall.SIGINT))
	}
	return &peer{newHandler(store), func() error {
		store.pool.Close()
		return stopProcess(server, syscall.SIGINT) // at once, with a checkpoint
	}}, nil
}

// unprivileged returns the user that PostgreSQL runs as, which must not be root, and gives
// that user the folder.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return &syscall.SysProcAttr{}, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, errUser := strconv.ParseUint(account.Uid, 10, 32)
	gid, errGroup := strconv.ParseUint(account.Gid, 10, 32)
	as := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return as, errors.Join(errUser, errGroup, os.Chown(dir, int(uid), int(gid)))
}

func connectPostgreSQL(ctx context.Context, socket string) (*postgresql, error) {
	config, err := pgxpool.ParseConfig(fmt.Sprintf("host=%s user=peer dbname=postgres pool_max_conns=%d", socket, postgresqlConnections))
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		_, err := pool.Exec(ctx, `create table ballots (poll integer, voter text, value smallint not null, primary key (poll, voter))`)
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(time.Minute))
	if err != nil {
		pool.Close()
	}
	return &postgresql{pool}, err
}

// pollNumber returns the key of a poll: rows with numbers take a quarter less processor time than
// rows with the poll's id. A service with more polls than fit into 32 bits keeps a table of them.
func pollNumber(poll string) int32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(poll)) // it cannot fail
	return int32(h.Sum32())      //nolint:gosec // all 32 bits count
}

func (p *postgresql) cast(ctx context.Context, poll string, ballots []ballot) error {
	if len(ballots) == 1 {
		_, err := p.pool.Exec(ctx, `insert into ballots values ($1, $2, $3)
			on conflict (poll, voter) do update set value = excluded.value`, pollNumber(poll), ballots[0].Voter, ballots[0].Value)
		return err
	}
	voters, values := make([]string, len(ballots)), make([]int16, len(ballots))
	for i, b := range ballots {
		voters[i], values[i] = b.Voter, b.Value
	}
	_, err := p.pool.Exec(ctx, `insert into ballots select $1, * from unnest($2::text[], $3::smallint[])
		on conflict (poll, voter) do update set value = excluded.value`, pollNumber(poll), voters, values)
	return err
}

func (p *postgresql) count(ctx context.Context, poll string) (statistics, error) {
	rows, err := p.pool.Query(ctx, `select count(*), coalesce(sum(value), 0) from ballots where poll = $1`, pollNumber(poll))
	if err != nil {
		return statistics{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[statistics])
}

// stopProcess asks a server to end and waits for it.
func stopProcess(server *exec.Cmd, with os.Signal) error {
	return errors.Join(server.Process.Signal(with), server.Wait())
}
