package main

import (
	"encoding/base64"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Two extensions: that of the victims, whose viewers most attackers are, and
// another one.
const (
	extension      = "popular-extension"
	otherExtension = "other-extension"
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
// addresses and the platform's pub/sub at another, if that is not empty.
func extensionEntry(name string, webhooks []string, pubsub string) string {
	entry := fmt.Sprintf("- clientID: %s\n  appIDs: [app-of-%[1]s]\n  ownerUserID: \"1000\"\n  secrets: [{value: %s}]\n  sandbox: {secrets: [{value: %s}]}\n",
		name, encodedKey(name, "production"), encodedKey(name, "sandbox"))
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
	claims := jwt.MapClaims{"exp": time.Now().Add(time.Hour).Unix(), "role": role, "channel_id": channel}
	if opaque != "" {
		claims["opaque_user_id"] = opaque
	}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(signingKey(extension, "production")))
	return extension + " " + signed, err
}

// newViewers returns the credentials of viewers of a channel whose opaque ids begin
// with prefix.
func newViewers(count int, extension, channel, prefix string) ([]string, error) {
	viewers := make([]string, count)
	for i := range viewers {
		var err error
		if viewers[i], err = newCredential(extension, "viewer", channel, fmt.Sprintf("%s%06d", prefix, i)); err != nil {
			return nil, err
		}
	}
	return viewers, nil
}
