package main

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

// newProbe asks as a health check does; the image has no other program that can.
func newProbe() *cobra.Command {
	var status int
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "probe URL",
		Short: "Ask a running service, for health checks in an image without a shell",
		Long: `Probe sends one GET request and succeeds if the answer has the status asked for:

  acclaim probe http://127.0.0.1:9090/readyz
  acclaim probe --status 401 http://127.0.0.1:8080/v1/vote      # it asks for a credential`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, args[0], nil)
			if err != nil {
				return err
			}
			response, err := (&http.Client{Timeout: timeout}).Do(request)
			if err != nil {
				return err
			}
			defer func() { _ = response.Body.Close() }()
			body, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
			if err != nil {
				return err
			}
			if response.StatusCode != status {
				return fmt.Errorf("%s answers %s, not %d: %s", args[0], response.Status, status, body)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&status, "status", http.StatusOK, "status that the answer must have")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Second, "how long to wait for the answer")
	return cmd
}
