package state

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

func (c Caller) namedKey(id string) string {
	return key.Name{Kind: Kind, Environment: c.Environment, Extension: c.Extension, Scope: key.NamedStore, Channel: c.Channel, ID: id}.String()
}

// checkNamed refuses ids that would hide the event from clients: they split its name at
// colons.
func checkNamed(id string) error {
	if strings.ContainsAny(id, ":*") {
		return fault.New(fault.Invalid, "Invalid id")
	}
	return nil
}

// ReadNamed returns a named document of the caller's channel. One that was never written
// is fault.NotFound.
func (s *Service) ReadNamed(ctx context.Context, c Caller, id string) (document.Document, error) {
	if err := checkNamed(id); err != nil {
		return document.Document{}, err
	}
	found, err := s.documents.Get(ctx, c.namedKey(id))
	if err != nil {
		return document.Document{}, err
	}
	if found[0].Version == 0 {
		return document.Document{}, fault.New(fault.NotFound, "No data for this id")
	}
	return found[0], nil
}

// WriteNamed replaces a named document of the caller's channel; with existing only one that
// was written before, and refuses another with fault.NotFound. A channel has
// at most [contract.MaxNamed] of them.
func (s *Service) WriteNamed(ctx context.Context, c Caller, id string, body []byte, existing bool) error {
	if err := checkNamed(id); err != nil {
		return err
	}
	change, err := document.Replace(body)
	if err != nil {
		return err
	}
	edit := document.Edit{Key: c.namedKey(id), Change: change, MaxBytes: contract.MaxNamedDocument}
	for {
		edit.Existing, edit.Match = true, nil
		if _, err := s.documents.Edit(ctx, edit); existing || fault.KindOf(err) != fault.NotFound {
			return err
		}
		edit.Existing, edit.Match = false, new(uint64)
		err := s.documents.EditAll(ctx, []document.Edit{edit, {Key: c.namedCountKey(), Change: document.Compute(countNamed)}})
		if fault.KindOf(err) != fault.Mismatch { // else another request has created it
			return err
		}
	}
}

func (c Caller) namedCountKey() string {
	return key.Name{Kind: Kind, Environment: c.Environment, Extension: c.Extension, Scope: key.NamedStoreCount, Channel: c.Channel}.String()
}

// namedCount is the number of the named documents of a channel.
type namedCount struct {
	Count int `json:"count"`
}

func countNamed(body []byte) ([]byte, error) {
	var n namedCount
	if err := json.Unmarshal(body, &n); err != nil {
		return nil, fault.Wrap(fault.Internal, err, "The stored document cannot be read")
	}
	if n.Count++; n.Count > contract.MaxNamed {
		return nil, fault.Newf(fault.Invalid, "The channel has %d ids", contract.MaxNamed)
	}
	return json.Marshal(n)
}
