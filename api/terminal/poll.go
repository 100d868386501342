package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/contract"
)

// PollResult is a poll with its numbers. A poll without configuration has an id only.
type PollResult struct {
	Poll       client.Poll       `json:"poll"`
	Statistics client.Statistics `json:"statistics"`
}

// Draw returns the results as a line for each option, and those of a tie at the end. With the width
// of a terminal they have bars, and no line is longer.
func (r *PollResult) Draw(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  votes: %d\n", Plain(cmp.Or(r.Poll.Prompt, r.Poll.ID)), cmp.Or(r.Poll.Status, contract.Active), r.Statistics.Count)
	if r.Statistics.Hidden {
		b.WriteString("the results are hidden\n")
	}
	labels := r.labels()
	longest, total := 0, int64(0)
	for value, label := range labels {
		longest = max(longest, utf8.RuneCountInString(label))
		total += r.Statistics.Specific[value]
	}
	const figures = 16 // columns of the number and the share
	if width > 0 {
		longest = min(longest, max(width/2-figures, 8))
	}
	room := min(width-longest-figures-2, 60)
	for value, label := range labels {
		votes := r.Statistics.Specific[value]
		share := float64(votes) / float64(max(total, 1))
		bar := strings.Repeat("█", int(share*float64(max(room, 0))+0.5))
		line := fmt.Sprintf("%s  %7d  %5.1f%%  %s", fit(label, longest), votes, 100*share, bar)
		fmt.Fprintln(&b, strings.TrimRight(line, " "))
	}
	for _, line := range r.explainTie(labels) {
		if width > 0 {
			line = strings.TrimRight(fit(line, width), " ")
		}
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

// explainTie returns lines that name the options of an ended poll that lead with equal votes, and the
// one that staff has chosen.
func (r *PollResult) explainTie(labels []string) (lines []string) {
	if r.Poll.Status != contract.Expired || len(labels) == 0 {
		return nil
	}
	votes := r.Statistics.Specific[:len(labels)]
	most := max(slices.Max(votes), 1)
	var first, chosen []string
	for value, label := range labels {
		if votes[value] != most {
			continue
		}
		first = append(first, label)
		if t := r.Poll.TieBreak; t != nil && *t == int64(value) {
			chosen = append(chosen, label+" wins by decision of the staff")
		}
	}
	if len(first) < 2 {
		return nil
	}
	return append([]string{"tie: " + strings.Join(first, ", ")}, chosen...)
}

// labels returns the texts of the options or, of a poll without any, the values up to the
// last one that has votes.
func (r *PollResult) labels() (labels []string) {
	for value := range r.Statistics.Specific {
		if value < len(r.Poll.Options) {
			labels = append(labels, Plain(r.Poll.Options[value]))
		}
	}
	if len(r.Poll.Options) > 0 {
		return labels
	}
	last := 0
	for value, votes := range r.Statistics.Specific {
		if votes != 0 {
			last = value + 1
		}
	}
	for value := range last {
		labels = append(labels, strconv.Itoa(value))
	}
	return labels
}

// fit returns a text that is as many characters wide.
func fit(text string, width int) string {
	if n := utf8.RuneCountInString(text); n <= width {
		return text + strings.Repeat(" ", width-n)
	}
	return string([]rune(text)[:width-1]) + "…"
}
