package operation

import (
	"context"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/state"
)

// stateCaller returns the caller in the terms of package state.
func (c *Caller) stateCaller() state.Caller {
	return state.Caller{
		Environment: string(c.Environment),
		Extension:   c.Extension.ClientID,
		Channel:     c.ChannelID,
		OpaqueID:    c.OpaqueID,
		UserID:      c.UserID,
	}
}

// ReadDocuments returns documents of the caller, all as they are at one moment (section 4.4).
func (s *Service) ReadDocuments(ctx context.Context, c *Call, scopes ...state.Scope) ([]document.Document, error) {
	return s.Config.State.Scopes.Read(ctx, c.Caller.stateCaller(), scopes...)
}

// WriteDocument makes a change of a document, if it has the version that match names.
func (s *Service) WriteDocument(ctx context.Context, c *Call, scope state.Scope, change document.Change, match *uint64) (made document.Document, err error) {
	keys, err := s.patchKeys(c, "")
	if err != nil {
		return made, err
	}
	err = s.editDocuments(c, 1, func(existing bool) (err error) {
		made, err = s.Config.State.Scopes.Write(ctx, c.Caller.stateCaller(), scope, state.Edit{
			Change:   change,
			Match:    match,
			Existing: existing,
			Always:   scope != state.Viewer && scope != state.ExtensionViewer && scope != state.ExtensionHidden,
			MaxBytes: c.Caller.Limits().DocumentBytes,
			Once:     once.First(keys),
		})
		return err
	})
	return made, err
}

// CheckReadsViewers refuses callers that may not read the documents of other viewers.
func (c *Caller) CheckReadsViewers() error {
	if c.Role != Admin && c.Role != Backend {
		return errRole()
	}
	return nil
}

// ReadViewer returns the document of a viewer for the whole extension.
func (s *Service) ReadViewer(ctx context.Context, c *Call, userID string) (found document.Document, err error) {
	if err := c.Caller.CheckReadsViewers(); err != nil {
		return found, err
	}
	if !IsUserID(userID) {
		return found, fault.New(fault.Invalid, "Malformed userID parameter")
	}
	owner := c.Caller.stateCaller()
	owner.UserID = userID
	documents, err := s.Config.State.Scopes.Read(ctx, owner, state.ExtensionViewer)
	if err != nil {
		return found, err
	}
	return documents[0], nil
}

// ReadViewers returns the documents of viewers by their user ids.
func (s *Service) ReadViewers(ctx context.Context, c *Call, userIDs []string) (map[string]document.Document, error) {
	if err := c.Caller.CheckReadsViewers(); err != nil {
		return nil, err
	}
	return s.Config.State.Scopes.ReadViewers(ctx, c.Caller.stateCaller(), userIDs)
}

// WriteViewers makes a change of the document of each of several viewers, of all or of none.
func (s *Service) WriteViewers(ctx context.Context, c *Call, changes map[string]document.Change) error {
	keys, err := s.requestKeys(c, "")
	if err != nil {
		return err
	}
	return s.editDocuments(c, len(changes), func(existing bool) error {
		edits := make(map[string]state.Edit, len(changes))
		for id, change := range changes {
			edits[id] = state.Edit{Change: change, Existing: existing, MaxBytes: c.Caller.Limits().DocumentBytes, Once: once.First(keys)}
		}
		return s.Config.State.Scopes.WriteViewers(ctx, c.Caller.stateCaller(), edits)
	})
}
