package cli

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/pflag"

	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/feed/publish"
	"github.com/acclaim-dev/acclaim/services/internal/process/app"
)

// resultLogFlags name the files and the log with which results are signed.
type resultLogFlags struct{ key, earlier, origin, mark, policy string }

func (r *resultLogFlags) register(f *pflag.FlagSet) {
	f.StringVar(&r.key, "result-log-key", "", "file of the Ed25519 key (PEM) that signs the results of polls with verifiable votes (default: one beside --data-dir while every listener is on loopback)")
	f.StringVar(&r.earlier, "result-log-earlier-key", "", "file of the key before --result-log-key, which signs beside it: the log names the new key, so that monitors with the earlier one learn it")
	f.StringVar(&r.origin, "result-log-origin", "", "with --result-log-key, name of the log of results, such as votes.example.org/acclaim, which never changes")
	f.StringVar(&r.mark, "result-log-mark", "", "file outside of the store that says what was signed last; a store that lacks that, such as one that was restored, begins a new log. configmap:NAME is a ConfigMap in the namespace of the pod")
	f.StringVar(&r.policy, "result-log-policy", "", "file of a tlog-policy whose witnesses cosign the log of results; --sink-allow-private applies to their addresses, too")
}

// localOrigin is the name of the log of a process that only this machine reaches.
const localOrigin = "localhost/acclaim"

// lockPause is the time between two tries to lock a file.
const lockPause = 5 * time.Millisecond

// signing returns how a process signs results: not at all without a key.
func (r *resultLogFlags) signing(c *app.Config) (s app.ResultSigning, err error) {
	if err := r.check(); err != nil {
		return s, err
	}
	files := *r
	local := files.key == "" && c.IsLocal() && c.Store.MongoDBURI == ""
	if local {
		files = resultLogFlags{key: c.Store.DataDir + ".resultlog.pem", origin: localOrigin, mark: c.Store.DataDir + ".resultlog.mark"}
	}
	if files.key == "" {
		return s, nil
	}
	s.Key, err = readSigningKey(files.key)
	if local && errors.Is(err, fs.ErrNotExist) {
		s.Key, err = writeSigningKey(files.key)
	}
	if local && err != nil { // such as in a container, whose other folders are read-only
		c.Logger.Warn("results are not signed, as there is no key beside the data folder", "error", err)
		return app.ResultSigning{}, nil
	}
	if err != nil {
		return s, fmt.Errorf("--result-log-key: %w", err)
	}
	return files.complete(s)
}

// complete adds to a key what is beside it.
func (r *resultLogFlags) complete(s app.ResultSigning) (_ app.ResultSigning, err error) {
	s.Origin = r.origin
	if name, ok := strings.CutPrefix(r.mark, "configmap:"); ok {
		if s.Mark, err = newConfigMapMark(name, accountFolder); err != nil {
			return s, fmt.Errorf("--result-log-mark: %w", err)
		}
	} else if r.mark != "" {
		s.Mark = fileMark(r.mark)
	}
	if r.earlier != "" {
		if s.EarlierKey, err = readSigningKey(r.earlier); err != nil {
			return s, fmt.Errorf("--result-log-earlier-key: %w", err)
		}
	}
	if s.Policy, err = readPolicy(r.policy); err != nil {
		return s, fmt.Errorf("--result-log-policy: %w", err)
	}
	return s, nil
}

func (r *resultLogFlags) check() error {
	switch {
	case r.key == "" && r.earlier+r.origin+r.mark+r.policy != "":
		return errors.New("the other flags of the log of results need --result-log-key")
	case r.key != "" && r.origin == "":
		return errors.New("--result-log-key needs --result-log-origin")
	}
	return nil
}

func readSigningKey(name string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s is no PEM file", name)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s holds another key than one of Ed25519", name)
	}
	return key, nil
}

// readPolicy returns the witnesses that a file names, nil without a file.
func readPolicy(name string) (*verifiable.Policy, error) {
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return verifiable.ParsePolicy(string(text))
}

// writeSigningKey makes a key for a process that only this machine reaches.
func writeSigningKey(name string) (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	return key, replaceFile(name, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}

// fileMark is a [publish.Mark] in a file. Processes that share it lock a file beside it to replace it.
type fileMark string

// Load implements [publish.Mark].
func (m fileMark) Load(context.Context) (publish.Marked, error) {
	text, err := os.ReadFile(string(m))
	if errors.Is(err, fs.ErrNotExist) {
		return publish.Marked{}, nil
	}
	return publish.Marked{Checkpoint: text}, err
}

// Replace implements [publish.Mark].
func (m fileMark) Replace(ctx context.Context, old publish.Marked, checkpoint []byte) (publish.Marked, error) {
	lock, err := lockFile(ctx, string(m)+".lock")
	if err != nil {
		return publish.Marked{}, err
	}
	defer func() { _ = lock.Close() }() // which unlocks it
	now, err := m.Load(ctx)
	if err == nil && !bytes.Equal(now.Checkpoint, old.Checkpoint) {
		err = publish.ErrMarkChanged
	}
	if err == nil {
		err = replaceFile(string(m), checkpoint)
	}
	return publish.Marked{Checkpoint: checkpoint}, err
}

// lockFile locks a file, which it makes, until it is closed. Another process may hold it for as long
// as a file takes to be written.
func lockFile(ctx context.Context, name string) (*flock.Flock, error) {
	ctx, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	lock := flock.New(name, flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockPause); err != nil {
		return nil, fmt.Errorf("%s is not locked: %w", name, err)
	}
	return lock, nil
}

// replaceFile replaces a file durably: a crash leaves the old one or the new one.
func replaceFile(name string, content []byte) error {
	next, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(next.Name()) }() // there is none after the renaming
	if _, err := next.Write(content); err != nil {
		return errors.Join(err, next.Close())
	}
	return keepAs(next, name)
}
