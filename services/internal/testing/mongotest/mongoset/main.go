// Command mongoset runs the model of a replica set of package mongotest, or of a sharded
// cluster, as a process, for `make bench` and `make abuse`: a database that takes inserts side by side, and whose
// processor time does not count as that of the programs. It prints its URI and ends with its input.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
)

func main() {
	shards := flag.Int("shards", 1, "`number` of sets; several are the shards of a cluster, and the URI is that of its router")
	flag.Parse()
	t := &processContext{}
	// A majority has an entry after some 3 ms, as in one data centre.
	timing := mongotest.ReplicaTiming{OneWay: time.Millisecond, Acknowledge: time.Millisecond}
	set := mongotest.StartReplicaSet(t, 3, timing)
	uri := set.URI()
	if *shards > 1 {
		var others []*mongotest.ReplicaSet
		for range *shards - 1 {
			others = append(others, mongotest.StartReplicaSet(t, 3, timing))
		}
		uri = set.NewRouter("SINGLE_SHARD", others...).URI()
	}
	_, _ = fmt.Fprintln(os.Stdout, uri)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent ends or closes it
}

// processContext takes the place of a test: the set ends with the process.
type processContext struct{ testing.TB }

func (*processContext) Helper()                  {}
func (*processContext) Context() context.Context { return context.Background() }
func (*processContext) Cleanup(func())           {}

func (*processContext) Errorf(format string, args ...any) {
	_, _ = fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}
