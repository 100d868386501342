package main

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"github.com/acclaim-dev/acclaim/hack/harness"
)

// The extensions: that of the victims, whose viewers most attackers are, another one, and
// one whose production key an attacker has.
const (
	extension      = "popular-extension"
	otherExtension = "other-extension"
	leakyExtension = "leaky-extension"
	channel        = "1"
)

// signingKey returns a key of an extension, different for each purpose.
func signingKey(extension, purpose string) string {
	return fmt.Sprintf("%-20s of %-20s, 32 bytes", purpose, extension)
}

func encodedKey(extension, purpose string) string {
	return base64.StdEncoding.EncodeToString([]byte(signingKey(extension, purpose)))
}

// extensionEntry declares an extension in the registry, with webhooks to the given
// addresses and the platform's pub/sub at another, if that is not empty. Settings are further
// lines of the entry.
func extensionEntry(name, settings string, webhooks []string, pubsub string) string {
	entry := fmt.Sprintf("- clientID: %s\n  appIDs: [app-of-%[1]s]\n  ownerUserID: \"1000\"\n  secrets: [{value: %s}]\n  sandbox: {secrets: [{value: %s}]}\n",
		name, encodedKey(name, "production"), encodedKey(name, "sandbox")) + settings
	if len(webhooks) == 0 && pubsub == "" {
		return entry
	}
	entry += "  sinks:\n"
	for i, url := range webhooks {
		entry += fmt.Sprintf("  - {name: hook-%d, webhook: {url: %q, secrets: [{value: %s}]}}\n", i, url, encodedKey(name, "webhooks"))
	}
	if pubsub != "" {
		entry += fmt.Sprintf("  - {name: platform, pubsub: {url: %q}}\n", pubsub)
	}
	return entry
}

// newCredential returns the value of an Authorization header. An empty opaque id is
// left out.
func newCredential(extension, role, channel, opaque string) (string, error) {
	claims := jwt.MapClaims{"role": role, "channel_id": channel}
	if opaque != "" {
		claims["opaque_user_id"] = opaque
	}
	return signCredential(extension, "production", claims)
}

// signCredential returns the value of an Authorization header with claims of an hour, signed
// with the extension's key of that purpose.
func signCredential(extension, purpose string, claims jwt.MapClaims) (string, error) {
	return harness.Sign(extension, []byte(signingKey(extension, purpose)), claims)
}

// signClaims returns such a token alone.
func signClaims(extension, purpose string, claims jwt.MapClaims) (string, error) {
	credential, err := signCredential(extension, purpose, claims)
	return strings.TrimPrefix(credential, extension+" "), err
}

// newViewers returns the credentials of viewers of the channel whose opaque ids begin
// with prefix.
func newViewers(count int, prefix string) ([]string, error) {
	viewers := make([]string, count)
	for i := range viewers {
		var err error
		if viewers[i], err = newCredential(extension, "viewer", channel, fmt.Sprintf("%s%06d", prefix, i)); err != nil {
			return nil, err
		}
	}
	return viewers, nil
}
