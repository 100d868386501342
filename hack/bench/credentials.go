package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/sync/errgroup"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// The extension that both programs know, and a channel of it.
const (
	extension = "bench"
	channel   = "1"
)

// registry declares the extension. The first secret is signingKey in base64.
const registry = `extensions:
- clientID: bench
  appIDs: [bench-app]
  ownerUserID: "1000"
  secrets:
  - value: YmVuY2gta2V5LW9mLW1vcmUtdGhhbi0zMi1ieXRlcy0wMTIzNDU2
  sandbox:
    secrets:
    - value: YmVuY2gtc2FuZGJveC1rZXktb2YtbW9yZS10aGFuLTMyLWJ5dGVzLTAxMjM0NTY=
`

const signingKey = "bench-key-of-more-than-32-bytes-0123456"

func writeRegistry(dir string) (string, error) {
	file := filepath.Join(dir, "extensions.yaml")
	return file, os.WriteFile(file, []byte(registry), 0o600)
}

// newCredential returns the value of an Authorization header.
func newCredential(role, channel, opaque string) (string, error) {
	return harness.Sign(extension, []byte(signingKey), jwt.MapClaims{
		"exp":            time.Now().Add(24 * time.Hour).Unix(),
		"role":           role,
		"channel_id":     channel,
		"opaque_user_id": opaque,
	})
}

// viewerCredential returns the credential of voter n: a viewer who is logged in and has
// not shared an identity, with an opaque id of the usual length.
func viewerCredential(n int) (string, error) {
	return newCredential("viewer", channel, fmt.Sprintf("U%09d", n))
}

// broadcasterCredential returns the credential of the owner of channel n.
func broadcasterCredential(n int) (string, error) {
	return newCredential("broadcaster", strconv.Itoa(n), fmt.Sprintf("U%09d", n))
}

// signAll returns the credentials of 0 to count-1, signed on all processors.
func signAll(count int, sign func(int) (string, error)) ([]string, error) {
	credentials := make([]string, count)
	var group errgroup.Group
	workers := runtime.GOMAXPROCS(0)
	for worker := range workers {
		group.Go(func() (err error) {
			for n := worker; n < count && err == nil; n += workers {
				credentials[n], err = sign(n)
			}
			return err
		})
	}
	return credentials, group.Wait()
}
