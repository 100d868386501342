package admin_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/rewrite"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
	"github.com/acclaim-dev/acclaim/services/picture"
)

// A picture belongs to its channel, not to a poll or a viewer: it outlasts a purge of the channel's
// polls and the erasure of a viewer with any id of its name.
func TestPicturesStay(t *testing.T) {
	store := storetest.NewMemory()
	documents := document.NewService(store, stream.SystemClock(), document.Options{})
	defer func() { _ = documents.Close(context.WithoutCancel(t.Context())) }()
	pictures := picture.NewService(documents, nil)
	channel := picture.Channel{Environment: "production", Extension: "ext", ID: "7"}
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	one, err := picture.Encode(encoded.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	added, err := pictures.Add(t.Context(), channel, one, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	d := newDomains(store, stream.SystemClock(), stream.Options{})
	defer func() { _ = d.close(context.WithoutCancel(t.Context())) }()
	fillStreams(t, d)

	for name, run := range map[string]func() error{
		"purge of the channel": func() error {
			filter := admin.PurgeFilter{Extension: "ext", Environment: tenant.Production, Channel: "7", OlderThan: time.Hour}
			report, err := admin.NewPurgeService(store, d.table, nil, inTwoHours).Purge(t.Context(), filter, func(int) {})
			if report.Total().Found == 0 {
				t.Error("nothing is purged")
			}
			return err
		},
		"erasure": func() error {
			target := admin.Target{Viewer: rewrite.Viewer{IDs: []string{"7", "U7", added.ID, "U1"}}, Only: true, At: time.Now()}
			_, err := admin.NewErasureService(store, d.table, documents).Erase(t.Context(), "ext", target, func(int) {})
			return err
		},
	} {
		if err := run(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// Through a service that remembers nothing.
		fresh := document.NewService(store, stream.SystemClock(), document.Options{})
		again := picture.NewService(fresh, nil)
		list, err := again.List(t.Context(), channel)
		if err != nil || len(list) != 1 || list[0] != added {
			t.Errorf("%s: the channel has %+v, %v", name, list, err)
		}
		if data, err := again.Read(t.Context(), channel, added.ID); err != nil || len(data) != added.Bytes {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
		if err := fresh.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
