package document

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// heaviestBodies returns changes of up to 256 KiB that take as much memory as such a body
// can, by what they abuse.
func heaviestBodies() map[string]string {
	const size = 256 << 10
	fill := func(begin, repeated, end string) string {
		return begin + strings.TrimSuffix(strings.Repeat(repeated, (size-len(begin)-len(end))/len(repeated)), ",") + end
	}
	nested := func(begin, open, inner, shut, end string, depth int) string {
		return fill(begin, strings.Repeat(open, depth)+inner+strings.Repeat(shut, depth)+",", end)
	}
	doubling := func(seed string) string {
		operations := []string{`{"op":"add","path":"/a","value":` + seed + `}`}
		for i := range 40 {
			operations = append(operations, fmt.Sprintf(`{"op":"copy","from":"","path":"/c%d"}`, i))
		}
		return "[" + strings.Join(operations, ",") + "]"
	}
	var copied []string // just below the bound
	for i := range 11 {
		copied = append(copied, fmt.Sprintf(`{"op":"copy","from":"/a","path":"/c%d"}`, i))
	}
	add, end := `[{"op":"add","path":"/a","value":[`, `]}]`
	return map[string]string{
		"objects of one member":   fill(add, `{"":0},`, end),
		"empty objects":           fill(add, `{},`, end),
		"empty arrays":            fill(add, `[],`, end),
		"numbers":                 fill(add, `0,`, end),
		"long numbers":            fill(add, `10,`, end),
		"strings":                 fill(add, `"",`, end),
		"nested objects":          nested(add, `{"":`, "0", "}", end, 4_000),
		"nested arrays":           nested(add, `[`, "", "]", end, 4_000),
		"copies of objects":       doubling(`{}`),
		"copies of members":       doubling(`{"":{"":0}}`),
		"copies of arrays":        doubling(`[[],[],[],[]]`),
		"copies of numbers":       doubling(`[` + strings.Repeat("0,", 1000) + `0]`),
		"copies of a string":      doubling(`"` + strings.Repeat("\\u0001", 10_000) + `"`),
		"copies that are encoded": `[{"op":"add","path":"/a","value":"` + strings.Repeat("\\u0001", 10_000) + `"},` + strings.Join(copied, ",") + `]`,
		"operations":              fill(`[`, `{"op":"add","path":"/a","value":0},`, `]`),
		"operations of nothing":   fill(`[`, `{},`, `]`),
		"paths":                   fill(`[{"op":"add","path":"`, `/`, `","value":0}]`),
		"merge: members":          fill(`{"a":[`, `{"":0},`, `]}`),
		"merge: objects":          nested(`{"a":[`, `{"":`, "0", "}", `]}`, 4_000),
		"merge: nested":           strings.Repeat(`{"":`, 9_000) + "0" + strings.Repeat("}", 9_000),
		"merge: objects by name": `{` + func() string {
			var b strings.Builder
			for i := 0; b.Len() < size-20; i++ {
				fmt.Fprintf(&b, `"%x":{"":{}},`, i)
			}
			return strings.TrimSuffix(b.String(), ",")
		}() + `}`,
	}
}

// evaluate makes a change of a document and returns the bytes that were allocated for it.
func evaluate(tb testing.TB, document, body string, limit int) (allocated int64, change Change, err error) {
	tb.Helper()
	var before, after runtime.MemStats
	evaluations := newEvaluations(defaultEvaluationBytes)
	runtime.ReadMemStats(&before)
	if change, err = ParseChange([]byte(body)); err == nil {
		_, err = evaluations.run(tb.Context(), Edit{Change: change, MaxBytes: limit}, Document{Body: []byte(document)})
	}
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc), change, err
}

