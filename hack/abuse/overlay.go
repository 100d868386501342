package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"golang.org/x/sync/semaphore"

	"github.com/acclaim-dev/acclaim/hack/overlay"
)

// writeOverlay writes the edited files into dir, and a file for `go build -overlay` that
// puts them into the place of those below root. It returns that file. An edit whose text
// is not there once is an error: the defence has changed, and so must the edit.
func writeOverlay(root, dir string, edits []sourceEdit) (string, error) {
	edited := map[string]string{} // text by path
	for _, e := range edits {
		path := filepath.Join(root, e.file)
		text, ok := edited[path]
		if !ok {
			source, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			text = string(source)
		}
		if n := strings.Count(text, e.from); n != 1 {
			return "", fmt.Errorf("%s has %q %d times", e.file, e.from, n)
		}
		edited[path] = strings.Replace(text, e.from, e.to, 1)
	}
	return overlay.WriteFiles(dir, edited)
}

// undefendedRow is the outcome of an attack on a program without a defence.
type undefendedRow struct {
	defence  defenceCase
	problems []string
}

// isNeeded reports whether the attack succeeds as foreseen.
func (r undefendedRow) isNeeded() bool {
	return strings.Contains(strings.Join(r.problems, "\n"), r.defence.shows)
}

// measureUndefended takes one defence after the other out of the program.
func measureUndefended(ctx context.Context, o runOptions) ([]undefendedRow, error) {
	if err := o.checkAbilities(ctx); err != nil {
		return nil, err
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var rows []undefendedRow
	for i, d := range defenceCases() {
		if !o.includes(d.attack) {
			continue
		}
		attack, err := findAttack(d.attack)
		if err != nil {
			return nil, err
		}
		attack.buildUp += d.buildUp
		b := &attackBench{runOptions: o, measure: semaphore.NewWeighted(1)}
		b.dir = filepath.Join(o.dir, strings.ReplaceAll(d.name, " ", "-"))
		file, err := writeOverlay(root, b.dir, d.off)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.name, err)
		}
		if b.binary, err = buildProgram(ctx, b.dir, "-overlay", file); err != nil {
			return nil, fmt.Errorf("%s: %w", d.name, err)
		}
		figures, err := b.measureRow(ctx, attack, fmt.Sprintf("127.67.%d.1", i+1))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.name, err)
		}
		r := undefendedRow{d, figures.judge(attack)}
		o.logf("%-46s%s", d.name, r.verdict())
		rows = append(rows, r)
	}
	return rows, nil
}

func (r undefendedRow) verdict() string {
	if r.isNeeded() {
		return "needed"
	}
	return "NOT NEEDED"
}

// writeUndefended writes the table of the defences and returns an error if an attack
// fails without the defence against it.
func writeUndefended(out io.Writer, rows []undefendedRow) error {
	var err error
	columns := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "without\tattack\t\twhat fails")
	for _, r := range rows {
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\n", r.defence.name, r.defence.attack, r.verdict(), strings.Join(r.problems, "; "))
		if !r.isNeeded() {
			err = errors.Join(err, fmt.Errorf("without %q, %s does not fail with %q", r.defence.name, r.defence.attack, r.defence.shows))
		}
	}
	return errors.Join(columns.Flush(), err)
}
