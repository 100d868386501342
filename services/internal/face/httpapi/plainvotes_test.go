package httpapi

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
)

// plainBodies are read in one pass.
var plainBodies = []string{
	`{"votes":[{"user_id":"5","value":1}]}`,
	" {\t\"votes\" : [ { \"opaque_user_id\" : \"U5\" , \"value\" : -12 , \"count\":3 } ,\n{\"user_id\":\"6\",\"value\":0}]\r}\n",
	`{"votes":[{"user_id":"1","user_id":"2","value":1,"value":2}]}`,
	`{"votes":[{"user_id":"5","value":-0,"count":0,"key":"0123456789abcdef"}]}`,
}

// otherBodies need the general decoder.
var otherBodies = []string{
	``, `{}`, `[]`, `{"votes":[]}`, `{"votes":[{}]}`, `{"votes":[{"value":1},]}`, `{"votes":[{"value":1}]}}`,
	`{"votes":[{"value":1}],"votes":[{"value":2}]}`, `{"votes":[{"value":1.0}]}`, `{"votes":[{"value":01}]}`,
	`{"votes":[{"value":1234567890}]}`, `{"votes":[{"user_id":"\u0035"}]}`, `{"votes":[{"user_id":"é"}]}`,
	"{\"votes\":[{\"user_id\":\"\x01\"}]}", `{"votes":[{"user_id":null}]}`, `{"votes":[{"other":1,"value":2}]}`,
	`{"votes":[{"user_id":"` + strings.Repeat("x", 600) + `"}]}`, `{"votes":[{"key":""}]}`, `{"votes":[{"value":-}]}`, `{"votes":[{"value":1]`,
	`{"votes":[` + strings.Repeat(`{"value":1},`, contract.MaxVotes) + `{"value":1}]}`,
}

func TestPlainVotes(t *testing.T) {
	for _, body := range plainBodies {
		if !comparePlainVotes(t, body) {
			t.Errorf("%s is not read in one pass", body)
		}
	}
	for _, body := range otherBodies {
		if comparePlainVotes(t, body) {
			t.Errorf("%.80s is read in one pass", body)
		}
	}
}

// FuzzPlainVotes compares reading in one pass with the general decoder.
func FuzzPlainVotes(f *testing.F) {
	for _, body := range append(plainBodies, otherBodies...) {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) { comparePlainVotes(t, body) })
}

// comparePlainVotes reports whether a body is read in one pass, and fails the test if the general
// decoder reads it otherwise.
func comparePlainVotes(t *testing.T, body string) bool {
	t.Helper()
	scope := func() *once.Scope { return once.NewScope([][]byte{[]byte("secret")}, time.Unix(1, 0), "caller") }
	plain := plainVotes{text: body, scope: scope}
	votes, ok := plain.readVotes()
	if !ok {
		return false
	}
	want, err := decodeAnySubmissions([]byte(body), scope)
	if err != nil {
		t.Fatalf("%q is refused by the general decoder: %v", body, err)
	}
	if diff := cmp.Diff(want, votes); diff != "" {
		t.Errorf("%q (-general +in one pass):\n%s", body, diff)
	}
	return true
}
