package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/acclaim-dev/acclaim/api/client"
)

// pollResult is a poll with its numbers. A poll without configuration has an id only.
type pollResult struct {
	Poll       client.Poll       `json:"poll"`
	Statistics client.Statistics `json:"statistics"`
}

func newPollResults(remote *remoteFlags) *cobra.Command {
	return newPollCommand(remote, "results", "Print a poll's results", func(cmd *cobra.Command, c *client.Client, id string) error {
		r, err := readResult(cmd, c, id)
		if err != nil {
			return err
		}
		return remote.writeValue(cmd.OutOrStdout(), r, func(b *strings.Builder) { b.WriteString(r.draw(0)) })
	})
}

func readResult(cmd *cobra.Command, c *client.Client, id string) (r pollResult, err error) {
	if r.Poll, err = c.ReadPoll(cmd.Context(), id); client.StatusOf(err) == http.StatusNotFound {
		r.Poll, err = client.Poll{ID: id}, nil
	}
	if err == nil {
		r.Statistics, err = c.ReadStatistics(cmd.Context(), id)
	}
	return r, err
}

func newPollWatch(remote *remoteFlags) *cobra.Command {
	cmd := newPollCommand(remote, "watch", "Show a poll's results while they change, until it ends", func(cmd *cobra.Command, c *client.Client, id string) error {
		w := &pollWatcher{cmd: cmd, remote: remote, client: c, id: id}
		if _, err := c.ReadStatistics(cmd.Context(), id); err != nil {
			return err // a subscription would wait for the service
		}
		topics := []string{"vote_update:" + id, "poll_update:" + id, "vote_delete:" + id}
		err := c.Subscribe(cmd.Context(), topics, w.readAgain, w.receive)
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

	shown pollResult
	lines int // lines on the terminal, which the next picture replaces
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
		Status string
	}
	switch name, _, _ := strings.Cut(e.Name, ":"); name {
	case "vote_update":
		if err := json.Unmarshal(e.Data, &update); err != nil {
			return err
		}
		w.shown.Statistics, w.shown.Poll.Status = update.Stats, cmp.Or(update.Status, w.shown.Poll.Status)
	case "poll_update":
		w.shown.Poll = client.Poll{}
		if err := json.Unmarshal(e.Data, &w.shown.Poll); err != nil {
			return err
		}
		if w.shown.Poll.Status == "expired" {
			return w.readAgain() // with the final numbers
		}
	default: // vote_delete, resync
		return w.readAgain()
	}
	return w.show()
}

func (w *pollWatcher) show() error {
	out := w.cmd.OutOrStdout()
	width, erase := 0, ""
	if isTerminal(out) && w.remote.form == tableForm {
		width, _, _ = term.GetSize(int(out.(*os.File).Fd()))
		if w.lines > 0 {
			erase = fmt.Sprintf("\x1b[%dA\x1b[J", w.lines) // up, and clear what is below
		}
	}
	picture := w.shown.draw(width)
	w.lines = strings.Count(picture, "\n")
	err := w.remote.writeValue(out, w.shown, func(b *strings.Builder) { b.WriteString(erase + picture) })
	if err == nil && w.shown.Poll.Status == "expired" {
		return errEnded
	}
	return err
}

// draw returns the results as a line for each option. With the width of a terminal they have
// bars, and no line is longer.
func (r *pollResult) draw(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  votes: %d\n", toPlain(cmp.Or(r.Poll.Prompt, r.Poll.ID)), cmp.Or(r.Poll.Status, "active"), r.Statistics.Count)
	if r.Statistics.Hidden {
		b.WriteString("the results are hidden\n")
	}
	labels := r.labels()
	longest, total := 0, int64(0)
	for value, label := range labels {
		longest = max(longest, utf8.RuneCountInString(label))
		total += r.Statistics.Specific[value]
	}
	const figures = 16 // columns of the number and the share
	if width > 0 {
		longest = min(longest, max(width/2-figures, 8))
	}
	room := min(width-longest-figures-2, 60)
	for value, label := range labels {
		votes := r.Statistics.Specific[value]
		share := float64(votes) / float64(max(total, 1))
		bar := strings.Repeat("█", int(share*float64(max(room, 0))+0.5))
		line := fmt.Sprintf("%s  %7d  %5.1f%%  %s", fit(label, longest), votes, 100*share, bar)
		fmt.Fprintln(&b, strings.TrimRight(line, " "))
	}
	return b.String()
}

// labels returns the texts of the options or, of a poll without any, the values up to the
// last one that has votes.
func (r *pollResult) labels() (labels []string) {
	for value := range r.Statistics.Specific {
		if value < len(r.Poll.Options) {
			labels = append(labels, toPlain(r.Poll.Options[value]))
		}
	}
	if len(r.Poll.Options) > 0 {
		return labels
	}
	last := 0
	for value, votes := range r.Statistics.Specific {
		if votes != 0 {
			last = value + 1
		}
	}
	for value := range last {
		labels = append(labels, strconv.Itoa(value))
	}
	return labels
}

// toPlain replaces control characters, which could make a terminal show what is not there.
func toPlain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
}

// fit returns a text that is as many characters wide.
func fit(text string, width int) string {
	if n := utf8.RuneCountInString(text); n <= width {
		return text + strings.Repeat(" ", width-n)
	}
	return string([]rune(text)[:width-1]) + "…"
}
