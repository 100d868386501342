package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/api/terminal"
	"github.com/acclaim-dev/acclaim/api/verifiable"
)

func newAudit() *cobra.Command {
	var vkeys []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "audit RESULT",
		GroupID: voteGroup,
		Short:   "Recount a poll from its public list of votes",
		Long: `Audit reads all public entries of a poll, counts them by the rules of the poll, and compares
what they give with what the log signed: the root of the list, the sums, the table of ballots. It
names votes after the close, votes over the limits, copies, and questions that changed.

RESULT is the address of the poll's result.json, or such a file in a directory with a copy of the
site. ` + siteHelp + `

An audit shows that the result is that of the listed votes. It does not show that voters are
people, or that the log is the same for all: "acclaim monitor" and receipts do the latter.

Exit status 0: the recount gives the signed result.
Exit status 1: something is wrong; the lines WRONG name it.
Exit status 2: the recount could not be done, such as when entries are not public.`,
		Example: `  acclaim audit https://polls.example/public/sample-extension/1/lunch/result.json --key "$(cat polls.example.vkey)"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := verifiable.ParseKeys(vkeys)
			if err != nil {
				return err
			}
			site, path, err := splitResultAddress(args[0])
			if err != nil {
				return err
			}
			report, unread := verifiable.Audit(cmd.Context(), openSite(site), keys, path)
			if unread != nil && len(report.Findings) == 0 {
				return unread
			}
			err = writeReport(cmd.OutOrStdout(), asJSON, report, func(b *strings.Builder) { drawAudit(b, report) })
			if err != nil {
				return err
			}
			return foundProblems(len(report.Findings))
		},
	}
	cmd.Flags().StringArrayVar(&vkeys, "key", nil, keysHelp)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	requireFlag(cmd, "key")
	return cmd
}

func drawAudit(b *strings.Builder, r *verifiable.AuditReport) {
	fmt.Fprintf(b, "poll      %s\n", terminal.Plain(r.Name.Poll))
	fmt.Fprintf(b, "question  %s\n", terminal.Plain(r.Prompt))
	state := "open"
	if r.Final {
		state = "final"
	} else if r.Closed {
		state = "closed"
	}
	fmt.Fprintf(b, "state     %s, %d entries\n", state, r.Entries)
	if r.KeepUntil > 0 {
		fmt.Fprintf(b, "list      kept until %s at least\n", time.Unix(r.KeepUntil, 0).UTC().Format(time.DateOnly))
	}
	fmt.Fprintf(b, "votes     %d of %d voters; %d submitted by the extension's own server or staff\n", r.Votes, r.Voters, r.ByStaff)
	fmt.Fprintf(b, "          %d without a secret: their voters cannot recognize them\n", r.NoNonce)
	fmt.Fprintf(b, "erased    %d viewers, who may have voted again\n", r.Erasures)
	if r.Sums != nil {
		fmt.Fprintf(b, "result    %s votes by weight, sum %s\n", r.Sums.Count, r.Sums.Sum)
		for i, option := range r.Options {
			fmt.Fprintf(b, "          %s  %s\n", r.Sums.Slots[i], terminal.Plain(option))
		}
	}
	drawFindings(b, r.Findings)
	if len(r.Findings) == 0 {
		b.WriteString("The recount gives the signed result.\n")
	}
}
