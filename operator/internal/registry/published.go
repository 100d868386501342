package registry

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// KeepEntries returns a file with the entries of some client ids that it lacks and
// that the published file has: their keys are gone, and Polls still need them. An
// entry that shares an id or a key with another, that has a key which would be refused
// now, or that has no room, is left out.
func KeepEntries(file, published []byte, clientIDs map[v1alpha1.ID]bool) []byte {
	if len(clientIDs) == 0 {
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
	for _, e := range parseEntries(published) {
		if clientIDs[e.ClientID] && e.isSound() && !slices.ContainsFunc(e.marks(), func(mark string) bool { return taken[mark] }) {
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

// PublishedKeys returns the keys of an extension in a published file that are
// active, oldest first.
func PublishedKeys(published []byte, clientID v1alpha1.ID, now time.Time) [][]byte {
	var active []usableKey
	for _, e := range parseEntries(published) {
		if e.ClientID != clientID {
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

// parseEntries returns the entries of a file, none of one that cannot be read.
func parseEntries(file []byte) []fileEntry {
	var content struct {
		Extensions []fileEntry `json:"extensions"`
	}
	if err := yaml.Unmarshal(file, &content); err != nil {
		return nil
	}
	return content.Extensions
}
