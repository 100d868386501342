package operation

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
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
func (c *Caller) paysForChannel() bool {
	return c.Environment != tenant.Sandbox && (c.IsStaff() || c.Role == StaffKey)
}

// staffFactor multiplies the quotas of a viewer for the staff of a channel.
const staffFactor = 10

// sandboxDivisor is the part of an extension's quotas that its sandbox has, where no caller has
// shown a credential, and sandboxesDivisor the part of the default quotas that the sandboxes of
// all extensions have together: four times what one has by default.
const sandboxDivisor, sandboxesDivisor = 16, 4

// addEntry is addEntries for one entry.
func (s *Service) addEntry(r *Call, global bool, add func(existing bool) error) error {
	return s.addEntries(r, global, 1, add)
}

// addEntries runs add, which adds entries to a stream: only to an existing one, refusing
// another with fault.NotFound, where existing is true. A caller with quotas pays for the
// entries and, before the stream comes into being, for the stream. A refused request is paid
// for, too, so that no interleaving gives more than the quota.
func (s *Service) addEntries(r *Call, global bool, entries int, add func(existing bool) error) error {
	c := r.Caller
	if !c.hasQuotas() {
		return add(false)
	}
	if err := s.takeBytes(r, entries); err != nil {
		return err
	}
	if err := add(true); fault.KindOf(err) != fault.NotFound {
		return err
	}
	if c.Role == Device { // the poll was deleted meanwhile
		return errNoDevicePoll()
	}
	if global && c.Role == Viewer && !c.Extension.ViewersCreateGlobal {
		return fault.New(fault.Forbidden, "Viewers of this extension create no global ids")
	}
	if err := s.takeStream(r); err != nil {
		return err
	}
	return add(false)
}

// takeWhisper makes a caller with quotas pay for a message to itself.
func (s *Service) takeWhisper(r *Call) error {
	c := r.Caller
	if !c.hasQuotas() {
		return nil
	}
	claims := r.byteClaims(1)
	return s.take(r, "Too many whispers", append(claims[:], c.claim(limit.Whispers, c.Limits().IdentityWhispers, 1))...)
}

// takeBytes makes a caller pay for the bytes of a request that adds so many entries.
func (s *Service) takeBytes(r *Call, entries int) error {
	claims := r.byteClaims(entries)
	return s.take(r, "Too many bytes stored", claims[:]...)
}

// byteClaims returns the claims of a request, which adds so many entries, on the bytes that
// viewers send to be stored.
func (r *Call) byteClaims(entries int) (claims [3]limit.Claim) {
	c, limits, size := r.Caller, r.Caller.Limits(), int64(len(r.Sent)+entries*entryOverhead)-r.paid
	if size <= 0 {
		return claims
	}
	return c.claims(limit.Bytes, limits.IdentityBytes, limits.ExtensionBytes, size)
}

// editDocuments runs edit, which edits documents: only existing ones, refusing others with
// fault.NotFound, where existing is true. A caller with quotas pays as in addEntry; of
// several documents as if none of them existed.
func (s *Service) editDocuments(r *Call, documents int, edit func(existing bool) error) error {
	c := r.Caller
	if !c.hasQuotas() {
		return edit(false)
	}
	if err := s.takeBytes(r, 1); err != nil {
		return err
	}
	if err := edit(true); fault.KindOf(err) != fault.NotFound {
		return err
	}
	claims := c.claims(limit.Documents, limit.Rate{}, c.Limits().ExtensionDocuments, int64(documents))
	if err := s.take(r, "Too many new documents", claims[:]...); err != nil {
		return err
	}
	return edit(false)
}

// claims returns the claims on the quotas of the caller and of its extension, and in the sandbox
// on that of all sandboxes. An extension whose sandbox has no quota does not count there.
func (c *Caller) claims(kind limit.Kind, own, extension limit.Rate, amount int64) (claims [3]limit.Claim) {
	claims[0], claims[1] = c.claim(kind, own, amount), c.extensionClaim(kind, extension, amount)
	if c.Environment == tenant.Sandbox && extension.Limited() {
		claims[2] = limit.Claim{
			Kind: kind, Holder: string(tenant.Sandbox), Scope: limit.Sandboxes, Rate: quotaOfSandboxes(kind), Amount: amount,
			Party: c.Extension.ClientID,
		}
	}
	return claims
}

// quotaOfSandboxes returns what the sandboxes of all extensions have together of streams,
// documents or bytes. Anyone may fill a sandbox, and they share the store, often with production.
func quotaOfSandboxes(kind limit.Kind) limit.Rate {
	defaults := tenant.DefaultLimits()
	quota := defaults.ExtensionBytes
	switch kind {
	case limit.Streams:
		quota = defaults.ExtensionStreams
	case limit.Documents:
		quota = defaults.ExtensionDocuments
	}
	return quota.Part(sandboxesDivisor)
}

// claim returns a claim on the quota of the caller or, for staff, of its channel.
func (c *Caller) claim(kind limit.Kind, r limit.Rate, amount int64) limit.Claim {
	if c.paysForChannel() {
		holder := c.extensionQuotaHolder + "\x00staff\x00" + c.ChannelID
		return limit.Claim{Kind: kind, Holder: holder, Scope: limit.Staff, Rate: r.Times(staffFactor), Amount: amount}
	}
	return limit.Claim{Kind: kind, Holder: c.quotaHolder, Scope: limit.Identity, Rate: r, Amount: amount}
}

