package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/operator/internal/overview"
)

func newStatus(s *session) *cobra.Command {
	var all bool
	var form string
	command := &cobra.Command{
		Use:   "status [BACKEND]",
		Short: "Show everything as a tree, problems first",
		Long: `Status shows the operators, Backends, their services and backups, Extensions and Polls of
a namespace as a tree. What is not OK comes first, with its reason and its last Events.

An object that is Waiting may become OK by itself. A person must look at one that is Wrong:
the operator has given it up, it is not ready for five minutes, or it is an operator that
does not work. The command exits with 1 while anything is not OK.`,
		Example: `  kubectl acclaim status -A
  kubectl acclaim status default --namespace acclaim -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			name := ""
			switch {
			case len(args) == 1 && all:
				return errors.New("name a BACKEND or --all-namespaces, not both")
			case len(args) == 1:
				name = args[0]
			}
			if form != treeForm && form != jsonForm {
				return fmt.Errorf("--output must be tree or json, not %q", form)
			}
			connection, err := s.connect()
			if err != nil {
				return err
			}
			namespace := connection.namespace
			if all {
				namespace = ""
			}
			o, err := overview.Reader{Client: connection, Now: time.Now()}.Read(c.Context(), namespace, name)
			if err != nil {
				return err
			}
			return writeOverview(c.OutOrStdout(), o, form)
		},
	}
	command.Flags().BoolVarP(&all, "all-namespaces", "A", false, "those of all namespaces")
	command.Flags().StringVarP(&form, "output", "o", treeForm, "form of the output: tree or json")
	return command
}

// The forms of the output.
const (
	treeForm = "tree"
	jsonForm = "json"
)

// writeOverview writes an overview, and returns an error while anything is not OK.
func writeOverview(w io.Writer, o *overview.Overview, form string) error {
	var err error
	if form == jsonForm {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(o)
	} else {
		err = o.Print(w)
	}
	if err == nil && o.Failing > 0 {
		err = errNotOK
	}
	return err
}
