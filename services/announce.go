package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// announce prints the ready line and, for the sample extension, what a newcomer
// may paste.
func announce(out io.Writer, mounts []mount, s *server, registry *tenant.Registry) error {
	origin := "http://" + reachable(s.public.address)
	line := "ready base=" + origin + mounts[0].path
	if len(mounts) > 1 {
		line += " sandbox=" + origin + mounts[1].path
	}
	line += " admin=http://" + reachable(s.admin.address)
	if _, err := fmt.Fprintln(out, line); err != nil {
		return fmt.Errorf("print the ready line: %w", err)
	}
	if sample, ok := registry.ByClientID(sampleExtension); ok && len(mounts) > 1 {
		return hint(out, origin, mounts[0].path, sample)
	}
	return nil
}

// reachable is an address that a client on this machine can use.
func reachable(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

const (
	sampleExtension = "sample-extension"
	sampleChannel   = "1"
)

// hint prints a token for each role of the sample extension, a few requests and
// where to look at a poll.
func hint(out io.Writer, origin, path string, sample *tenant.Extension) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\nTo try it, paste (the tokens are good for %v):\n\n", sandbox.Lifetime)
	for _, role := range []string{"viewer", "broadcaster", "admin", "backend"} {
		header, err := authorization(sample, tenant.Production, sampleGrant(role, sample))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "  export %s='%s'\n", strings.ToUpper(role), header)
	}
	fmt.Fprintf(&b, `
  curl -H "Authorization: $VIEWER" -d '{"value": 3}' %[1]s/vote                  # vote
  curl -H "Authorization: $VIEWER" %[1]s/vote                                    # read the result
  curl -H "Authorization: $BROADCASTER" -X PATCH -d '{"round": 1}' %[1]s/channel_state
  curl -N -H "Authorization: $VIEWER" %[1]s/events                               # listen to what happens

To look at a poll, open %[2]s/live/console.html

`, origin+path, origin)
	_, err := io.WriteString(out, b.String())
	return err
}

func sampleGrant(role string, sample *tenant.Extension) sandbox.Grant {
	users := map[string]string{"broadcaster": sampleChannel, "admin": sample.OwnerUserID}
	g := sandbox.Grant{Role: role, ChannelID: sampleChannel, UserID: users[role], OpaqueID: "A-newcomer"}
	if g.UserID != "" {
		g.OpaqueID = sandbox.LoggedIn(g.UserID)
	}
	return g
}

// authorization returns the value of an Authorization header for the grant.
func authorization(extension *tenant.Extension, environment tenant.Environment, g sandbox.Grant) (string, error) {
	now := time.Now()
	secret, ok := extension.SigningSecret(environment, now)
	if !ok {
		return "", fmt.Errorf("%s has no active %s secret", extension.ClientID, environment)
	}
	g.ExtensionID, g.Stage = extension.ClientID, string(environment)
	token, err := sandbox.Issue(g, secret.Value, now)
	if err != nil {
		return "", fmt.Errorf("sign the token: %w", err)
	}
	return extension.ClientID + " " + token, nil
}
