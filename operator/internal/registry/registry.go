// Package registry renders the registry files that the services read from the
// Extensions of a namespace, and reports what is wrong with each Extension that
// is not in a file, or not with all its keys.
//
// It is a pure function: the same Extensions and Secrets give the same bytes,
// whatever their order. The services accept every file it renders: one bad entry
// would make them refuse the whole. It has no client and no clock, and writes a
// key nowhere but into a file. Rendering gives out keys for requests to the services.
package registry

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// MaxBytes is the maximum size of a file, which is the one entry of a Secret.
const MaxBytes = corev1.MaxSecretSize

// Environment is production or sandbox, as in a Backend.
type Environment string

// The environments of Backends.
const (
	Production Environment = "production"
	Sandbox    Environment = "sandbox"
)

// SecretContents are the entries of the Secrets of a namespace, by name. A Secret
// that is missing here cannot be read.
type SecretContents map[string]map[string][]byte

// Rendering is the result of Render.
type Rendering struct {
	// Files holds a file for each environment.
	Files map[Environment][]byte
	// Findings holds a finding for each Extension, by its name.
	Findings map[string]*Finding

	keys map[string]map[Environment][]usableKey // in the files, by the name of an Extension
}

// ActiveKeys returns the keys of an Extension in a file that are active at a time.
func (r Rendering) ActiveKeys(extension string, environment Environment, now time.Time) (active [][]byte) {
	for _, k := range r.keys[extension][environment] {
		if !k.activeFrom.After(now) {
			active = append(active, k.value)
		}
	}
	return active
}

// Finding describes the result for one Extension.
type Finding struct {
	// Keys are the problems with keys, in the order of the spec.
	Keys []status.Problem
	// Conflict is the reason why the Extension is in no file, whatever its keys; nil
	// without one.
	Conflict *status.Problem
	// Full holds the environments whose file has no room for the Extension.
	Full map[Environment]bool
	// ActiveFrom holds, for each environment with a usable key, when the first of
	// them becomes active; the zero time: always.
	ActiveFrom map[Environment]time.Time
}

// Render renders the files for the Extensions of one namespace and the Secrets
// that they name.
func Render(extensions []v1alpha1.Extension, secrets SecretContents) Rendering {
	r := Rendering{Files: map[Environment][]byte{}, Findings: map[string]*Finding{}, keys: map[string]map[Environment][]usableKey{}}
	candidates := readCandidates(extensions, secrets)
	for _, c := range candidates {
		r.Findings[c.Name] = c.finding
	}
	candidates = dropConflicts(candidates)
	dropSharedKeys(candidates)
	for _, c := range candidates {
		r.keys[c.Name] = c.keys
	}
	for _, environment := range []Environment{Production, Sandbox} {
		r.Files[environment] = renderFile(candidates, environment)
	}
	return r
}

// fileCandidate is an Extension that may get into the files.
type fileCandidate struct {
	*v1alpha1.Extension
	keys    map[Environment][]usableKey
	sinks   map[Environment][]sinkEntry
	finding *Finding
}

// readCandidates returns a candidate for each Extension, oldest first, with the
// keys that can be decoded.
func readCandidates(extensions []v1alpha1.Extension, secrets SecretContents) []fileCandidate {
	candidates := make([]fileCandidate, 0, len(extensions))
	for i := range extensions {
		c := fileCandidate{
			Extension: &extensions[i],
			keys:      map[Environment][]usableKey{},
			sinks:     map[Environment][]sinkEntry{},
			finding:   &Finding{Full: map[Environment]bool{}, ActiveFrom: map[Environment]time.Time{}},
		}
		c.keys[Production] = c.decodeKeys("keys", c.Spec.Keys, secrets)
		c.sinks[Production] = c.decodeSinks("sinks", c.Spec.Sinks, secrets)
		if c.Spec.Sandbox != nil {
			c.keys[Sandbox] = c.decodeKeys("sandbox.keys", c.Spec.Sandbox.Keys, secrets)
			c.sinks[Sandbox] = c.decodeSinks("sandbox.sinks", c.Spec.Sandbox.Sinks, secrets)
		}
		candidates = append(candidates, c)
	}
	slices.SortFunc(candidates, compareAge)
	return candidates
}

func compareAge(a, b fileCandidate) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(string(a.UID), string(b.UID)), strings.Compare(a.Name, b.Name))
}

// dropConflicts returns the candidates that share no id with an older one.
func dropConflicts(candidates []fileCandidate) []fileCandidate {
	holders := map[v1alpha1.ID]string{}
	return slices.DeleteFunc(slices.Clone(candidates), func(c fileCandidate) bool {
		ids := append([]v1alpha1.ID{c.Spec.ClientID}, c.Spec.AppIDs...)
		for _, id := range ids {
			if holder, taken := holders[id]; taken {
				c.finding.Conflict = status.NewProblem(v1alpha1.Registered, v1alpha1.ReasonConflict, "Extension %q is older and has the id %q", holder, id)
				return true
			}
		}
		for _, id := range ids {
			holders[id] = c.Name
		}
		return false
	})
}

// dropSharedKeys removes every key that would verify the tokens of two Extensions, but
// from the oldest one, and every sandbox key that is also a production key of any
// Extension. It notes when the first key of each Extension becomes active.
func dropSharedKeys(candidates []fileCandidate) {
	holders := map[Environment]map[string]string{Production: {}, Sandbox: {}}
	for _, environment := range []Environment{Production, Sandbox} {
		for _, c := range candidates {
			c.keys[environment] = slices.DeleteFunc(c.keys[environment], func(k usableKey) bool {
				holder, with := c.Name, environment
				if older, taken := holders[environment][string(k.value)]; taken {
					holder = older
				}
				if owner, shared := holders[Production][string(k.value)]; shared && environment == Sandbox {
					holder, with = owner, Production
				}
				if holder != c.Name || with != environment {
					c.finding.Keys = append(c.finding.Keys, *keyProblem(v1alpha1.ReasonSharedKey, "%s is also a %s key of Extension %q", k.field, with, holder))
					return true
				}
				holders[environment][string(k.value)] = c.Name
				return false
			})
		}
	}
	for _, c := range candidates {
		for environment, keys := range c.keys {
			if len(keys) > 0 {
				c.finding.ActiveFrom[environment] = slices.MinFunc(keys, func(a, b usableKey) int { return a.activeFrom.Compare(b.activeFrom) }).activeFrom
			}
		}
	}
}
