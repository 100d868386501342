package event

import (
	"context"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/ranking"
)

// QuestionReader are read for the best answers.
type QuestionReader interface {
	Board(ctx context.Context, q ranking.Question, standing ranking.Standing, limit int) (ranking.Board, error)
}

func questionName(environment, extension, channel, id string) key.Name {
	return ranking.Question{Environment: environment, Extension: extension, Channel: channel, ID: id}.StreamName()
}

func loadQuestion(ctx context.Context, stores *Stores, s Source, _ Knowledge, _ time.Time) (*sourceRead, error) {
	q := ranking.Question{Environment: s.Audience.Environment, Extension: s.Audience.Extension, Channel: s.Audience.Channel, ID: s.ID}
	board, err := stores.Questions.Board(ctx, q, ranking.Visible, contract.DefaultRanking)
	return &sourceRead{head: board.Head, diff: func(s Source, known Knowledge, _ time.Time, _ Sight) Change {
		return DiffQuestion(s, known, board)
	}}, err
}

// questionData is the data of a rank_update event: what GET /rank answers, the id, and how
// many answers wait for staff.
type questionData struct {
	ID       string          `json:"id"`
	Data     []ranking.Score `json:"data"`
	Held     int             `json:"held,omitempty"`
	StartsAt int64           `json:"startsAt,omitempty"`
	EndsAt   int64           `json:"endsAt,omitempty"`
}

// DiffQuestion compares what is known of a question with a read of its best answers. The
// latest ranks win. Whatever is written is a change, also where the event has the answers of
// the one before: staff reads hidden answers too, and may have read in between what an
// answer and its moderation have left as it was.
func DiffQuestion(s Source, known Knowledge, read ranking.Board) Change {
	final := Knowledge{Head: read.Head}
	data := EncodeJSON(questionData{s.ID, append([]ranking.Score{}, read.Scores...), read.Held, read.StartsAt, read.EndsAt}) // [] for none
	if len(read.Scores)+read.Held > 0 {
		final.Stats = digestOf(data)
	}
	if final.Head == known.Head && final.Stats == known.Stats {
		return Change{Final: final}
	}
	e := s.newEvent(contract.RankUpdate+s.ID, data, read.Head)
	e.For, e.Named = Staff, true
	return Change{Steps: []Step{{Event: e, After: final}}, Final: final}
}
