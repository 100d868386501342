package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	api "github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// mostVoters is the number of votes that the service takes in one request.
const mostVoters = 1000

func newVote(s *session) *cobra.Command {
	var option string
	var voters int
	command := &cobra.Command{
		Use:   "vote POLL --option OPTION",
		Short: "Cast test votes, which count as any other",
		Long: `Vote casts one vote for each of a number of test viewers, whose ids are new each time. The
votes count, and stay in the log of the poll, as those of viewers do.

A program in a pod of the service signs the token for that, so no key leaves the cluster.
You need the rights to pods/exec and pods/portforward in the namespace of the Backend.`,
		Example: `  kubectl acclaim vote favourite-colour --option Blue --voters 3`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if voters < 1 || voters > mostVoters {
				return fmt.Errorf("--voters must be from 1 to %d", mostVoters)
			}
			connection, err := s.connect()
			if err != nil {
				return err
			}
			p, err := connection.openPoll(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer p.stop()
			return castVotes(c.Context(), c.OutOrStdout(), p, option, voters)
		},
	}
	command.Flags().StringVar(&option, "option", "", "text of the option, or its number, which begins at 0")
	command.Flags().IntVar(&voters, "voters", 1, "number of test viewers")
	_ = command.MarkFlagRequired("option") // fails only for a flag that is not there
	return command
}

// castVotes casts a vote of each of a number of new viewers, and prints what became of them.
func castVotes(ctx context.Context, out io.Writer, p *remotePoll, option string, voters int) error {
	value, err := parseOption(p.Poll, option)
	if err != nil {
		return err
	}
	run := rand.Text()
	votes := make([]api.Vote, voters)
	for i := range votes {
		id := fmt.Sprintf("kubectl-%s-%d", run, i)
		votes[i] = api.Vote{OpaqueUserID: "U" + id, UserID: id, Value: value}
	}
	statistics, results, err := p.service.SubmitVotes(ctx, p.PollID(), votes, run)
	if err != nil {
		return err
	}
	accepted, reason := 0, ""
	for _, r := range results {
		if r.Accepted {
			accepted++
		} else {
			reason = r.Reason
		}
	}
	if _, err := fmt.Fprintf(out, "%d of %d votes accepted; the poll has %d\n", accepted, voters, statistics.Count); err != nil {
		return err
	}
	if accepted < voters {
		return fmt.Errorf("%w: the service refused votes: %s", errNotOK, reason)
	}
	return nil
}

// parseOption returns the value of a vote for an option, given by its text or its number.
func parseOption(p *v1alpha1.Poll, option string) (int64, error) {
	if at := slices.Index(p.Spec.Options, option); at >= 0 {
		return int64(at), nil
	}
	value, err := strconv.ParseInt(option, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the Poll has no option %q: it has %q", option, p.Spec.Options)
	}
	return value, nil
}
