// Package registry makes of the Extensions of a namespace the registry files
// that its services read, and says what is wrong with an Extension that is not
// in them, or not with all its keys.
//
// It is a pure function: the same Extensions and Secrets give the same bytes,
// whatever their order. A file it makes is one that the services accept, for one
// bad entry makes them refuse the whole. It has no client and no clock, and
// never puts a key anywhere but into a file.
package registry

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// MaxBytes is how large a file may be: it is the one entry of a Secret.
const MaxBytes = corev1.MaxSecretSize

// Environment is production or sandbox, as in a Backend.
type Environment string

// The environments there are.
const (
	Production Environment = "production"
	Sandbox    Environment = "sandbox"
)

// Secrets are the contents of the Secrets of a namespace, by name. One that is
// not there is one that cannot be read.
type Secrets map[string]map[string][]byte

// Registry is what the Extensions of a namespace come to.
type Registry struct {
	// Files holds a file for each environment.
	Files map[Environment][]byte
	// Findings says how each Extension fared, by its name.
	Findings map[string]*Finding
}

// Finding is how one Extension fared.
type Finding struct {
	// Keys are the keys that cannot be used, in the order of the spec.
	Keys []Problem
	// Conflict is why the Extension is in no file whatever its keys; nil when it is not so.
	Conflict *Problem
	// Full holds the environments whose file has no room for the Extension.
	Full map[Environment]bool
	// ActiveFrom holds, for each environment for which a key can be used, when the
	// first of them becomes active; the zero time: always.
	ActiveFrom map[Environment]time.Time
}

// Problem is what is wrong: a reason of package v1alpha1 and a message for people.
type Problem struct {
	Reason, Message string
}

// New returns what Extensions of one namespace come to with the Secrets that
// they name.
func New(extensions []v1alpha1.Extension, secrets Secrets) Registry {
	r := Registry{Files: map[Environment][]byte{}, Findings: map[string]*Finding{}}
	candidates := read(extensions, secrets)
	for _, c := range candidates {
		r.Findings[c.Name] = c.finding
	}
	candidates = claim(candidates)
	separate(candidates)
	for _, environment := range []Environment{Production, Sandbox} {
		r.Files[environment] = write(candidates, environment)
	}
	return r
}

// candidate is an Extension on its way into the files.
type candidate struct {
	*v1alpha1.Extension
	keys    map[Environment][]key
	sinks   map[Environment][]sink
	finding *Finding
}

// read returns a candidate for each Extension, the oldest first, with the keys
// that can be decoded.
func read(extensions []v1alpha1.Extension, secrets Secrets) []candidate {
	candidates := make([]candidate, 0, len(extensions))
	for i := range extensions {
		c := candidate{
			Extension: &extensions[i],
			keys:      map[Environment][]key{},
			sinks:     map[Environment][]sink{},
			finding:   &Finding{Full: map[Environment]bool{}, ActiveFrom: map[Environment]time.Time{}},
		}
		c.keys[Production] = c.decode("keys", c.Spec.Keys, secrets)
		c.sinks[Production] = c.decodeSinks("sinks", c.Spec.Sinks, secrets)
		if c.Spec.Sandbox != nil {
			c.keys[Sandbox] = c.decode("sandbox.keys", c.Spec.Sandbox.Keys, secrets)
			c.sinks[Sandbox] = c.decodeSinks("sandbox.sinks", c.Spec.Sandbox.Sinks, secrets)
		}
		candidates = append(candidates, c)
	}
	slices.SortFunc(candidates, byAge)
	return candidates
}

func byAge(a, b candidate) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(string(a.UID), string(b.UID)), strings.Compare(a.Name, b.Name))
}

// claim returns the candidates that have their ids for themselves. Of two that
// share one, the older has it.
func claim(candidates []candidate) []candidate {
	holders := map[v1alpha1.ID]string{}
	return slices.DeleteFunc(slices.Clone(candidates), func(c candidate) bool {
		ids := append([]v1alpha1.ID{c.Spec.ClientID}, c.Spec.AppIDs...)
		for _, id := range ids {
			if holder, taken := holders[id]; taken {
				c.finding.Conflict = problem(v1alpha1.ReasonConflict, "Extension %q is older and has the id %q", holder, id)
				return true
			}
		}
		for _, id := range ids {
			holders[id] = c.Name
		}
		return false
	})
}

// separate takes from the sandbox every key that is one of production too, of
// whichever Extension, and notes when each Extension's first key is active.
func separate(candidates []candidate) {
	production := map[string]string{}
	for _, c := range candidates {
		for _, k := range c.keys[Production] {
			production[string(k.value)] = c.Name
		}
	}
	for _, c := range candidates {
		c.keys[Sandbox] = slices.DeleteFunc(c.keys[Sandbox], func(k key) bool {
			owner, shared := production[string(k.value)]
			if shared {
				c.finding.Keys = append(c.finding.Keys, *problem(v1alpha1.ReasonSharedKey, "%s is also a production key of Extension %q", k.field, owner))
			}
			return shared
		})
		for environment, keys := range c.keys {
			if len(keys) > 0 {
				c.finding.ActiveFrom[environment] = slices.MinFunc(keys, func(a, b key) int { return a.activeFrom.Compare(b.activeFrom) }).activeFrom
			}
		}
	}
}
