package httpapi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/quota"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// entryOverhead approximates the bytes that an entry takes in the store beside its body.
const entryOverhead = 128

// hasQuotas reports whether quotas limit the caller: all but backends and validated admins, as
// anyone with a channel may be a broadcaster, and every caller of the sandbox, because anyone gets
// a token of any role for it.
func (c *Caller) hasQuotas() bool { return !c.IsServer() || c.Environment == tenant.Sandbox }

// paysForChannel reports whether the quotas of the caller are those of its channel: what staff
// writes counts for the channel, not for the person.
func (c *Caller) paysForChannel() bool { return c.Environment != tenant.Sandbox && c.IsStaff() }

// staffFactor multiplies the quotas of a viewer for the staff of a channel.
const staffFactor = 10

// sandboxDivisor is the part of an extension's quotas that its sandbox has, where no caller has
// shown a credential.
const sandboxDivisor = 16

// isGlobal reports whether an id names a poll or a question of all channels (section 2.1).
func isGlobal(id string) bool { return strings.HasPrefix(id, "global") }

// addEntry is addEntries for one entry.
func (a *API) addEntry(r *apiRequest, global bool, add func(existing bool) error) error {
	return a.addEntries(r, global, 1, add)
}

// addEntries runs add, which adds entries to a stream: only to an existing one, refusing
// another with fault.NotFound, where existing is true. A caller with quotas pays for the
// entries and, before the stream comes into being, for the stream. A refused request is paid
// for, too, so that no interleaving gives more than the quota.
func (a *API) addEntries(r *apiRequest, global bool, entries int, add func(existing bool) error) error {
	c := r.caller
	if !c.hasQuotas() {
		return add(false)
	}
	if err := a.take(r, "Too many bytes stored", r.byteClaims(entries)...); err != nil {
		return err
	}
	if err := add(true); fault.KindOf(err) != fault.NotFound {
		return err
	}
	if global && c.Role == Viewer && !c.Extension.ViewersCreateGlobal {
		return fault.New(fault.Forbidden, "Viewers of this extension create no global ids")
	}
	if err := a.takeStream(r); err != nil {
		return err
	}
	return add(false)
}

// takeWhisper makes a caller with quotas pay for a message to itself.
func (a *API) takeWhisper(r *apiRequest) error {
	c := r.caller
	if !c.hasQuotas() {
		return nil
	}
	limits := c.Limits()
	return a.take(r, "Too many whispers",
		append(r.byteClaims(1), c.claim(quota.Whispers, limits.IdentityWhispers, 1))...)
}

// byteClaims returns the claims of a request, which adds so many entries, on the bytes that
// viewers send to be stored.
func (r *apiRequest) byteClaims(entries int) []quota.Claim {
	c, limits, size := r.caller, r.caller.Limits(), int64(len(r.body)+entries*entryOverhead)-r.paid
	if size <= 0 {
		return nil
	}
	return []quota.Claim{c.claim(quota.Bytes, limits.IdentityBytes, size), c.extensionClaim(quota.Bytes, limits.ExtensionBytes, size)}
}

// editDocuments runs edit, which edits documents: only existing ones, refusing others with
// fault.NotFound, where existing is true. A caller with quotas pays as in addEntry; of
// several documents as if none of them existed.
func (a *API) editDocuments(r *apiRequest, documents int, edit func(existing bool) error) error {
	c := r.caller
	if !c.hasQuotas() {
		return edit(false)
	}
	if err := a.take(r, "Too many bytes stored", r.byteClaims(1)...); err != nil {
		return err
	}
	if err := edit(true); fault.KindOf(err) != fault.NotFound {
		return err
	}
	if err := a.take(r, "Too many new documents",
		c.extensionClaim(quota.Documents, c.Limits().ExtensionDocuments, int64(documents))); err != nil {
		return err
	}
	return edit(false)
}

// claim returns a claim on the quota of the caller or, for staff, of its channel.
func (c *Caller) claim(kind quota.ResourceKind, q quota.Quota, amount int64) quota.Claim {
	if c.paysForChannel() {
		q.Amount *= staffFactor
		return quota.Claim{Kind: kind, Holder: c.extensionQuotaHolder + "\x00staff\x00" + c.ChannelID, Quota: q, Amount: amount}
	}
	return quota.Claim{Kind: kind, Holder: c.quotaHolder, Quota: q, Amount: amount}
}

