package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo"
	mongooptions "go.mongodb.org/mongo-driver/v2/mongo/options"
)

// benchDatabase is a MongoDB server, ours for the time of the measurement or one that
// was there.
type benchDatabase struct {
	uri    string
	ours   bool // and gone when it is stopped
	client *mongo.Client
	stop   func() error
}

// openDatabase connects to a server, or builds and starts that of hack/mongod.
func openDatabase(ctx context.Context, uri, dir string) (*benchDatabase, error) {
	d := &benchDatabase{uri: uri, stop: func() error { return nil }}
	if uri == "" {
		if err := d.start(ctx, dir, "mongod", filepath.Join("hack", "mongod"), "--child", "--data", filepath.Join(dir, "mongod-data")); err != nil {
			return nil, fmt.Errorf("hack/mongod: %w", err)
		}
	}
	return d.connect()
}

// openModel builds and starts the model of a replica set, which takes inserts side by
// side and keeps everything in memory.
func openModel(ctx context.Context, dir string, args ...string) (*benchDatabase, error) {
	d := &benchDatabase{}
	if err := d.start(ctx, dir, "mongoset", filepath.Join("services", "internal", "testing", "mongotest", "mongoset"), args...); err != nil {
		return nil, fmt.Errorf("model of a replica set: %w", err)
	}
	return d.connect()
}

// connect connects to the server at the URI.
func (d *benchDatabase) connect() (*benchDatabase, error) {
	client, err := mongo.Connect(mongooptions.Client().ApplyURI(d.uri))
	if err != nil { // which may quote passwords
		return nil, errors.Join(errors.New("-mongodb-uri cannot be used"), d.stop())
	}
	d.client = client
	return d, nil
}

// start builds a server from a folder and starts it. It prints its URI.
func (d *benchDatabase) start(ctx context.Context, dir, name, folder string, args ...string) error {
	binary := filepath.Join(dir, name)
	build := exec.CommandContext(ctx, "go", "build", "-C", folder, "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	server := exec.CommandContext(ctx, binary, args...)
	in, err := server.StdinPipe()
	if err != nil {
		return err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	d.stop = func() error { return errors.Join(in.Close(), server.Wait()) }
	line, err := bufio.NewReader(out).ReadString('\n')
	d.uri, d.ours = strings.TrimSpace(line), true
	return err
}

// scopedName returns the URI of a database of the server. A user is still looked for
// where the server's URI says.
func (d *benchDatabase) scopedName(name string) string {
	scheme, rest, _ := strings.Cut(d.uri, "://")
	place, options, _ := strings.Cut(rest, "?")
	hosts, before, _ := strings.Cut(place, "/")
	if strings.Contains(hosts, "@") && !strings.Contains(strings.ToLower(options), "authsource=") {
		options = strings.TrimSuffix("authSource="+cmp.Or(before, "admin")+"&"+options, "&")
	}
	return scheme + "://" + hosts + "/" + databaseName(name) + "?" + options
}

func databaseName(name string) string { return "acclaim_bench_" + name }

// close drops the databases that were used on a server that was there, and stops one that was
// started.
func (d *benchDatabase) close(ctx context.Context, names ...string) error {
	var errs []error
	for _, name := range names {
		if !d.ours {
			errs = append(errs, d.client.Database(databaseName(name)).Drop(ctx))
		}
	}
	return errors.Join(append(errs, d.client.Disconnect(ctx), d.stop())...)
}
