package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/api/client"
)

// documentNames returns the names of documents on the command line.
func documentNames() []string {
	return []string{"channel", "extension", "hidden", "channel-config", "extension-config"}
}

func parseDocument(name string) (client.Document, error) {
	switch name {
	case "channel":
		return client.ChannelState, nil
	case "extension":
		return client.ExtensionState, nil
	case "hidden":
		return client.HiddenState, nil
	case "channel-config":
		return client.ChannelConfig, nil
	case "extension-config":
		return client.ExtensionConfig, nil
	}
	return "", fmt.Errorf("there is no document %q: it is one of %s", name, strings.Join(documentNames(), ", "))
}

func newDocumentGet() *cobra.Command {
	var remote remoteFlags
	cmd := &cobra.Command{
		Use:       "get DOCUMENT",
		Short:     "Print a document of the state or the configuration of a running service",
		Long:      "Get prints a document: " + strings.Join(documentNames(), ", ") + ".\n\n" + remoteHelp,
		Args:      cobra.ExactArgs(1),
		ValidArgs: documentNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return remote.changeDocument(cmd, args[0], nil)
		},
	}
	remote.registerAll(cmd)
	return cmd
}

func newDocumentSet() *cobra.Command {
	var remote remoteFlags
	patch := false
	cmd := &cobra.Command{
		Use:   "set DOCUMENT JSON",
		Short: "Replace a document of a running service and print it",
		Long: `Set puts a JSON object in place of a document. With --patch it applies a JSON Patch
(an array) or a JSON Merge Patch (an object). @FILE reads the JSON from a file, - from
the standard input.

` + remoteHelp,
		Example: `  acclaim state set channel '{"round": 2}'
  acclaim state set channel --patch '[{"op": "add", "path": "/winner", "value": "Zed"}]'`,
		Args:      cobra.ExactArgs(2),
		ValidArgs: documentNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := readArgument(cmd, args[1])
			if err != nil {
				return err
			}
			return remote.changeDocument(cmd, args[0], func(c *client.Client, d client.Document) error {
				if patch {
					return c.PatchDocument(cmd.Context(), d, body)
				}
				return c.ReplaceDocument(cmd.Context(), d, body, "")
			})
		},
	}
	cmd.Flags().BoolVar(&patch, "patch", false, "apply a patch")
	remote.registerAll(cmd)
	return cmd
}

// changeDocument changes a document, unless change is nil, and prints it.
func (r *remoteFlags) changeDocument(cmd *cobra.Command, name string, change func(*client.Client, client.Document) error) error {
	d, err := parseDocument(name)
	if err != nil {
		return err
	}
	c, err := r.open(cmd.Context())
	if err != nil {
		return err
	}
	if change != nil {
		if err := change(c, d); err != nil {
			return err
		}
	}
	body, _, err := c.ReadDocument(cmd.Context(), d)
	if err != nil {
		return err
	}
	return r.writeValue(cmd.OutOrStdout(), body, func(table *strings.Builder) {
		text, _ := json.MarshalIndent(body, "", "  ") // the service answers JSON
		fmt.Fprintf(table, "%s\n", text)
	})
}

// readArgument returns the JSON that an argument is or names.
func readArgument(cmd *cobra.Command, argument string) (text json.RawMessage, err error) {
	text = json.RawMessage(argument)
	switch file, isFile := strings.CutPrefix(argument, "@"); {
	case isFile:
		text, err = os.ReadFile(file)
	case argument == "-":
		text, err = io.ReadAll(cmd.InOrStdin())
	}
	if err == nil && !json.Valid(text) {
		err = errors.New("the document is not JSON")
	}
	return text, err
}
