package ranking

import (
	"slices"
	"strings"
	"testing"
)

// TestLimitReasons: section 7. Clients compare the reasons to the letter; of several the first in
// this order counts.
func TestLimitReasons(t *testing.T) {
	const lengths = "minLength and maxLength must be between 1 and 256, the first not above the second"
	long := strings.Repeat("x", 65)
	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(*Config) {}, ""},
		{func(c *Config) { c.Normalization, c.MinLength = "x", 0 }, "normalization must be none or nfkc"},
		{func(c *Config) { c.MinLength, c.Blocked = 0, slices.Repeat([]string{"-"}, 101) }, lengths},
		{func(c *Config) { c.MinLength, c.MaxLength = 9, 8 }, lengths},
		{func(c *Config) { c.MinLength, c.MaxLength = 257, 257 }, lengths},
		{func(c *Config) { c.MaxLength = 257 }, lengths},
		{func(c *Config) { c.MinLength, c.MaxLength = 256, 256 }, ""},
		{func(c *Config) { c.Blocked = slices.Repeat([]string{"-"}, 101) }, "blocked must have at most 100 entries"},
		{func(c *Config) { c.Blocked, c.AnswersPerViewer = []string{"a", "-"}, 0 }, "each of blocked must have a letter or digit and at most 64 bytes"},
		{func(c *Config) { c.Blocked = []string{long} }, "each of blocked must have a letter or digit and at most 64 bytes"},
		{func(c *Config) { c.Blocked = slices.Repeat([]string{long[1:]}, 100) }, ""},
		{func(c *Config) { c.AnswersPerViewer, c.StartsAt = 11, -1 }, "answersPerViewer must be between 1 and 10"},
		{func(c *Config) { c.StartsAt = -1 }, "startsAt must not be negative"},
	} {
		c := DefaultConfig()
		test.change(&c)
		got := ""
		if err := c.checkLimits(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%+.80v: %q, want %q", c, got, test.want)
		}
	}
}
