package live

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/key"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// beginning is how many polls are looked at for the first time at once.
const beginning = 16

// siblings looks for polls that are new in a channel or an extension and has all
// of them followed.
type siblings struct {
	hub    *Hub
	any    voting.Poll // one of them, whose id does not matter
	listed bool

	mu    sync.Mutex
	found []string // names of streams that were hinted at
	ended bool
	full  bool               // that was logged
	polls map[string]*source // by the names of their streams
}

func (h *Hub) newSiblings(of voting.Poll) *source {
	return &source{sort: ofSiblings, subject: &siblings{hub: h, any: of, polls: map[string]*source{}}}
}

// find is a hint that there is a poll. It reports whether that is news.
func (s *siblings) find(name string) bool {
	if s.follows(name) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.found) >= s.hub.options.MaxPolls {
		return false
	}
	s.found = append(s.found, name)
	return true
}

// look has all polls followed that are not yet. Of those that were there before
// the first look, changes are those since.
func (s *siblings) look(ctx context.Context) (news, error) {
	begun := s.listed
	if !begun || s.hub.options.Tail != nil {
		if err := s.list(ctx, begun); err != nil {
			return news{}, err
		}
	}
	found := s.take()
	if err := s.follow(ctx, found, begun); err != nil {
		for _, name := range found {
			s.find(name)
		}
		return news{}, err
	}
	s.listed = true
	return news{}, nil
}

func (s *siblings) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.found
	s.found = nil
	return found
}

func (s *siblings) list(ctx context.Context, begun bool) error {
	var names []string
	for name, err := range s.hub.options.Streams(ctx, s.any.Siblings()) {
		if err != nil {
			return err
		}
		if names = append(names, name); len(names) > s.hub.options.MaxPolls && !begun {
			return fault.Newf(fault.Invalid, "There are more than %d polls: name the topics", s.hub.options.MaxPolls)
		}
	}
	return s.follow(ctx, names, begun)
}

// follow has polls followed and, unless they begin as ones of which nobody has
// heard, waits until they are.
func (s *siblings) follow(ctx context.Context, names []string, begun bool) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(beginning)
	for _, name := range names {
		if s.follows(name) {
			continue
		}
		group.Go(func() error { return s.add(ctx, name, begun) })
	}
	return group.Wait()
}

// follows reports whether a poll is followed, or cannot be because there are too
// many.
func (s *siblings) follows(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.polls[name] != nil {
		return true
	}
	full := len(s.polls) >= s.hub.options.MaxPolls
	if full && !s.full {
		s.full = true
		s.hub.options.Logger.Warn("there are more polls than can be followed together", "below", s.any.Siblings(), "most", s.hub.options.MaxPolls)
	}
	return full
}

func (s *siblings) add(ctx context.Context, name string, begun bool) error {
	parts, err := key.Split(name)
	if err != nil {
		return err
	}
	p := s.any
	p.ID = parts[len(parts)-1]
	source, err := s.hub.acquire(name, func() *source { return s.hub.newPoll(p, begun) })
	if err != nil {
		return err
	}
	if err = source.ready(ctx); err == nil && s.keep(name, source) {
		return nil
	}
	s.hub.release(source)
	return err
}

// keep reports false when there is already such a source, or no use for it.
func (s *siblings) keep(name string, source *source) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.polls[name] != nil {
		return false
	}
	s.polls[name] = source
	return true
}

// all returns the sources of the polls.
func (s *siblings) all() []*source {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*source, 0, len(s.polls))
	for _, p := range s.polls {
		all = append(all, p)
	}
	return slices.Clip(all)
}

func (s *siblings) end() {
	polls := s.all()
	s.mu.Lock()
	s.ended, s.polls = true, nil
	s.mu.Unlock()
	for _, p := range polls {
		s.hub.release(p)
	}
}
