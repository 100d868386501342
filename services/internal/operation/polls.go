package operation

import (
	"context"
	"encoding/base64"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// ReadPoll returns a configured poll as the caller sees it.
func (s *Service) ReadPoll(ctx context.Context, c *Call, id string) (view voting.PollView, err error) {
	if err := c.Caller.CheckReads(id); err != nil {
		return view, err
	}
	config, status, saved, cast, err := s.Config.Voting.Configs.ConfigFor(ctx, c.Caller.poll(id), c.Caller.voter())
	if err != nil {
		return view, err
	}
	if !saved {
		return view, fault.New(fault.NotFound, "The poll has no configuration")
	}
	if view = config.View(id, status); cast != config.Version {
		view.VotedVersion = cast
	}
	s.favourChannel(c.Caller)
	return view, nil
}

// ReadOverview returns the configuration and the figures of a poll at one moment, as far as the
// caller may see them, and its status. concluded asks for the status that follows from the log of
// the poll ([voting.Overview.Status]) in place of what the clock says: the poll is expired once no
// vote can come any more, so that the figures of an expired one are final.
func (s *Service) ReadOverview(ctx context.Context, c *Call, id string, concluded bool) (read voting.Overview, status contract.Status, err error) {
	if err := c.Caller.CheckReads(id); err != nil {
		return read, "", err
	}
	now, poll := s.Config.Now(), c.Caller.poll(id)
	if concluded {
		read, err = s.Config.Voting.Configs.Conclude(ctx, poll, now)
		status = read.Status(now)
	} else {
		read, err = s.Config.Voting.Configs.Overview(ctx, poll)
		status = read.Config.Status(now)
	}
	if err != nil {
		return read, "", err
	}
	if c.Caller.IsAudienceOf(id) {
		read = read.ForViewers(status)
	}
	if read.Configured {
		s.favourChannel(c.Caller)
	}
	return read, status, nil
}

// readConfig returns the configuration of a poll and its status, by the clock or by its log.
func (s *Service) readConfig(ctx context.Context, p voting.Poll, concluded bool) (config voting.Config, status contract.Status, saved bool, err error) {
	if !concluded {
		return s.Config.Voting.Configs.Config(ctx, p)
	}
	now := s.Config.Now()
	overview, err := s.Config.Voting.Configs.Conclude(ctx, p, now)
	return overview.Config, overview.Status(now), overview.Configured, err
}

// Bounds of a page of the list of polls.
const (
	// pollsExamined limits the polls that one page of a list reads: viewers bring into
	// being as many as their quotas allow, and only a read tells which are configured.
	pollsExamined = 1000
	// namesExamined limits the names that one page goes through, most of them where
	// few begin as the request wants.
	namesExamined = 50_000
	// pollsAtOnce limits the reads of one request that are under way.
	pollsAtOnce = 16
)

// ListedPoll is an element of the answer to GET /polls.
type ListedPoll struct {
	Channel string `json:"channel"` // empty for a poll of the extension
	voting.PollView
}

// PollListing is a request for polls.
type PollListing struct {
	Channel string          // "*" for those of all channels
	After   string          // the name of a stream
	Limit   int             // at least 1
	Status  contract.Status // empty: all
	Prefix  string          // what ids begin with
	// Concluded asks for the status that follows from the logs, as of ReadOverview.
	Concluded bool
}

// CheckLists refuses a caller that may not list the polls of a channel: those of another one, or
// with * those of the whole extension, are for its servers.
func (c *Caller) CheckLists(channel string) error {
	if channel != c.ChannelID && !c.IsServer() {
		return errRole()
	}
	return nil
}

// check refuses a listing that the caller may not have, or that is malformed.
func (l *PollListing) check(c *Caller) error {
	if err := c.CheckLists(l.Channel); err != nil {
		return err
	}
	if l.Limit > contract.MaxPolls {
		return fault.New(fault.Invalid, "Malformed limit parameter")
	}
	switch l.Status {
	case "", contract.Pending, contract.Active, contract.Expired:
	default:
		return fault.New(fault.Invalid, "Malformed status parameter")
	}
	if l.After != "" && !strings.HasPrefix(l.After, voting.StreamPrefix(string(c.Environment), c.Extension.ClientID)) {
		return ErrCursor()
	}
	return nil
}

// ErrCursor refuses a cursor that no page has returned.
func ErrCursor() error { return fault.New(fault.Invalid, "Malformed cursor parameter") }

// prefixes returns those of the names of the streams that the listing goes through, ascending.
func (l *PollListing) prefixes(c *Caller) (prefixes []string) {
	environment, extension := string(c.Environment), c.Extension.ClientID
	if l.Channel == "*" {
		return []string{voting.StreamPrefix(environment, extension)}
	}
	for _, id := range []string{"", "global"} {
		poll := voting.Poll{Environment: environment, Extension: extension, Channel: l.Channel, ID: id}
		prefixes = append(prefixes, poll.Siblings())
	}
	return prefixes
}

// shows reports whether the listing shows a caller what was read of a stream, nil for a poll that
// is not configured.
func (l *PollListing) shows(c *Caller, poll *ListedPoll) bool {
	return poll != nil && c.mayRead(poll.ID) && (l.Status == "" || poll.Status == l.Status)
}

// ListPolls calls add with configured polls in the order of the names of their streams. next is
// the cursor with which the list goes on, "" where it ends.
func (s *Service) ListPolls(ctx context.Context, c *Call, l PollListing, add func(*ListedPoll) error) (next string, err error) {
	if err := l.check(c.Caller); err != nil {
		return "", err
	}
	polls, reached, err := s.namePolls(ctx, c.Caller, l)
	if err != nil {
		return "", err
	}
	last, length := "", 0
	for len(polls) > 0 && length < l.Limit {
		found, err := s.readPolls(ctx, polls[:min(pollsAtOnce, len(polls))], l.Concluded)
		if err != nil {
			return "", err
		}
		for _, poll := range found {
			last, polls = polls[0].Stream(), polls[1:]
			if !l.shows(c.Caller, poll) {
				continue
			}
			if err := add(poll); err != nil {
				return "", err
			}
			if length++; length == l.Limit {
				break
			}
		}
	}
	if len(polls) == 0 {
		last = reached
	}
	return base64.RawURLEncoding.EncodeToString([]byte(last)), nil
}

// namePolls returns the polls of a listing, whether or not they are configured. Where there
// are more than one page examines, reached is the last name that it went through.
func (s *Service) namePolls(ctx context.Context, c *Caller, l PollListing) (polls []voting.Poll, reached string, err error) {
	examined := 0
	for _, prefix := range l.prefixes(c) {
		for name, err := range s.Config.PollLister(ctx, prefix, l.After) {
			if err != nil {
				return nil, "", fault.Wrap(fault.Unavailable, err, "listing polls failed")
			}
			if len(polls) == pollsExamined || examined == namesExamined {
				return polls, reached, nil
			}
			examined, reached = examined+1, name
			// An error is none here: other versions may name more than this one knows.
			if poll, err := voting.ParseStream(name); err == nil && strings.HasPrefix(poll.ID, l.Prefix) {
				polls = append(polls, poll)
			}
		}
	}
	return polls, "", nil
}

// readPolls returns the polls as lists show them, nil for each that is not configured.
func (s *Service) readPolls(ctx context.Context, polls []voting.Poll, concluded bool) ([]*ListedPoll, error) {
	found := make([]*ListedPoll, len(polls))
	group, ctx := errgroup.WithContext(ctx)
	for i, poll := range polls {
		group.Go(func() error {
			config, status, saved, err := s.readConfig(ctx, poll, concluded)
			if saved && err == nil {
				found[i] = &ListedPoll{Channel: poll.Channel, PollView: config.View(poll.ID, status)}
			}
			return err
		})
	}
	return found, group.Wait()
}
