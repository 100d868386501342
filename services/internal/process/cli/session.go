package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/api/client"
)

// staffSession has the answer to GET /staff.
type staffSession struct {
	Name, Channel, Extension string
	Scopes                   []string
	Expires                  int64
}

// sessionFile returns the name of the file that has the credential of the session at a server.
func sessionFile(server string) (string, error) {
	folder, err := os.UserConfigDir()
	return filepath.Join(folder, "acclaim", "sessions", url.QueryEscape(strings.TrimRight(server, "/"))), err
}

// readSession returns the credential of the session at a server, "" if there is none.
func readSession(server string) (credential string, err error) {
	name, err := sessionFile(server)
	if err != nil {
		return "", nil //nolint:nilerr // a user without a folder has stored nothing
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// storeSession stores the credential of the session at a server, for this user alone. It replaces the one before.
func storeSession(server, credential string) error {
	name, err := sessionFile(server)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(name), ".new*") // which others cannot read
	if err != nil {
		return err
	}
	_, err = file.WriteString(credential + "\n")
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

func removeSession(server string) error {
	name, err := sessionFile(server)
	if err != nil {
		return err
	}
	return os.Remove(name)
}

// sessionPeriod is the time between two uses of the session by a command that lasts. It is well within
// the time after which a session ends that no request uses.
const sessionPeriod = 10 * time.Minute

// openSession returns a client with the session at a server, which lasts as long as the command, up to 12 hours.
func openSession(ctx context.Context, server string) (*client.Client, error) {
	credential, err := readSession(server)
	if err != nil {
		return nil, err
	}
	if credential == "" {
		return nil, errors.New("--token-file, --key-file, $" + tokenVariable + " or a session of `acclaim login` is needed")
	}
	c := client.New(server, client.UseToken(credential), client.Options{})
	if _, err := extendSession(ctx, c); client.StatusOf(err) == http.StatusUnauthorized {
		return nil, fmt.Errorf("the session at %s has ended: begin another with `acclaim login`", server)
	} else if err != nil {
		return nil, err
	}
	go func() {
		for waitFor(ctx, sessionPeriod) == nil {
			_, _ = extendSession(ctx, c) // the command itself meets what is wrong
		}
	}()
	return c, nil
}

// extendSession uses a session, so that it lasts longer, and returns what it is.
func extendSession(ctx context.Context, c *client.Client) (session staffSession, err error) {
	_, err = c.Call(ctx, client.Request{Method: http.MethodGet, Path: "/staff"}, &session)
	return session, err
}
