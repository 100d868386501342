// Package registry renders the registry files that the services read from the
// Extensions of a Backend, and reports what is wrong with each Extension that
// is not in a file, or not with all its keys.
//
// It is a pure function: the same Extensions and Secrets give the same bytes,
// whatever their order. The services accept every file it renders: one bad entry
// would make them refuse the whole. It has no client and no clock, and writes a
// key nowhere but into a file. Rendering gives out keys for requests to the services.
// Only KeepEntries makes a key, for an entry whose Extension may no longer use the Backend,
// and keeps it.
package registry

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/acclaim-dev/acclaim/api/contract"
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
	// Findings holds a finding for each Extension.
	Findings map[types.NamespacedName]*Finding

	keys    map[types.NamespacedName]map[Environment][]usableKey // in the files
	entries map[types.NamespacedName]map[Environment][]byte      // of the files
}

// Input holds everything that a rendering depends on.
type Input struct {
	// Extensions that want to be in the files.
	Extensions []v1alpha1.Extension
	// Secrets that they name, by namespace.
	Secrets map[string]SecretContents
	// Host is the namespace of the Backend, and Guests bounds the Extensions of others.
	Host   string
	Guests *v1alpha1.AllowedNamespaces
}

// IsIn reports whether a published file has an Extension as this rendering does.
func (r Rendering) IsIn(published []byte, extension types.NamespacedName, environment Environment) bool {
	entry := r.entries[extension][environment]
	return entry != nil && bytes.Contains(published, entry)
}

// ActiveKeys returns the keys of an Extension in a file that are active at a time.
func (r Rendering) ActiveKeys(extension types.NamespacedName, environment Environment, now time.Time) (active [][]byte) {
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
	// Excess reports whether older Extensions of its namespace are as many as the Backend takes.
	Excess bool
	// Full holds the environments whose file has no room for the Extension.
	Full map[Environment]bool
	// ActiveFrom holds, for each environment with a usable key, when the first of
	// them becomes active; the zero time: always.
	ActiveFrom map[Environment]time.Time
}

// Merge returns what two Backends together make of an Extension.
func (f *Finding) Merge(other *Finding) *Finding {
	merged := &Finding{
		Keys: slices.Clone(f.Keys), Conflict: status.FirstProblem(f.Conflict, other.Conflict), Excess: f.Excess || other.Excess,
		Full: maps.Clone(f.Full), ActiveFrom: map[Environment]time.Time{},
	}
	for _, p := range other.Keys {
		if !slices.Contains(merged.Keys, p) {
			merged.Keys = append(merged.Keys, p)
		}
	}
	maps.Copy(merged.Full, other.Full)
	for environment, at := range f.ActiveFrom {
		if later, usable := other.ActiveFrom[environment]; usable {
			merged.ActiveFrom[environment] = slices.MaxFunc([]time.Time{at, later}, time.Time.Compare)
		}
	}
	return merged
}

// Render renders the files of one Backend.
func Render(in Input) Rendering {
	r := Rendering{
		Files: map[Environment][]byte{}, Findings: map[types.NamespacedName]*Finding{},
		keys: map[types.NamespacedName]map[Environment][]usableKey{}, entries: map[types.NamespacedName]map[Environment][]byte{},
	}
	candidates := readCandidates(in)
	for _, c := range candidates {
		r.Findings[c.name()] = c.finding
		r.entries[c.name()] = c.entries
	}
	candidates = dropConflicts(dropExcess(candidates, in))
	dropSharedKeys(candidates)
	for _, c := range candidates {
		r.keys[c.name()] = c.keys
	}
	for _, environment := range []Environment{Production, Sandbox} {
		r.Files[environment] = renderFile(candidates, environment)
	}
	return r
}

// fileCandidate is an Extension that may get into the files.
type fileCandidate struct {
	*v1alpha1.Extension
	keys          map[Environment][]usableKey
	sinks         map[Environment][]sinkEntry
	signIn        *contract.RegisteredSignIn        // of production
	viewerIssuers []contract.RegisteredViewerIssuer // of production
	entries       map[Environment][]byte
	cap           *v1alpha1.Limits // of a guest, nil without one
	finding       *Finding
}

