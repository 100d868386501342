package httpapi

import (
	"errors"
	"net/netip"

	"github.com/acclaim-dev/acclaim/services/internal/budget"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// Budgets bound what the requests of a process hold at one time. All APIs of a process
// share them.
type Budgets struct {
	// Requests counts requests under way, those of subscribers included.
	Requests *budget.Pool[netip.Prefix]
	// PerAddress limits the requests under way of one client address.
	PerAddress int64
	// Bodies counts the bytes of request bodies.
	Bodies *budget.Pool[BudgetHolder]
	// Pages counts the answers of any length that are being sent.
	Pages *budget.Pool[BudgetHolder]
	// Histories counts the logs that are being folded for answers about the past.
	Histories *budget.Pool[BudgetHolder]
	// HistoryBytes counts the bytes of the states that they are folded into.
	HistoryBytes *budget.Pool[BudgetHolder]
}

// BudgetHolder is an identity of an extension, a whole extension or, where names are
// empty, something wider.
type BudgetHolder struct {
	Environment         tenant.Environment
	Extension, Identity string
}

// BudgetLimits are the limits of budgets.
type BudgetLimits struct {
	Requests, PerAddress, BodyBytes, HistoryBytes int64
}

// Limits of the long answers being sent. One takes up to 2.5 MB with what it reads and
// compresses.
const (
	maxPages       = 32
	extensionPages = 16
	identityPages  = 4
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

// NewBudgets returns budgets. Nothing of them is used yet.
func NewBudgets(limits BudgetLimits) *Budgets {
	return &Budgets{
		Requests:     budget.NewPool[netip.Prefix](limits.Requests),
		PerAddress:   limits.PerAddress,
		Bodies:       budget.NewPool[BudgetHolder](limits.BodyBytes),
		Pages:        budget.NewPool[BudgetHolder](maxPages),
		Histories:    budget.NewPool[BudgetHolder](maxHistories),
		HistoryBytes: budget.NewPool[BudgetHolder](limits.HistoryBytes),
	}
}

// defaultBudgets returns the budgets of an API that is given none.
func defaultBudgets() *Budgets {
	return NewBudgets(BudgetLimits{Requests: 1 << 16, PerAddress: 1 << 16, BodyBytes: 256 << 20, HistoryBytes: 128 << 20})
}

// bodyLeases hold the memory of one body: its first buffer from the whole budget, so
// that large bodies leave room for small ones, and larger buffers from a part of it.
type bodyLeases struct {
	pool          *budget.Pool[BudgetHolder]
	environment   tenant.Environment
	caller        *Caller // nil without a credential
	limit         int     // of the body, in bytes
	first, larger *budget.Lease[BudgetHolder]
}

func (b *Budgets) bodyLeases(environment tenant.Environment, c *Caller, limit int) bodyLeases {
	return bodyLeases{pool: b.Bodies, environment: environment, caller: c, limit: limit}
}

func (l *bodyLeases) release() {
	l.first.Release()
	l.larger.Release()
}

// forBuffer returns the lease of buffers of a size. Most bodies need the first one only.
func (l *bodyLeases) forBuffer(size int) *budget.Lease[BudgetHolder] {
	if size <= firstBodyBytes {
		if l.first == nil {
			l.first = l.pool.Lease(l.ownClaim())
		}
		return l.first
	}
	if l.larger == nil {
		l.larger = l.pool.Lease(append(l.sharedClaims(), l.ownClaim())...)
	}
	return l.larger
}

// growthFactor limits the memory that a body takes, in relation to its size: while a
// buffer grows, the old one counts too.
const growthFactor = 3

func (l *bodyLeases) claim(holder BudgetHolder, most int64) budget.Claim[BudgetHolder] {
	return budget.Claim[BudgetHolder]{Holder: holder, Limit: max(most, growthFactor*int64(l.limit))}
}

// ownClaim returns the share of a viewer, or of the routes without a credential, which is
// a sixteenth of the budget, or that of another identity, which is a quarter.
func (l *bodyLeases) ownClaim() budget.Claim[BudgetHolder] {
	all := l.pool.Limit()
	switch {
	case l.caller == nil:
		return l.claim(BudgetHolder{Environment: l.environment}, all/16)
	case l.caller.isAudience():
		return l.claim(l.caller.holder(), all/16)
	}
	return l.claim(l.caller.holder(), all/4)
}

// sharedClaims returns the shares of larger buffers: an extension has a half of the
// budget, the sandbox, whose tokens are anyone's, a quarter, and all together three
// quarters.
func (l *bodyLeases) sharedClaims() []budget.Claim[BudgetHolder] {
	all := l.pool.Limit()
	claims := []budget.Claim[BudgetHolder]{l.claim(BudgetHolder{}, all*3/4)}
	if l.caller != nil {
		claims = append(claims, l.claim(l.caller.extensionHolder(), all/2))
	}
	if l.environment == tenant.Sandbox {
		claims = append(claims, l.claim(BudgetHolder{Environment: l.environment, Identity: "larger"}, all/4))
	}
	return claims
}

// takePage returns a lease of one long answer. The backends of an extension share its
// identity.
func (b *Budgets) takePage(c *Caller) (*budget.Lease[BudgetHolder], error) {
	lease := b.Pages.Lease(c.sharesOf(extensionPages, identityPages)...)
	return lease, refusalOf(lease.Take(1), "Too many long answers at once")
}

// takeHistory returns a lease of one log that is being folded.
func (b *Budgets) takeHistory(c *Caller) (*budget.Lease[BudgetHolder], error) {
	claims := c.sharesOf(extensionHistories, identityHistories)
	if c.isAudience() {
		const viewers = "\x00viewers" // no identity has the byte 0
		claims = append(claims,
			budget.Claim[BudgetHolder]{Holder: BudgetHolder{c.Environment, c.Extension.ClientID, viewers}, Limit: audienceHistories},
			budget.Claim[BudgetHolder]{Holder: BudgetHolder{Identity: viewers}, Limit: viewersHistories})
	}
	lease := b.Histories.Lease(claims...)
	return lease, refusalOf(lease.Take(1), "Too many questions about the past at once")
}

// foldLease holds the memory of one log that is being folded.
type foldLease struct {
	*budget.Lease[BudgetHolder]
	held int64
}

// newFoldLease returns a lease that holds nothing yet. The viewers of an extension have a half
// of the budget, its staff what they leave of three quarters.
func (b *Budgets) newFoldLease(c *Caller) *foldLease {
	claim := budget.Claim[BudgetHolder]{Holder: c.extensionHolder(), Limit: b.HistoryBytes.Limit() * 3 / 4}
	if c.isAudience() {
		claim.Limit = b.HistoryBytes.Limit() / 2
	}
	return &foldLease{Lease: b.HistoryBytes.Lease(claim)}
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
	return refusalOf(err, "Too many questions about the past at once")
}

// sharesOf returns the shares of the caller's extension and, unless it is a backend, of the
// caller.
func (c *Caller) sharesOf(extension, identity int64) []budget.Claim[BudgetHolder] {
	claims := []budget.Claim[BudgetHolder]{{Holder: c.extensionHolder(), Limit: extension}}
	if c.Role != Backend {
		claims = append(claims, budget.Claim[BudgetHolder]{Holder: c.holder(), Limit: identity})
	}
	return claims
}

// holder names the caller in budgets.
func (c *Caller) holder() BudgetHolder {
	identity := c.identity()
	if identity == "" {
		identity = string(c.Role) + "\x00" + c.ChannelID
	}
	return BudgetHolder{c.Environment, c.Extension.ClientID, identity}
}

func (c *Caller) extensionHolder() BudgetHolder {
	return BudgetHolder{Environment: c.Environment, Extension: c.Extension.ClientID}
}

// refusalOf turns the refusal of a budget into the caller's fault where the share is the
// caller's, and else into one of this process.
func refusalOf(err error, reason string) error {
	if err == nil {
		return nil
	}
	if _, share := errors.AsType[*budget.ShareError](err); share {
		return fault.Wrap(fault.RateLimited, err, reason+"; nothing was stored")
	}
	return fault.Wrap(fault.Unavailable, err, reason)
}
