package admin_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/accumulation"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/message"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// Verification counts JSON from before there were limits, and has no problem with it.
func TestVerifyCountsOldJSON(t *testing.T) {
	store := storetest.NewMemory()
	d := newDomains(store, stream.SystemClock(), stream.Options{})
	deep := `{"a":` + strings.Repeat("[", 48) + strings.Repeat("]", 48) + "}"
	ctx := t.Context()
	buffer := accumulation.Buffer{Environment: "production", Extension: "ext", Name: "b"}
	feed := message.Feed{Environment: "production", Extension: "ext", Channel: "1"}
	poll := voting.Poll{Environment: "production", Extension: "ext", Channel: "1", ID: "p"}
	config := voting.Config{DistinctOptionsPerUser: 1, TotalVotesPerUser: 1, VotesPerOption: 1}
	for _, data := range []string{"{}", deep, `{"a":1e999}`} {
		config.UserData = []byte(data)
		for _, err := range []error{
			d.buffers.Append(ctx, buffer, accumulation.Submission{ChannelID: "1", Data: []byte(data)}),
			d.feeds.Publish(ctx, feed, message.Message{Name: "m", Data: []byte(data)}),
			d.polls.Configure(ctx, poll, config),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	name := key.Name{Kind: key.Document, Environment: "production", Extension: "ext", Scope: key.ChannelState, Channel: "1"}.String()
	if err := store.Put(ctx, document.Write{Key: name, ID: document.WriteID{1}, Body: []byte(deep)}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.buffers.Truncate(ctx, buffer.Stream(), time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := d.close(context.WithoutCancel(ctx)); err != nil {
		t.Fatal(err)
	}
	v, got := verify(t, store), map[string]uint64{}
	for kind, figures := range v.Kinds {
		got[kind] = figures.OverLimits
	}
	want := map[string]uint64{accumulation.Kind: 2, message.Kind: 2, voting.Kind: 2, key.Document: 1}
	if diff := cmp.Diff(want, got); diff != "" || len(v.Problems) > 0 {
		t.Errorf("problems %v, over limits (-want +got):\n%s", v.Problems, diff)
	}
}
