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

// database is a MongoDB server, ours for the time of the measurement or one that
// was there.
type database struct {
	uri    string
	client *mongo.Client
	stop   func() error
}

// openDatabase connects to a server, or builds and starts that of hack/mongod.
func openDatabase(ctx context.Context, uri, dir string) (*database, error) {
	d := &database{uri: uri, stop: func() error { return nil }}
	if uri == "" {
		if err := d.start(ctx, dir); err != nil {
			return nil, fmt.Errorf("hack/mongod: %w", err)
		}
	}
	client, err := mongo.Connect(mongooptions.Client().ApplyURI(d.uri))
	if err != nil { // which may quote passwords
		return nil, errors.Join(errors.New("-mongodb-uri cannot be used"), d.stop())
	}
	d.client = client
	return d, nil
}

func (d *database) start(ctx context.Context, dir string) error {
	binary := filepath.Join(dir, "mongod")
	build := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join("hack", "mongod"), "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	server := exec.CommandContext(ctx, binary, "--child", "--data", filepath.Join(dir, "mongod-data"))
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
	d.uri = strings.TrimSpace(line)
	return err
}

// named returns the URI of a database of the server. A user is still looked for
// where the server's URI says.
func (d *database) named(name string) string {
	scheme, rest, _ := strings.Cut(d.uri, "://")
	place, options, _ := strings.Cut(rest, "?")
	hosts, before, _ := strings.Cut(place, "/")
	if strings.Contains(hosts, "@") && !strings.Contains(strings.ToLower(options), "authsource=") {
		options = strings.TrimSuffix("authSource="+cmp.Or(before, "admin")+"&"+options, "&")
	}
	return scheme + "://" + hosts + "/" + databaseName(name) + "?" + options
}

func databaseName(name string) string { return "acclaim_bench_" + name }

// close drops the databases that were used and stops what was started.
func (d *database) close(ctx context.Context, names ...string) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, d.client.Database(databaseName(name)).Drop(ctx))
	}
	return errors.Join(append(errs, d.client.Disconnect(ctx), d.stop())...)
}
