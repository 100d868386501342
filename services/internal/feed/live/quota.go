package live

import (
	"cmp"
	"errors"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"github.com/acclaim-dev/acclaim/services/internal/budget"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Quotas limit what subscribers hold of a broker. An extension may have three quarters
// of each.
type Quotas struct {
	// Subscribers limits the subscribers, 50,000 when 0.
	Subscribers int64
	// Sources limits the sources that subscribers name, 65,536 when 0. The polls that a
	// group follows have a limit of their own.
	Sources int64
	// Minor is an environment that may have an eighth of each, because anyone gets its
	// tokens; empty: none.
	Minor string
}

// Holder is an identity of an extension, the games of one of its channels, a whole extension or,
// where names are empty, an environment.
type Holder struct{ Environment, Extension, Identity, Channel string }

const (
	// identitySubscribers limits the subscribers of one identity.
	identitySubscribers = 8
	// identitySources and identitySourcesPerSecond limit the sources that one identity
	// creates, at once and in the long run. Sources linger, so that without a rate a
	// client that names other topics each time it connects would leave any number.
	identitySources          = 128
	identitySourcesPerSecond = 4
	// channelSources and channelSourcesPerSecond limit likewise what all games of a channel create.
	channelSources          = 1024
	channelSourcesPerSecond = 32
	// limitedIdentities is the number of identities and channels whose rate is known. The least
	// recently used is dropped.
	limitedIdentities = 1 << 14
)

// quotaPools count what the subscribers of a broker hold.
type quotaPools struct {
	minor       string
	subscribers *budget.Pool[Holder]
	sources     *budget.Pool[Holder]
	created     *lru.Cache[Holder, *rate.Limiter]
}

func newQuotaPools(q Quotas) *quotaPools {
	created, err := lru.New[Holder, *rate.Limiter](limitedIdentities)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	return &quotaPools{
		minor:       q.Minor,
		subscribers: budget.NewPool[Holder](cmp.Or(q.Subscribers, 50_000)),
		sources:     budget.NewPool[Holder](cmp.Or(q.Sources, 1<<16)),
		created:     created,
	}
}

// sharesOf returns the claims of an extension, and of a minor environment, in a pool.
func (q *quotaPools) sharesOf(s Subscription, pool *budget.Pool[Holder]) []budget.Claim[Holder] {
	claims := []budget.Claim[Holder]{{Holder: Holder{Environment: s.Environment, Extension: s.Extension}, Limit: max(pool.Limit()*3/4, 1)}}
	if s.Environment == q.minor {
		claims = append(claims, budget.Claim[Holder]{Holder: Holder{Environment: s.Environment}, Limit: max(pool.Limit()/8, 1)})
	}
	return claims
}

// holder returns the identity or, without one, the channel that holds what the subscription costs.
func (s Subscription) holder() Holder {
	h := Holder{Environment: s.Environment, Extension: s.Extension, Identity: s.Identity}
	if s.Identity == "" {
		h.Channel = s.Channel
	}
	return h
}

// takeSubscriber returns a lease of one subscriber.
func (q *quotaPools) takeSubscriber(s Subscription) (*budget.Lease[Holder], error) {
	claims := q.sharesOf(s, q.subscribers)
	switch {
	case s.Identity != "":
		claims = append(claims, budget.Claim[Holder]{Holder: s.holder(), Limit: identitySubscribers})
	case s.ChannelShare:
		claims = append(claims, budget.Claim[Holder]{Holder: s.holder(), Limit: max(q.subscribers.Limit()/8, 1)})
	}
	lease := q.subscribers.Lease(claims...)
	return lease, refuseOver(lease.Take(1), "Too many subscribers of this viewer or extension at once")
}

// sourceQuota bounds the sources that a subscriber creates.
type sourceQuota struct {
	pool    *budget.Pool[Holder]
	claims  []budget.Claim[Holder]
	limiter *rate.Limiter // nil where the rate is unlimited
}

func (q *quotaPools) sourceQuotaOf(s Subscription) *sourceQuota {
	quota := &sourceQuota{pool: q.sources, claims: q.sharesOf(s, q.sources)}
	var limiter *rate.Limiter
	switch {
	case s.Identity != "":
		limiter = rate.NewLimiter(identitySourcesPerSecond, identitySources)
	case s.ChannelShare:
		limiter = rate.NewLimiter(channelSourcesPerSecond, channelSources)
		quota.claims = append(quota.claims, budget.Claim[Holder]{Holder: s.holder(), Limit: max(q.sources.Limit()/8, 1)})
	default:
		return quota
	}
	holder := s.holder()
	if known, ok, _ := q.created.PeekOrAdd(holder, limiter); ok {
		limiter = known
		q.created.Get(holder) // it is used
	}
	quota.limiter = limiter
	return quota
}

// takeSource returns a lease of one source. A nil quota limits nothing.
func (q *sourceQuota) takeSource() (*budget.Lease[Holder], error) {
	if q == nil {
		return nil, nil //nolint:nilnil // no lease releases nothing
	}
	if q.limiter != nil && !q.limiter.Allow() {
		return nil, fault.New(fault.RateLimited, "Too many different topics in a short time")
	}
	lease := q.pool.Lease(q.claims...)
	return lease, refuseOver(lease.Take(1), "Too many different topics of this extension at once")
}

// refuseOver turns the refusal of a quota into a fault.
func refuseOver(err error, reason string) error {
	if err == nil {
		return nil
	}
	if _, share := errors.AsType[*budget.ShareError](err); share {
		return fault.Wrap(fault.RateLimited, err, reason)
	}
	return fault.Wrap(fault.Unavailable, err, reason)
}
