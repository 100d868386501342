package rig

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// maxBody limits the size of a request's body.
const maxBody = 64 << 10

// settings holds what the page needs to show the extension.
type settings struct {
	ClientID  string `json:"clientId"`
	Channel   string `json:"channel"`
	Extension string `json:"extension"` // origin of its files
	API       string `json:"api"`
	Views     Views  `json:"views"`
}

func (r *rig) serveSettings(w http.ResponseWriter, _ *http.Request) {
	answer(w, settings{ClientID: r.ClientID, Channel: r.Channel, Extension: "http://" + r.extension, API: r.API, Views: r.Views})
}

// tokenRequest asks for a token of a person in the channel.
type tokenRequest struct {
	Role   string `json:"role"`
	User   string `json:"user"`   // empty: not logged in
	Opaque string `json:"opaque"` // of a visitor; empty: a new one
	Shared bool   `json:"shared"` // whether the token has the user's id
}

type tokenAnswer struct {
	Token   string `json:"token"`
	Opaque  string `json:"opaque"`
	Expires int64  `json:"expires"` // Unix seconds
}

func (r *rig) issueToken(w http.ResponseWriter, q *http.Request) {
	var t tokenRequest
	if !decode(w, q, &t) {
		return
	}
	switch t.Role {
	case "viewer", "moderator", "broadcaster":
	default:
		refuse(w, http.StatusBadRequest, "role must be viewer, moderator or broadcaster")
		return
	}
	if len(t.User) > contract.MaxID || len(t.Opaque) > contract.MaxID {
		refuse(w, http.StatusBadRequest, "an id is too long")
		return
	}
	secret, err := r.Secret()
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	grant := sandbox.Grant{ExtensionID: r.ClientID, ChannelID: r.Channel, Role: t.Role, OpaqueID: t.Opaque, Stage: "production"}
	switch {
	case t.User != "":
		grant.OpaqueID = sandbox.UserOpaqueID(t.User)
	case t.Opaque == "":
		grant.OpaqueID = sandbox.NewAnonymousID()
	}
	if t.Shared {
		grant.UserID = t.User
	}
	now := time.Now()
	token, err := sandbox.IssueToken(grant, secret, now)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	answer(w, tokenAnswer{Token: token, Opaque: grant.OpaqueID, Expires: now.Add(contract.SandboxTokenLifetime).Unix()})
}

type receiptRequest struct {
	User    string          `json:"user"`
	Product sandbox.Product `json:"product"`
}

type receiptAnswer struct {
	TransactionID string `json:"transactionId"`
	Receipt       string `json:"transactionReceipt"`
}

func (r *rig) issueReceipt(w http.ResponseWriter, q *http.Request) {
	var b receiptRequest
	if !decode(w, q, &b) {
		return
	}
	if b.User == "" || len(b.User) > contract.MaxID || b.Product.SKU == "" || b.Product.Cost.Amount <= 0 {
		refuse(w, http.StatusBadRequest, "user, product.sku and a positive product.cost.amount are required")
		return
	}
	secret, err := r.Secret()
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	id := rand.Text()
	receipt, err := sandbox.IssueReceipt(sandbox.Receipt{ExtensionID: r.ClientID, TransactionID: id, UserID: b.User, Product: b.Product}, secret, time.Now())
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	answer(w, receiptAnswer{TransactionID: id, Receipt: receipt})
}

// decode reads a request's body and reports whether it is well formed; otherwise it answers.
func decode(w http.ResponseWriter, q *http.Request, body any) bool {
	decoder := json.NewDecoder(http.MaxBytesReader(w, q.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(body); err != nil {
		refuse(w, http.StatusBadRequest, "the body: "+err.Error())
		return false
	}
	return true
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(body) // a client that has left needs no answer
}

func refuse(w http.ResponseWriter, status int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"reason": reason}) // as above
}
