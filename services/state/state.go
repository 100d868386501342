// Package state is the domain of state and configuration documents: which
// document a caller means by a scope, and which of them it has (sections 2.7,
// 4.4 and 4.5). What a document may hold and how it is edited is package
// document's; who may do what is decided before.
//
// The package may not know HTTP or a database and imports no other domain.
package state

import (
	"context"
	"errors"
	"slices"

	"github.com/acclaim-dev/acclaim/services/internal/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/key"
)

// Kind is the first element of the keys of documents; the environment is the
// second.
const Kind = "document"

// Caller is whose documents are meant. UserID is empty when the viewer has not
// shared it.
type Caller struct {
	Environment, Extension, Channel, OpaqueID, UserID string
}

// Scope is what a document belongs to.
type Scope int

// The scopes of state and of configuration.
const (
	Extension Scope = iota
	Channel
	Viewer
	ExtensionViewer
	ExtensionConfig
	ChannelConfig
)

// key returns the name of the document, or false when the caller has none of
// that scope.
func (c Caller) key(scope Scope) (string, bool) {
	in := func(parts ...string) string {
		return key.Join(append([]string{Kind, c.Environment, c.Extension}, parts...)...)
	}
	switch scope {
	case Channel:
		return in("state", "channel", c.Channel), true
	case Viewer:
		id := c.OpaqueID
		if id == "" {
			id = c.UserID
		}
		return in("state", "viewer", c.Channel, id), id != ""
	case ExtensionViewer:
		return in("state", "extension_viewer", c.UserID), c.UserID != ""
	case ExtensionConfig:
		return in("config", "extension"), true
	case ChannelConfig:
		return in("config", "channel", c.Channel), true
	}
	return in("state", "extension"), true
}

// Edit is one change of the document of a scope. Match and MaxBytes are those of
// [document.Edit].
type Edit struct {
	Change   document.Change
	Match    *uint64
	MaxBytes int
}

// MaxViewers is how many viewers one request may read or write (section 8).
const MaxViewers = 1000

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
		if name, ok := c.key(scope); ok {
			keys = append(keys, name)
		}
	}
	found, err := s.documents.Get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	all := make([]document.Document, len(scopes))
	for i, scope := range scopes {
		if _, ok := c.key(scope); ok {
			all[i], found = found[0], found[1:]
		}
	}
	return all, nil
}

// Write edits the caller's document of a scope and returns what it became.
func (s *Service) Write(ctx context.Context, c Caller, scope Scope, e Edit) (document.Document, error) {
	name, ok := c.key(scope)
	if !ok {
		return document.Document{}, fault.New(fault.Invalid, "The JWT names no viewer that this state could belong to")
	}
	return s.documents.Edit(ctx, e.of(name))
}

func (e Edit) of(name string) document.Edit {
	return document.Edit{Key: name, Change: e.Change, Match: e.Match, MaxBytes: e.MaxBytes}
}

// ReadViewers returns the extension-viewer documents of the given users; those
// never written are left out.
func (s *Service) ReadViewers(ctx context.Context, c Caller, userIDs []string) (map[string]document.Document, error) {
	if len(userIDs) > MaxViewers {
		return nil, errTooMany()
	}
	keys := make([]string, len(userIDs))
	for i, id := range userIDs {
		keys[i], _ = c.as(id).key(ExtensionViewer)
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
	if len(edits) > MaxViewers {
		return errTooMany()
	}
	var ids []string
	for id := range edits {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	all := make([]document.Edit, len(ids))
	for i, id := range ids {
		name, _ := c.as(id).key(ExtensionViewer)
		all[i] = edits[id].of(name)
	}
	err := s.documents.EditAll(ctx, all)
	if refused, ok := errors.AsType[*document.EditError](err); ok {
		return ofUser(ids[refused.Index], refused.Err)
	}
	return err
}

// ofUser returns the refusal of one user's edit with a reason that says whose.
func ofUser(id string, err error) error {
	if refusal, ok := errors.AsType[*fault.Error](err); ok {
		return fault.Wrap(refusal.Kind, refusal.Err, "user "+id+": "+refusal.Reason)
	}
	return err
}

// as returns the caller that a user would be.
func (c Caller) as(userID string) Caller {
	c.UserID = userID
	return c
}

func errTooMany() error { return fault.New(fault.Invalid, "Too many ids specified") }
