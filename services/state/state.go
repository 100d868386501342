// Package state is the domain of state and configuration documents: which document a
// caller means by a scope, and which of them it has (sections 2.7, 4.4 and 4.5).
// Package document defines the bounds of a document and its edits; the caller checks
// permissions before.
//
// The package may not know HTTP or a database and imports no other domain.
package state

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Kind is the first element of the keys of documents; the environment is the
// second.
const Kind = key.Document

// Caller names the owner of the documents. UserID is empty when the viewer has not
// shared it.
type Caller struct {
	Environment, Extension, Channel, OpaqueID, UserID string
}

// Scope is the kind of owner that a document has.
type Scope int

// The scopes of state and of configuration.
const (
	Extension Scope = iota
	Channel
	Viewer
	ExtensionViewer
	ExtensionConfig
	ChannelConfig
	ExtensionHidden
)

// DocumentName returns the name of the document, or false when the caller has
// none of that scope.
func (c Caller) DocumentName(scope Scope) (key.Name, bool) {
	name := key.Name{Kind: Kind, Environment: c.Environment, Extension: c.Extension, Scope: key.ExtensionState}
	switch scope {
	case Channel:
		name.Scope, name.Channel = key.ChannelState, c.Channel
	case Viewer:
		name.Scope, name.Channel, name.ID = key.ViewerState, c.Channel, cmp.Or(c.OpaqueID, c.UserID)
		return name, name.ID != ""
	case ExtensionViewer:
		name.Scope, name.ID = key.ExtensionViewerState, c.UserID
		return name, name.ID != ""
	case ExtensionHidden:
		name.Scope = key.ExtensionHiddenState
	case ExtensionConfig:
		name.Scope = key.ExtensionConfig
	case ChannelConfig:
		name.Scope, name.Channel = key.ChannelConfig, c.Channel
	}
	return name, true
}

// Key returns the name of the document as it is stored, or false when the caller
// has none of that scope.
func (c Caller) Key(scope Scope) (string, bool) {
	name, ok := c.DocumentName(scope)
	return name.String(), ok
}

// Prefix is the beginning of the keys of an extension's state documents, among
// them all that belong to viewers.
func Prefix(environment, extension string) string {
	return key.Prefix(Kind, environment, extension, "state")
}

// ViewerOf returns the id of the viewer whose document is at a key, empty for other documents.
func ViewerOf(name string) string {
	n, err := key.Parse(name)
	if err != nil || n.Scope != key.ViewerState && n.Scope != key.ExtensionViewerState {
		return ""
	}
	return n.ID
}

// Edit is one change of the document of a scope. The other fields are those of
// [document.Edit].
type Edit struct {
	Change   document.Change
	Match    *uint64
	Existing bool
	Always   bool
	MaxBytes int
	Once     *once.Key // of the request
}

// Service answers for the documents of a store.
type Service struct {
	documents *document.Service
}

// NewService returns a service over documents, which its owner closes.
func NewService(documents *document.Service) *Service { return &Service{documents: documents} }

// Read returns the caller's documents of the given scopes, in their order and
// all of one moment. What was never written, or what the caller cannot have, is
// the zero document.
func (s *Service) Read(ctx context.Context, c Caller, scopes ...Scope) ([]document.Document, error) {
	var keys []string
	for _, scope := range scopes {
		if name, ok := c.Key(scope); ok {
			keys = append(keys, name)
		}
	}
	found, err := s.documents.Get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	all := make([]document.Document, len(scopes))
	for i, scope := range scopes {
		if _, ok := c.Key(scope); ok {
			all[i], found = found[0], found[1:]
		}
	}
	return all, nil
}

// Write edits the caller's document of a scope and returns what it became.
func (s *Service) Write(ctx context.Context, c Caller, scope Scope, e Edit) (document.Document, error) {
	name, ok := c.Key(scope)
	if !ok {
		return document.Document{}, fault.New(fault.Invalid, "The JWT names no viewer that this state could belong to")
	}
	return s.documents.Edit(ctx, e.documentEdit(name))
}

func (e Edit) documentEdit(name string) document.Edit {
	return document.Edit{Key: name, Change: e.Change, Match: e.Match, Existing: e.Existing, Always: e.Always, MaxBytes: e.MaxBytes, Once: e.Once}
}

// ReadViewers returns the extension-viewer documents of the given users; those
// never written are left out.
func (s *Service) ReadViewers(ctx context.Context, c Caller, userIDs []string) (map[string]document.Document, error) {
	if len(userIDs) > contract.MaxViewers {
		return nil, errTooMany()
	}
	keys := make([]string, len(userIDs))
	for i, id := range userIDs {
		keys[i], _ = c.withUser(id).Key(ExtensionViewer)
	}
	found, err := s.documents.Get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	written := map[string]document.Document{}
	for i, id := range userIDs {
		if found[i].Version > 0 {
			written[id] = found[i]
		}
	}
	return written, nil
}

// WriteViewers edits the extension-viewer documents of many users: all of them
// or, when one edit fails, none, with a reason that names the user (section 4.4).
func (s *Service) WriteViewers(ctx context.Context, c Caller, edits map[string]Edit) error {
	if len(edits) > contract.MaxViewers {
		return errTooMany()
	}
	var ids []string
	for id := range edits {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	all := make([]document.Edit, len(ids))
	for i, id := range ids {
		name, _ := c.withUser(id).Key(ExtensionViewer)
		all[i] = edits[id].documentEdit(name)
	}
	err := s.documents.EditAll(ctx, all)
	if refused, ok := errors.AsType[*document.EditError](err); ok {
		return wrapRefusal(ids[refused.Index], refused.Err)
	}
	return err
}

// wrapRefusal returns the refusal of one user's edit with a reason that says whose.
func wrapRefusal(id string, err error) error {
	if fault.KindOf(err) == fault.Reused { // the request's, not one user's
		return err
	}
	if refusal, ok := errors.AsType[*fault.Error](err); ok {
		return fault.Wrap(refusal.Kind, refusal.Err, "user "+id+": "+refusal.Reason)
	}
	return err
}

// withUser returns the caller that a user would be.
func (c Caller) withUser(userID string) Caller {
	c.UserID = userID
	return c
}

func errTooMany() error { return fault.New(fault.Invalid, "Too many ids specified") }
