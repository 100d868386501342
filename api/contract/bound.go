package contract

import "fmt"

// Bound limits a member of a request, and has the size of that member in one request.
type Bound struct {
	Member  string
	Measure Measure
	Size    int64
	Least   int64
	Most    int64 // 0: the member has no maximum
}

// Measure names a way in which a bound limits a value, as the format of the reason, into which the maximum goes.
type Measure string

// The measures. Bytes are those of UTF-8, or of JSON without insignificant white space.
const (
	Between    Measure = "%s must be between 1 and %d"
	Positive   Measure = "%s must be greater than 0"
	Characters Measure = "%s must be at most %d characters"
	Bytes      Measure = "%s must be at most %d bytes"
	Entries    Measure = "%s must have at most %d entries"
	EachBytes  Measure = "each of %s must be at most %d bytes" // of the longest entry
	// Phrases measures the longest entry, too; that each has a word is a rule of its own.
	Phrases Measure = "each of %s must have a letter or digit and at most %d bytes"
	Range   Measure = "%s must be between 1 and %d, the first not above the second"
)

// IsBroken reports whether the size is outside of the bound.
func (b Bound) IsBroken() bool { return b.Size < b.Least || b.Most > 0 && b.Size > b.Most }

// Reason returns why a request that breaks the bound is refused.
func (b Bound) Reason() string {
	if b.Most == 0 {
		return fmt.Sprintf(string(b.Measure), b.Member)
	}
	return fmt.Sprintf(string(b.Measure), b.Member, b.Most)
}

// FirstBroken returns the reason of the first bound that is broken, "" where all hold.
func FirstBroken(bounds []Bound) string {
	for _, b := range bounds {
		if b.IsBroken() {
			return b.Reason()
		}
	}
	return ""
}

// longest returns the bytes of the longest text.
func longest(texts []string) (n int64) {
	for _, text := range texts {
		n = max(n, int64(len(text)))
	}
	return n
}
