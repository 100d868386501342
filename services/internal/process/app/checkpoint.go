package app

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/store/pebblestore"
)

// operatorAccess is the content of the file in the data folder that lets commands of the operator
// reach the process that has the store open.
type operatorAccess struct {
	Maintenance string `json:"maintenance"` // origin of the listener
	Token       string `json:"token"`
}

// giveOperatorAccess leaves the operator's file in the folder of an embedded store, unless that is
// on a disk that no command reads.
func (p *Process) giveOperatorAccess() error {
	store, ok := p.services.store.(*embeddedBackend)
	if !ok || p.config.Machine.Disk != pebblestore.MachineDisk() {
		return nil
	}
	listener := p.admin
	if p.maintenance != nil {
		listener = p.maintenance
	}
	content, err := json.Marshal(operatorAccess{"http://" + ReachableAddress(listener.address), p.operatorToken})
	if err != nil {
		return err
	}
	return store.WriteOperatorFile(content)
}

// ReachableAddress returns an address that a client on this machine can use.
func ReachableAddress(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// checkpointHandler copies the embedded store; nil where there is another one.
func (p *Process) checkpointHandler() http.Handler {
	store, ok := p.services.store.(*embeddedBackend)
	if !ok {
		return nil
	}
	return httpapi.NewCheckpointHandler(p.operatorToken, func(ctx context.Context, use func(context.Context, string)) error {
		err := store.Checkpoint(ctx, func(ctx context.Context, folder string) {
			p.logger.Info("a checkpoint of the store is read", "folder", folder)
			use(ctx, folder)
		})
		switch {
		case err == nil || ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
			p.logger.Info("the checkpoint was removed")
		default:
			p.logger.Warn("there is no checkpoint, or no longer", "error", err)
		}
		return err
	})
}

// Waiting notifies the user of a command that something failed and is tried again after a time.
type Waiting func(err error, next time.Duration)

const (
	// readAttempts and the waits between them give a process that restarts, or a database that
	// elects a primary, a minute.
	readAttempts = 8
	minReadWait  = time.Second
	maxReadWait  = 15 * time.Second
)

// ReadStore opens a store that exists and calls read, which changes nothing. An embedded store that
// a process has open is read from a checkpoint of that process. Where a checkpoint, a process or a
// database goes away meanwhile, it begins again, within bounds; the error of read is then one of
// the kind fault.Unavailable. The context of read ends with the checkpoint.
func ReadStore(ctx context.Context, config StoreConfig, waiting Waiting, read func(context.Context, Store) error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.Multiplier, pauses.MaxInterval = minReadWait, 2, maxReadWait
	opened := false
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := openAndRead(ctx, config, func(ctx context.Context, store Store) error {
			opened = true
			return read(ctx, store)
		})
		// A database that was never reached is more likely a wrong address than an election.
		if err != nil && (fault.KindOf(err) != fault.Unavailable || config.MongoDBURI != "" && !opened) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(readAttempts), backoff.WithMaxElapsedTime(0), backoff.WithNotify(backoff.Notify(waiting)))
	return err
}

func openAndRead(ctx context.Context, config StoreConfig, read func(context.Context, Store) error) error {
	store, closeStore, err := OpenStoreToRead(ctx, config)
	if errors.Is(err, pebblestore.ErrInUse) {
		return readCheckpoint(ctx, config.DataDir, err, read)
	}
	if err != nil {
		return err
	}
	return errors.Join(read(ctx, store), closeStore())
}

// readCheckpoint reads a copy of the store that another process has in use.
func readCheckpoint(ctx context.Context, dir string, inUse error, read func(context.Context, Store) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	answer, err := requestCheckpoint(ctx, dir, inUse)
	if err != nil {
		return err
	}
	defer answer.Close()
	lines := json.NewDecoder(bufio.NewReader(answer))
	var first httpapi.CheckpointLine
	if err := lines.Decode(&first); err != nil {
		return fault.Wrap(fault.Unavailable, err, "the process went away")
	}
	go func() {
		var last httpapi.CheckpointLine
		_ = lines.Decode(&last) // without a reason where the process has ended
		end(fault.New(fault.Unavailable, cmp.Or(last.Reason, "the process that made the checkpoint went away")))
	}()
	store, closeStore, err := OpenStoreToRead(ctx, StoreConfig{DataDir: first.Folder})
	if err == nil {
		err = errors.Join(read(ctx, store), closeStore())
	}
	if cause := context.Cause(ctx); cause != nil && err != nil {
		return cause // what else goes wrong is a consequence
	}
	return err
}

// requestCheckpoint asks the process that has a store open for a checkpoint. The copy is there
// until the answer is closed.
func requestCheckpoint(ctx context.Context, dir string, inUse error) (io.ReadCloser, error) {
	content, err := pebblestore.ReadOperatorFile(dir)
	if err != nil { // the process starts, is another command, or is of an earlier version
		return nil, fault.Wrap(fault.Unavailable, err, inUse.Error())
	}
	var access operatorAccess
	if err := json.Unmarshal(content, &access); err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "the process starts")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, access.Maintenance+"/checkpoint", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+access.Token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "the process that has the store open does not answer")
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	var refused httpapi.CheckpointLine
	err = errors.Join(json.NewDecoder(response.Body).Decode(&refused), response.Body.Close())
	return nil, fault.Wrap(fault.Unavailable, err, strings.TrimSpace("the process that has the store open answers "+response.Status+": "+refused.Reason))
}