// A body of the default size takes less than 32 MiB, even if nothing is collected meanwhile.
func TestHeapOfHeaviestBodies(t *testing.T) {
	var heaviest int64
	for name, body := range heaviestBodies() {
		allocated, change, err := evaluate(t, `{}`, body, DefaultMaxBytes)
		if kind := fault.KindOf(err); err != nil && kind != fault.TooLarge && kind != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
		if allocated > 32<<20 {
			t.Errorf("%s: %d bytes take %d bytes of heap", name, len(body), allocated)
		}
		if most := heapBound(change, `{}`, DefaultMaxBytes); allocated > most {
			t.Errorf("%s: %d bytes of heap, expected at most %d", name, allocated, most)
		}
		heaviest = max(heaviest, allocated)
	}
	t.Logf("the heaviest body of 256 KiB takes %.1f MiB", float64(heaviest)/(1<<20))
}

// heapBound returns the bytes that a change may allocate: twice what the semaphore counts,
// which is alive at one time, and what does not depend on the body.
func heapBound(change Change, document string, limit int) int64 {
	return 2*(change.weight()+decodedWeight([]byte(document))+copyFactor*int64(limit)) + 64<<10
}

func FuzzHeap(f *testing.F) {
	for _, body := range heaviestBodies() {
		f.Add(`{"a":[{"b":null}]}`, body)
	}
	f.Add(`{"a":1}`, `{"a":null,"b":{"c":[null]}}`)
	f.Add(`{"a/b":{"~":[1,2,3]}}`, `[{"op":"copy","from":"/a~1b/~0","path":"/b"},{"op":"move","from":"/b/0","path":"/a~1b"}]`)
	f.Fuzz(func(t *testing.T, document, body string) {
		const limit = 512 // little may be copied, so that the bound follows the bodies
		if _, err := Replace([]byte(document)); err != nil {
			return
		}
		allocated, change, _ := evaluate(t, document, body, limit)
		if change == nil {
			return
		}
		if most := 400 * int64(len(body)); change.weight() > most {
			t.Errorf("weighs %d, more than %d", change.weight(), most)
		}
		if most := heapBound(change, document, limit); allocated > most {
			t.Errorf("%d bytes of heap, expected at most %d", allocated, most)
		}
	})
}

// What evaluations take is returned however they end, and is never more than there is.
func TestEvaluationsReturnWhatTheyTake(t *testing.T) {
	const capacity = 8 << 20
	synctest.Test(t, func(t *testing.T) {
		evaluations := newEvaluations(capacity)
		random := rand.New(rand.NewPCG(1, 2))
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for range 60 {
			text := pickText(random)
			given := []context.Context{t.Context(), ctx}[random.IntN(2)]
			running.Go(func() {
				change, err := ParseChange([]byte(text))
				if err != nil {
					t.Error(err)
				}
				_, _ = evaluations.run(given, Edit{Change: change, MaxBytes: 1 << 10}, Document{})
			})
		}
		cancel()
		running.Wait()
		if !evaluations.free.TryAcquire(capacity) {
			t.Error("an evaluation has kept some of the heap")
		}
	})
}

// pickText returns a patch that succeeds, one that fails, or one that is too heavy.
func pickText(random *rand.Rand) string {
	return []string{
		`{"a":[{},{}]}`,
		`[{"op":"remove","path":"/missing"}]`,
		`[{"op":"nothing"}]`,
		`{"a":[` + strings.Repeat(`{"":0},`, 30_000) + `0]}`,
	}[random.IntN(4)]
}

func TestEvaluationsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := NewService(nil, nil, Options{EvaluationBytes: 1 << 10})
		if err := service.evaluations.free.Acquire(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		change, err := ParseChange([]byte(`{"a":1}`))
		if err != nil {
			t.Fatal(err)
		}
		done := false
		go func() {
			_, err := service.evaluations.run(t.Context(), Edit{Change: change}, Document{})
			done = err == nil
		}()
		synctest.Wait()
		if done {
			t.Error("a patch is evaluated beside others that take all the heap")
		}
		service.evaluations.free.Release(1)
		synctest.Wait()
		if !done {
			t.Error("a patch is not evaluated when there is heap again")
		}
	})
}
