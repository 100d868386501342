package registry

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// Holding is the wish to keep the entry of an Extension that a file lacks: Polls still have
// to be deleted from the services.
type Holding struct {
	Extension types.NamespacedName
	ClientID  v1alpha1.ID
	// Withdrawn replaces the keys of the entry by one that no team has, and drops everything
	// else: nothing but requests of the operator is accepted.
	Withdrawn bool
}

// KeepEntries returns a file with those entries of the published file that are held and
// that it lacks. An entry that shares an id or a key with another, that has a key which
// would be refused now, or that has no room, is left out.
func KeepEntries(file, published []byte, held []Holding) []byte {
	if len(held) == 0 {
		return file
	}
	entries := parseEntries(file)
	before := len(entries)
	taken := map[string]bool{}
	for _, e := range entries {
		for _, mark := range e.marks() {
			taken[mark] = true
		}
	}
	for _, e := range heldEntries(published, held) {
		if !slices.ContainsFunc(e.marks(), func(mark string) bool { return taken[mark] }) {
			entries = append(entries, e)
		}
	}
	if len(entries) == before {
		return file
	}
	slices.SortFunc(entries, func(a, b fileEntry) int { return strings.Compare(string(a.ClientID), string(b.ClientID)) })
	kept := bytes.NewBufferString("extensions:\n")
	for _, e := range entries {
		kept.Write(marshalEntry(e))
	}
	if kept.Len() > MaxBytes {
		return file
	}
	return kept.Bytes()
}

// heldEntries returns the sound entries of a published file that are held, as they stay.
func heldEntries(published []byte, held []Holding) (entries []fileEntry) {
	for _, e := range parseEntries(published) {
		i := slices.IndexFunc(held, func(h Holding) bool { return h.ClientID == e.ClientID && e.belongsTo(h.Extension) })
		if i < 0 || !e.isSound() {
			continue
		}
		e.declaredBy = held[i].Extension
		if held[i].Withdrawn && !e.withdrawn {
			e = e.withdraw()
		}
		entries = append(entries, e)
	}
	return entries
}

// withdraw returns an entry with the same client id, a new key and nothing else.
func (e fileEntry) withdraw() fileEntry {
	w := fileEntry{ClientID: e.ClientID, declaredBy: e.declaredBy, withdrawn: true}
	secrets := []secretEntry{{Value: base64.StdEncoding.EncodeToString([]byte(rand.Text() + rand.Text()))}}
	if e.Sandbox == nil {
		w.Secrets = secrets
	} else {
		w.Sandbox = &environmentSettings{Secrets: secrets}
	}
	return w
}

// belongsTo reports whether an Extension declared an entry. One that was published without
// its Extension belongs to each that has its client id.
func (e fileEntry) belongsTo(extension types.NamespacedName) bool {
	return e.declaredBy == extension || e.declaredBy == types.NamespacedName{}
}

// DeclaredBy returns the Extensions whose entries a published file has.
func DeclaredBy(published []byte) (extensions []types.NamespacedName) {
	for _, found := range headingPattern.FindAllSubmatch(published, -1) {
		extensions = append(extensions, types.NamespacedName{Namespace: string(found[3]), Name: string(found[4])})
	}
	return extensions
}

// marks returns what only one entry of a file may have: its ids and its keys.
func (e fileEntry) marks() []string {
	marks := []string{"id " + string(e.ClientID)}
	for _, id := range e.AppIDs {
		marks = append(marks, "id "+string(id))
	}
	for _, s := range e.allSecrets() {
		marks = append(marks, "key "+s.Value)
	}
	return marks
}

// isSound reports whether every key of an entry would be accepted from a Secret.
func (e fileEntry) isSound() bool {
	return !slices.ContainsFunc(e.allSecrets(), func(s secretEntry) bool {
		_, wrong := decodeKey(v1alpha1.Key{}, SecretContents{"": {"": []byte(s.Value)}})
		return wrong != nil
	})
}

// allSecrets returns the keys of an entry for either environment. A file has those of
// one environment.
func (e fileEntry) allSecrets() []secretEntry {
	if e.Sandbox == nil {
		return e.Secrets
	}
	return slices.Concat(e.Secrets, e.Sandbox.Secrets)
}

// PublishedKeys returns the keys of an Extension in a published file that are active,
// oldest first. Those of another with the same client id are not its own: with these it
// could write to the polls of another team.
func PublishedKeys(published []byte, extension types.NamespacedName, clientID v1alpha1.ID, now time.Time) [][]byte {
	var active []usableKey
	for _, e := range parseEntries(published) {
		if e.ClientID != clientID || !e.belongsTo(extension) {
			continue
		}
		for _, s := range e.allSecrets() {
			value, err := base64.StdEncoding.DecodeString(s.Value)
			from, _ := time.Parse(time.RFC3339, s.ActiveFrom) // empty: always
			if err == nil && !from.After(now) {
				active = append(active, usableKey{value: value, activeFrom: from})
			}
		}
	}
	slices.SortStableFunc(active, func(a, b usableKey) int { return a.activeFrom.Compare(b.activeFrom) })
	var keys [][]byte
	for _, k := range active {
		keys = append(keys, k.value)
	}
	return keys
}

// headingPattern matches the comment before an entry, with the client id and the Extension
// that declares it. No value begins a line without a space.
var headingPattern = regexp.MustCompile(`(?m)^# (\S+) (is|was) declared by ([^/\s]+)/(\S+)$`)

// heading returns that comment. The services do not read it.
func (e fileEntry) heading() string {
	verb := "is"
	if e.withdrawn {
		verb = "was"
	}
	return fmt.Sprintf("# %s %s declared by %s\n", e.ClientID, verb, e.declaredBy)
}

// parseEntries returns the entries of a file, none of one that cannot be read.
func parseEntries(file []byte) []fileEntry {
	var content struct {
		Extensions []fileEntry `json:"extensions"`
	}
	if err := yaml.Unmarshal(file, &content); err != nil {
		return nil
	}
	entries := map[v1alpha1.ID]*fileEntry{}
	for i := range content.Extensions {
		entries[content.Extensions[i].ClientID] = &content.Extensions[i]
	}
	for _, found := range headingPattern.FindAllSubmatch(file, -1) {
		if e := entries[v1alpha1.ID(found[1])]; e != nil {
			e.withdrawn = string(found[2]) == "was"
			e.declaredBy = types.NamespacedName{Namespace: string(found[3]), Name: string(found[4])}
		}
	}
	return content.Extensions
}