func (c fileCandidate) name() types.NamespacedName {
	return types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
}

// nameOf returns the name of another candidate as messages to this one may have it. Of
// those in another namespace they tell nothing.
func (c fileCandidate) nameOf(other fileCandidate) string {
	if other.Namespace != c.Namespace {
		return "of another namespace"
	}
	return strconv.Quote(other.Name)
}

// readCandidates returns a candidate for each Extension, oldest first, with the
// keys that can be decoded.
func readCandidates(in Input) []fileCandidate {
	candidates := make([]fileCandidate, 0, len(in.Extensions))
	for i := range in.Extensions {
		c := fileCandidate{
			Extension: &in.Extensions[i],
			keys:      map[Environment][]usableKey{},
			sinks:     map[Environment][]sinkEntry{},
			entries:   map[Environment][]byte{},
			finding:   &Finding{Full: map[Environment]bool{}, ActiveFrom: map[Environment]time.Time{}},
		}
		secrets := in.Secrets[c.Namespace]
		if in.Guests != nil && c.Namespace != in.Host {
			c.cap = in.Guests.Limits
		}
		c.keys[Production] = c.decodeKeys("keys", c.Spec.Keys, secrets)
		c.sinks[Production] = c.decodeSinks("sinks", c.Spec.Sinks, secrets)
		c.signIn = c.decodeSignIn(c.Spec.SignIn, secrets)
		c.viewerIssuers = c.decodeViewerIssuers(c.Spec.ViewerIssuers, secrets)
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

// dropExcess returns the candidates without the guests that are younger than as many of
// their namespace as the Backend takes.
func dropExcess(candidates []fileCandidate, in Input) []fileCandidate {
	if in.Guests == nil || in.Guests.MaxExtensions == nil {
		return candidates
	}
	taken := map[string]int32{}
	return slices.DeleteFunc(slices.Clone(candidates), func(c fileCandidate) bool {
		if c.Namespace == in.Host {
			return false
		}
		taken[c.Namespace]++
		c.finding.Excess = taken[c.Namespace] > *in.Guests.MaxExtensions
		return c.finding.Excess
	})
}

// dropConflicts returns the candidates that share no id with an older one.
func dropConflicts(candidates []fileCandidate) []fileCandidate {
	holders := map[v1alpha1.ID]fileCandidate{}
	return slices.DeleteFunc(slices.Clone(candidates), func(c fileCandidate) bool {
		ids := append([]v1alpha1.ID{c.Spec.ClientID}, c.Spec.AppIDs...)
		for _, id := range ids {
			if holder, taken := holders[id]; taken {
				c.finding.Conflict = status.NewProblem(v1alpha1.Registered, v1alpha1.ReasonConflict, "Extension %s is older and has the id %q", c.nameOf(holder), id)
				return true
			}
		}
		for _, id := range ids {
			holders[id] = c
		}
		return false
	})
}

// dropSharedKeys removes every key that would verify the tokens of two Extensions, but
// from the oldest one, and every sandbox key that is also a production key of any
// Extension. It notes when the first key of each Extension becomes active.
func dropSharedKeys(candidates []fileCandidate) {
	holders := map[Environment]map[string]fileCandidate{Production: {}, Sandbox: {}}
	for _, environment := range []Environment{Production, Sandbox} {
		for _, c := range candidates {
			c.keys[environment] = slices.DeleteFunc(c.keys[environment], func(k usableKey) bool {
				holder, with := c, environment
				if older, taken := holders[environment][string(k.value)]; taken {
					holder = older
				}
				if owner, shared := holders[Production][string(k.value)]; shared && environment == Sandbox {
					holder, with = owner, Production
				}
				if holder.Extension != c.Extension || with != environment {
					c.finding.Keys = append(c.finding.Keys, *keyProblem(v1alpha1.ReasonSharedKey, "%s is also a %s key of Extension %s", k.field, with, c.nameOf(holder)))
					return true
				}
				holders[environment][string(k.value)] = c
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
