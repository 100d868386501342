package overview

import (
	"fmt"
	"io"
	"strings"

	"github.com/acclaim-dev/acclaim/api/terminal"
)

// mostWell is the number of objects of a kind below one parent that are printed although
// they are OK.
const mostWell = 10

// Print writes the overview for people: a count, the tree, and what could not be read.
func (o *Overview) Print(w io.Writer) error {
	var b strings.Builder
	switch {
	case o.Total == 0:
		b.WriteString("There is nothing of Acclaim here.\n")
	case o.Failing == 0:
		fmt.Fprintf(&b, "All %d are OK.\n", o.Total)
	default:
		fmt.Fprintf(&b, "%d of %d are not OK.\n", o.Failing, o.Total)
	}
	printNodes(&b, o.Roots, "", true)
	for _, text := range o.Unread {
		fmt.Fprintf(&b, "Not read: %s\n", terminal.Plain(text))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printNodes writes the nodes of one parent. Roots have no branches.
func printNodes(b *strings.Builder, nodes []*Node, indent string, roots bool) {
	shown, left := shorten(nodes)
	for i, n := range shown {
		branch, below := "├─ ", "│  "
		if i == len(shown)-1 && len(left) == 0 {
			branch, below = "└─ ", "   "
		}
		if roots {
			branch, below = "", ""
		}
		n.print(b, indent+branch, indent+below)
	}
	for i, text := range left {
		branch := "├─ "
		if i == len(left)-1 {
			branch = "└─ "
		}
		if roots {
			branch = ""
		}
		fmt.Fprintf(b, "%s%s%s\n", indent, branch, text)
	}
}

// shorten returns the nodes to print, and lines about the others.
func shorten(nodes []*Node) (shown []*Node, left []string) {
	well := map[string]int{}
	var kinds []string
	for _, n := range nodes {
		if n.worst() == OK {
			if well[n.Kind]++; well[n.Kind] == 1 {
				kinds = append(kinds, n.Kind)
			}
		}
		if n.worst() != OK || well[n.Kind] <= mostWell {
			shown = append(shown, n)
		}
	}
	for _, kind := range kinds {
		if more := well[kind] - mostWell; more > 0 {
			left = append(left, fmt.Sprintf("%s and %d more of kind %s", OK, more, kind))
		}
	}
	return shown, left
}

func (n *Node) print(b *strings.Builder, first, below string) {
	name := n.Name
	if n.Namespace != "" && n.Kind != KindService {
		name = n.Namespace + "/" + n.Name
	}
	fmt.Fprintf(b, "%s%s %s %s", first, n.State, n.Kind, name)
	if len(n.Facts) > 0 {
		fmt.Fprintf(b, " (%s)", terminal.Plain(strings.Join(n.Facts, ", ")))
	}
	b.WriteString("\n")
	lines := n.Notes
	if n.Reason != "" {
		lines = append([]string{strings.TrimSuffix(n.Reason+": "+n.Message, ": ")}, lines...)
	}
	bar := "   "
	if len(n.Children) > 0 {
		bar = "│  "
	}
	for _, line := range lines {
		fmt.Fprintf(b, "%s%s%s\n", below, bar, terminal.Plain(strings.ReplaceAll(line, "\n", "; ")))
	}
	printNodes(b, n.Children, below, false)
}
