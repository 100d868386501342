package cli

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/api/terminal"
	"github.com/acclaim-dev/acclaim/api/verifiable"
)

// publicFilesTimeout bounds the time for one of a site's files.
const publicFilesTimeout = time.Minute

const siteHelp = `A site is the address below which the folders log and public are, such as
https://polls.example, or a directory with a copy of them.`

// keysHelp explains --key of the commands that check votes.
const keysHelp = "verifier key of the log, from a source other than the site; repeat it for each key after a rotation"

// openSite returns the files of a site, from its address or from a directory.
func openSite(address string) verifiable.Source {
	if strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://") {
		return httpFiles{strings.TrimSuffix(address, "/"), &http.Client{Timeout: publicFilesTimeout}}
	}
	return verifiable.Directory{FS: os.DirFS(address)}
}

// httpFiles reads the files of a site by HTTP.
type httpFiles struct {
	base   string
	client *http.Client
}

// ReadFile implements [verifiable.Source].
func (h httpFiles) ReadFile(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.base+"/"+path, nil)
	if err != nil {
		return nil, err
	}
	answer, err := h.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusGone:
		return nil, fmt.Errorf("%w%s", fs.ErrNotExist, whyWithheld(answer.Header))
	default:
		return nil, fmt.Errorf("the site answers %s", answer.Status)
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, verifiable.MaxFile+1))
	if err == nil && len(data) > verifiable.MaxFile {
		err = fmt.Errorf("the file is larger than %d bytes", verifiable.MaxFile)
	}
	return data, err
}

// whyWithheld returns the reason that a site gives for a file that it does not show.
func whyWithheld(header http.Header) string {
	if why := header.Get("Acclaim-Withheld"); why != "" {
		return fmt.Sprintf(": the site withholds it (%.20q)", why)
	}
	if minimum := header.Get("Acclaim-Minimum"); minimum != "" {
		return fmt.Sprintf(": the site keeps entries from %.20q on", minimum)
	}
	return ""
}

// splitResultAddress splits the address of a poll's result.json into its site and its path there.
func splitResultAddress(address string) (site, path string, err error) {
	const elements = 5 // public, client, channel, poll, result.json
	parts := strings.Split(address, "/")
	first := len(parts) - elements
	if first < 0 || parts[first] != "public" || parts[len(parts)-1] != "result.json" {
		return "", "", fmt.Errorf("%q does not end like /public/CLIENT/CHANNEL/POLL/result.json", address)
	}
	path = strings.Join(parts[first:], "/")
	if site = strings.TrimSuffix(address, path); site == "" {
		site = "."
	}
	return site, path, nil
}

// requireFlag makes a flag of a command required.
func requireFlag(cmd *cobra.Command, name string) {
	if err := cmd.MarkFlagRequired(name); err != nil {
		panic(err) // the command defines it
	}
}

// drawFindings writes findings for people. Their texts come from the site.
func drawFindings(b *strings.Builder, found []verifiable.Finding) {
	for _, f := range found {
		fmt.Fprintf(b, "WRONG  %s\n", terminal.Plain(f.String()))
	}
}
