package cli

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// newProbe returns the command for health checks: the image has no other program that
// can send a request.
func newProbe() *cobra.Command {
	var status int
	var timeout time.Duration
	var authority string
	cmd := &cobra.Command{
		Use:   "probe URL",
		Short: "Send a request to a running service, for health checks in an image without a shell",
		Long: `Probe sends one GET request and succeeds if the answer has the expected status:

  acclaim probe http://127.0.0.1:9090/readyz
  acclaim probe --status 401 http://127.0.0.1:8080/v1/vote      # a credential is missing`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, args[0], nil)
			if err != nil {
				return err
			}
			transport, err := newTrustingTransport(authority)
			if err != nil {
				return err
			}
			response, err := (&http.Client{Timeout: timeout, Transport: transport}).Do(request)
			if err != nil {
				return problem{err}
			}
			defer func() { _ = response.Body.Close() }()
			body, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
			if err != nil {
				return problem{err}
			}
			if response.StatusCode != status {
				return problem{fmt.Errorf("%s answers %s, not %d: %s", args[0], response.Status, status, body)}
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&status, "status", http.StatusOK, "expected status of the answer")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Second, "time limit for the answer")
	cmd.Flags().StringVar(&authority, "ca", "", "file of the certificates (PEM) that sign those of a service with TLS (default: public ones)")
	return cmd
}

// newTrustingTransport returns a transport that trusts the certificates in a file, or with
// no file the public ones.
func newTrustingTransport(file string) (*http.Transport, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if file == "" {
		return transport, nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%s has no certificate", file)
	}
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	return transport, nil
}
