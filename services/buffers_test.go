package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// bufferPage is a page of a buffer.
type bufferPage struct {
	Data   []struct{ Data struct{ N int } }
	Latest int64
}

func readBuffer(t *testing.T, p *process, start int64) (numbers []int, latest int64) {
	t.Helper()
	var page bufferPage
	if f, why := send(p, http.MethodGet, fmt.Sprint("/accumulate?id=b&start=", start), sign(t, "backend", ""), "", &page); f != stored {
		t.Fatal(why)
	}
	for _, entry := range page.Data {
		numbers = append(numbers, entry.Data.N)
	}
	return numbers, page.Latest
}

func wantBuffer(t *testing.T, p *process, start int64, want ...int) {
	t.Helper()
	if got, _ := readBuffer(t, p, start); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after %d the buffer has %v, want %v", start, got, want)
	}
}

func appendTo(t *testing.T, p *process, n int) {
	t.Helper()
	if f, why := send(p, http.MethodPost, "/accumulate?id=b", sign(t, "viewer", "U1"), fmt.Sprintf(`{"n":%d}`, n), nil); f != stored {
		t.Error(why)
	}
}

// A deleted buffer is empty for readers with and without a cursor, stays so when the program
// is killed, and begins again.
func TestDeleteBuffer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startProgram(t, dir, "serve")
	for n := range 3 {
		appendTo(t, p, n)
	}
	_, cursor := readBuffer(t, p, 0)
	for _, role := range []string{"viewer", "broadcaster", "admin"} {
		if status, err := p.do(http.MethodDelete, "/accumulate?id=b", sign(t, role, "U1"), "", nil); err != nil || status != http.StatusForbidden {
			t.Errorf("%s: status %d, %v", role, status, err)
		}
	}
	wantBuffer(t, p, 0, 0, 1, 2)
	for range 2 {
		if f, why := send(p, http.MethodDelete, "/accumulate?id=b", sign(t, "backend", ""), "", nil); f != stored {
			t.Fatal(why)
		}
		wantBuffer(t, p, 0)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait()
	p = startProgram(t, dir, "serve")
	wantBuffer(t, p, 0)
	appendTo(t, p, 7)
	wantBuffer(t, p, 0, 7)
	wantBuffer(t, p, cursor, 7)
	p.end(t)
	if out, status := runVerify(t, "--data-dir", dir); status != 0 {
		t.Errorf("verify: status %d\n%s", status, out)
	}
}

// Two programs over one database append to a buffer that both of them delete. When both
// have answered, both have the same entries, in the same order and each once, and what came
// after the last deletion is among them.
func TestDeleteBufferBesideAppends(t *testing.T) {
	t.Parallel()
	for name, start := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			uri := start(t)
			f := startFleet(t, []string{uri}, 2)
			const writers, rounds = 4, 15
			var all sync.WaitGroup
			for w := range writers {
				all.Go(func() {
					for i := range rounds {
						appendTo(t, f.any(w+i), 1+w*rounds+i)
						if i%5 == 4 && w < 2 {
							if f, why := send(f.any(i), http.MethodDelete, "/accumulate?id=b", sign(t, "backend", ""), "", nil); f != stored {
								t.Error(why)
							}
						}
					}
				})
			}
			all.Wait()
			left, _ := readBuffer(t, f.any(0), 0)
			seen := map[int]bool{}
			for _, n := range left {
				if seen[n] {
					t.Errorf("entry %d is there twice", n)
				}
				seen[n] = true
			}
			appendTo(t, f.any(1), 1000)
			for i := range 2 {
				wantBuffer(t, f.any(i), 0, append(slices.Clip(left), 1000)...)
			}
			if out, status := runVerify(t, "--mongodb-uri", uri); status != 0 || strings.Contains(out, "damaged") {
				t.Errorf("verify: status %d\n%s", status, out)
			}
		})
	}
}
