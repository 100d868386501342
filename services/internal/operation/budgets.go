package operation

import (
	"net/netip"

	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// Budgets bound what the requests of a process hold at one time. All APIs of a process
// share them.
type Budgets struct {
	// Requests counts requests under way, those of subscribers included.
	Requests *limit.Pool[netip.Prefix]
	// PerAddress limits the requests under way of one client address.
	PerAddress int64
	// Bodies counts the bytes of request bodies.
	Bodies *limit.Pool[limit.Holder]
	// Pages counts the answers of any length that are being sent.
	Pages *limit.Pool[limit.Holder]
	// PublicReads counts the reads of public results and of pictures.
	PublicReads *limit.Pool[limit.Holder]
	// Histories counts the logs that are being folded for answers about the past.
	Histories *limit.Pool[limit.Holder]
	// HistoryBytes counts the bytes of the states that they are folded into.
	HistoryBytes *limit.Pool[limit.Holder]
	// Exports counts the exports being sent.
	Exports *limit.Pool[limit.Holder]
	// Pictures counts the pictures that are being decoded and encoded again.
	Pictures *limit.Pool[limit.Holder]
}

// BudgetLimits are the limits of budgets.
type BudgetLimits struct {
	Requests, PerAddress, BodyBytes, HistoryBytes int64
	// Watch notes who is refused; nil: nothing does.
	Watch *limit.Watch
}

// Limits of the long answers being sent. One takes up to 2.5 MB with what it reads and
// compresses.
const (
	maxPages       = 32
	extensionPages = 16
	identityPages  = 4
)

// Limits of the reads of public results. Those for names that are not known to be of public
// results may read whole logs, and leave votes the store and the cores.
const (
	maxPublicReads = 64
	unknownNames   = 4
	pictureReads   = 16
)

// Limits of the pictures being encoded; each takes a core and up to 16 MB.
const (
	maxPictures       = 4
	extensionPictures = 2
)

// Limits of the logs being folded; each takes a core. Viewers leave one to the staff of their
// extension, and one to that of all.
const (
	maxHistories       = 4
	viewersHistories   = 3
	extensionHistories = 2
	audienceHistories  = 1
	identityHistories  = 1
)

// Limits of the exports being sent; each takes a core.
const (
	maxExports       = 2
	extensionExports = 1
)

// NewBudgets returns budgets. Nothing of them is used yet.
func NewBudgets(limits BudgetLimits) *Budgets {
	pool := func(name string, most int64) *limit.Pool[limit.Holder] {
		return limit.NewPool[limit.Holder](name, most, limits.Watch)
	}
	return &Budgets{
		Requests:     limit.NewPool[netip.Prefix]("requests", limits.Requests, limits.Watch),
		PerAddress:   limits.PerAddress,
		Bodies:       pool("body_bytes", limits.BodyBytes),
		Pages:        pool("pages", maxPages),
		PublicReads:  pool("public_reads", maxPublicReads),
		Histories:    pool("histories", maxHistories),
		HistoryBytes: pool("history_bytes", limits.HistoryBytes),
		Exports:      pool("exports", maxExports),
		Pictures:     pool("pictures", maxPictures),
	}
}

// defaultBudgets returns the budgets of an API that is given none.
func defaultBudgets() *Budgets {
	return NewBudgets(BudgetLimits{Requests: 1 << 16, PerAddress: 1 << 16, BodyBytes: 256 << 20, HistoryBytes: 128 << 20})
}

// BodyLeases hold the memory of one body: its first buffer from the whole budget, so
// that large bodies leave room for small ones, and larger buffers from a part of it.
type BodyLeases struct {
	pool          *limit.Pool[limit.Holder]
	who           limit.Caller
	caller        *Caller // nil without a credential
	limit         int     // of the body, in bytes
	first, larger *limit.Lease[limit.Holder]
}

// BodyLeases returns the leases of a body of at most that many bytes. They hold nothing yet. The
// caller is nil where the request needs no credential.
func (b *Budgets) BodyLeases(environment tenant.Environment, c *Caller, most int) BodyLeases {
	leases := BodyLeases{pool: b.Bodies, who: limit.Caller{Environment: string(environment)}, caller: c, limit: most}
	if c != nil {
		leases.who = c.who()
	}
	return leases
}

// Release gives back what the leases hold. The body is not used any more.
func (l *BodyLeases) Release() {
	l.first.Release()
	l.larger.Release()
}

// ForBuffer returns the lease of buffers of a size. Most bodies need the first one only.
func (l *BodyLeases) ForBuffer(size int) *limit.Lease[limit.Holder] {
	if size <= firstBodyBytes {
		if l.first == nil {
			l.first = l.pool.Lease(l.who, l.ownShare())
		}
		return l.first
	}
	if l.larger == nil {
		l.larger = l.pool.Lease(l.who, append(l.commonShares(), l.ownShare())...)
	}
	return l.larger
}

// growthFactor limits the memory that a body takes, in relation to its size: while a
// buffer grows, the old one counts too.
const growthFactor = 3

func (l *BodyLeases) share(holder limit.Holder, scope limit.Scope, most int64) limit.Share[limit.Holder] {
	return limit.Share[limit.Holder]{Holder: holder, Scope: scope, Limit: max(most, growthFactor*int64(l.limit))}
}

// ownShare returns the share of a viewer, or of the routes without a credential, which is
// a sixteenth of the budget, or that of another identity, which is a quarter.
func (l *BodyLeases) ownShare() limit.Share[limit.Holder] {
	all := l.pool.Limit()
	switch {
	case l.caller == nil:
		return l.share(limit.Holder{Environment: l.who.Environment}, limit.Public, all/16)
	case l.caller.IsAudience():
		return l.share(l.caller.holder(), limit.Identity, all/16)
	}
	return l.share(l.caller.holder(), limit.Identity, all/4)
}

// commonShares returns the shares of larger buffers: an extension has a half of the
// budget, the sandbox, whose tokens are anyone's, a quarter, and all together three
// quarters.
func (l *BodyLeases) commonShares() []limit.Share[limit.Holder] {
	all := l.pool.Limit()
	shares := []limit.Share[limit.Holder]{l.share(limit.Holder{}, limit.Everyone, all*3/4)}
	if l.caller != nil {
		shares = append(shares, l.share(l.caller.extensionHolder(), limit.Extension, all/2))
	}
	if l.who.Environment == string(tenant.Sandbox) {
		shares = append(shares, l.share(limit.Holder{Environment: l.who.Environment, Identity: "larger"}, limit.Sandboxes, all/4))
	}
	return shares
}

// TakeRequest returns a lease of one request for a client, which is not valid where it is not known.
func (b *Budgets) TakeRequest(environment tenant.Environment, client netip.Prefix) (*limit.Lease[netip.Prefix], error) {
	var shares []limit.Share[netip.Prefix]
	if client.IsValid() {
		shares = []limit.Share[netip.Prefix]{{Holder: client, Scope: limit.Address, Limit: b.PerAddress}}
	}
	lease := b.Requests.Lease(limit.Caller{Environment: string(environment)}, shares...)
	return lease, limit.Fault(lease.Take(1), "Too many requests of this address at once; nothing was stored")
}

// TakePage returns a lease of one long answer. The backends of an extension share its
// identity.
func (b *Budgets) TakePage(c *Caller) (*limit.Lease[limit.Holder], error) {
	lease := b.Pages.Lease(c.who(), c.sharesOf(extensionPages, identityPages)...)
	return lease, limit.Fault(lease.Take(1), "Too many long answers at once; nothing was stored")
}

// takePublicRead returns a lease of one read of a public result, or of a name that is not known to
// be of one.
func (b *Budgets) takePublicRead(p voting.Poll, known bool) (*limit.Lease[limit.Holder], error) {
	var shares []limit.Share[limit.Holder]
	if !known {
		shares = []limit.Share[limit.Holder]{{Scope: limit.Public, Limit: unknownNames}}
	}
	lease := b.PublicReads.Lease(limit.Caller{Environment: p.Environment, Extension: p.Extension}, shares...)
	return lease, limit.Fault(lease.Take(1), "Too many public results at once; nothing was stored")
}

// takePictureRead returns a lease of one read of a picture.
func (b *Budgets) takePictureRead(who limit.Caller) (*limit.Lease[limit.Holder], error) {
	lease := b.PublicReads.Lease(who, limit.Share[limit.Holder]{Holder: limit.Holder{Identity: pictures}, Scope: limit.Public, Limit: pictureReads})
	return lease, limit.Fault(lease.Take(1), "Too many pictures at once; nothing was stored")
}

// takePicture returns a lease of one picture that is decoded and encoded again.
func (b *Budgets) takePicture(c *Caller) (*limit.Lease[limit.Holder], error) {
	lease := b.Pictures.Lease(c.who(), limit.Share[limit.Holder]{Holder: c.extensionHolder(), Scope: limit.Extension, Limit: extensionPictures})
	return lease, limit.Fault(lease.Take(1), "Too many pictures at once; nothing was stored")
}

// takeHistory returns a lease of one log that is being folded.
func (b *Budgets) takeHistory(c *Caller) (*limit.Lease[limit.Holder], error) {
	shares := c.sharesOf(extensionHistories, identityHistories)
	if c.IsAudience() {
		ofExtension, ofAll := c.extensionHolder(), limit.Holder{Identity: viewers}
		ofExtension.Identity = viewers
		shares = append(shares,
			limit.Share[limit.Holder]{Holder: ofExtension, Scope: limit.Viewers, Limit: audienceHistories},
			limit.Share[limit.Holder]{Holder: ofAll, Scope: limit.Viewers, Limit: viewersHistories})
	}
	lease := b.Histories.Lease(c.who(), shares...)
	return lease, limit.Fault(lease.Take(1), tooManyHistories)
}

// The reasons of refusals, and the holders that stand for all viewers and for all pictures.
const (
	viewers          = "\x00viewers" // no identity has the byte 0
	pictures         = "\x00pictures"
	TooManyBytes     = "Too many bytes of request bodies at once; nothing was stored"
	tooManyHistories = "Too many questions about the past at once; nothing was stored"
)

// TakeExport returns a lease of one export.
func (b *Budgets) TakeExport(c *Caller) (*limit.Lease[limit.Holder], error) {
	lease := b.Exports.Lease(c.who(), limit.Share[limit.Holder]{Holder: c.extensionHolder(), Scope: limit.Extension, Limit: extensionExports})
	return lease, limit.Fault(lease.Take(1), "Too many exports at once; nothing was stored")
}

// foldLease holds the memory of one log that is being folded.
type foldLease struct {
	*limit.Lease[limit.Holder]
	held int64
}

// newFoldLease returns a lease that holds nothing yet. The viewers of an extension have a half
// of the budget, its staff what they leave of three quarters.
func (b *Budgets) newFoldLease(c *Caller) *foldLease {
	share := limit.Share[limit.Holder]{Holder: c.extensionHolder(), Scope: limit.Extension, Limit: b.HistoryBytes.Limit() * 3 / 4}
	if c.IsAudience() {
		share.Scope, share.Limit = limit.Viewers, b.HistoryBytes.Limit()/2
	}
	return &foldLease{Lease: b.HistoryBytes.Lease(c.who(), share)}
}

// hold makes the lease hold at least that many bytes.
func (l *foldLease) hold(bytes int64) error {
	if bytes <= l.held {
		return nil
	}
	const step = 1 << 20 // a state grows a little with each voter
	more := (bytes - l.held + step - 1) / step * step
	err := l.Take(more)
	if err == nil {
		l.held += more
	}
	return limit.Fault(err, tooManyHistories)
}

// sharesOf returns the shares of the caller's extension and, unless it is a backend, of the
// caller.
func (c *Caller) sharesOf(extension, identity int64) []limit.Share[limit.Holder] {
	shares := []limit.Share[limit.Holder]{{Holder: c.extensionHolder(), Scope: limit.Extension, Limit: extension}}
	if c.Role != Backend {
		shares = append(shares, limit.Share[limit.Holder]{Holder: c.holder(), Scope: limit.Identity, Limit: identity})
	}
	return shares
}

// holder names the caller in budgets.
func (c *Caller) holder() limit.Holder {
	holder := c.extensionHolder()
	if holder.Identity = c.identity(); holder.Identity == "" {
		holder.Identity = string(c.Role) + "\x00" + c.ChannelID
	}
	return holder
}

func (c *Caller) extensionHolder() limit.Holder {
	return limit.Holder{Environment: string(c.Environment), Extension: c.Extension.ClientID}
}
