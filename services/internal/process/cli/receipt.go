package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/api/terminal"
	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// receiptFlags say by what a receipt is checked.
type receiptFlags struct {
	keys                  []string
	site, policy, monitor string
	asJSON                bool
}

func newVerifyReceipt() *cobra.Command {
	var f receiptFlags
	cmd := &cobra.Command{
		Use:     "verify-receipt FILE",
		GroupID: voteGroup,
		Short:   "Check the receipt of a vote: is it recorded, is it counted, is the result the same for all",
		Long: `Verify-receipt answers three questions about the vote of a receipt:

  recorded       the signed list of votes has it, with the secret of its voter
  counted        the final result has it, once, and has no other fault
  same for all   witnesses signed the log with this result, and a monitor read it

The first needs only the receipt and the key of the log. The second needs --site, the third
--policy and --monitor as well. The receipt shows the question and the option: compare them
with what you chose. It cannot show that voters are people, or what a page showed you.

` + siteHelp + `

Exit status 0: nothing is wrong; questions that cannot be answered yet are named.
Exit status 1: something is wrong, or the vote does not count; the lines WRONG name it.
Exit status 2: the check could not be done, such as when a file is missing.`,
		Example: `  acclaim verify-receipt lunch.acclaim-receipt --key "$(cat polls.example.vkey)" --site https://polls.example`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.verify(cmd, args[0])
		},
	}
	cmd.Flags().StringArrayVar(&f.keys, "key", nil, keysHelp)
	cmd.Flags().StringVar(&f.site, "site", "", "address of the site, or a directory")
	cmd.Flags().StringVar(&f.policy, "policy", "", "file that names witnesses and how many have to sign (c2sp.org/tlog-policy)")
	cmd.Flags().StringVar(&f.monitor, "monitor", "", `state of a monitor that you trust, as "acclaim monitor --state" writes it`)
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	requireFlag(cmd, "key")
	return cmd
}

func (f *receiptFlags) verify(cmd *cobra.Command, file string) error {
	check, err := f.check()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	report, unread := verifiable.VerifyReceipt(cmd.Context(), text, check)
	if report == nil {
		return problem{unread}
	}
	err = writeReport(cmd.OutOrStdout(), f.asJSON, report, func(b *strings.Builder) { drawReceipt(b, report) })
	switch {
	case err != nil:
		return err
	case len(report.Findings) > 0:
		return foundProblems(len(report.Findings))
	case report.Counted.Answer == verifiable.No:
		return problem{errors.New("the vote does not count")}
	}
	return unread
}

// check reads the files that the flags name.
func (f *receiptFlags) check() (c verifiable.ReceiptCheck, err error) {
	if c.Keys, err = verifiable.ParseKeys(f.keys); err != nil {
		return c, err
	}
	if f.site != "" {
		c.Source = openSite(f.site)
	}
	if f.policy != "" {
		text, err := os.ReadFile(f.policy)
		if err != nil {
			return c, err
		}
		if c.Policy, err = verifiable.ParsePolicy(string(text)); err != nil {
			return c, err
		}
	}
	if f.monitor != "" {
		c.Monitor, err = readMonitor(f.monitor, c.Keys)
	}
	return c, err
}

// readMonitor reads the state of a monitor of the log with the keys.
func readMonitor(file string, keys verifiable.Keys) (*verifiable.Monitor, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	m := verifiable.NewMonitor(nil)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if !m.Follows(keys) {
		return nil, fmt.Errorf("%s is of a log with other keys", file)
	}
	return m, nil
}

func drawReceipt(b *strings.Builder, r *verifiable.ReceiptReport) {
	if r.Vote != "" {
		fmt.Fprintf(b, "poll           %s\n", terminal.Plain(r.Name.Poll))
		fmt.Fprintf(b, "question       %s\n", terminal.Plain(r.Question))
		fmt.Fprintf(b, "vote           %s\n", terminal.Plain(r.Vote))
		fmt.Fprintf(b, "entry          %d of voter %d, in the log at %s\n", r.Index, r.Voter, time.UnixMilli(r.At).UTC().Format(time.RFC3339))
	}
	for _, row := range []struct {
		name    string
		verdict verifiable.Verdict
	}{{"recorded", r.Recorded}, {"counted", r.Counted}, {"same for all", r.Same}} {
		fmt.Fprintf(b, "%-13s  %-7s  %s\n", row.name, row.verdict.Answer, terminal.Plain(row.verdict.Text))
	}
	drawFindings(b, r.Findings)
}
