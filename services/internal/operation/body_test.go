package operation

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// Memory follows what arrives, not what is announced.
func TestAnnouncedBytesTakeNoMemory(t *testing.T) {
	for arrived, most := range map[int]int64{0: firstBodyBytes, 100: firstBodyBytes, 5_000: 2 * firstBodyBytes, 200_000: 256 << 10} {
		budgets := defaultBudgets()
		leases := budgets.BodyLeases(tenant.Production, nil, 256<<10)
		in := io.MultiReader(strings.NewReader(strings.Repeat("x", arrived)), iotest.ErrReader(errors.New("gone")))
		reader := &bodyReader{leases: &leases, limit: 256 << 10}
		if _, err := reader.readAll(in, 256<<10); fault.KindOf(err) != fault.Invalid {
			t.Errorf("a body cut off after %d bytes: %v", arrived, err)
		}
		if used := budgets.Bodies.Stats().Used; used > most || used != int64(cap(reader.buf)) {
			t.Errorf("%d bytes of 256 KiB take %d of the budget and %d of memory, want %d at most", arrived, used, cap(reader.buf), most)
		}
	}
}

func TestReadAll(t *testing.T) {
	const limit = 10_000
	for _, size := range []int{0, 1, firstBodyBytes - 1, firstBodyBytes, firstBodyBytes + 1, limit - 1, limit, limit + 1} {
		body := bytes.Repeat([]byte("x"), size)
		for _, known := range []bool{true, false} {
			for name, in := range map[string]io.Reader{"whole": bytes.NewReader(body), "bytewise": iotest.OneByteReader(bytes.NewReader(body)), "with EOF": iotest.DataErrReader(bytes.NewReader(body))} {
				length := int64(-1)
				if known {
					length = int64(size)
				}
				leases := defaultBudgets().BodyLeases(tenant.Production, nil, limit)
				got, err := (&bodyReader{leases: &leases, limit: limit}).readAll(in, length)
				if size > limit && fault.KindOf(err) != fault.TooLarge || size <= limit && (err != nil || !bytes.Equal(got, body)) {
					t.Errorf("%d bytes, %s, announced %t: %d bytes, %v", size, name, known, len(got), err)
				}
			}
		}
	}
}

// One viewer cannot use up the budget: its share is refused with 429, and the rest of
// the process goes on. The budget as a whole is refused with 503.
func TestSharesOfTheBodyBudget(t *testing.T) {
	registry, err := tenant.Parse([]byte(`extensions: [{clientID: ext, secrets: [{value: cHJvZHVjdGlvbi1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	extension, _ := registry.ByClientID("ext")
	viewer := &Caller{Extension: extension, Environment: tenant.Production, Role: Viewer, ChannelID: "1", OpaqueID: "U1"}
	other := &Caller{Extension: extension, Environment: tenant.Production, Role: Viewer, ChannelID: "1", OpaqueID: "U2"}
	budgets := NewBudgets(BudgetLimits{Requests: 1, PerAddress: 1, BodyBytes: 16 << 20})
	read := func(c *Caller) error {
		leases := budgets.BodyLeases(tenant.Production, c, 256<<10)
		body := strings.NewReader(strings.Repeat("x", 200<<10))
		_, err := (&bodyReader{leases: &leases, limit: 256 << 10}).readAll(body, -1)
		return err // the body stays
	}
	count := 0
	for err = read(viewer); err == nil; err = read(viewer) {
		count++
	}
	if count == 0 || fault.KindOf(err) != fault.RateLimited {
		t.Errorf("after %d bodies of one viewer: %v", count, err)
	}
	if err := read(other); err != nil {
		t.Errorf("another viewer: %v", err)
	}
	used := budgets.Bodies.Stats().Used
	if err := budgets.Bodies.Lease(limit.Caller{}).Take(16<<20 - used); err != nil {
		t.Fatal(err)
	}
	if err := read(other); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("with the budget used up: %v", err)
	}
}

// Large bodies leave a quarter of the budget to small ones.
func TestLargeBodiesLeaveRoom(t *testing.T) {
	registry, err := tenant.Parse([]byte(`extensions: [{clientID: a, secrets: [{value: cHJvZHVjdGlvbi1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=}]}, {clientID: b, secrets: [{value: b3RoZXIta2V5LW9mLW1vcmUtdGhhbi0zMi1ieXRlcy0wMTIzNDU2}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	budgets := NewBudgets(BudgetLimits{Requests: 1, PerAddress: 1, BodyBytes: 16 << 20})
	read := func(extension string, viewer, size int) error {
		e, _ := registry.ByClientID(extension)
		c := &Caller{Extension: e, Environment: tenant.Production, Role: Viewer, OpaqueID: fmt.Sprint(viewer)}
		leases := budgets.BodyLeases(tenant.Production, c, 256<<10)
		reader := &bodyReader{leases: &leases, limit: 256 << 10}
		_, err := reader.readAll(io.LimitReader(zeros{}, int64(size)), int64(size))
		if err != nil {
			reader.leases.Release()
		}
		return err // the others stay
	}
	for viewer := range 1000 {
		_, _ = read("a", viewer, 200<<10), read("b", viewer, 200<<10) // until they are refused
	}
	if used := budgets.Bodies.Stats().Used; used < 8<<20 || used > 12<<20 {
		t.Errorf("large bodies hold %d bytes of 16 MiB", used)
	}
	for _, extension := range []string{"a", "b"} {
		if err := read(extension, 1001, 100); err != nil {
			t.Errorf("a small body: %v", err)
		}
	}
}

// However bodies end, nothing of the budget stays in use.
func TestBodiesReturnTheirBudget(t *testing.T) {
	budgets := NewBudgets(BudgetLimits{Requests: 1, PerAddress: 1, BodyBytes: 1 << 20})
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			for range 300 {
				size := random.Int64N(300 << 10)
				in := io.LimitReader(iotest.HalfReader(zeros{}), size)
				length := []int64{-1, size, size + 100}[random.IntN(3)]
				environment := []tenant.Environment{tenant.Production, tenant.Sandbox}[random.IntN(2)]
				leases := budgets.BodyLeases(environment, nil, 256<<10)
				_, _ = (&bodyReader{leases: &leases, limit: 256 << 10}).readAll(in, length) // any outcome
				leases.Release()
			}
		})
	}
	all.Wait()
	if stats := budgets.Bodies.Stats(); stats.Used != 0 {
		t.Errorf("%+v", stats)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
