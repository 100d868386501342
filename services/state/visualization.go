package state

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/key"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// salt is the document that keeps visualization ids from being found by trying
// all user ids. It is made once for each extension and environment.
type salt struct {
	Salt []byte `json:"salt"`
}

// VisualizationID returns an id of the caller that is the same in every channel
// of the extension and leads back to neither.
func (s *Service) VisualizationID(ctx context.Context, c Caller) (string, error) {
	secret, err := s.salt(ctx, c)
	if err != nil {
		return "", err
	}
	kind, id := "user", c.UserID
	if id == "" {
		kind, id = "opaque", c.OpaqueID
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(kind + "/" + url.PathEscape(id))) // the ids that have been given out depend on it
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:18]), nil
}

func (s *Service) salt(ctx context.Context, c Caller) ([]byte, error) {
	name := key.Name{Kind: Kind, Environment: c.Environment, Extension: c.Extension, Scope: key.Visualization}.String()
	found, err := s.documents.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	if found[0].Version == 0 {
		if found[0], err = s.makeSalt(ctx, name); err != nil {
			return nil, err
		}
	}
	var kept salt
	if err := json.Unmarshal(found[0].Body, &kept); err != nil {
		return nil, fault.Wrap(fault.Storage, fmt.Errorf("%s: %w", name, err), "the salt cannot be read")
	}
	return kept.Salt, nil
}

// makeSalt writes the first version, or returns what another request wrote.
func (s *Service) makeSalt(ctx context.Context, name string) (document.Document, error) {
	fresh := make([]byte, 32)
	_, _ = rand.Read(fresh) // documented never to fail
	body, err := json.Marshal(salt{fresh})
	if err != nil {
		panic(err) // bytes always encode
	}
	change, err := document.Replace(body)
	if err != nil {
		return document.Document{}, err
	}
	never := uint64(0)
	made, err := s.documents.Edit(ctx, document.Edit{Key: name, Change: change, Match: &never})
	if fault.KindOf(err) != fault.Mismatch {
		return made, err
	}
	found, err := s.documents.Get(ctx, name)
	if err != nil {
		return document.Document{}, err
	}
	return found[0], nil
}
