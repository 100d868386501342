package gamelink

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

// memberTree has the names of the members that an object may have. A member with a tree of its
// own is an object, or an array of objects, with these members; one without it takes any value.
type memberTree map[string]memberTree

// only returns a tree whose members take any value.
func only(names ...string) memberTree {
	tree := memberTree{}
	for _, name := range names {
		tree[name] = nil
	}
	return tree
}

// with returns the tree with one more member, which has a tree of its own.
func (t memberTree) with(name string, members memberTree) memberTree {
	t[name] = members
	return t
}

// unknownIn returns the paths of members that the tree has not, such as config.endAt, in order.
func (t memberTree) unknownIn(members map[string]json.RawMessage, path string) (unknown []string) {
	for name, raw := range members {
		within, known := t[name]
		switch {
		case !known:
			unknown = append(unknown, path+name)
		case within != nil && raw[0] == '{':
			unknown = append(unknown, within.unknownIn(decodeData(raw).members, path+name+".")...)
		case within != nil && raw[0] == '[':
			var elements []map[string]json.RawMessage
			_ = json.Unmarshal(raw, &elements) // the handler refuses other elements
			for _, element := range elements {
				unknown = append(unknown, within.unknownIn(element, path+name+".")...)
			}
		}
	}
	slices.Sort(unknown)
	return slices.Compact(unknown)
}

// envelopeMembers returns the members of a request beside those of its data.
func envelopeMembers() memberTree {
	return only("action", "data").with("params", only("request_id", "target", "strict"))
}

// checkMembers refuses a request with members that it has not, where it asks for that, and names
// them in the log elsewhere, once for each kind of request of a connection. Shipped games send
// such members, so that they have no effect.
func (c *connection) checkMembers(r *gameRequest, data memberTree) error {
	unknown := slices.Concat(r.unknown, data.unknownIn(r.data.members, "data."))
	if len(unknown) == 0 {
		return nil
	}
	for i, name := range unknown {
		unknown[i] = operation.CutName(name)
	}
	if r.strict {
		return fault.Newf(fault.Invalid, "Unknown member: %s", unknown[0])
	}
	if what := strings.TrimSpace(r.action + " " + r.target); !c.named[what] {
		c.named[what] = true
		c.server.options.Logger.Info("members of a request were ignored", "extension", c.extension.ClientID,
			"request", what, "members", unknown[:min(len(unknown), contract.MaxIgnored)], "count", len(unknown))
	}
	return nil
}
