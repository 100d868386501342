package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo"
	mongooptions "go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/hack/harness"
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
	if uri != "" {
		return (&benchDatabase{uri: uri, stop: func() error { return nil }}).connect()
	}
	d, err := startDatabase(ctx, dir, filepath.Join("hack", "mongod"), "--child", "--data", filepath.Join(dir, "mongod-data"))
	if err != nil {
		return nil, fmt.Errorf("hack/mongod: %w", err)
	}
	return d, nil
}

// openModel builds and starts the model of a replica set, which takes inserts side by
// side and keeps everything in memory.
func openModel(ctx context.Context, dir string, args ...string) (*benchDatabase, error) {
	d, err := startDatabase(ctx, dir, filepath.Join("services", "internal", "testing", "mongotest", "mongoset"), args...)
	if err != nil {
		return nil, fmt.Errorf("model of a replica set: %w", err)
	}
	return d, nil
}

// startDatabase builds a server, starts it and connects to it.
func startDatabase(ctx context.Context, dir, server string, args ...string) (*benchDatabase, error) {
	d, err := harness.StartDatabase(ctx, dir, server, args...)
	if err != nil {
		return nil, err
	}
	return (&benchDatabase{uri: d.URI, ours: true, stop: d.Stop}).connect()
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
