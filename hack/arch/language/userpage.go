package language

import (
	"fmt"
	"regexp"
	"strings"
)

// maxSentence is the number of words of a sentence in a page for users.
const maxSentence = 30

var (
	userPage      = regexp.MustCompile(`(^|/)((services|operator)/docs/[^/]+|(operator|charts/acclaim|api)/README|SECURITY)\.md$|^(\.\./)*README\.md$`)
	otherPage     = regexp.MustCompile(`(^|/)operator/docs/internals\.md$`)
	linkTarget    = regexp.MustCompile(`\]\([^)\s]*\)`)
	word          = regexp.MustCompile(`[\p{L}\p{N}_][\p{L}\p{N}_'’.,/-]*`)
	sentenceEnd   = regexp.MustCompile(`[.!?;](\*\*)?(\s+|$)`)
	listItem      = regexp.MustCompile(`^\s*([-*]|\d+\.) `)
	bareSubject   = regexp.MustCompile(`(?:^|[.;:] )(That|Those|Such|that|those|such) (is|are|was|were|has|have|does|do|holds?|costs?|means?|needs?|makes?|gives?|takes?|works?|concerns?)\b`)
	signingKey    = regexp.MustCompile(`\b(extension's (sample )?keys?|[Kk]eys? of (the|an|its|your|each) extensions?|[Kk]eys of extensions|([Pp]ublished|sample) (sample )?keys?)\b`)
	httpAnswer    = regexp.MustCompile(`(?i)\b((2xx|empty|complete|stale|http) answers?|(end|status|header|body) of (the|its|an) answer|answer without a)\b`)
	inverted      = regexp.MustCompile(`(?:^|[.;:] )(One (?:that|of|in|by|with|without|whose)|Of (?:a|an|the|those|these|several)|Where (?:a|an|it|one|this|something|nothing))\b`)
	foldedSetting = regexp.MustCompile(`^[\d"]`)
)

// isUserPage reports whether a file is a page for users: what is checked there is not
// in pages of contributors, nor in the contract, whose rules are cited by their words.
func isUserPage(file string) bool {
	return userPage.MatchString(file) && !otherPage.MatchString(file)
}

// readUserPage finds what the list of phrases cannot: sentences that are too long,
// subjects without a noun, sentences that begin with what belongs to the end, and table
// cells with several settings.
func readUserPage(file, prose string) []Finding {
	var findings []Finding
	add := func(line int, phrase, instead string) {
		findings = append(findings, Finding{File: file, Line: line, Phrase: phrase, Instead: instead})
	}
	for _, p := range paragraphs(prose) {
		for _, s := range sentencesOf(p.prose) {
			if n := len(word.FindAllString(s, -1)); n > maxSentence {
				add(p.line, fmt.Sprintf("%s… (%d words)", firstWords(s), n), fmt.Sprintf("sentences of at most %d words", maxSentence))
			}
		}
		if subject := bareSubject.FindString(p.prose); subject != "" {
			add(p.line, strings.TrimSpace(strings.TrimLeft(subject, ".;: ")), "name the subject")
		}
		if beginning := inverted.FindStringSubmatch(p.prose); beginning != nil {
			add(p.line, beginning[1], "a noun as the subject, or \"if\"")
		}
		if term := signingKey.FindString(p.prose); term != "" {
			add(p.line, term, "secret, which signs tokens; the page of words and ideas has the terms")
		}
		if term := httpAnswer.FindString(p.prose); term != "" {
			add(p.line, term, "response, which the program sends; viewers send answers")
		}
	}
	for i, line := range strings.Split(prose, "\n") {
		if strings.HasPrefix(line, "|") && hasFoldedSettings(strings.Split(strings.Trim(line, "| "), " | ")) {
			add(i+1, firstWords(line), "one setting in a row")
		}
	}
	return findings
}

// hasFoldedSettings reports whether two cells beside each other list as many things,
// the second one values: "a; b | 1; 2".
func hasFoldedSettings(cells []string) bool {
	for i := 1; i < len(cells); i++ {
		n := strings.Count(cells[i], "; ")
		if n > 0 && n == strings.Count(cells[i-1], "; ") && foldedSetting.MatchString(cells[i]) {
			return true
		}
	}
	return false
}

// paragraphs returns the paragraphs, items of lists and table cells of a page.
func paragraphs(prose string) []text {
	var all []text
	open := false
	for i, line := range strings.Split(prose, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "", strings.HasPrefix(trimmed, "#"), !open && strings.HasPrefix(line, "    "):
			open = false
		case strings.HasPrefix(trimmed, "|"):
			for cell := range strings.SplitSeq(strings.Trim(trimmed, "|"), " | ") {
				all = append(all, text{markdown, i + 1, strings.TrimSpace(cell)})
			}
			open = false
		case open && !listItem.MatchString(line):
			all[len(all)-1].prose += " " + trimmed
		default:
			all = append(all, text{markdown, i + 1, listItem.ReplaceAllString(line, "")})
			open = true
		}
	}
	return all
}

func sentencesOf(paragraph string) []string {
	plain := linkTarget.ReplaceAllString(paragraph, "]")
	return sentenceEnd.Split(plain, -1)
}

// firstWords returns the beginning of a sentence, by which one finds it.
func firstWords(s string) string {
	words := strings.Fields(s)
	return strings.Join(words[:min(6, len(words))], " ")
}
