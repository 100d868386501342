package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/terminal"
)

func newPoll() *cobra.Command {
	var remote remoteFlags
	cmd := &cobra.Command{
		Use:     "poll",
		GroupID: remoteGroup,
		Short:   "Create, list, watch, close, decide and delete polls of a running service",
		Long:    "Poll manages the polls of a channel.\n\n" + remoteHelp,
		Args:    cobra.NoArgs,
		RunE:    showHelp,
		Example: `  export ACCLAIM_TOKEN="$(acclaim token --extension sample-extension --role broadcaster --channel 1 --user 1)"
  acclaim poll create lunch --prompt "What is for lunch?" --option Soup --option Salad --duration 5m
  acclaim poll watch lunch`,
	}
	remote.registerAll(cmd)
	cmd.AddCommand(newPollCreate(&remote), newPollList(&remote), newPollResults(&remote), newPollWatch(&remote), newPollClose(&remote), newPollDecide(&remote), newPollDelete(&remote))
	return cmd
}

// newPollCommand returns a command about a poll, whose id shells complete.
func newPollCommand(remote *remoteFlags, use, short string, run func(cmd *cobra.Command, c *client.Client, id string) error) *cobra.Command {
	return &cobra.Command{
		Use:   use + " ID",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := remote.open(cmd.Context())
			if err != nil {
				return err
			}
			return run(cmd, c, args[0])
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, start string) (ids []string, _ cobra.ShellCompDirective) {
			c, err := remote.open(cmd.Context())
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 3*time.Second)
			defer cancel()
			polls, err := c.ListPolls(ctx, url.Values{"prefix": {start}})
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			for _, p := range polls {
				ids = append(ids, cobra.CompletionWithDesc(p.ID, p.Prompt))
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func newPollCreate(remote *remoteFlags) *cobra.Command {
	config := client.NewPollConfig()
	var (
		duration, delay    time.Duration
		replace, keepVotes bool
	)
	cmd := newPollCommand(remote, "create", "Configure a poll", func(cmd *cobra.Command, c *client.Client, id string) error {
		before, found, err := c.ReadPollConfig(cmd.Context(), id)
		if err != nil {
			return err
		}
		if found && !replace {
			return fmt.Errorf("the poll %q exists; --replace gives it this configuration and keeps its votes", id)
		}
		if found && !cmd.Flags().Changed("strict") {
			config.Strict = before.Strict
		}
		if delay > 0 {
			config.StartsAt = time.Now().Add(delay).Unix()
		}
		if duration > 0 {
			config.EndsAt = time.Now().Add(delay + duration).Unix()
		}
		if err := replacePoll(cmd.Context(), c, id, config, keepVotes); err != nil {
			return err
		}
		return printPolls(cmd, remote, c, id)
	})
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	f := cmd.Flags()
	f.StringVar(&config.Prompt, "prompt", "", "the question")
	f.StringArrayVar(&config.Options, "option", nil, "text of an option; repeat it for each")
	f.DurationVar(&delay, "delay", 0, "time until the poll begins, such as 30s")
	f.DurationVar(&duration, "duration", 0, "time from its beginning to its end, such as 5m; 0: it has none")
	f.BoolVar(&config.Global, "global", false, "make it a poll of all channels, whose id begins with \"global\"")
	f.BoolVar(&config.UserIDVoting, "user-id-voting", false, "count each shared user id once, on all devices")
	f.BoolVar(&config.LoggedInOnly, "logged-in-only", false, "count only viewers who are logged in")
	f.StringVar((*string)(&config.ResultsVisibility), "results", "", "who sees results: always, afterVote, afterClose or staff")
	f.BoolVar(&config.ShowCount, "show-count", false, "show the number of votes while results are hidden")
	f.BoolVar(&config.DeviceVoting, "device-voting", false, "let devices vote by a link: one vote each, and a person can have several")
	f.BoolVar(&config.WeightedVotes, "weighted-votes", false, "let a vote count as often as vote_weight in the viewer's token says")
	f.BoolVar(&config.PublicResults, "public-results", false, "show the results without a credential, too, for caches")
	f.BoolVar(&config.Verifiable, "verifiable", false, "list the votes so that their voters can check them")
	f.StringVar(&config.Entries, "entries", "", "when everyone can read the list of a verifiable poll: close, live or never")
	f.Int64Var(&config.MinVoters, "min-voters", 0, "number of voters from which on everyone can read that list (default 50)")
	f.Int64Var(&config.KeepDays, "keep-days", 0, "days for which that list stays after the final result (default 30)")
	f.BoolVar(&config.NoReceipts, "no-receipts", false, "give no receipts of votes in a verifiable poll")
	f.Int64Var(&config.TotalVotesPerUser, "votes-per-user", 1, "votes of a viewer")
	f.Int64Var(&config.DistinctOptionsPerUser, "options-per-user", 1, "options that a viewer may choose")
	f.Int64Var(&config.VotesPerOption, "votes-per-option", 1, "votes of a viewer for one option")
	f.BoolVar(&config.Strict, "strict", true, "refuse votes for no option, and another question once there are votes; a poll that is replaced keeps what it has")
	f.BoolVar(&replace, "replace", false, "replace the configuration of a poll that exists")
	f.BoolVar(&keepVotes, "keep-votes", false, "with --replace: keep the votes of a strict poll under another question")
	return cmd
}

// replacePoll stores a configuration, and says what a user can do about votes in its way.
func replacePoll(ctx context.Context, c *client.Client, id string, config contract.PollConfig, keepVotes bool) error {
	replace := c.ConfigurePoll
	if keepVotes {
		replace = c.ConfigurePollKeepingVotes
	}
	err := replace(ctx, id, config)
	if client.IsOtherQuestion(err) {
		return fmt.Errorf("%w; --keep-votes keeps the votes, \"acclaim poll delete %s\" deletes them", err, id)
	}
	return err
}

func newPollList(remote *remoteFlags) *cobra.Command {
	var status, prefix string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the configured polls",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := remote.open(cmd.Context())
			if err != nil {
				return err
			}
			query := url.Values{}
			for name, value := range map[string]string{"status": status, "prefix": prefix} {
				if value != "" {
					query.Set(name, value)
				}
			}
			polls, err := c.ListPolls(cmd.Context(), query)
			if err != nil {
				return err
			}
			return remote.writeValue(cmd.OutOrStdout(), polls, func(table *strings.Builder) { drawPolls(table, polls) })
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only polls that are pending, active or expired")
	cmd.Flags().StringVar(&prefix, "prefix", "", "only polls whose id begins so")
	return cmd
}

func newPollClose(remote *remoteFlags) *cobra.Command {
	return newPollCommand(remote, "close", "End a poll now", func(cmd *cobra.Command, c *client.Client, id string) error {
		if err := c.ChangePoll(cmd.Context(), id, map[string]any{"endsAt": -1}); err != nil {
			return err
		}
		return printPolls(cmd, remote, c, id)
	})
}

func newPollDelete(remote *remoteFlags) *cobra.Command {
	return newPollCommand(remote, "delete", "Delete a poll's configuration and its votes; the log stays", func(cmd *cobra.Command, c *client.Client, id string) error {
		return c.DeletePoll(cmd.Context(), id)
	})
}

// printPolls prints a poll as the list does.
func printPolls(cmd *cobra.Command, remote *remoteFlags, c *client.Client, id string) error {
	p, err := c.ReadPoll(cmd.Context(), id)
	if err != nil {
		return err
	}
	return remote.writeValue(cmd.OutOrStdout(), p, func(table *strings.Builder) { drawPolls(table, []client.Poll{p}) })
}

func drawPolls(table *strings.Builder, polls []client.Poll) {
	fmt.Fprintln(table, "ID\tSTATUS\tENDS\tOPTIONS\tPROMPT")
	for _, p := range polls {
		status := string(p.Status)
		if p.Disabled {
			status += ", disabled"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\n", p.ID, status, formatTime(p.EndsAt), len(p.Options), terminal.Plain(p.Prompt))
	}
}

// formatTime returns a time in Unix seconds for people.
func formatTime(seconds int64) string {
	if seconds == 0 {
		return "-"
	}
	return time.Unix(seconds, 0).Format(time.RFC3339)
}
