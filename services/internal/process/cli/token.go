package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/sandbox"
)

func newToken() *cobra.Command {
	var (
		g                                    sandbox.Grant
		extension, environment, registryFile string
	)
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Print an Authorization header value for an extension",
		Long: `Token prints the value of an Authorization header, signed with the newest active
key that the registry has for the extension.`,
		Example: `  acclaim token --extension sample-extension --role viewer --channel 1 --user 42
  curl -H "Authorization: $(acclaim token --extension sample-extension --role backend --channel 1)" …
  acclaim token --extension sample-extension --role broadcaster --channel 1 --for 8h   # for a show`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			env, err := tenant.ParseEnvironment(environment)
			if err != nil {
				return err
			}
			known, err := findExtension(cmd.ErrOrStderr(), findRegistry(registryFile), extension)
			if err != nil {
				return err
			}
			if longest := known.Limits(env).TokenLife; g.Lifetime < time.Second || g.Lifetime > longest {
				return fmt.Errorf("--for is %v, should be from 1s to %v, the limits.tokenHours of the extension", g.Lifetime, longest)
			}
			if g.OpaqueID == "" {
				g.OpaqueID = opaqueID(g.UserID)
			}
			header, err := authorization(known, env, g)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), header)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&extension, "extension", "", "client id of the extension")
	f.StringVar(&g.Role, "role", "", "viewer, broadcaster, admin or backend")
	f.StringVar(&g.ChannelID, "channel", "", "channel id")
	f.StringVar(&g.UserID, "user", "", "shared user id; without it the viewer has not shared one")
	f.StringVar(&g.OpaqueID, "opaque", "", "opaque user id (default U and the user id, or A and random characters)")
	f.DurationVar(&g.Lifetime, "for", contract.SandboxTokenLifetime, "how long the token is good")
	f.StringVar(&environment, "environment", string(tenant.Production), "production or sandbox")
	f.StringVar(&registryFile, "extensions", "", extensionsHelp)
	for _, name := range []string{"extension", "role", "channel"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // the flags are defined above
		}
	}
	return cmd
}

// findExtension returns an extension of the registry in a file, or of the built-in sample where
// the file is "", which it reports to notes.
func findExtension(notes io.Writer, file, clientID string) (*tenant.Extension, error) {
	open := func() (*tenant.Directory, error) { return tenant.Open(file, nil) }
	if file == "" {
		open = tenant.OpenSample
	}
	directory, err := open()
	if err != nil {
		return nil, err
	}
	known, ok := directory.Registry().ByClientID(clientID)
	switch {
	case ok && file == "":
		_, _ = fmt.Fprintf(notes, "%s does not exist: the token is of the built-in sample extension\n", extensionsFile)
	case file == "":
		return nil, fmt.Errorf("%s does not exist, and the built-in sample has no extension %q: write a registry with \"acclaim init\", or name its file with --extensions", extensionsFile, clientID)
	case !ok:
		return nil, fmt.Errorf("the registry %s has no extension %q", file, clientID)
	}
	return known, nil
}

func opaqueID(userID string) string {
	if userID == "" {
		return sandbox.NewAnonymousID()
	}
	return sandbox.UserOpaqueID(userID)
}

// authorization returns the value of an Authorization header for the grant.
func authorization(extension *tenant.Extension, environment tenant.Environment, g sandbox.Grant) (string, error) {
	now := time.Now()
	secret, ok := extension.SigningSecret(environment, now)
	if !ok {
		return "", fmt.Errorf("%s has no active %s secret", extension.ClientID, environment)
	}
	g.ExtensionID, g.Stage = extension.ClientID, string(environment)
	token, err := sandbox.IssueToken(g, secret.Value, now)
	if err != nil {
		return "", fmt.Errorf("sign the token: %w", err)
	}
	return extension.ClientID + " " + token, nil
}
