package httpapi

import (
	"strconv"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/quota"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// entryOverhead approximates the bytes that an entry takes in the store beside its body.
const entryOverhead = 128

// hasQuotas reports whether quotas limit the caller: viewers, and every caller of the
// sandbox, because anyone gets a token of any role for it.
func (c *Caller) hasQuotas() bool { return c.isAudience() || c.Environment == tenant.Sandbox }

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
	limits := c.Limits()
	if err := a.take(r, "Too many bytes stored", r.byteClaims(entries)...); err != nil {
		return err
	}
	if err := add(true); fault.KindOf(err) != fault.NotFound {
		return err
	}
	if global && c.Role == Viewer && !c.Extension.ViewersCreateGlobal {
		return fault.New(fault.Forbidden, "Viewers of this extension create no global ids")
	}
	if err := a.take(r, "Too many new polls, buffers and questions",
		c.claim(quota.Streams, limits.IdentityStreams, 1), c.extensionClaim(quota.Streams, limits.ExtensionStreams, 1)); err != nil {
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
	c, limits, size := r.caller, r.caller.Limits(), int64(len(r.body)+entries*entryOverhead)
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

// claim returns a claim on the caller's own quota.
func (c *Caller) claim(kind quota.ResourceKind, q quota.Quota, amount int64) quota.Claim {
	return quota.Claim{Kind: kind, Holder: c.quotaHolder, Quota: q, Amount: amount}
}

func (c *Caller) extensionClaim(kind quota.ResourceKind, q quota.Quota, amount int64) quota.Claim {
	return quota.Claim{Kind: kind, Holder: c.extensionQuotaHolder, Quota: q, Amount: amount}
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
