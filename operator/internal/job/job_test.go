package job_test

import (
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/operator/internal/job"
)

// What a program said last reaches a status without credentials, and bounded.
func TestLastLine(t *testing.T) {
	for name, test := range map[string]struct{ output, want string }{
		"nothing":       {"\n", ""},
		"the last":      {"starting\n done \n\n", "done"},
		"a credential":  {"no answer of mongodb://user:secret@db:27017", "no answer of mongodb://***@db:27017"},
		"a long text":   {strings.Repeat("x", 600), strings.Repeat("x", 512) + "…"},
		"a cut letter":  {strings.Repeat("x", 511) + "é" + "xx", strings.Repeat("x", 511) + "…"},
		"two addresses": {"a://b@c or d://e:f@g", "a://***@c or d://***@g"},
	} {
		if got := job.LastLine(test.output); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
