package live

import (
	"context"
	"math"
	"time"

	"github.com/acclaim-dev/acclaim/services/message"
)

// feed looks at the messages of a channel or of an extension.
type feed struct {
	messages Messages
	feed     message.Feed
	audience audience

	begun bool
	last  uint64 // message that the audience knows
}

func (f *feed) end() {}

func (f *feed) look(ctx context.Context) (news, error) {
	after := f.last
	if !f.begun {
		after = math.MaxUint64
	}
	page, err := f.messages.Since(ctx, f.feed, after)
	if err != nil {
		return news{}, err
	}
	n := news{head: page.Head}
	if f.begun && missed(page, f.last) {
		n.events = append(n.events, newEvent(f.audience, "", resync, []byte("{}")))
	}
	next := page.Last
	if len(page.Messages) > messagesAtOnce {
		page.Messages = page.Messages[:messagesAtOnce]
		next, n.again = page.Messages[messagesAtOnce-1].Number, time.Now()
	}
	for _, m := range page.Messages {
		n.events = append(n.events, f.event(m))
	}
	f.begun, f.last, n.message = true, next, next
	return n, nil
}

// messagesAtOnce is how many messages are told of before listeners get a moment
// to take them: less than they may be behind.
const messagesAtOnce = 32

func (f *feed) event(m message.Message) *event {
	e := newEvent(f.audience, m.To, m.Name, m.Data)
	e.message = m.Number
	return e
}

// missed reports whether a page lacks messages after the given one.
func missed(page message.Page, after uint64) bool {
	return page.Last > after && uint64(len(page.Messages)) < page.Last-after
}
