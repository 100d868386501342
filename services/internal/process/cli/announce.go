package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/process/app"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// announce prints the ready line and, for the sample extension, commands to paste.
func announce(out io.Writer, mounts []app.Mount, process *app.Process) error {
	origin := "http://" + process.ClientAddress(process.PublicAddress())
	if process.UsesTLS() {
		origin = "https://" + process.ClientAddress(process.PublicAddress())
	}
	line := "ready base=" + origin + mounts[0].Path
	if len(mounts) > 1 {
		line += " sandbox=" + origin + mounts[1].Path
	}
	line += " admin=http://" + app.ReachableAddress(process.AdminAddress())
	if address := process.GameAddress(); address != nil {
		line += " gamelink=" + strings.Replace(origin[:strings.Index(origin, ":")], "http", "ws", 1) + "://" + process.ClientAddress(address)
	}
	if address := process.MaintenanceAddress(); address != nil {
		line += " maintenance=http://" + app.ReachableAddress(address)
	}
	if _, err := fmt.Fprintln(out, line); err != nil {
		return fmt.Errorf("print the ready line: %w", err)
	}
	sample, ok := process.Registry().ByClientID(sampleExtension)
	if !ok || len(mounts) == 1 {
		return nil
	}
	// Tokens of a key that is not public do not belong into logs. A process with public keys
	// listens on loopback only.
	if secret, ok := sample.SigningSecret(tenant.Production, time.Now()); !ok || !secret.IsSample() {
		return nil
	}
	if process.ServesSample() {
		_, err := fmt.Fprintf(out, "\n%s does not exist, so this is the built-in sample extension, whose keys are public.\n\"acclaim init\" writes a registry of your own.\n", extensionsFile)
		if err != nil {
			return fmt.Errorf("print the ready line: %w", err)
		}
	}
	return printHints(out, origin, mounts[0].Path, sample)
}

const (
	sampleExtension = "sample-extension"
	sampleChannel   = "1"
)

// printHints prints a token for each role of the sample extension, a few requests and
// the address of a page that shows a poll.
func printHints(out io.Writer, origin, path string, sample *tenant.Extension) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\nTo try it, paste (the tokens are good for %v):\n\n", contract.SandboxTokenLifetime)
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
  curl -N -H "Authorization: $VIEWER" %[1]s/events                               # receive events

To see a poll, open %[2]s/live/console.html

`, origin+path, origin)
	_, err := io.WriteString(out, b.String())
	return err
}

func sampleGrant(role string, sample *tenant.Extension) sandbox.Grant {
	users := map[string]string{"broadcaster": sampleChannel, "admin": sample.OwnerUserID}
	g := sandbox.Grant{Role: role, ChannelID: sampleChannel, UserID: users[role], OpaqueID: "A-newcomer"}
	if g.UserID != "" {
		g.OpaqueID = sandbox.UserOpaqueID(g.UserID)
	}
	return g
}
