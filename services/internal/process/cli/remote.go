package cli

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/api/client"
)

// The environment variables that stand for flags which are not set.
const (
	serverVariable = "ACCLAIM_SERVER"
	tokenVariable  = "ACCLAIM_TOKEN"
)

const remoteHelp = `The command calls a service that runs at --server, with a credential: the value of an
Authorization header in --token-file or $` + tokenVariable + `, as ` + "`acclaim token`" + ` prints it, or
tokens that it signs itself with a secret of the extension in --key-file. Without any, it uses the
session of ` + "`acclaim login`" + ` at the server.`

// remoteFlags name a service, a credential for it and the form of the output.
type remoteFlags struct {
	server, token, tokenFile, keyFile, extension, channel, role, user string

	form string
}

// registerAll adds the flags to a command and to those below it.
func (r *remoteFlags) registerAll(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	registerServer(cmd, &r.server)
	f.StringVar(&r.token, "token", "", "value of the Authorization header; other users of this machine can see it (default $"+tokenVariable+")")
	f.StringVar(&r.tokenFile, "token-file", "", "file that holds it")
	f.StringVar(&r.keyFile, "key-file", "", "file with a secret of the extension, in base64 as in the registry, with which tokens are signed")
	f.StringVar(&r.extension, "extension", "", "with --key-file, client id of the extension")
	f.StringVar(&r.channel, "channel", "", "with --key-file, channel id")
	f.StringVar(&r.role, "role", "backend", "with --key-file, role: backend, admin or broadcaster")
	f.StringVar(&r.user, "user", "", "with --key-file, user id of the admin or the broadcaster")
	f.StringVarP(&r.form, "output", "o", tableForm, "form of the output: table, json or yaml")
	for name, values := range map[string][]string{"output": {tableForm, jsonForm, yamlForm}, "role": {"backend", "admin", "broadcaster"}} {
		if err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // the flags are defined above
		}
	}
	cmd.MarkFlagsMutuallyExclusive("token", "token-file", "key-file")
}

// open returns a client for the service. Where no credential is named, it has the session of "acclaim login".
func (r *remoteFlags) open(ctx context.Context) (*client.Client, error) {
	if r.form != tableForm && r.form != jsonForm && r.form != yamlForm {
		return nil, fmt.Errorf("--output must be table, json or yaml, not %q", r.form)
	}
	server, err := findServer(r.server)
	if err != nil {
		return nil, err
	}
	credentials, err := r.credentials()
	if err != nil {
		return nil, err
	}
	if credentials == nil {
		return openSession(ctx, server)
	}
	return client.New(server, credentials, client.Options{}), nil
}

func registerServer(cmd *cobra.Command, server *string) {
	cmd.PersistentFlags().StringVar(server, "server", "", "base address of the API (default $"+serverVariable+" or http://127.0.0.1:8080/v1)")
}

// findServer returns the base address of the API that a flag names, or the default one.
func findServer(named string) (string, error) {
	server := cmp.Or(named, os.Getenv(serverVariable), "http://127.0.0.1:8080/v1")
	return server, checkServer(server)
}

// checkServer returns what is wrong with the base address of an API.
func checkServer(server string) error {
	address, err := url.Parse(server)
	switch {
	case err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "":
		return fmt.Errorf("--server must be an address such as https://acclaim.example/v1, not %q", server)
	case strings.Trim(address.Path, "/") == "":
		return fmt.Errorf("--server must have the path of the API: %s/v1 for production, %[1]s/sandbox/v1 for the sandbox", strings.TrimSuffix(server, "/"))
	}
	return nil
}

// showHelp runs a command that has only others below it.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// credentials returns those that flags or the environment name, nil if neither does.
func (r *remoteFlags) credentials() (client.Credentials, error) {
	if r.keyFile != "" {
		text, err := os.ReadFile(r.keyFile)
		if err != nil {
			return nil, err
		}
		key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
		if err != nil || len(key) == 0 {
			return nil, fmt.Errorf("--key-file: %s holds no key in base64", r.keyFile)
		}
		if r.extension == "" {
			return nil, errors.New("--key-file needs --extension")
		}
		signer := client.Signer{ClientID: r.extension, Keys: [][]byte{key}, Role: r.role, Channel: r.channel, UserID: r.user}
		return signer.Credentials, nil
	}
	token := cmp.Or(r.token, os.Getenv(tokenVariable))
	if r.tokenFile != "" {
		text, err := os.ReadFile(r.tokenFile)
		if err != nil {
			return nil, err
		}
		if token = string(text); strings.TrimSpace(token) == "" {
			return nil, fmt.Errorf("--token-file: %s is empty", r.tokenFile)
		}
	}
	if token = strings.TrimSpace(token); token == "" {
		return nil, nil //nolint:nilnil // the session of "acclaim login" is left
	}
	return client.UseToken(token), nil
}

// The forms of the output.
const (
	tableForm = "table"
	jsonForm  = "json"
	yamlForm  = "yaml"
)

// writeValue writes a value as JSON or YAML, or as the table that draw makes.
func (r *remoteFlags) writeValue(w io.Writer, value any, draw func(table *strings.Builder)) error {
	switch r.form {
	case jsonForm:
		return json.NewEncoder(w).Encode(value)
	case yamlForm:
		text, err := yaml.Marshal(value)
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	}
	var text strings.Builder
	draw(&text)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(table, text.String()); err != nil {
		return err
	}
	return table.Flush()
}
