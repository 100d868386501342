// Package language measures how the tree speaks: the phrases that its comments,
// messages and documents avoid, and how many names are a single word. The list
// of phrases is in words.go; hack/words prints the figures, and the test of
// hack/arch limits them.
package language

import (
	"fmt"
	"regexp"
	"strings"
)

// Finding is one use of a listed phrase.
type Finding struct {
	File    string // as it was given to Read
	Line    int
	Phrase  string // as it is written there
	Instead string
}

func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %q; instead: %s", f.File, f.Line, f.Phrase, f.Instead)
}

// rules are the rows of the tables, and one pattern that matches what any of
// them does, because most texts match none.
type rules struct {
	rows []rule
	any  *regexp.Regexp
}

// rule is one row of the table of phrases.
type rule struct {
	pattern *regexp.Regexp
	instead string
}

// parseRules reads tables such as phrases.
func parseRules(tables ...string) (rules, error) {
	var r rules
	var patterns []string
	for _, table := range tables {
		_, rows, _ := strings.Cut(strings.TrimSpace(table), "\n")
		for line := range strings.Lines(rows) {
			cut := max(strings.LastIndex(line, "|"), 0)
			phrase, instead := strings.TrimSpace(line[:cut]), strings.Trim(line[cut:], "| \n")
			if phrase == "" || instead == "" {
				return rules{}, fmt.Errorf("%q is not a phrase and its replacement", line)
			}
			expression := strings.ReplaceAll(phrase, " ", `\s+`)
			pattern, err := regexp.Compile(wholeWords(expression))
			if err != nil {
				return rules{}, err
			}
			r.rows = append(r.rows, rule{pattern: pattern, instead: instead})
			patterns = append(patterns, expression)
		}
	}
	var err error
	r.any, err = regexp.Compile(wholeWords(strings.Join(patterns, "|")))
	return r, err
}

// wholeWords returns the expression that matches whole words alone. Of many alternatives it is
// several times faster than one of each, as it tries none of them within a word.
func wholeWords(expression string) string { return `\b(?:` + expression + `)\b` }

// source holds the prose and the counts of a file. Names are counted outside
// tests.
type source struct {
	texts            []text
	functions, types []declared
	comments         int
	indirect         []declared // comments that begin "X is how", "X tells which" and the like
}

// declared is a name, or the beginning of a comment, and its line.
type declared struct {
	name string
	line int
}

// text is a piece of prose that begins at a line of its file.
type text struct {
	kind  kind
	line  int
	prose string
}

// kind tells comments, which the figures are about, from the rest.
type kind int

const (
	comment kind = iota
	message
	markdown
)

// find returns the listed phrases in a text.
func (r rules) find(file string, t text) []Finding {
	prose := strings.ToLower(t.prose)
	if !r.any.MatchString(prose) {
		return nil
	}
	var findings []Finding
	for _, rule := range r.rows {
		for _, at := range rule.pattern.FindAllStringIndex(prose, -1) {
			findings = append(findings, Finding{
				File:    file,
				Line:    t.line + strings.Count(prose[:at[0]], "\n"),
				Phrase:  strings.Join(strings.Fields(prose[at[0]:at[1]]), " "),
				Instead: rule.instead,
			})
		}
	}
	return findings
}

// withoutCode blanks what is between backquotes: names, not prose.
func withoutCode(prose string) string {
	lines := strings.Split(prose, "\n")
	for i, line := range lines {
		parts := strings.Split(line, "`")
		for j := 1; j < len(parts)-1; j += 2 {
			parts[j] = strings.Repeat("_", len(parts[j]))
		}
		lines[i] = strings.Join(parts, "`")
	}
	return strings.Join(lines, "\n")
}
