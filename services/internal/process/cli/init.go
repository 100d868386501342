package cli

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// newExtension holds what init writes into a registry.
type newExtension struct {
	clientID, owner string
	secret          string // base64; "": generate one
}

func newInit() *cobra.Command {
	var e newExtension
	var file, secretFile string
	cmd := &cobra.Command{
		Use:     "init",
		GroupID: serveGroup,
		Short:   "Write an extension registry by asking for what belongs into it",
		Long: `Init writes an extension registry with one extension. It asks for the client id and
the secret that the platform's console shows, and generates a secret where there is none
yet. With --extension it asks nothing. It never overwrites a file.`,
		Example: `  acclaim init
  acclaim init --extension my-extension --owner 1000 --secret-file secret.txt`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
				return refuseRegistry(file, err)
			}
			if err := e.complete(cmd, secretFile); err != nil {
				return err
			}
			return e.write(cmd.OutOrStdout(), file)
		},
	}
	f := cmd.Flags()
	f.StringVar(&file, "extensions", extensionsFile, "file of the registry, which must not exist")
	f.StringVar(&e.clientID, "extension", "", "client id of the extension; without it the command asks")
	f.StringVar(&e.owner, "owner", "", "user id of the extension's owner at the platform, who is an admin")
	f.StringVar(&secretFile, "secret-file", "", "file with the extension's secret in base64, - for the standard input (default: a generated secret)")
	return cmd
}

// refuseRegistry returns why there can be no new registry at a path that has something.
func refuseRegistry(file string, err error) error {
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return fmt.Errorf("%s exists, and init overwrites nothing: add the extension there, or name another file with --extensions", file)
}

// complete reads what flags name, asks for the rest if there is no client id, and checks it.
func (e *newExtension) complete(cmd *cobra.Command, secretFile string) error {
	if e.clientID == "" {
		if secretFile != "" {
			return errors.New("--secret-file needs --extension")
		}
		return e.ask(cmd)
	}
	if err := tenant.CheckID(e.clientID); err != nil {
		return fmt.Errorf("--extension: %w", err)
	}
	if secretFile == "" {
		return nil
	}
	text, err := readFileOrInput(cmd, secretFile)
	if err != nil {
		return err
	}
	if e.secret = strings.TrimSpace(string(text)); e.secret == "" {
		return fmt.Errorf("--secret-file: %s is empty", secretFile)
	}
	if err := checkSecret(e.secret); err != nil {
		return fmt.Errorf("--secret-file: the secret %w", err)
	}
	return nil
}

func readFileOrInput(cmd *cobra.Command, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(cmd.InOrStdin())
	}
	return os.ReadFile(name)
}

// checkSecret returns what is wrong with a secret, as the end of a sentence about it.
func checkSecret(text string) error {
	secret, err := tenant.ParseSecret(text)
	switch {
	case err != nil:
		return fmt.Errorf("%w; the extension's secret is needed, not the API client secret", err)
	case secret.IsSample():
		return errors.New("is a published sample, with which anyone can sign tokens")
	}
	return nil
}

// ask asks for the client id, the secret and the owner.
func (e *newExtension) ask(cmd *cobra.Command) (err error) {
	d := dialogue{lines: readLines(cmd.InOrStdin()), out: cmd.ErrOrStderr()}
	ctx := cmd.Context()
	if e.clientID, err = d.ask(ctx, "Client id of the extension", tenant.CheckID); err != nil {
		return err
	}
	orNothing := func(text string) error {
		if text == "" {
			return nil
		}
		return checkSecret(text)
	}
	if e.secret, err = d.ask(ctx, "Its secret in base64 (empty: generate one)", orNothing); err != nil || e.owner != "" {
		return err
	}
	e.owner, err = d.ask(ctx, "User id of its owner at the platform (empty: none)", func(string) error { return nil })
	return err
}

// dialogue asks questions of a person, who answers in lines.
type dialogue struct {
	lines <-chan string
	out   io.Writer
}

// readLines returns the lines of r. It reads beside its caller, which may stop waiting.
func readLines(r io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(r); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}

// ask returns the first answer with which check finds nothing wrong.
func (d dialogue) ask(ctx context.Context, question string, check func(string) error) (string, error) {
	for {
		if _, err := fmt.Fprintf(d.out, "%s: ", question); err != nil {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case line, more := <-d.lines:
			if !more {
				return "", errors.New("the answers ended; --extension, --owner and --secret-file stand for them")
			}
			answer := strings.TrimSpace(line)
			err := check(answer)
			if err == nil {
				return answer, nil
			}
			if _, err := fmt.Fprintf(d.out, "That does not work: it %v.\n", err); err != nil {
				return "", err
			}
		}
	}
}

// write writes the registry and says what to do next.
func (e *newExtension) write(out io.Writer, file string) error {
	origin := "the given secret"
	if e.secret == "" {
		e.secret, origin = generateSecret(), "a generated secret"
	}
	text := e.render()
	registry, err := tenant.Parse(text)
	if err != nil {
		return fmt.Errorf("the registry cannot be used: %w", err)
	}
	if err := createFile(file, text); err != nil {
		return refuseRegistry(file, err)
	}
	flag := ""
	if file != extensionsFile {
		flag = " --extensions " + file
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Wrote %s, which only you can read, with the extension %s and %s.\n", file, e.clientID, origin)
	if len(registry.ShortKeys()) > 0 {
		fmt.Fprintln(&b, "The secret has less than 32 bytes: replace it when you can.")
	}
	fmt.Fprintf(&b, "\nNext:\n\n  acclaim serve%s\n  acclaim token --extension %s --role broadcaster --channel CHANNEL%s\n", flag, e.clientID, flag)
	_, err = io.WriteString(out, b.String())
	return err
}

func generateSecret() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return base64.StdEncoding.EncodeToString(key)
}

// render returns the registry as text. The sandbox has a secret of its own, with which the
// program signs the tokens that it gives to anyone there.
func (e *newExtension) render() []byte {
	owner := ""
	if e.owner != "" {
		owner = fmt.Sprintf("  ownerUserID: %q\n", e.owner)
	}
	return fmt.Appendf(nil, `# The extension registry of Acclaim. The program reads it again when it changes.
# Keep it secret: a key signs tokens of the extension for any viewer and any role.
extensions:
- clientID: %q
%s  secrets:          # of production, as the platform's console shows it
  - value: %q
  sandbox:
    secrets:
    - value: %q
`, e.clientID, owner, e.secret, generateSecret())
}

// createFile writes a file that must not exist.
func createFile(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}
