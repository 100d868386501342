package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/terminal"
)

func newPollResults(remote *remoteFlags) *cobra.Command {
	return newPollCommand(remote, "results", "Print a poll's results", func(cmd *cobra.Command, c *client.Client, id string) error {
		return printResult(cmd, remote, c, id)
	})
}

func printResult(cmd *cobra.Command, remote *remoteFlags, c *client.Client, id string) error {
	r, err := readResult(cmd, c, id)
	if err != nil {
		return err
	}
	if r.Poll.Status == "" && r.Statistics.Count == 0 {
		return fmt.Errorf("there is no poll %q: it has neither a configuration nor votes", id)
	}
	return remote.writeValue(cmd.OutOrStdout(), r, func(b *strings.Builder) { b.WriteString(r.Draw(0)) })
}

func readResult(cmd *cobra.Command, c *client.Client, id string) (r terminal.PollResult, err error) {
	if r.Poll, err = c.ReadPoll(cmd.Context(), id); client.StatusOf(err) == http.StatusNotFound {
		r.Poll, err = client.Poll{Poll: contract.Poll{ID: id}}, nil
	}
	if err == nil {
		r.Statistics, err = c.ReadStatistics(cmd.Context(), id)
	}
	return r, err
}

func newPollWatch(remote *remoteFlags) *cobra.Command {
	cmd := newPollCommand(remote, "watch", "Show a poll's results while they change, until it ends", func(cmd *cobra.Command, c *client.Client, id string) error {
		w := &pollWatcher{cmd: cmd, remote: remote, client: c, id: id, screen: terminal.NewScreen(cmd.OutOrStdout())}
		if _, err := c.ReadStatistics(cmd.Context(), id); err != nil {
			return err // a subscription would wait for the service
		}
		err := c.Subscribe(cmd.Context(), contract.PollEvents(id), w.readAgain, w.receive)
		if errors.Is(err, errEnded) || cmd.Context().Err() != nil {
			return nil //nolint:nilerr // the poll has ended, or the user has seen enough
		}
		return err
	})
	cmd.Long = `Watch prints the results of a poll each time they change: as bars that move on a
terminal, else one after the other. With -o json each is one line. It ends with the poll.`
	return cmd
}

// errEnded ends a subscription with its poll.
var errEnded = errors.New("the poll has ended")

// pollWatcher shows a poll as its events tell.
type pollWatcher struct {
	cmd    *cobra.Command
	remote *remoteFlags
	client *client.Client
	id     string

	shown  terminal.PollResult
	screen *terminal.Screen
}

// readAgain reads the poll and shows it.
func (w *pollWatcher) readAgain() (err error) {
	if w.shown, err = readResult(w.cmd, w.client, w.id); err != nil {
		return err
	}
	return w.show()
}

// receive applies an event.
func (w *pollWatcher) receive(e client.Event) error {
	var update struct {
		Stats  client.Statistics
		Status contract.Status
	}
	switch {
	case strings.HasPrefix(e.Name, contract.VoteUpdate):
		if err := json.Unmarshal(e.Data, &update); err != nil {
			return err
		}
		w.shown.Statistics, w.shown.Poll.Status = update.Stats, cmp.Or(update.Status, w.shown.Poll.Status)
	case strings.HasPrefix(e.Name, contract.PollUpdate):
		w.shown.Poll = client.Poll{}
		if err := json.Unmarshal(e.Data, &w.shown.Poll); err != nil {
			return err
		}
		if w.shown.Poll.Status == contract.Expired {
			return w.readAgain() // with the final numbers
		}
	default: // VoteDelete, Resync
		return w.readAgain()
	}
	return w.show()
}

func (w *pollWatcher) show() (err error) {
	if w.remote.form == tableForm {
		err = w.screen.Show(w.shown.Draw)
	} else {
		err = w.remote.writeValue(w.cmd.OutOrStdout(), w.shown, nil)
	}
	if err == nil && w.shown.Poll.Status == contract.Expired {
		return errEnded
	}
	return err
}
