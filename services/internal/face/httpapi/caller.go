package httpapi

import (
	"cmp"
	"slices"

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
	// KeyID names the overlay key that a credential of the role Overlay is.
	KeyID string
	// sampleKey reports that a key which this project has published signed the credential.
	sampleKey bool
	// Key holds the rights of that key.
	Key pairing.OverlayKey

	// The names under which quotas and rates count the caller and its extension.
	quotaHolder, extensionQuotaHolder string
}

// nameQuotaHolders sets the names under which quotas and rates count the caller, once for all
// requests with a credential. Identities of different channels are different ones.
func (c *Caller) nameQuotaHolders() {
	c.quotaHolder = string(c.Environment) + "\x00" + c.Extension.ClientID + "\x00" + c.identity() + "\x00" + c.ChannelID
	c.extensionQuotaHolder = c.quotaHolder[:len(c.Environment)+1+len(c.Extension.ClientID)]
}

// isRevocable reports whether the credential hangs on something that can be revoked.
func (c *Caller) isRevocable() bool { return c.Family != "" || c.Role == Overlay }

// isAudience reports whether the caller sees no more than viewers do: hidden results stay
// hidden.
func (c *Caller) isAudience() bool { return c.Role == Viewer || c.Role == Overlay }

// isAudienceOf is isAudience for a poll or a question: of one of all channels, staff that does not
// own it sees what viewers do.
func (c *Caller) isAudienceOf(id string) bool {
	return c.isAudience() || isGlobal(id) && !c.OwnsGlobal()
}

// OwnsGlobal reports whether the caller owns the polls and questions of all channels.
func (c *Caller) OwnsGlobal() bool { return c.checkOwner("global") == nil }

// Limits returns the limits of the caller's extension.
func (c *Caller) Limits() tenant.Limits { return c.Extension.Limits(c.Environment) }

// identity returns the opaque id, or the user id of a caller without one.
func (c *Caller) identity() string {
	if c.OpaqueID != "" {
		return c.OpaqueID
	}
	return c.UserID
}

// IsStaff reports whether the caller may act for a channel: a broadcaster, an admin or a backend.
func (c *Caller) IsStaff() bool { return staff().allowsCaller(c) }

// IsServer reports whether the caller may act for every channel: a backend or a validated admin.
func (c *Caller) IsServer() bool { return adminOrBackend().allowsCaller(c) }

// actor names a member of staff in the log, with the shared user id if there is one. A
// viewer has no name there.
func (c *Caller) actor() string {
	switch c.Role {
	case Broadcaster, Admin, Backend:
		return cmp.Or(c.UserID, c.OpaqueID)
	}
	return ""
}

// accessRule lists the roles that may use a route.
type accessRule struct {
	roles []Role
	// validatedAdmin admits only validated admins.
	validatedAdmin bool
}

func (a accessRule) allowsCaller(c *Caller) bool {
	if c.Role == Admin && a.validatedAdmin && !c.Validated {
		return false
	}
	return slices.Contains(a.roles, c.Role)
}

func allowRoles(roles ...Role) accessRule { return accessRule{roles: roles} }

// The access lists of section 4.
func anyone() accessRule { return allowRoles(Viewer, Broadcaster, Admin, Backend) }

// onlookers are anyone and overlay keys.
func onlookers() accessRule { return allowRoles(Viewer, Broadcaster, Admin, Backend, Overlay) }
func staff() accessRule     { return allowRoles(Broadcaster, Admin, Backend) }
func adminOrBackend() accessRule {
	return accessRule{roles: []Role{Admin, Backend}, validatedAdmin: true}
}
