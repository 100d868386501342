package picture_test

import (
	"context"
	"errors"
	"image/color"
	"sync"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/store/mongostore"
	"github.com/acclaim-dev/acclaim/services/internal/testing/mongotest"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/picture"
)

var (
	channel = picture.Channel{Environment: "production", Extension: "ext", ID: "77"}
	noon    = time.Unix(1_800_000_000, 0)
)

// stores open an empty store of each kind: one with transactions, and a database without.
var stores = map[string]func(t *testing.T) document.Store{
	"memory": func(*testing.T) document.Store { return storetest.NewMemory() },
	"database": func(t *testing.T) document.Store {
		store, err := mongostore.Open(t.Context(), mongotest.WithLongTimeouts(mongotest.Start(t)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close(context.WithoutCancel(t.Context())) })
		return store
	},
}

func documentsOf(store document.Store) *document.Service {
	return document.NewService(store, storetest.Hasty{}, document.Options{})
}

func newService(allRead func() bool) *picture.Service {
	return picture.NewService(documentsOf(storetest.NewMemory()), allRead)
}

// shade returns a picture that differs from those of other numbers.
func shade(t *testing.T, n int) *picture.Image {
	t.Helper()
	i, err := picture.Encode(pngOf(t, 2, 2, func(int, int) color.NRGBA { return color.NRGBA{byte(n), byte(n >> 8), 0, 255} }))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// read returns what is served of a picture.
func read(t *testing.T, i *picture.Image) []byte {
	t.Helper()
	s := newService(nil)
	added, err := s.Add(t.Context(), channel, i, noon)
	if err != nil {
		t.Fatal(err)
	}
	data, err := s.Read(t.Context(), channel, added.ID)
	if err != nil || len(data) != added.Bytes || added.Bytes != i.Size() {
		t.Fatalf("%d bytes of %+v, %v", len(data), added, err)
	}
	return data
}

func refused(t *testing.T, err error, kind fault.Kind, reason string) {
	t.Helper()
	if got, ok := errors.AsType[*fault.Error](err); !ok || got.Kind != kind || got.Reason != reason {
		t.Errorf("%v, want %q", err, reason)
	}
}

func TestPicturesOfChannel(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { testPicturesOfChannel(t, picture.NewService(documentsOf(open(t)), nil)) })
	}
}

func testPicturesOfChannel(t *testing.T, s *picture.Service) {
	other := channel
	other.ID = "78"
	first, err := s.Add(t.Context(), channel, shade(t, 1), noon)
	if err != nil || !contract.IsPictureID(first.ID) || first.Width != 2 || first.Height != 2 || first.Created != noon.Unix() {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := s.Add(t.Context(), channel, shade(t, 1), noon.Add(time.Hour))
	if err != nil || again != first {
		t.Errorf("added again: %+v, %v, want %+v", again, err, first)
	}
	_, err = s.Read(t.Context(), other, first.ID)
	refused(t, err, fault.NotFound, "No such picture")
	refused(t, s.Remove(t.Context(), other, first.ID), fault.NotFound, "No such picture")
	for n := 2; n <= contract.MaxPictures; n++ {
		if _, err := s.Add(t.Context(), channel, shade(t, n), noon); err != nil {
			t.Fatal(err)
		}
	}
	_, err = s.Add(t.Context(), channel, shade(t, 100), noon)
	refused(t, err, fault.Invalid, "A channel has at most 64 pictures")
	if _, err := s.Add(t.Context(), channel, shade(t, 1), noon); err != nil {
		t.Errorf("one that the full channel has: %v", err)
	}
	if _, err := s.Add(t.Context(), other, shade(t, 100), noon); err != nil {
		t.Errorf("in another channel: %v", err)
	}
	if err := s.Remove(t.Context(), channel, first.ID); err != nil {
		t.Fatal(err)
	}
	_, err = s.Read(t.Context(), channel, first.ID)
	refused(t, err, fault.NotFound, "No such picture")
	refused(t, s.Remove(t.Context(), channel, first.ID), fault.NotFound, "No such picture")
	if added, err := s.Add(t.Context(), channel, shade(t, 1), noon.Add(time.Hour)); err != nil || added.ID != first.ID || added.Created == first.Created {
		t.Errorf("added after its removal: %+v, %v", added, err)
	}
	if list, err := s.List(t.Context(), channel); err != nil || len(list) != contract.MaxPictures || list[len(list)-1].ID != first.ID {
		t.Errorf("%d pictures, %v", len(list), err)
	}
}

// Additions and removals by two processes at the same time leave a list that names what can be read, and
// nothing else.
func TestPicturesAtOnce(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { testPicturesAtOnce(t, open(t)) })
	}
}

func testPicturesAtOnce(t *testing.T, store document.Store) {
	processes := []*picture.Service{picture.NewService(documentsOf(store), nil), picture.NewService(documentsOf(store), nil)}
	id := func(n int) string {
		added, err := newService(nil).Add(t.Context(), channel, shade(t, n), noon)
		if err != nil {
			t.Fatal(err)
		}
		return added.ID
	}
	ids, images := []string{id(1), id(2)}, []*picture.Image{shade(t, 1), shade(t, 2)}
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() { _, _ = processes[i/2%2].Add(t.Context(), channel, images[i%2], noon) })
		all.Go(func() { _ = processes[i/4%2].Remove(t.Context(), channel, ids[i%2]) })
	}
	all.Wait()
	s := picture.NewService(documentsOf(store), nil)
	list, err := s.List(t.Context(), channel)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, p := range list {
		listed[p.ID] = true
	}
	for _, id := range ids {
		if _, err := s.Read(t.Context(), channel, id); (err == nil) != listed[id] {
			t.Errorf("%s is listed: %v; read: %v", id, listed[id], err)
		}
	}
}

// No picture is added while a process runs that could not read its name.
func TestPicturesWait(t *testing.T) {
	upgraded := false
	s := newService(func() bool { return upgraded })
	_, err := s.Add(t.Context(), channel, shade(t, 1), noon)
	refused(t, err, fault.Unavailable, "Pictures wait for processes of an earlier version")
	upgraded = true
	if _, err := s.Add(t.Context(), channel, shade(t, 1), noon); err != nil {
		t.Error(err)
	}
}
