package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/terminal"
)

func newLogin() *cobra.Command {
	var server, extension string
	cmd := &cobra.Command{
		Use:     "login",
		GroupID: remoteGroup,
		Short:   "Sign in as staff with an account at the extension's issuer",
		Long: `Login prints an address and a code. Open the address in any browser, on any machine, and enter the
code there. Enter a code only if you began the sign-in yourself: who began it gets your rights.

The session is stored for this server in the user's configuration folder, and other commands use it
when no credential is named. It ends 30 minutes after its last use, 12 hours after it began, or
with "acclaim logout".`,
		Example: `  acclaim login --server https://acclaim.example/v1 --extension my-extension`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			base, err := findServer(server)
			if err != nil {
				return err
			}
			// Each request is sent once: a code works once, and the loop asks again.
			c := client.New(base, client.UseToken(""), client.Options{Attempts: 1})
			l := login{client: c, extension: extension, stderr: cmd.ErrOrStderr(), wait: waitFor}
			credential, err := l.signIn(cmd.Context())
			if err != nil {
				return err
			}
			if err := storeSession(base, credential); err != nil {
				return err
			}
			return describeSession(cmd, base, credential)
		},
	}
	registerServer(cmd, &server)
	cmd.Flags().StringVar(&extension, "extension", "", "client id of the extension (default: the only one of the server)")
	return cmd
}

func newLogout() *cobra.Command {
	var server string
	cmd := &cobra.Command{
		Use:     "logout",
		GroupID: remoteGroup,
		Short:   `End the session of "acclaim login"`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			base, err := findServer(server)
			if err != nil {
				return err
			}
			credential, err := readSession(base)
			if err != nil {
				return err
			}
			if credential == "" {
				return fmt.Errorf("there is no session at %s", base)
			}
			c := client.New(base, client.UseToken(credential), client.Options{})
			_, err = c.Call(cmd.Context(), client.Request{Method: http.MethodDelete, Path: "/staff"}, nil)
			if err != nil && client.StatusOf(err) != http.StatusUnauthorized { // a session that has ended is 401
				return err
			}
			if err := removeSession(base); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "The session at %s has ended.\n", base)
			return err
		},
	}
	registerServer(cmd, &server)
	return cmd
}

// describeSession prints who has signed in, for which channel and until when.
func describeSession(cmd *cobra.Command, server, credential string) error {
	session, err := extendSession(cmd.Context(), client.New(server, client.UseToken(credential), client.Options{}))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Signed in as %s, for %s in channel %s of %s.\nThe session ends at %s unless a command uses it.\n",
		terminal.Plain(session.Name), terminal.Plain(strings.Join(session.Scopes, " and ")), terminal.Plain(session.Channel),
		terminal.Plain(session.Extension), formatTime(session.Expires))
	return err
}

// login is a sign-in at a terminal (contract, section 4.23).
type login struct {
	client    *client.Client
	extension string
	stderr    io.Writer
	wait      func(context.Context, time.Duration) error
}

// deviceSignIn has the codes of a sign-in.
type deviceSignIn struct {
	UserCode, VerificationURI, VerificationURIComplete, DeviceCode string
	Interval, ExpiresIn                                            int64 // seconds
}

// signIn returns the credential of a session of the person who enters the code that it shows.
func (l *login) signIn(ctx context.Context) (credential string, err error) {
	if l.extension == "" {
		if l.extension, err = l.findExtension(ctx); err != nil {
			return "", err
		}
	}
	var begun deviceSignIn
	body := map[string]string{"extension": l.extension}
	if _, err := l.client.Call(ctx, client.Request{Method: http.MethodPost, Path: "/staff/device_signin", Body: body}, &begun); err != nil {
		return "", err
	}
	_, _ = fmt.Fprintf(l.stderr, "Open   %s\nCode   %s\n\n", terminal.Plain(begun.VerificationURI), terminal.Plain(begun.UserCode))
	if begun.VerificationURIComplete != "" {
		_, _ = fmt.Fprintf(l.stderr, "Or open %s\nand check that it shows the same code.\n\n", terminal.Plain(begun.VerificationURIComplete))
	}
	return l.awaitSession(ctx, begun)
}

// findExtension returns the only extension of the server.
func (l *login) findExtension(ctx context.Context) (string, error) {
	var offered struct{ SignIns []struct{ Extension string } }
	if _, err := l.client.Call(ctx, client.Request{Method: http.MethodGet, Path: "/staff/signins"}, &offered); err != nil {
		return "", err
	}
	if len(offered.SignIns) == 0 {
		return "", errors.New("the server names no sign-in: name the extension with --extension")
	}
	return offered.SignIns[0].Extension, nil
}

// awaitSession asks for the session until the person has signed in, or has refused, or the code has expired.
func (l *login) awaitSession(ctx context.Context, begun deviceSignIn) (credential string, err error) {
	interval, left := time.Duration(max(begun.Interval, 1))*time.Second, time.Duration(begun.ExpiresIn)*time.Second
	bar := newStepBar(l.stderr, "Waiting for the sign-in")
	defer func() { _ = bar.Finish() }() // it only shows
	for left > 0 {
		if err := l.wait(ctx, interval); err != nil {
			return "", err
		}
		left -= interval
		bar.step(int(begun.ExpiresIn / max(begun.Interval, 1)))
		credential, err = l.finish(ctx, begun.DeviceCode)
		if err == nil || ctx.Err() != nil {
			return credential, err
		}
		again := false
		if interval, again = waitAfter(err, interval); !again {
			return "", err
		}
	}
	return "", fmt.Errorf("the code has expired: begin another sign-in with \"acclaim login\" (the last answer: %w)", err)
}

// waitAfter returns the interval after a request without a session, and whether another request may have one.
func waitAfter(err error, interval time.Duration) (next time.Duration, again bool) {
	refusal, answered := errors.AsType[*client.Error](err)
	switch {
	case answered && refusal.Reason == contract.SignInPending:
		return interval, true
	case answered && refusal.Reason == contract.SignInTooFast:
		return interval + 5*time.Second, true
	case !answered || refusal.Status >= http.StatusInternalServerError || refusal.Status == http.StatusTooManyRequests:
		return 2 * interval, true // the server or the issuer cannot be asked now
	}
	return interval, false
}

func (l *login) finish(ctx context.Context, deviceCode string) (credential string, err error) {
	var session struct{ Credential string }
	body := map[string]string{"extension": l.extension, "deviceCode": deviceCode}
	_, err = l.client.Call(ctx, client.Request{Method: http.MethodPost, Path: "/staff/device_session", Body: body}, &session)
	return session.Credential, err
}

// waitFor waits for a time, or returns the error of the context.
func waitFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
