package mongostore

import (
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/storetest"
)

func TestListing(t *testing.T) {
	storetest.RunListing(t, func(t *testing.T) storetest.ListingHarness { return newHarness(t) })
}

func TestTail(t *testing.T) {
	storetest.RunTail(t, func(t *testing.T) storetest.TailHarness { return newHarness(t) })
}
