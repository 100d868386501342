package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The edit by which programs follow the change stream of a cluster still applies.
func TestFollowClusters(t *testing.T) {
	root := filepath.Join("..", "..")
	changed, err := followClusters(root)
	if err != nil || len(changed) != 1 {
		t.Fatalf("%d files, %v", len(changed), err)
	}
	for path, text := range changed {
		if !strings.HasSuffix(filepath.ToSlash(path), "/"+watchFile) || strings.Contains(text, refusesClusters) {
			t.Errorf("%s still refuses clusters", path)
		}
	}
}

// Ratios are those of rounds, not those of medians.
func TestCompareDelays(t *testing.T) {
	got := compareDelays([]delayPair{
		{without: delaySample{P50: 1, Max: 8}, with: delaySample{P50: 2, Max: 4}},
		{without: delaySample{P50: 3, Max: 9}, with: delaySample{P50: 12, Max: 3}},
		{without: delaySample{P50: 5, Max: 7}, with: delaySample{P50: 5, Max: 7}},
	})
	want := comparedDelays{
		Without: delaySample{P50: 3, Max: 8}, With: delaySample{P50: 5, Max: 4},
		P50Ratio: 0.5, MaxRatio: 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("compared (-want +got):\n%s", diff)
	}
}
