package operation

import (
	"cmp"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/pairing"
)

// Role is the role in a verified token (section 5).
type Role string

// The roles of the contract.
const (
	Viewer      Role = "viewer"
	Broadcaster Role = "broadcaster"
	Admin       Role = "admin"
	Backend     Role = "backend"
	Overlay     Role = "overlay"
	StaffKey    Role = "staff_key"
	Device      Role = "device"
)

// Caller is the identity in a verified credential. Handlers take it as a parameter
// and give domains only the parts they need.
type Caller struct {
	Extension   *tenant.Extension
	Environment tenant.Environment
	// Role is empty for a role unknown to the contract, which no route admits.
	Role      Role
	ChannelID string
	OpaqueID  string
	UserID    string // empty when the viewer has not shared it
	// Validated is true for an admin token of the extension's owner or of one of
	// its listed admins.
	Validated bool
	// Unlinked reports that the viewer has stopped to share the user id.
	Unlinked bool
	// Family and Game name the pairing and the game that the credential hangs on; empty: none.
	Family, Game string
	// SigningKey is the id of the key that signed the credential.
	SigningKey string
	// KeyID names the key that a credential of the role Overlay or StaffKey is.
	KeyID string
	// Weight counts each vote of the caller so often, in polls with such weights.
	Weight int64
	// Poll is the one that the credential of a device is for.
	Poll string
	// sampleKey reports that a key which this project has published signed the credential.
	sampleKey bool
	// Key holds the rights of an overlay key, Staff those of a staff key.
	Key   pairing.OverlayKey
	Staff pairing.StaffKey
	// Scopes limit what a moderator does as staff of the channel: the holder of a staff key, or one
	// of the platform where the extension says so.
	Scopes []string

	// The names under which quotas and rates count the caller and its extension.
	quotaHolder, extensionQuotaHolder string
}

// nameQuotaHolders sets the names under which quotas and rates count the caller, once for all
// requests with a credential. Identities of different channels are different ones.
func (c *Caller) nameQuotaHolders() {
	c.quotaHolder = string(c.Environment) + "\x00" + c.Extension.ClientID + "\x00" + c.identity() + "\x00" + c.ChannelID
	c.extensionQuotaHolder = c.quotaHolder[:len(c.Environment)+1+len(c.Extension.ClientID)]
}

// who names the caller where it is refused.
func (c *Caller) who() limit.Caller {
	return limit.Caller{Environment: string(c.Environment), Extension: c.Extension.ClientID, Channel: c.ChannelID}
}

// isRevocable reports whether the credential hangs on something that can be revoked.
func (c *Caller) isRevocable() bool { return c.Family != "" || c.Role == Overlay || c.Role == StaffKey }

// IsAudience reports whether the caller sees no more than viewers do: hidden results stay
// hidden.
func (c *Caller) IsAudience() bool {
	return c.Role == Viewer && !c.isModerator() || c.Role == Overlay || c.Role == Device
}

// IsAudienceOf is isAudience for a poll or a question: of one of all channels, staff that does not
// own it sees what viewers do.
func (c *Caller) IsAudienceOf(id string) bool {
	return c.IsAudience() || isGlobal(id) && !c.OwnsGlobal()
}

// OwnsGlobal reports whether the caller owns the polls and questions of all channels.
func (c *Caller) OwnsGlobal() bool { return c.CheckOwner("global") == nil }

// Limits returns the limits of the caller's extension.
func (c *Caller) Limits() tenant.Limits { return c.Extension.Limits(c.Environment) }

// identity returns the opaque id, or the user id of a caller without one.
func (c *Caller) identity() string {
	if c.OpaqueID != "" {
		return c.OpaqueID
	}
	return c.UserID
}

// hasScope reports whether the caller has one of the scopes of a staff key.
func (c *Caller) hasScope(scope string) bool { return slices.Contains(c.Scopes, scope) }

// isModerator reports whether the caller is a moderator of the platform, where the extension makes these staff.
// A moderator has the rights of a viewer, too.
func (c *Caller) isModerator() bool { return c.Role == Viewer && len(c.Scopes) > 0 }

// roleName names the role of the caller, for people.
func (c *Caller) roleName() string {
	if c.isModerator() {
		return "moderator"
	}
	return string(c.Role)
}

// IsStaff reports whether the caller may do all that staff of a channel does: a broadcaster, an admin
// or a backend.
func (c *Caller) IsStaff() bool { return staff().allowsCaller(c) }

// IsServer reports whether the caller may act for every channel: a backend or a validated admin.
func (c *Caller) IsServer() bool { return AdminOrBackend().allowsCaller(c) }

// Actor names a member of staff in the log, with the shared user id if there is one. A
// viewer has no name there.
func (c *Caller) Actor() string {
	if c.IsStaff() || len(c.Scopes) > 0 {
		return cmp.Or(c.UserID, c.OpaqueID)
	}
	return ""
}

// SubscriberIdentity returns the holder of the caller's quota of subscribers. The
// backends of an extension, which follow many channels, have none.
func (c *Caller) SubscriberIdentity() string {
	if c.Role == Backend {
		return ""
	}
	return c.holder().Identity
}
