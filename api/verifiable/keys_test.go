package verifiable_test

import (
	"crypto/ed25519"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/acclaim-dev/acclaim/api/verifiable"
)

const origin = "example.com/acclaim/0123abcd"

// rotated returns the signer of the same log under another key.
func rotated(t *testing.T) *verifiable.Signer {
	t.Helper()
	seed := [32]byte{1}
	s, err := verifiable.NewSigner(origin, ed25519.NewKeyFromSeed(seed[:]))
	must(t, err)
	return s
}

func TestOrigins(t *testing.T) {
	for _, bad := range []string{"", "example.com", "/0123abcd", "example.com/0123ABCD", "example.com/0123abc", "a b/0123abcd", "a+b/0123abcd", "ü/0123abcd", strings.Repeat("a", 192) + "/0123abcd"} {
		if verifiable.CheckOrigin(bad) == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	must(t, verifiable.CheckOrigin(origin))
	must(t, verifiable.CheckOrigin(strings.Repeat("a", 191)+"/0123abcd"))
}

func TestKeys(t *testing.T) {
	key := rotated(t).Key().String()
	again, err := verifiable.ParseKey(key)
	must(t, err)
	if again.String() != key {
		t.Errorf("%s", again)
	}
	for _, bad := range []string{"", key[1:], key + "=", strings.Replace(key, "+", "+0", 1)} {
		if _, err := verifiable.ParseKey(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if _, err := verifiable.ParseKeys(nil); err == nil {
		t.Error("no key is accepted")
	}
}

func TestTilePaths(t *testing.T) {
	for want, tile := range map[string]tlog.Tile{
		"tile/0/000":                {H: 8, W: 256},
		"tile/1/x001/x234/067.p/3":  {H: 8, L: 1, N: 1234067, W: 3},
		"tile/entries/x001/256":     {H: 8, L: -1, N: 1256, W: 256},
		"tile/entries/x001/256.p/1": {H: 8, L: -1, N: 1256, W: 1},
	} {
		if got := verifiable.TilePath(tile); got != want {
			t.Errorf("%+v is at %s, want %s", tile, got, want)
		}
	}
}
