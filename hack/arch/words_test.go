package arch

import (
	"testing"

	"github.com/acclaim-dev/acclaim/hack/arch/language"
)

// The limits of the language of the tree. `go run ./hack/words -v` lists what
// counts; hack/arch/language/words.go has the list of phrases.
//
// Names are an indicator: a name that its package or type completes, such as
// stream.Append, is a good one. Pad no name to stay below a limit.
const (
	maxPhrases          = 0.2  // in 1,000 words of comment
	maxPhrasesElsewhere = 0    // in messages and documents
	maxIndirect         = 0.2  // percent of comments that begin "X is how", "X tells which" and the like
	maxOneWordFunctions = 45.0 // percent
	maxOneWordTypes     = 50.0 // percent
)

func TestWords(t *testing.T) {
	folders, err := language.Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	var all language.Measure
	for _, m := range folders {
		all = all.Plus(m)
	}
	if all.CommentWords == 0 || all.Functions == 0 || all.Types == 0 {
		t.Fatal("nothing was read")
	}
	limits := map[string]struct{ got, limit float64 }{
		"phrases in 1,000 words of comment":           {all.PhrasesPerThousand(), maxPhrases},
		"phrases in messages and documents":           {float64(len(all.Findings) - all.CommentPhrases), maxPhrasesElsewhere},
		"percent of comments that begin \"X is how\"": {all.Indirect(), maxIndirect},
		"percent of function names of one word":       {all.OneWordFunctionShare(), maxOneWordFunctions},
		"percent of type names of one word":           {all.OneWordTypeShare(), maxOneWordTypes},
	}
	for name, l := range limits {
		if l.got > l.limit {
			t.Errorf("%.2f %s, at most %g; `go run ./hack/words -v` lists them, `-names` the names", l.got, name, l.limit)
		}
	}
}