// extensionClaim returns a claim on the quota of the extension, which its channels share.
func (c *Caller) extensionClaim(kind quota.ResourceKind, q quota.Quota, amount int64) quota.Claim {
	if c.Environment == tenant.Sandbox && q.Limited() {
		q.Amount = max(q.Amount/sandboxDivisor, 1)
	}
	return quota.Claim{
		Kind: kind, Holder: c.extensionQuotaHolder, Quota: q, Amount: amount,
		Party: c.party(), Anonymous: c.isAudience() && strings.HasPrefix(c.OpaqueID, "A"),
	}
}

// party names the caller's channel among those that share a quota. Its staff is a party of its
// own: whatever the viewers take, it can end their poll.
func (c *Caller) party() string {
	if c.paysForChannel() {
		return staffParty + c.ChannelID
	}
	return viewersParty + c.ChannelID
}

const staffParty, viewersParty = "staff ", "viewers "

// chargeStaff has the staff of a channel pay for a request to a route that is not for viewers.
// Routes for viewers charge in their handlers.
func (a *API) chargeStaff(r *apiRequest, route Route) error {
	if r.caller == nil || !r.caller.hasQuotas() || slices.Contains(route.access.roles, Viewer) {
		return nil
	}
	if err := a.take(r, "Too many bytes stored", r.byteClaims(1)...); err != nil {
		return err
	}
	r.paid = int64(len(r.body) + entryOverhead)
	return nil
}

// chargeNewPoll has the staff of a channel pay for a poll that a write brings into being, and
// has the channel go before those whose staff configures none.
func (a *API) chargeNewPoll(r *apiRequest, id string) error {
	if r.caller.hasQuotas() {
		tally, err := a.config.Voting.Tally(r.Context(), r.caller.poll(id), r.caller.voter())
		if err != nil {
			return err
		}
		_, _, configured, err := a.config.Voting.Config(r.Context(), r.caller.poll(id))
		if err == nil && !configured && tally.Decay().LastNudged == 0 {
			err = a.takeStream(r)
		}
		if err != nil {
			return err
		}
	}
	a.favourChannel(r.caller)
	return nil
}

// takeStream takes a new poll, buffer or question from the caller's quotas.
func (a *API) takeStream(r *apiRequest) error {
	c, limits := r.caller, r.caller.Limits()
	return a.take(r, "Too many new polls, buffers and questions",
		c.claim(quota.Streams, limits.IdentityStreams, 1), c.extensionClaim(quota.Streams, limits.ExtensionStreams, 1))
}

// favourChannel notes that staff has configured something in the caller's channel.
func (a *API) favourChannel(c *Caller) {
	a.config.Quotas.Favour(c.extensionQuotaHolder, staffParty+c.ChannelID)
	a.config.Quotas.Favour(c.extensionQuotaHolder, viewersParty+c.ChannelID)
}

// take takes claims, or refuses with the reason and the time to wait.
func (a *API) take(r *apiRequest, reason string, claims ...quota.Claim) error {
	retry, ok := a.config.Quotas.Take(a.config.Now(), claims...)
	if ok {
		return nil
	}
	r.x.Header().Set("Retry-After", strconv.Itoa(int(retry.Seconds())))
	return fault.New(fault.RateLimited, reason+"; nothing was stored")
}

// ownedID is id for an operation of the owner of a poll.
func (r *apiRequest) ownedID() (string, error) {
	id, err := r.id()
	if err != nil {
		return "", err
	}
	return id, r.caller.checkOwner(id)
}

// checkOwner refuses staff that the extension does not let own what belongs to all channels.
func (c *Caller) checkOwner(id string) error {
	owners := staff()
	switch c.Extension.GlobalPolls {
	case "admin":
		owners = adminOrBackend()
	case "backend":
		owners = allowRoles(Backend)
	}
	if isGlobal(id) && !owners.allowsCaller(c) {
		return fault.New(fault.Forbidden, "The JWT role is not allowed to perform this operation.")
	}
	return nil
}