// extensionClaim returns a claim on the quota of the extension, which its channels share.
func (c *Caller) extensionClaim(kind limit.Kind, r limit.Rate, amount int64) limit.Claim {
	if c.Environment == tenant.Sandbox && r.Limited() {
		r = r.Part(sandboxDivisor)
	}
	return limit.Claim{
		Kind: kind, Holder: c.extensionQuotaHolder, Scope: limit.Extension, Rate: r, Amount: amount,
		Party: c.party(), Anonymous: c.Role == Device || c.IsAudience() && strings.HasPrefix(c.OpaqueID, "A"),
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
func (s *Service) chargeStaff(r *Call, access accessRule) error {
	if r.Caller == nil || !r.Caller.hasQuotas() || slices.Contains(access.roles, Viewer) {
		return nil
	}
	if err := s.takeBytes(r, 1); err != nil {
		return err
	}
	r.paid = int64(len(r.Sent) + entryOverhead)
	return nil
}

// chargeNewPoll has the staff of a channel pay for a poll that a write brings into being, and
// has the channel go before those whose staff configures none.
func (s *Service) chargeNewPoll(ctx context.Context, r *Call, id string) error {
	if r.Caller.hasQuotas() {
		tally, err := s.Config.Voting.Tallies.Tally(ctx, r.Caller.poll(id), r.Caller.voter())
		if err != nil {
			return err
		}
		_, _, configured, err := s.Config.Voting.Configs.Config(ctx, r.Caller.poll(id))
		if err == nil && !configured && tally.Decay().LastNudged == 0 {
			err = s.takeStream(r)
		}
		if err != nil {
			return err
		}
	}
	s.favourChannel(r.Caller)
	return nil
}

// takeStream takes a new poll, buffer or question from the caller's quotas.
func (s *Service) takeStream(r *Call) error {
	c, limits := r.Caller, r.Caller.Limits()
	claims := c.claims(limit.Streams, limits.IdentityStreams, limits.ExtensionStreams, 1)
	return s.take(r, "Too many new polls, buffers and questions", claims[:]...)
}

// favourChannel notes that staff has configured something in the caller's channel.
func (s *Service) favourChannel(c *Caller) {
	s.Config.Ledger.Favour(c.extensionQuotaHolder, staffParty+c.ChannelID)
	s.Config.Ledger.Favour(c.extensionQuotaHolder, viewersParty+c.ChannelID)
}

// take takes claims, or refuses with the reason and the time to wait.
func (s *Service) take(r *Call, reason string, claims ...limit.Claim) error {
	err := s.Config.Ledger.Take(s.Config.Now(), r.Caller.who(), claims...)
	if refusal, ok := errors.AsType[*limit.Refusal](err); ok {
		r.RetryAfter = refusal.Retry
		return limit.Fault(err, reason+"; nothing was stored")
	}
	return nil
}

// takeRate is take for a rate. Its callers wait for a second, and then longer.
func (s *Service) takeRate(who limit.Caller, claims ...limit.Claim) error {
	return limit.Fault(s.Config.Ledger.Take(s.Config.Now(), who, claims...), "Too many requests; nothing was stored")
}

// admitRate takes a request from the rates of the caller and of its extension.
func (s *Service) admitRate(c *Caller) error {
	limits := c.Limits()
	if !limits.IdentityRate.Limited() && !limits.ExtensionRate.Limited() {
		return nil
	}
	return s.takeRate(c.who(),
		limit.Claim{Kind: limit.Requests, Holder: c.quotaHolder, Scope: limit.Identity, Rate: limits.IdentityRate, Amount: 1},
		limit.Claim{Kind: limit.Requests, Holder: c.extensionQuotaHolder, Scope: limit.Extension, Rate: limits.ExtensionRate, Amount: 1})
}

// admitMessage takes a message from the rate of its audience, of a scope, which is the
// extension's rate of messages times factor.
func (s *Service) admitMessage(c *Caller, scope limit.Scope, audience string, factor int64) error {
	return s.takeRate(c.who(), limit.Claim{
		Kind: limit.Messages, Holder: c.extensionQuotaHolder + "\x00" + audience, Scope: scope,
		Rate: c.Limits().MessageRate.Times(factor), Amount: 1,
	})
}

// admitAddress takes an amount from the rates of the client's address, where it is known, and of
// all clients, of the extension that who names, if any.
func (s *Service) admitAddress(r *Call, who limit.Caller, kind limit.Kind, own, all limit.Rate, amount int64) error {
	holder := who.Environment + "\x00" + who.Extension
	inAll := limit.Claim{Kind: kind, Holder: holder, Rate: all, Amount: amount}
	if !r.Client.IsValid() {
		return s.takeRate(who, inAll)
	}
	if kind.IsSharedByAddresses() {
		inAll.Party = r.Client.String()
	}
	holder += "\x00" + r.Client.String()
	return s.takeRate(who, limit.Claim{Kind: kind.OfAddress(), Holder: holder, Scope: limit.Address, Rate: own, Amount: amount}, inAll)
}
