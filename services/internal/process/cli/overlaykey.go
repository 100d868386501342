package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/terminal"
)

func newOverlayKey() *cobra.Command {
	var remote remoteFlags
	cmd := &cobra.Command{
		Use:     "overlay-key",
		GroupID: remoteGroup,
		Short:   "Create, list and revoke credentials of broadcast software",
		Long: `Overlay-key manages the overlay keys of a channel: credentials that read polls and
the visible answers to questions, and nothing else, until they end or are revoked.

` + remoteHelp,
		Args: cobra.NoArgs,
		RunE: showHelp,
	}
	remote.registerAll(cmd)
	cmd.AddCommand(newOverlayKeyCreate(&remote), newOverlayKeyList(&remote), newOverlayKeyRevoke(&remote))
	return cmd
}

func newOverlayKeyCreate(remote *remoteFlags) *cobra.Command {
	var (
		wanted   client.OverlayKey
		lifetime time.Duration
	)
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a key and print its credential, which no other command prints",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := remote.open(cmd.Context())
			if err != nil {
				return err
			}
			if lifetime > 0 {
				wanted.Expires = time.Now().Add(lifetime).Unix()
			}
			k, err := c.CreateOverlayKey(cmd.Context(), wanted)
			if err != nil {
				return err
			}
			return remote.writeValue(cmd.OutOrStdout(), k, func(table *strings.Builder) { fmt.Fprintln(table, k.Credential) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&wanted.Name, "name", "", "name for people")
	f.StringArrayVar(&wanted.Polls, "poll", nil, "id of a poll that it reads; repeat it for several (default: all, unless --question is set)")
	f.StringArrayVar(&wanted.Questions, "question", nil, "id of a question that it reads the visible answers to; repeat it for several")
	f.DurationVar(&lifetime, "lifetime", 0, "time until it ends, such as 720h; 0: it does not")
	return cmd
}

func newOverlayKeyList(remote *remoteFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the keys in force",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := remote.open(cmd.Context())
			if err != nil {
				return err
			}
			keys, err := c.ListOverlayKeys(cmd.Context())
			if err != nil {
				return err
			}
			return remote.writeValue(cmd.OutOrStdout(), keys, func(table *strings.Builder) {
				fmt.Fprintln(table, "ID\tNAME\tPOLLS\tQUESTIONS\tCREATED\tEXPIRES")
				for _, k := range keys {
					polls, questions := strings.Join(k.Polls, ","), strings.Join(k.Questions, ",")
					if polls == "" && questions == "" {
						polls = "all"
					}
					fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, terminal.Plain(k.Name), cmp.Or(polls, "-"), cmp.Or(questions, "-"), formatTime(k.Created), formatTime(k.Expires))
				}
			})
		},
	}
}

func newOverlayKeyRevoke(remote *remoteFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "End a key and its streams of events",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := remote.open(cmd.Context())
			if err != nil {
				return err
			}
			return c.RevokeOverlayKey(cmd.Context(), args[0])
		},
	}
}
