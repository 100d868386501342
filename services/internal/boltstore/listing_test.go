package boltstore

import (
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/storetest"
)

func TestListing(t *testing.T) {
	storetest.RunListing(t, func(t *testing.T) storetest.ListingHarness { return newHarness(t, defaultLimits()) })
}

// TestListingOfSmallLimits lists while names are in the tables and in the
// records.
func TestListingOfSmallLimits(t *testing.T) {
	storetest.RunListing(t, func(t *testing.T) storetest.ListingHarness { return newHarness(t, smallLimits()) })
}

func TestRestore(t *testing.T) {
	storetest.RunRestore(t, func(t *testing.T) storetest.RestoringHarness { return newHarness(t, defaultLimits()) })
}

func TestRestoreOfSmallLimits(t *testing.T) {
	storetest.RunRestore(t, func(t *testing.T) storetest.RestoringHarness { return newHarness(t, smallLimits()) })
}
