package ranking

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Over the characters that the tables of Unicode change or let be ignored, and some others: the form is the same for all
// normalization forms and cases of a character, and is its own form.
func TestFoldingFollowsTheTables(t *testing.T) {
	for r := rune(0); r < 0xE1000; r++ { // private characters follow
		if r == 0x30000 {
			r = 0xE0000 // nothing between has a case or form
		}
		if unicode.In(r, unicode.Unified_Ideograph, unicode.Hangul, unicode.Tangut, unicode.Co, unicode.Cs) && r%256 != 0 || !utf8.ValidRune(r) || isPlainRune(r) && r%64 != 0 {
			continue // very many are alike
		}
		s := "x" + string(r) + "y"
		want := foldText(s)
		for _, form := range []string{want, norm.NFC.String(s), norm.NFD.String(s), norm.NFKC.String(s), norm.NFKD.String(s), tidyText(s), "x" + string(unicode.SimpleFold(r)) + "y", " " + s + "\u3000\t"} {
			if got := foldText(form); got != want {
				t.Errorf("%U: %q is folded to %q, want %q", r, form, got, want)
			}
		}
		if tidied := tidyText(s); tidyText(tidied) != tidied || unicode.Is(unicode.Bidi_Control, r) && tidied != "xy" {
			t.Errorf("%U is tidied to %q", r, tidied)
		}
	}
}

// isPlainRune reports whether no table changes a character or lets it be ignored.
func isPlainRune(r rune) bool {
	return unicode.SimpleFold(r) == r && norm.NFKD.IsNormalString(string(r)) && !isIgnorable(r) && !unicode.In(r, unicode.M, unicode.White_Space)
}

func TestFolding(t *testing.T) {
	for _, same := range [][]string{
		{"tea", "TEA", " Tea\n", "ｔｅａ", "t\u00ade\u200ba", "\u202etea"},
		{"straße", "STRASSE", "straẞe"},
		{"ﬁne", "FINE"},
		{"é", "e\u0301", "É"},
		{"❤", "❤\ufe0f"},
		{"a b", "a \u00a0\u3000\t b"},
		{"Ὀδυσσεύς", "ὀδυσσεύσ"},
		{"가", "\u1100\u1161"},
	} {
		for _, s := range same[1:] {
			if got, want := foldText(s), foldText(same[0]); got != want {
				t.Errorf("%q is folded to %q, %q to %q", s, got, same[0], want)
			}
		}
	}
	for s, want := range map[string]string{
		" Tea \r\n  time ": "Tea time", "\u202eevil\u2069": "evil", "a\x00b\x1bc": "abc", "👨‍👩‍👧": "👨‍👩‍👧", "e\u0301": "é", "\u200f": "", "ﬁ": "ﬁ",
	} {
		if got := tidyText(s); got != want {
			t.Errorf("%q is tidied to %q, want %q", s, got, want)
		}
	}
}

func FuzzFoldText(f *testing.F) {
	f.Add("Tea \u0345\u03b1")
	f.Fuzz(func(t *testing.T, s string) {
		folded, tidied := foldText(s), tidyText(s)
		if utf8.ValidString(s) && (foldText(folded) != folded || foldText(tidied) != folded || tidyText(tidied) != tidied) {
			t.Errorf("%q: %q, %q, %q", s, folded, foldText(folded), tidied)
		}
	})
}

func TestBlockedPhrases(t *testing.T) {
	for _, test := range []struct {
		phrase, answer string
		blocked        bool
	}{
		{"ass", "Ass!", true},
		{"ass", "class", false},
		{"*ass", "class", true},
		{"*ass", "classes", false},
		{"ass*", "assassin", true},
		{"*ass*", "bassoon", true},
		{"bad word", "a BAD, -- word.", true},
		{"bad word", "bad sword", false},
		{"*", "anything", false},
		{"悪", "悪い", false},
		{"*悪*", "とても悪い", true},
		{"tea", "t\u200bｅÁ", false},
		{"teá", "t\u200bｅÁ", true},
	} {
		c := DefaultConfig()
		c.Blocked = []string{test.phrase}
		if got := newFilter(&c).blocksAnswer(test.answer); got != test.blocked {
			t.Errorf("%q in %q: %t", test.phrase, test.answer, got)
		}
	}
}
