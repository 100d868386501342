package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// signingKey and extension are those that hack/bench signs its credentials for.
const (
	signingKey = "bench-key-of-more-than-32-bytes-0123456"
	extension  = "bench"
)

// ballot is a vote of a voter, who has one in each poll.
type ballot struct {
	Voter string `json:"opaque_user_id"`
	Value int16  `json:"value"`
}

// statistics has the number of a poll's voters and the sum of their values.
type statistics struct {
	Count int64 `json:"count"`
	Sum   int64 `json:"sum"`
}

// ballotStore keeps ballots. A ballot of a voter who has one in the poll replaces it. cast
// returns when its ballots are on disk.
type ballotStore interface {
	cast(ctx context.Context, poll string, ballots []ballot) error
	count(ctx context.Context, poll string) (statistics, error)
}

// newHandler serves a store. It does for each request what the program's users would write
// themselves: it checks the credential, decodes the body and stores. The answer to a vote has
// no statistics, as computing them would cost some peers far more than the vote.
func newHandler(store ballotStore) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/vote", answer(func(r *http.Request, voter *claims) (any, error) {
		b := ballot{Voter: voter.OpaqueUserID}
		if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
			return nil, err
		}
		return struct{}{}, store.cast(r.Context(), r.FormValue("id"), []ballot{b})
	}))
	mux.HandleFunc("POST /v1/votes", answer(func(r *http.Request, _ *claims) (any, error) {
		var body struct {
			Votes []ballot `json:"votes"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return nil, err
		}
		return struct{}{}, store.cast(r.Context(), r.FormValue("id"), body.Votes)
	}))
	mux.HandleFunc("GET /v1/vote", answer(func(r *http.Request, _ *claims) (any, error) {
		return store.count(r.Context(), r.FormValue("id"))
	}))
	return mux
}

// claims are those of a credential that votes need.
type claims struct {
	jwt.RegisteredClaims
	OpaqueUserID string `json:"opaque_user_id"`
}

// answer makes a handler of a function that needs a credential.
func answer(call func(r *http.Request, voter *claims) (any, error)) http.HandlerFunc {
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired())
	key := func(*jwt.Token) (any, error) { return []byte(signingKey), nil }
	return func(w http.ResponseWriter, r *http.Request) {
		var voter claims
		name, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if _, err := parser.ParseWithClaims(token, &voter, key); err != nil || name != extension {
			http.Error(w, "no valid credential", http.StatusUnauthorized)
			return
		}
		result, err := call(r, &voter)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		body, err := json.Marshal(result)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, "%s\n", body) // the client may have gone
	}
}
