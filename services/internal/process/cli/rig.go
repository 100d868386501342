package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/net/netutil"

	"github.com/acclaim-dev/acclaim/services/internal/face/rig"
	"github.com/acclaim-dev/acclaim/services/internal/process/app"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// rigFlags are the flags of rig, beside those of serve.
type rigFlags struct {
	listen, extension, channel string
	views                      map[string]string
	domains                    rig.Domains
}

func newRig() *cobra.Command {
	var flags serveFlags
	var rigged rigFlags
	cmd := &cobra.Command{
		Use:     "rig DIR|ZIP",
		GroupID: serveGroup,
		Short:   "Run everything, and show an extension's front end as the platform does",
		Long: `Rig serves as serve does, and beside it a page with the views of an extension, from
a folder or from the archive that is uploaded to the platform: panel, overlay,
component, mobile and the broadcaster's. Each view has a helper (window.Twitch.ext)
with tokens that the extension's secret signs.

It listens on loopback only, because it signs tokens for anyone who reaches it.`,
		Example: `  acclaim rig ./my-extension
  acclaim rig --view panel=dist/index.html ./my-extension`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !flags.app.IsLocal() || flags.app.TLSCert != "" {
				return errors.New("rig listens on loopback only, and without TLS")
			}
			return rigged.run(cmd, &flags, args[0])
		},
	}
	flags.register(cmd.Flags())
	rigged.register(cmd.Flags())
	return cmd
}

func (r *rigFlags) register(f *pflag.FlagSet) {
	f.StringVar(&r.listen, "rig-listen", "127.0.0.1:8090", "loopback address of the page; the extension's files are at the same port of localhost")
	f.StringVar(&r.extension, "extension", sampleExtension, "client id of the extension in the registry, whose secret signs tokens")
	f.StringVar(&r.channel, "channel", sampleChannel, "channel id, and the user id of its broadcaster")
	f.StringToStringVar(&r.views, "view", nil, "file of a view (panel, video_overlay, video_component, mobile, config or live_config), as panel=dist/index.html (default: panel.html and so on, index.html as a panel)")
	f.StringSliceVar(&r.domains.Image, "image-domains", nil, "origins that images may come from: the allow-list of the extension's version")
	f.StringSliceVar(&r.domains.Media, "media-domains", nil, "origins that audio and video may come from")
	f.StringSliceVar(&r.domains.Fetch, "fetch-domains", nil, "origins that may be asked, beside this program")
}

// run serves until the command's context is done.
func (r *rigFlags) run(cmd *cobra.Command, flags *serveFlags, name string) error {
	if err := r.domains.Check(); err != nil {
		return err
	}
	files, closer, err := openExtension(name)
	if err != nil {
		return err
	}
	defer closer.Close()
	views, err := rig.FindViews(files, r.views)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	listener, err := listenLoopback(cmd.Context(), r.listen)
	if err != nil {
		return err
	}
	defer listener.Close() //nolint:errcheck // the server closes it, too
	return serve(cmd, flags, app.Services(), app.BothMounts(), func(ctx context.Context, process *app.Process) error {
		config := rig.Config{ClientID: r.extension, Channel: r.channel, Files: files, Views: views, Domains: r.domains,
			API: "http://" + app.ReachableAddress(process.PublicAddress()), Secret: func() ([]byte, error) { return r.secret(process) }}
		if _, err := config.Secret(); err != nil {
			return err
		}
		return serveRig(ctx, cmd.OutOrStdout(), listener, config)
	})
}

// secret returns the secret of the extension that is active now.
func (r *rigFlags) secret(process *app.Process) ([]byte, error) {
	extension, ok := process.Registry().ByClientID(r.extension)
	if !ok {
		return nil, fmt.Errorf("the registry has no extension %q; name one with --extension", r.extension)
	}
	secret, ok := extension.SigningSecret(tenant.Production, time.Now())
	if !ok {
		return nil, fmt.Errorf("%s has no active production secret", r.extension)
	}
	return secret.Value, nil
}

// listenLoopback listens at an address that only this machine reaches, and that is also
// "localhost" to a browser.
func listenLoopback(ctx context.Context, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("--rig-listen: %w", err)
	}
	switch host {
	case "localhost":
		host = "127.0.0.1"
	case "127.0.0.1", "::1":
	default:
		return nil, fmt.Errorf("--rig-listen %s: the rig signs tokens for anyone who reaches it, so its host is 127.0.0.1, [::1] or localhost", address)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("--rig-listen: %w", err)
	}
	return listener, nil
}

// maxRigConnections limits the connections to the rig, which share the files of the process with those of
// the program. A browser opens no more of them in all; others wait.
const maxRigConnections = 256

// serveRig serves the page until the context is done.
func serveRig(ctx context.Context, out io.Writer, listener net.Listener, config rig.Config) error {
	handler, err := rig.Handler(config, listener.Addr().(*net.TCPAddr))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // it has nothing to lose
	if _, err := fmt.Fprintf(out, "rig http://%s/\n", listener.Addr()); err != nil {
		return fmt.Errorf("print the rig's address: %w", err)
	}
	if err := server.Serve(netutil.LimitListener(listener, maxRigConnections)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("the rig: %w", err)
	}
	return nil
}
