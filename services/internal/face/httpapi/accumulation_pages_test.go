package httpapi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
)

// entries is a page of a buffer (sections 2.5 and 4.2).
type entries struct {
	Data []struct {
		Observed  int64  `json:"observed"`
		ChannelID string `json:"channel_id"`
		Data      struct{ N int }
	}
	Latest int64
}

func (a *api) entries(header string, start int64) (page entries) {
	a.t.Helper()
	got := a.send("GET", fmt.Sprintf("/v1/accumulate?start=%d", start), "", "Authorization", header).is(200)
	if err := json.Unmarshal([]byte(got.body), &page); err != nil {
		a.t.Error(err)
	}
	return page
}

// readAll polls until there is nothing more and returns the numbers it read and
// how many were on each page.
func (a *api) readAll(header string) (numbers, pages []int) {
	a.t.Helper()
	start := int64(0)
	for {
		page := a.entries(header, start)
		if page.Latest == 0 {
			return numbers, pages
		}
		pages = append(pages, len(page.Data))
		for i, entry := range page.Data {
			if entry.Observed <= start || i > 0 && entry.Observed < page.Data[i-1].Observed {
				a.t.Fatalf("entry %d was observed at %d, the page began after %d", i, entry.Observed, start)
			}
			numbers = append(numbers, entry.Data.N)
		}
		start = page.Latest
		if last := page.Data[len(page.Data)-1].Observed; start != last {
			a.t.Fatalf("latest is %d, the last entry was observed at %d", start, last)
		}
	}
}

// fill appends numbered objects from several writers at once. The even ones are
// of channel 77, the others of 88.
func (a *api) fill(total int, text string) {
	const writers = 256
	headers := []string{viewer().header(a.t), identity{role: "viewer", opaque: "U8", channel: "88"}.header(a.t)}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := w; n < total; n += writers {
				a.send("POST", "/v1/accumulate", fmt.Sprintf(`{"n":%d,"text":"`, n)+text+`"}`, "Authorization", headers[n%2]).is(200)
			}
		})
	}
	all.Wait()
}

func upTo(n, step int) (numbers []int) {
	for i := 0; i < n; i += step {
		numbers = append(numbers, i)
	}
	return numbers
}

// A page ends at 10,000 entries, with the group of the last of them; the next one
// continues where it ended, for a broadcaster as well.
func TestAccumulationPages(t *testing.T) {
	a := newAPI(t)
	const written = 12_000
	a.fill(written, "")
	read, pages := a.readAll(backend().header(t))
	slices.Sort(read)
	if diff := cmp.Diff(upTo(written, 1), read); diff != "" || len(pages) != 2 || pages[0] < 10_000 || pages[0] >= 10_000+1024 {
		t.Errorf("pages of %d entries (-written +read):\n%s", pages, diff)
	}
	read, pages = a.readAll(broadcaster().header(t))
	slices.Sort(read)
	if diff := cmp.Diff(upTo(written, 2), read); diff != "" || len(pages) != 1 {
		t.Errorf("a broadcaster's pages of %d entries (-written +read):\n%s", pages, diff)
	}
}

// A page also ends at 8 MiB of data.
func TestAccumulationPagesOfLargeEntries(t *testing.T) {
	a := newAPI(t)
	const written, size = 200, 60 << 10
	a.fill(written, strings.Repeat("x", size))
	read, pages := a.readAll(backend().header(t))
	slices.Sort(read)
	if diff := cmp.Diff(upTo(written, 1), read); diff != "" || len(pages) != 2 || pages[0]*size < 8<<20-size || pages[0]*size > 10<<20 {
		t.Errorf("pages of %d entries (-written +read):\n%s", pages, diff)
	}
}

// Readers that poll while many write miss nothing and see nothing twice.
func TestAccumulationReadersKeepUpWithWriters(t *testing.T) {
	a := newAPI(t)
	const written, readers = 3000, 4
	header, read, finished := backend().header(t), make(chan []int), make(chan struct{})
	for range readers {
		go func() {
			var numbers []int
			last := false // a page read after the last write is the last when it is empty
			for start := int64(0); ; {
				select {
				case <-finished:
					last = true
				default:
				}
				page := a.entries(header, start)
				for _, entry := range page.Data {
					numbers = append(numbers, entry.Data.N)
				}
				start = max(start, page.Latest) // an empty page has 0
				if last && len(page.Data) == 0 {
					break
				}
			}
			read <- numbers
		}()
	}
	a.fill(written, "")
	close(finished)
	for range readers {
		numbers := <-read
		slices.Sort(numbers)
		if diff := cmp.Diff(upTo(written, 1), numbers); diff != "" {
			t.Errorf("entries (-written +read):\n%s", diff)
		}
	}
}

// An entry was observed when it became visible: before its POST is answered.
func TestObservedIsTheTimeOfTheWrite(t *testing.T) {
	a := newAPI(t)
	start := int64(0)
	for range 20 {
		before := time.Now().UnixMilli()
		a.as(viewer(), "POST", "/accumulate", `{}`).is(200)
		after := time.Now().UnixMilli()
		page := a.entries(backend().header(t), start)
		if len(page.Data) != 1 || page.Latest < before || page.Latest > after || page.Latest <= start {
			t.Fatalf("written from %d to %d, read %+v after %d", before, after, page, start)
		}
		start = page.Latest
	}
}

// A broadcaster without a channel reads what has none, not what others have.
func TestBroadcasterWithoutAChannel(t *testing.T) {
	a := newAPI(t)
	nowhere := func(role string) string {
		return credential(t, productionKey, jwt.MapClaims{"role": role, "channel_id": nil})
	}
	a.as(viewer(), "POST", "/accumulate", `{"n":1}`).is(200)
	a.send("GET", "/v1/accumulate", "", "Authorization", nowhere("broadcaster")).want(200, `{"data":[],"latest":0}`)
	a.send("POST", "/v1/accumulate", `{"n":2}`, "Authorization", nowhere("viewer")).is(200)
	if page := a.entries(nowhere("broadcaster"), 0); len(page.Data) != 1 || page.Data[0].Data.N != 2 || page.Data[0].ChannelID != "" {
		t.Errorf("read %+v", page)
	}
	if page := a.entries(broadcaster().header(t), 0); len(page.Data) != 1 || page.Data[0].Data.N != 1 {
		t.Errorf("another broadcaster read %+v", page)
	}
}
