package operation

import (
	"context"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/publish"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// ResultPublisher signs the results of polls whose votes can be checked.
type ResultPublisher interface {
	ReadFile(ctx context.Context, path string) (publish.File, error)
	MakeReceipt(ctx context.Context, p voting.Poll, v voting.Voter) ([]byte, error)
	Prove(ctx context.Context, p voting.Poll) (*publish.Proved, error)
}

// ReadLogFile returns a file of the signed log, or of the lists of polls. It needs no credential, and
// few of those that are not in memory are read at a time.
func (s *Service) ReadLogFile(ctx context.Context, path string) (publish.File, error) {
	lease, err := s.Config.Budgets.takePublicRead(voting.Poll{Environment: string(s.Config.Environment)}, true)
	if err != nil {
		return publish.File{}, err
	}
	defer lease.Release()
	ctx, cancel := context.WithTimeout(ctx, publicPatience)
	defer cancel()
	return s.Config.Results.ReadFile(ctx, path)
}

// MakeReceipt returns the receipt of the caller's latest vote in a poll.
func (s *Service) MakeReceipt(ctx context.Context, c *Call, id string) ([]byte, error) {
	if err := c.Caller.CheckReads(id); err != nil {
		return nil, err
	}
	voter := c.Caller.voter()
	if voter == (voting.Voter{}) {
		return nil, fault.New(fault.NotFound, "The caller has no vote in the list")
	}
	return s.Config.Results.MakeReceipt(ctx, c.Caller.poll(id), voter)
}

// proveResult returns the signed part of a public result, nil of a poll that has none.
func (s *Service) proveResult(ctx context.Context, poll voting.Poll, config *voting.Config) (*publish.Proved, error) {
	if !config.Verifiable || s.Config.Results == nil {
		return nil, nil
	}
	return s.Config.Results.Prove(ctx, poll)
}
