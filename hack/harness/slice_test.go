package harness

import (
	"slices"
	"testing"
)

// All parts together are the table.
func TestSelectSlice(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6}
	var seen []int
	for _, slice := range []string{"1/3", "2/3", "3/3"} {
		part, err := SelectSlice(all, slice)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, part...)
	}
	if slices.Sort(seen); !slices.Equal(seen, all) {
		t.Errorf("the parts have %v", seen)
	}
	for _, slice := range []string{"0/3", "4/3", "3", "a/b", ""} {
		if _, err := SelectSlice(all, slice); err == nil {
			t.Errorf("-slice %s is no error", slice)
		}
	}
}
