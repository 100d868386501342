package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newGame() *cobra.Command {
	var remote remoteFlags
	cmd := &cobra.Command{
		Use:     "game",
		GroupID: remoteGroup,
		Short:   "List and end the games that are paired with a channel",
		Long: `Game manages the games that a PIN, a refresh token or a token of staff has paired with
a channel.

` + remoteHelp,
		Args: cobra.NoArgs,
		RunE: showHelp,
	}
	remote.registerAll(cmd)
	cmd.AddCommand(newGameList(&remote), newGameEnd(&remote))
	return cmd
}

func newGameList(remote *remoteFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the games",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := remote.open(cmd.Context())
			if err != nil {
				return err
			}
			games, err := c.ListGames(cmd.Context())
			if err != nil {
				return err
			}
			return remote.writeValue(cmd.OutOrStdout(), games, func(table *strings.Builder) {
				fmt.Fprintln(table, "ID\tCHANNELS\tCREATED\tLAST USED")
				for _, g := range games {
					channels := map[bool]string{false: "own", true: "all"}[g.Server]
					fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", g.ID, channels, formatTime(g.Created), formatTime(g.LastUsed))
				}
			})
		},
	}
}

func newGameEnd(remote *remoteFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "end ID",
		Short: "End a game, its tokens and its connections",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := remote.open(cmd.Context())
			if err != nil {
				return err
			}
			return c.EndGame(cmd.Context(), args[0])
		},
	}
}
