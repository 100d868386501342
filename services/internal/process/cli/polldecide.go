package cli

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/api/client"
)

func newPollDecide(remote *remoteFlags) *cobra.Command {
	var option string
	var undo bool
	cmd := newPollCommand(remote, "decide", "Choose the winner of a poll that ended in a tie", func(cmd *cobra.Command, c *client.Client, id string) error {
		var tieBreak any // nil takes the decision back
		if !undo {
			p, err := c.ReadPoll(cmd.Context(), id)
			if err != nil {
				return err
			}
			if tieBreak, err = findOption(p, option); err != nil {
				return err
			}
		}
		if err := c.ChangePoll(cmd.Context(), id, map[string]any{"tieBreak": tieBreak}); err != nil {
			return err
		}
		return printResult(cmd, remote, c, id)
	})
	cmd.Long = `Decide chooses one of the options that lead with equal votes, and prints the results. The
counts stay as they are: viewers see the option as chosen by the staff.`
	cmd.Example = `  acclaim poll decide lunch --option Salad
  acclaim poll decide lunch --undo`
	cmd.Flags().StringVar(&option, "option", "", "text of the option that wins, or its number from 0")
	cmd.Flags().BoolVar(&undo, "undo", false, "take the decision back")
	cmd.MarkFlagsOneRequired("option", "undo")
	cmd.MarkFlagsMutuallyExclusive("option", "undo")
	return cmd
}

// findOption returns the value of an option that a user names by its text or, where no option has
// that text, by the value itself.
func findOption(p client.Poll, name string) (int, error) {
	if value := slices.Index(p.Options, name); value >= 0 {
		return value, nil
	}
	value, err := strconv.Atoi(name)
	if err != nil {
		return 0, fmt.Errorf("the poll %q has no option %q", p.ID, name)
	}
	return value, nil
}
