package httpapi

import (
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// Role is what a verified token says its holder is (section 5).
type Role string

// The roles of the contract.
const (
	Viewer      Role = "viewer"
	Broadcaster Role = "broadcaster"
	Admin       Role = "admin"
	Backend     Role = "backend"
)

// Caller is whoever a verified credential speaks for. Handlers take it as a
// parameter and pass on only what a domain needs of it.
type Caller struct {
	Extension   *tenant.Extension
	Environment tenant.Environment
	// Role is empty for a role that the contract does not know: it may do nothing.
	Role      Role
	ChannelID string
	OpaqueID  string
	UserID    string // empty when the viewer has not shared it
	// Validated is true for an admin token of the extension's owner or of one of
	// its listed admins.
	Validated bool
}

// Limits returns the limits of the caller's extension.
func (c *Caller) Limits() tenant.Limits { return c.Extension.Limits(c.Environment) }

// identity returns the opaque id, or the user id of a caller without one.
func (c *Caller) identity() string {
	if c.OpaqueID != "" {
		return c.OpaqueID
	}
	return c.UserID
}

// access is who may use a route.
type access struct {
	roles []Role
	// validatedAdmin says that of the admins only validated ones may.
	validatedAdmin bool
}

func (a access) allows(c *Caller) bool {
	if c.Role == Admin && a.validatedAdmin && !c.Validated {
		return false
	}
	return slices.Contains(a.roles, c.Role)
}

func allow(roles ...Role) access { return access{roles: roles} }

// The access lists of section 4.
func anyone() access         { return allow(Viewer, Broadcaster, Admin, Backend) }
func staff() access          { return allow(Broadcaster, Admin, Backend) }
func adminOrBackend() access { return access{roles: []Role{Admin, Backend}, validatedAdmin: true} }
