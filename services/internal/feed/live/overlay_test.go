package live

import (
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/feed/event"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// Streams of overlay keys, and no others, receive within 2 seconds that another process has
// changed the keys of their channel.
func TestOverlayKeysOfOtherProcesses(t *testing.T) {
	in(t, func(t *testing.T) {
		store := storetest.NewMemory()
		here := start(t, store, false)
		there := document.NewService(store, stream.SystemClock(), document.Options{})
		defer func() { _ = there.Close(t.Context()) }() // nothing is under way
		change := func(channel, body string) {
			t.Helper()
			replace, err := document.Replace([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			source := event.OverlaySource(event.Audience{Environment: "production", Extension: "ext", Channel: channel})
			if _, err := there.Edit(t.Context(), document.Edit{Key: source.Name, MaxBytes: 1 << 10, Change: replace}); err != nil {
				t.Fatal(err)
			}
		}
		change("1", `{"n":1}`)
		holder := subscription("vote_update:p")
		holder.Overlay, holder.Key = true, event.OverlaySource(event.Audience{Environment: "production", Extension: "ext", Channel: "1"})
		overlay, viewer, named := here.subscribe(holder), here.subscribe(subscription()), here.subscribe(subscription("key_update"))
		pass(2 * time.Second)
		overlay.want()
		change("2", `{"n":1}`)
		pass(2 * time.Second)
		overlay.want()
		change("1", `{"n":2}`)
		pass(2 * time.Second)
		overlay.want(`broadcast key_update {"n":2}`)
		viewer.want()
		named.want()
	})
}
