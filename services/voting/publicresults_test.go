package voting

import (
	"context"
	"testing"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// A visit tells the figures of a poll with public results and nothing of any other, through another
// process too, and keeps neither in memory. Beside an earlier release, which does not know
// publicResults, the process that is asked reads the log itself.
func TestPublicOverview(t *testing.T) {
	ctx, store, config := t.Context(), storetest.NewMemory(), DefaultConfig()
	writer := NewService(store, stream.SystemClock(), stream.Options{})
	named := func(id string) Poll { return Poll{Environment: "production", Extension: "e", Channel: "c", ID: id} }
	for _, id := range []string{"open", "closed"} {
		config.PublicResults = id == "open"
		if err := writer.Configure(ctx, named(id), config); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Vote(ctx, named(id), ann, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(ctx); err != nil {
		t.Fatal(err)
	}
	owner := NewService(store, stream.SystemClock(), stream.Options{})
	level, sent := stream.CurrentLevel, &countingPeer{serve: owner.Serve}
	s := NewService(store, stream.SystemClock(), stream.Options{Peers: sent, PeersRead: func(l stream.Level) bool { return l <= level }})
	t.Cleanup(func() { _, _ = s.Close(context.WithoutCancel(ctx)), owner.Close(context.WithoutCancel(ctx)) })
	for _, level = range []stream.Level{stream.CurrentLevel, stream.LevelDevices - 1} {
		for id, public := range map[string]bool{"open": true, "closed": false, "none": false} {
			before := sent.count
			o, err := s.PublicOverview(ctx, named(id), true)
			if err != nil || o.Configured != public || public && (o.Statistics.tally.count != wideInt{lo: 1} || !o.Config.PublicResults) {
				t.Errorf("level %d: a visit of %s gives %+v, %v", level, id, o, err)
			}
			if forwarded := sent.count > before; forwarded != (level == stream.CurrentLevel) {
				t.Errorf("level %d: the owner was asked: %v", level, forwarded)
			}
		}
	}
	if o, err := s.PublicOverview(ctx, named("open"), false); err != nil || !o.Config.IsPublic(contract.Active) {
		t.Errorf("%+v, %v", o, err)
	}
	for name, service := range map[string]*Service{"the owner": owner, "the process that was asked": s} {
		if err := service.Close(ctx); err != nil { // waits for its workers
			t.Fatal(err)
		}
		want := 0
		if service == s {
			want = 1 // of the last question, which was no visit and came here
		}
		if stats := service.Stats(); stats.Streams != want {
			t.Errorf("%s has %d polls in memory, want %d", name, stats.Streams, want)
		}
	}
}
