// Package mongotest gives tests a MongoDB database of their own: on the server that
// ACCLAIM_TEST_MONGODB_URI names or, without it, on the MongoDB-wire server of
// hack/mongod, which it builds once and starts for each test. A test never skips: a
// server that cannot be reached or built fails it.
//
// Only tests may import it.
package mongotest

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gofrs/flock"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// ServerVariable names a server to test against.
const ServerVariable = "ACCLAIM_TEST_MONGODB_URI"

// Start returns the URI of an empty database, which is gone when the test ends.
func Start(t testing.TB) string {
	t.Helper()
	name := "acclaim_test_" + strings.ToLower(rand.Text())
	if server := os.Getenv(ServerVariable); server != "" {
		uri := inDatabase(server, name)
		t.Cleanup(func() { dropDatabase(t, uri, name) })
		return uri
	}
	return inDatabase(StartServer(t, t.TempDir()), name)
}

func dropDatabase(t testing.TB, uri, name string) {
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Errorf("drop the database: %v", err)
		return
	}
	ctx := context.WithoutCancel(t.Context())
	if err := client.Database(name).Drop(ctx); err != nil {
		t.Errorf("drop the database: %v", err)
	}
	if err := client.Disconnect(ctx); err != nil {
		t.Errorf("disconnect: %v", err)
	}
}

// StartServer starts the MongoDB-wire server on a folder and returns its URI. It
// ends with the test, or with the process that runs it.
func StartServer(t testing.TB, folder string) string {
	t.Helper()
	s := &Server{t: t, folder: folder, address: "127.0.0.1:0"}
	t.Cleanup(s.Stop)
	return s.Start()
}

// Server is a MongoDB-wire server that can be stopped and started again at the
// same address.
type Server struct {
	t       testing.TB
	folder  string
	address string
	stop    func()
}

// NewServer returns a server that is not running yet. It ends with the test.
func NewServer(t testing.TB) *Server {
	t.Helper()
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, folder: t.TempDir(), address: free.Addr().String()}
	t.Cleanup(s.Stop)
	return s
}

// Start starts the server and returns its URI.
func (s *Server) Start() string {
	t := s.t
	t.Helper()
	program, err := buildServer(t.Context())
	if err != nil {
		t.Fatalf("build hack/mongod: %v", err)
	}
	server := exec.CommandContext(context.WithoutCancel(t.Context()), program, "--child", "--sync=false", "--data", s.folder, "--listen", s.address)
	server.Stderr = t.Output()
	input, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	s.stop = func() {
		_ = input.Close()
		_ = server.Wait()
	}
	uri, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatalf("the MongoDB-wire server did not start: %v", err)
	}
	return strings.TrimSpace(uri)
}

// Stop stops the server if it runs.
func (s *Server) Stop() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

// buildServer returns the program of hack/mongod, made once for its sources and the
// version of Go.
func buildServer(ctx context.Context) (string, error) {
	gomod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	source := filepath.Join(filepath.Dir(strings.TrimSpace(string(gomod))), "hack", "mongod")
	hash := sha256.New()
	hash.Write([]byte(runtime.Version()))
	sources, err := filepath.Glob(filepath.Join(source, "*.go"))
	if err != nil {
		return "", err
	}
	for _, path := range append(sources, filepath.Join(source, "go.mod"), filepath.Join(source, "go.sum")) {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		hash.Write(content)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	program := filepath.Join(cache, "acclaim", fmt.Sprintf("mongod-%x", hash.Sum(nil)[:8]))
	return program, buildOnce(program, func(unfinished string) error {
		command := exec.CommandContext(ctx, "go", "build", "-o", unfinished, ".")
		// Without C, which only the race detector needs, as everything else compiles it.
		command.Dir, command.Env = source, append(os.Environ(), "CGO_ENABLED=0")
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, output)
		}
		return nil
	})
}

// buildOnce makes a program unless it is there. Of several processes that need it at once, one builds
// while the others wait.
func buildOnce(program string, build func(unfinished string) error) error {
	if _, err := os.Stat(program); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return err
	}
	lock := flock.New(program + ".lock")
	if err := lock.Lock(); err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // which unlocks it
	if _, err := os.Stat(program); err == nil {
		return nil
	}
	unfinished := program + ".unfinished"
	if err := build(unfinished); err != nil {
		return err
	}
	return os.Rename(unfinished, program)
}
