package storetest_test

import (
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
)

// memory keeps what is stored when it is opened again.
type memory struct{ *storetest.Memory }

func (memory) Reopen(*testing.T) {}

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Harness { return memory{storetest.NewMemory()} })
}

func TestMemoryListing(t *testing.T) {
	storetest.RunListing(t, func(*testing.T) storetest.ListingHarness { return memory{storetest.NewMemory()} })
}

func TestMemoryTail(t *testing.T) {
	storetest.RunTail(t, func(*testing.T) storetest.TailHarness { return memory{storetest.NewMemory()} })
}

func TestMemoryRestore(t *testing.T) {
	storetest.RunRestore(t, func(*testing.T) storetest.RestoringHarness { return memory{storetest.NewMemory()} })
}
