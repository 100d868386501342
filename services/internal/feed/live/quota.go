package live

import (
	"cmp"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
)

// Quotas limit what subscribers hold of a broker. An extension may have three quarters
// of each.
type Quotas struct {
	// Subscribers limits the subscribers, [contract.MaxSubscribers] when 0.
	Subscribers int64
	// Connections limits the subscribers that have a connection for themselves, as many as
	// Subscribers when 0.
	Connections int64
	// Sources limits the sources that subscribers name, 65,536 when 0. The polls that a
	// group follows have a limit of their own.
	Sources int64
	// Minor is an environment that may have an eighth of each, because anyone gets its
	// tokens; empty: none.
	Minor string
	// Ledger counts new sources; nil stands for one of this broker's own. Watch notes who is
	// refused; nil: nothing does.
	Ledger *limit.Ledger
	Watch  *limit.Watch
}

const (
	// identitySources and identitySourcesPerSecond limit the sources that one identity
	// creates, at once and in the long run. Sources linger, so that without a rate a
	// client that names other topics each time it connects would leave any number.
	identitySources          = 128
	identitySourcesPerSecond = 4
	// channelSources and channelSourcesPerSecond limit likewise what all games of a channel create.
	channelSources          = 1024
	channelSourcesPerSecond = 32
)

// quotaPools count what the subscribers of a broker hold.
type quotaPools struct {
	minor                             string
	subscribers, connections, sources *limit.Pool[limit.Holder]
	ledger                            *limit.Ledger
}

func newQuotaPools(q Quotas) *quotaPools {
	if q.Ledger == nil {
		q.Ledger = limit.NewLedger(func() int { return 1 }, q.Watch)
	}
	pool := func(name string, most int64) *limit.Pool[limit.Holder] {
		return limit.NewPool[limit.Holder](name, most, q.Watch)
	}
	subscribers := cmp.Or(q.Subscribers, contract.MaxSubscribers)
	return &quotaPools{
		minor:       q.Minor,
		subscribers: pool("subscribers", subscribers),
		connections: pool("event_connections", cmp.Or(q.Connections, subscribers)),
		sources:     pool("sources", cmp.Or(q.Sources, 1<<16)),
		ledger:      q.Ledger,
	}
}

// sharesOf returns the shares of a subscription in a pool: of its extension, of a minor
// environment, and of the games of its channel.
func (q *quotaPools) sharesOf(s Subscription, pool *limit.Pool[limit.Holder]) []limit.Share[limit.Holder] {
	shares := []limit.Share[limit.Holder]{{
		Holder: limit.Holder{Environment: s.Environment, Extension: s.Extension}, Scope: limit.Extension, Limit: max(pool.Limit()*3/4, 1),
	}}
	if s.Environment == q.minor {
		shares = append(shares, limit.Share[limit.Holder]{
			Holder: limit.Holder{Environment: s.Environment}, Scope: limit.Sandboxes, Limit: max(pool.Limit()/8, 1),
		})
	}
	if s.Identity == "" && s.ChannelShare {
		shares = append(shares, limit.Share[limit.Holder]{Holder: s.holder(), Scope: limit.Channel, Limit: max(pool.Limit()/8, 1)})
	}
	return shares
}

// holder returns the identity or, without one, the channel that holds what the subscription costs.
func (s Subscription) holder() limit.Holder {
	h := limit.Holder{Environment: s.Environment, Extension: s.Extension, Identity: s.Identity}
	if s.Identity == "" {
		h.Channel = s.Channel
	}
	return h
}

func (s Subscription) who() limit.Caller {
	return limit.Caller{Environment: s.Environment, Extension: s.Extension, Channel: s.Channel}
}

// subscriberLeases hold what a subscriber takes beside sources.
type subscriberLeases struct{ subscriber, connection *limit.Lease[limit.Holder] }

func (l *subscriberLeases) release() {
	l.subscriber.Release()
	l.connection.Release()
}

// takeSubscriber returns the leases of one subscriber, which the caller releases even after an error.
func (q *quotaPools) takeSubscriber(s Subscription) (leases subscriberLeases, err error) {
	shares := q.sharesOf(s, q.subscribers)
	if s.Identity != "" {
		shares = append(shares, limit.Share[limit.Holder]{Holder: s.holder(), Scope: limit.Identity, Limit: contract.MaxViewerSubscribers})
	}
	leases.subscriber = q.subscribers.Lease(s.who(), shares...)
	err = leases.subscriber.Take(1)
	if err == nil && s.OwnConnection {
		leases.connection = q.connections.Lease(s.who(), q.sharesOf(s, q.connections)...)
		err = leases.connection.Take(1)
	}
	return leases, limit.Fault(err, "Too many subscribers of this viewer or extension at once")
}

// sourceQuota bounds the sources that a subscriber creates.
type sourceQuota struct {
	pools  *quotaPools
	who    limit.Caller
	shares []limit.Share[limit.Holder]
	claim  limit.Claim // on the rate of new ones, which may be unlimited
}

func (q *quotaPools) sourceQuotaOf(s Subscription) *sourceQuota {
	holder := s.holder()
	claim := limit.Claim{
		Kind: limit.Topics, Amount: 1, Scope: limit.Identity,
		Holder: holder.Environment + "\x00" + holder.Extension + "\x00" + holder.Identity + "\x00" + holder.Channel,
	}
	switch {
	case s.Identity != "":
		claim.Rate = limit.Rate{PerSecond: identitySourcesPerSecond, Burst: identitySources}
	case s.ChannelShare:
		claim.Scope, claim.Rate = limit.Channel, limit.Rate{PerSecond: channelSourcesPerSecond, Burst: channelSources}
	}
	return &sourceQuota{pools: q, who: s.who(), shares: q.sharesOf(s, q.sources), claim: claim}
}

// takeSource returns a lease of one source. A nil quota limits nothing.
func (q *sourceQuota) takeSource() (*limit.Lease[limit.Holder], error) {
	if q == nil {
		return nil, nil //nolint:nilnil // no lease releases nothing
	}
	if err := q.pools.ledger.Take(time.Now(), q.who, q.claim); err != nil {
		return nil, limit.Fault(err, "Too many different topics in a short time")
	}
	lease := q.pools.sources.Lease(q.who, q.shares...)
	return lease, limit.Fault(lease.Take(1), "Too many different topics of this extension at once")
}
