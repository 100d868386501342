package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/schollz/progressbar/v3"

	"github.com/acclaim-dev/acclaim/api/terminal"
	"github.com/acclaim-dev/acclaim/services/internal/upkeep/admin"
)

// writeTable writes a table that is aligned to the right. Its first column is the kind.
func writeTable[T any](w io.Writer, kinds map[string]T, columns string, row func(T) []any) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "kind\t"+strings.ReplaceAll(columns, " ", "\t")+"\t")
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(table, "%s\t", kind)
		for _, value := range row(kinds[kind]) {
			fmt.Fprintf(table, "%v\t", value)
		}
		fmt.Fprintln(table)
	}
	_ = table.Flush() // the writers below take everything
}

// writeReport writes a report as JSON, or as the text that write makes of it.
func writeReport(w io.Writer, asJSON bool, report any, write func(*strings.Builder)) error {
	if asJSON {
		return json.NewEncoder(w).Encode(report)
	}
	var text strings.Builder
	write(&text)
	_, err := io.WriteString(w, text.String())
	return err
}

func writeVerification(b *strings.Builder, v *admin.Verification) {
	const columns = "number chunks entries bytes redacted truncated snapshots over-limits problems"
	writeTable(b, v.Kinds, columns, func(k *admin.VerifiedKind) []any {
		return []any{k.Streams, k.Chunks, k.Entries, k.Bytes, k.Redacted, k.Trimmed, k.Snapshots, k.OverLimits, k.Problems}
	})
	writeProblems(b, v.Problems)
}

func writeErasure(b *strings.Builder, r *admin.ErasureReport) {
	writeTable(b, r.Kinds, "searched found chunks entries", func(k *admin.ErasedKind) []any {
		return []any{k.Searched, k.Found, k.Chunks, k.Entries}
	})
	if len(r.Followed) > 0 {
		fmt.Fprintf(b, "\nOther ids of the viewer, which are erased as well: %q\n", r.Followed)
	}
	if len(r.Linked) > 0 {
		fmt.Fprintf(b, "\nOther ids in the viewer's entries, which are not erased: %q\n", r.Linked)
	}
	writeProblems(b, r.Problems)
}

func writeProblems(b *strings.Builder, problems []admin.Problem) {
	for _, p := range problems {
		fmt.Fprintf(b, "\n%s\n  %s\n", p.Name, p.Reason)
	}
}

// stepBar is a progress bar that counts steps.
type stepBar struct{ *progressbar.ProgressBar }

// newStepBar returns a progress bar that is visible on a terminal only.
func newStepBar(w io.Writer, doing string) stepBar {
	return stepBar{progressbar.NewOptions(0,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(doing),
		progressbar.OptionShowCount(),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetVisibility(terminal.IsTerminal(w)))}
}

// step adds one of a number of steps, which may grow.
func (b stepBar) step(of int) {
	b.ChangeMax(of)
	_ = b.Add(1)
}

// newByteBar returns a progress bar that counts the bytes that are written to it. A
// negative total is an unknown one.
func newByteBar(w io.Writer, total int64, doing string, visible bool) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(doing),
		progressbar.OptionShowBytes(true),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetVisibility(visible && terminal.IsTerminal(w)))
}
