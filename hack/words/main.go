// Command words measures the language of the tree: the phrases of
// hack/arch/language/words.go and the names of one word.
//
//	go run ./hack/words                                  one row for each top folder
//	go run ./hack/words -depth 3                         for each folder down to the third level
//	go run ./hack/words -v ./services/internal/feed/live      lists the phrases, with file and line
//	go run ./hack/words -names ./services/internal/feed/live  lists the names of one word
//
// Phrases are counted in comments, also those of tests; findings are in messages
// and Markdown as well. Names are those of functions, methods and types outside
// tests. `hack/arch` limits the same figures for the whole tree.
package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/acclaim-dev/acclaim/hack/arch/language"
)

func main() {
	var o options
	flag.BoolVar(&o.findings, "v", false, "list every phrase with its file and line")
	flag.BoolVar(&o.names, "names", false, "list every name of one word with its file and line")
	flag.IntVar(&o.depth, "depth", 1, "levels of folders that get a row of their own")
	flag.Usage = func() {
		_, _ = fmt.Fprintln(flag.CommandLine.Output(), "usage: words [-v] [-names] [-depth N] [folder ...]\nMeasures the language of the folders, by default of the whole tree.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := o.run(os.Stdout, flag.Args()); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

type options struct {
	findings, names bool
	depth           int
}

func (o options) run(w io.Writer, roots []string) error {
	if len(roots) == 0 {
		roots = []string{"."}
	}
	var all language.Measure
	rows := map[string]language.Measure{}
	for _, root := range roots {
		root = filepath.Clean(strings.TrimSuffix(root, "/..."))
		folders, err := language.Read(root)
		if err != nil {
			return err
		}
		for folder, m := range folders {
			all = all.Plus(m)
			row := o.row(root, folder)
			rows[row] = rows[row].Plus(m)
		}
	}
	rows["all"] = all
	o.list(w, all)
	return printTable(w, rows)
}

// row returns the name of the row that counts a folder below a root.
func (o options) row(root, folder string) string {
	levels := strings.Split(filepath.ToSlash(folder), "/")
	depth := max(o.depth, strings.Count(filepath.ToSlash(root), "/")+1)
	return strings.Join(levels[:min(depth, len(levels))], "/")
}

func (o options) list(w io.Writer, m language.Measure) {
	if o.findings {
		for _, f := range m.Findings {
			_, _ = fmt.Fprintln(w, f)
		}
		for _, n := range m.IndirectComments {
			_, _ = fmt.Fprintf(w, "%s:%d: a comment begins %q: say what it does, holds or reports\n", n.File, n.Line, n.Name)
		}
	}
	if o.names {
		for _, n := range slices.Concat(m.OneWordFunctions, m.OneWordTypes) {
			_, _ = fmt.Fprintf(w, "%s:%d: one word: %s\n", n.File, n.Line, n.Name)
		}
	}
}

func printTable(w io.Writer, rows map[string]language.Measure) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "folder\tcomment words\tphrases\tper 1,000\tphrases elsewhere\tindirect\tfunctions\tone word\ttypes\tone word\t")
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		m := rows[name]
		fmt.Fprintf(table, "%s\t%d\t%d\t%.2f\t%d\t%.1f %%\t%d\t%.0f %%\t%d\t%.0f %%\t\n", name, m.CommentWords, m.CommentPhrases, m.PhrasesPerThousand(),
			len(m.Findings)-m.CommentPhrases, m.Indirect(), m.Functions, m.OneWordFunctionShare(), m.Types, m.OneWordTypeShare())
	}
	return table.Flush()
}
