package operation

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/exactjson"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/publish"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/voting"
)

const (
	// keepPublicFor is the time for which a result that was read answers further requests, and
	// keepNotPublicFor that for which a poll that has no public result is remembered as such.
	keepPublicFor    = 250 * time.Millisecond
	keepNotPublicFor = time.Second
	// publicPatience limits one read of a result, for which several requests may wait.
	publicPatience = 5 * time.Second
	// knownPublic and knownNotPublic limit what a process remembers. The least recently used is
	// dropped.
	knownPublic, knownNotPublic = 1 << 14, 1 << 16
)

// PublicResult is the result of a poll as everyone sees it.
type PublicResult struct {
	Body []byte
	Tag  string // an entity tag, the same in every process
	read time.Time
}

// publicResults are the results that a process has read, by the names of streams. They bound what
// callers without a credential can make it read: of each poll one read at a time and few in a
// second, whatever the number of requests, and of polls that are not public little in all.
type publicResults struct {
	known  *lru.Cache[string, *PublicResult]
	absent *lru.Cache[string, time.Time] // until when the poll is known not to be public
	reads  singleflight.Group
}

func newPublicResults() *publicResults {
	known, err := lru.New[string, *PublicResult](knownPublic)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	absent, err := lru.New[string, time.Time](knownNotPublic)
	if err != nil {
		panic(err) // likewise
	}
	return &publicResults{known: known, absent: absent}
}

func errNotPublic() error { return fault.New(fault.NotFound, "No such public result") }

// The rates of reads for names that are not known to be those of public results: of one client
// address at an extension, where it is known, and of the extension.
func namesOfAddress() limit.Rate { return limit.Rate{PerSecond: 20, Burst: 200} }
func namesInAll() limit.Rate     { return limit.Rate{PerSecond: 500, Burst: 5000} }

// ReadPublicResult returns the result of a poll that shows it to everyone, as it was at most
// keepPublicFor ago. The channel of a poll of all channels is [contract.AllChannels]. Any other
// poll is fault.NotFound, whether or not it exists.
func (s *Service) ReadPublicResult(ctx context.Context, c *Call, name contract.PublicName) (*PublicResult, error) {
	poll, ok := s.publicPoll(name)
	if !ok {
		return nil, errNotPublic()
	}
	stream := poll.Stream()
	if result, done, err := s.public.recall(stream, s.Config.Now()); done {
		return result, err
	}
	known := s.public.known.Contains(stream)
	if !known {
		who := limit.Caller{Environment: poll.Environment, Extension: poll.Extension}
		if err := s.admitAddress(c, who, limit.PublicNames, namesOfAddress(), namesInAll(), 1); err != nil {
			return nil, err
		}
	}
	read, err, _ := s.public.reads.Do(stream, func() (any, error) { return s.readPublic(ctx, poll, known) })
	if err != nil {
		return nil, err
	}
	return read.(*PublicResult), nil
}

// recall returns what is known of a poll at a time, its result or that it has none. done is false
// where it has to be read.
func (p *publicResults) recall(stream string, now time.Time) (result *PublicResult, done bool, err error) {
	if result, ok := p.known.Get(stream); ok && now.Sub(result.read) < keepPublicFor {
		return result, true, nil
	}
	if until, ok := p.absent.Get(stream); ok && now.Before(until) {
		return nil, true, errNotPublic()
	}
	return nil, false, nil
}

// publicPoll returns the poll that a name may be of, and false where it is of none.
func (s *Service) publicPoll(name contract.PublicName) (voting.Poll, bool) {
	extension, ok := s.Config.Registry().ByClientID(name.Client)
	if !ok || len(name.Channel) > contract.MaxID || contract.PollIDBound("", name.Poll).IsBroken() || strings.Contains(name.Poll, ".") {
		return voting.Poll{}, false
	}
	poll := voting.Poll{Environment: string(s.Config.Environment), Extension: extension.ClientID, Channel: name.Channel, ID: name.Poll}
	if isGlobal(name.Poll) {
		poll.Channel = ""
	}
	return poll, isGlobal(name.Poll) == (name.Channel == contract.AllChannels)
}

// readPublic reads a result for all requests that wait for it, and goes on without the one that
// began it. A poll that is not known to be public is read in a way that keeps nothing in memory.
func (s *Service) readPublic(ctx context.Context, poll voting.Poll, known bool) (*PublicResult, error) {
	now, stream := s.Config.Now(), poll.Stream()
	if result, done, err := s.public.recall(stream, now); done { // another request has just read it
		return result, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publicPatience)
	defer cancel()
	lease, err := s.Config.Budgets.takePublicRead(poll, known)
	if err != nil {
		return nil, err
	}
	defer lease.Release()
	overview, err := s.Config.Voting.Configs.PublicOverview(ctx, poll, !known)
	if err != nil {
		return nil, err
	}
	status := overview.Config.Status(now)
	proved, err := s.proveResult(ctx, poll, &overview.Config)
	if err != nil {
		return nil, err
	}
	if !overview.Configured || !overview.Config.IsPublic(status) && proved == nil {
		s.public.known.Remove(stream)
		s.public.absent.Add(stream, now.Add(keepNotPublicFor))
		return nil, errNotPublic()
	}
	result, err := newPublicResult(poll, overview, status, proved)
	if err != nil {
		return nil, err
	}
	result.read = now
	s.public.known.Add(stream, result)
	return result, nil
}

// signedResult is a public result with what proves it.
type signedResult struct {
	contract.PublicResult
	*publish.Proved
}

func newPublicResult(poll voting.Poll, overview voting.Overview, status contract.Status, proved *publish.Proved) (*PublicResult, error) {
	view := overview.Config.View(poll.ID, status)
	shown := signedResult{contract.PublicResult{Name: contract.PublicName{Client: poll.Extension, Channel: poll.Channel, Poll: poll.ID}}, proved}
	if overview.Config.IsPublic(status) {
		shown.Now = &contract.PublicNow{
			Poll: contract.PublicPoll{
				Prompt: view.Prompt, Options: view.Options, Status: view.Status, Disabled: view.Disabled,
				StartsAt: view.StartsAt, EndsAt: view.EndsAt, Version: view.Version, TieBreak: view.TieBreak, Pictures: view.Pictures,
			},
			Votes: overview.AppendJSON(nil, nil),
		}
		if proved != nil {
			shown.Now.Size, shown.Now.At = proved.Size, proved.At
		}
	}
	body, err := exactjson.Marshal(shown)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "a public result does not encode")
	}
	sum := sha256.Sum256(body)
	return &PublicResult{Body: body, Tag: `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}, nil
}
