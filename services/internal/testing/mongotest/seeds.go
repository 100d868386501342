package mongotest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// RunSeeds runs a test of random faults with one seed, which names the subtest: that in
// ACCLAIM_SIM_SEED, or a random one. With a duration in ACCLAIM_SOAK it runs the test
// with one seed after the other for that long, or until it fails. A seed gives the
// same faults again, and not the same interleaving.
func RunSeeds(t *testing.T, run func(t *testing.T, seed uint64)) {
	seed, err := strconv.ParseUint(os.Getenv("ACCLAIM_SIM_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	length, _ := time.ParseDuration(os.Getenv("ACCLAIM_SOAK"))
	for began := time.Now(); ; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Logf("ACCLAIM_SIM_SEED=%d", seed)
			run(t, seed)
		})
		if t.Failed() || time.Since(began) >= length {
			return
		}
	}
}
