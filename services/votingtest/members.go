package votingtest

import (
	"reflect"
	"strings"

	"github.com/acclaim-dev/acclaim/services/voting"
)

// ConfigMembers returns the members that a poll's configuration has in JSON, as stored and
// sent, with their kinds in Go. Clients that have a type of their own compare it.
func ConfigMembers() map[string]reflect.Kind { return MembersOf(reflect.TypeFor[voting.Config]()) }

// ViewMembers returns those of a configured poll as viewers see it.
func ViewMembers() map[string]reflect.Kind { return MembersOf(reflect.TypeFor[voting.PollView]()) }

// MembersOf returns the members of a struct in JSON, those of embedded structs included.
func MembersOf(t reflect.Type) map[string]reflect.Kind {
	members := map[string]reflect.Kind{}
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); !field.Anonymous {
			members[name] = field.Type.Kind()
		}
	}
	return members
}
