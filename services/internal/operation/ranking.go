package operation

import (
	"context"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/ranking"
)

// question returns the question that the id names for the caller (section 2.1).
func (c *Caller) question(id string) ranking.Question {
	return ranking.Question{
		Environment: string(c.Environment),
		Extension:   c.Extension.ClientID,
		Channel:     c.ChannelID,
		ID:          id,
	}
}

// CheckReadsQuestion refuses an overlay key that does not name the question.
func (c *Caller) CheckReadsQuestion(id string) error {
	if c.Role == Overlay && !c.Key.ShowsQuestion(id) {
		return errRole()
	}
	return nil
}

// SubmitAnswer submits the caller's answer to a question (section 4.3).
func (s *Service) SubmitAnswer(ctx context.Context, c *Call, id, key string) (answer ranking.Answer, err error) {
	keys, err := s.requestKeys(c, id)
	if err != nil {
		return answer, err
	}
	err = s.addEntry(c, isGlobal(id), func(existing bool) (err error) {
		submit := s.Config.Ranking.Answers.Submit
		if existing {
			submit = s.Config.Ranking.Answers.SubmitExisting
		}
		answer, err = submit(ctx, c.Caller.question(id), c.Caller.identity(), key, keys...)
		return err
	})
	return answer, err
}

// ReadBoard returns the most frequent answers to a question. The audience of a question sees those
// alone that are visible.
func (s *Service) ReadBoard(ctx context.Context, c *Call, id string, standing ranking.Standing, limit int) (ranking.Board, error) {
	if err := c.Caller.CheckReadsQuestion(id); err != nil {
		return ranking.Board{}, err
	}
	if c.Caller.IsAudienceOf(id) && standing != ranking.Visible {
		return ranking.Board{}, errRole()
	}
	return s.Config.Ranking.Answers.Board(ctx, c.Caller.question(id), standing, limit)
}

// ClearQuestion deletes the answers to a question and its configuration.
func (s *Service) ClearQuestion(ctx context.Context, c *Call, id string) error {
	if err := c.Caller.CheckOwner(id); err != nil {
		return err
	}
	return s.Config.Ranking.Answers.Clear(ctx, c.Caller.question(id))
}

// ReadQuestionConfig returns the configuration of a question; saved is false for one that has none.
func (s *Service) ReadQuestionConfig(ctx context.Context, c *Call, id string) (config ranking.Config, status contract.Status, saved bool, err error) {
	if err := c.Caller.CheckReadsQuestion(id); err != nil {
		return config, status, false, err
	}
	return s.Config.Ranking.Configs.Config(ctx, c.Caller.question(id))
}

// ChangeQuestion replaces or patches the configuration of a question. digest is that of the
// configuration afterwards, "" where it is not known.
func (s *Service) ChangeQuestion(ctx context.Context, c *Call, id string, change ranking.Change) (digest string, err error) {
	if err := c.Caller.CheckOwner(id); err != nil {
		return "", err
	}
	keys, err := s.patchKeys(c, id)
	if err != nil {
		return "", err
	}
	s.favourChannel(c.Caller)
	return s.Config.Ranking.Configs.Change(ctx, c.Caller.question(id), change, keys...)
}

// ModerateAnswers hides, shows or merges answers to a question.
func (s *Service) ModerateAnswers(ctx context.Context, c *Call, id string, m ranking.Moderation) error {
	if err := c.Caller.CheckOwner(id); err != nil {
		return err
	}
	s.favourChannel(c.Caller)
	m.Actor = ranking.StaffActor{Role: c.Caller.roleName(), ID: c.Caller.Actor()}
	return s.Config.Ranking.Answers.Moderate(ctx, c.Caller.question(id), m)
}
