package ranking

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// tidyText returns an answer as it is shown: in normalization form C, on one line, with
// single blanks, and without control characters and those that turn the direction of text.
func tidyText(s string) string {
	return squeezeBlanks(norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Bidi_Control) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)))
}

// foldText returns the form that is equal for answers that differ only in case, in the form
// of their characters, in what is invisible or in blanks: a compatibility caseless match
// (definition D146 of the Unicode Standard), composed, without what may be ignored.
func foldText(s string) string {
	s = dropIgnorable(s)
	if isASCII(s) {
		return squeezeBlanks(strings.ToLower(s))
	}
	s = foldCase(norm.NFD.String(s))
	s = foldCase(norm.NFKD.String(s))
	return squeezeBlanks(norm.NFKC.String(dropIgnorable(s)))
}

// foldCase is full case folding. The library lacks that of Cherokee, to capital letters.
func foldCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cherokee, r) {
			return unicode.ToUpper(r)
		}
		return r
	}, cases.Fold().String(s))
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

func squeezeBlanks(s string) string { return strings.Join(strings.Fields(s), " ") }

// dropIgnorable removes what programs may leave out when they show or compare a text, such
// as characters of no width, and control characters.
func dropIgnorable(s string) string {
	return strings.Map(func(r rune) rune {
		if isIgnorable(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// isIgnorable follows the derivation of Default_Ignorable_Code_Point in the Unicode Character
// Database, with control characters.
func isIgnorable(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Cf, unicode.Cc) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r) &&
		(r < 0xFFF9 || r > 0xFFFB) && (r < 0x13430 || r > 0x13440)
}

// joinWords returns the words of a text, each between blanks, and "" where there is none. A
// word is made of letters, marks and digits.
func joinWords(s string) string {
	words := strings.FieldsFunc(s, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.N) })
	if len(words) == 0 {
		return ""
	}
	return " " + strings.Join(words, " ") + " "
}

// blockedPhrase holds words that an answer may not contain, with a blank at each end that has
// to be the end of a word.
type blockedPhrase string

// newPhrase returns the phrase of an element of a block list, in which * at an end stands for
// the rest of a word.
func newPhrase(listed string) blockedPhrase {
	words := joinWords(foldText(listed))
	if strings.HasPrefix(listed, "*") {
		words = strings.TrimPrefix(words, " ")
	}
	if strings.HasSuffix(listed, "*") {
		words = strings.TrimSuffix(words, " ")
	}
	return blockedPhrase(words)
}

func (p blockedPhrase) isIn(words string) bool { return p != "" && strings.Contains(words, string(p)) }
