// Package app is one process of the program: it opens the listeners and the store,
// starts the services over it, serves, and drains.
//
// A service is one row of [Services]. Everything that concerns all services iterates
// over the rows: commands, routes, forwarding, metrics, erasure, retention and
// verification. This package wires the parts together and holds no rule of its own.
// It may not import a command.
package app

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/acclaim-dev/acclaim/api/tracing"
	"github.com/acclaim-dev/acclaim/api/verifiable"
	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/feed/publish"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// Config configures a process. Errors name the flag that sets a field.
type Config struct {
	// Listen is the address of the API, AdminListen that of /healthz, /readyz and
	// /metrics, and MaintenanceListen that of /erase and /debug/pprof; "" is AdminListen.
	// Port 0 picks one.
	Listen, AdminListen, MaintenanceListen string
	// GameListen is the address of GameLink, the protocol of games; "": it is not served,
	// unless it is the only service, which then has Listen.
	GameListen string
	// Games reports that GameLink is served here or by another process.
	Games bool
	// TLSCert and TLSKey are the files of the API's certificate and key; "": no TLS.
	TLSCert, TLSKey string
	// Domains are the names for which the process gets certificates by ACME, from the authority
	// whose directory is at ACMEDirectory.
	Domains       []string
	ACMEDirectory string
	Store         StoreConfig
	// PeerListen is the address for the other processes that share the database,
	// PeerAdvertise the one at which they reach it; "" is that of PeerListen.
	PeerListen, PeerAdvertise string
	// Extensions is the file of the extension registry; "": the built-in sample extension.
	Extensions string
	// MemoryBudget is the memory of the process in bytes, which its limits follow; 0: 1 GiB.
	MemoryBudget int64
	// ConnectionsPerAddress limits the connections of one client address; 0: an eighth of
	// all, and at most 1,024. TrustedProxies have no limit and name their clients, whose
	// requests count instead.
	ConnectionsPerAddress int
	TrustedProxies        httpapi.TrustedProxies
	// ShutdownTimeout limits [Process.Close]. For DrainDelay of that time the process
	// goes on serving, while /readyz fails.
	ShutdownTimeout, DrainDelay time.Duration

	// SinkAllowPrivate lets sinks have addresses that are not public, and plain http.
	SinkAllowPrivate bool

	// Results signs the results of polls whose votes can be checked; without a key there are none.
	Results ResultSigning

	Services []Service
	Mounts   []Mount // at least one
	Build    Build
	Logger   *slog.Logger
	// LogRequests says which requests have a line in the log.
	LogRequests operation.RequestLog
	Tracing     *tracing.Tracing // nil: off
	Machine     Machine
}

// ResultSigning has what signs results.
type ResultSigning struct {
	// EarlierKey signs beside Key after a rotation; nil for none.
	Key, EarlierKey ed25519.PrivateKey
	// Origin is the name of the log before its random suffix, such as votes.example.org/acclaim.
	Origin string
	Mark   publish.Mark // nil for none
	// Policy names the witnesses that cosign the log; nil for none.
	Policy *verifiable.Policy
}

func (s *ResultSigning) check() error {
	if s.Key == nil {
		return nil
	}
	return publish.CheckSettings(s.Key, s.Origin, s.Policy)
}

// Build identifies the program.
type Build struct {
	Version, Commit, GoVersion string
}

// documentation returns the address of the pages of this version: a release has a site, another
// build the files of its commit, or of the branch main where the build does not know that.
func (b Build) documentation() string {
	if semver.IsValid(b.Version) && semver.Prerelease(b.Version)+semver.Build(b.Version) == "" {
		return "https://acclaim-dev.github.io/acclaim/" + b.Version + "/"
	}
	revision := b.Commit
	if revision == "" || revision == "unknown" {
		revision = "main"
	}
	return "https://github.com/acclaim-dev/acclaim/blob/" + revision + "/README.md#pages"
}

// StoreConfig names a store.
type StoreConfig struct {
	DataDir    string // folder of the embedded store
	MongoDBURI string // database that replaces it; "" uses the embedded store
	Damaged    bool   // lets OpenStoreToRead open a folder that has lost data
}

// Mount serves an environment at a base path.
type Mount struct {
	Environment tenant.Environment
	Path        string
}

// BothMounts returns both environments at their base paths.
func BothMounts() []Mount {
	return []Mount{DefaultMount(tenant.Production), DefaultMount(tenant.Sandbox)}
}

// DefaultMount returns an environment at its base path.
func DefaultMount(environment tenant.Environment) Mount {
	if environment == tenant.Sandbox {
		return Mount{environment, "/sandbox/v1"}
	}
	return Mount{environment, "/v1"}
}

func (c *Config) check() error {
	switch {
	case c.MemoryBudget != 0 && c.MemoryBudget < minMemory:
		return fmt.Errorf("--memory-budget must be at least %d MiB", minMemory>>20)
	case c.ConnectionsPerAddress < 0:
		return errors.New("--connections-per-address must not be negative")
	case c.ShutdownTimeout < 0:
		return errors.New("--shutdown-timeout must not be negative")
	case c.DrainDelay < 0:
		return errors.New("--drain-delay must not be negative")
	}
	if err := c.Results.check(); err != nil {
		return fmt.Errorf("--result-log-origin or --result-log-policy: %w", err)
	}
	for _, m := range c.Mounts {
		if !strings.HasPrefix(m.Path, "/") {
			return errors.New("--base-path must begin with /")
		}
	}
	return nil
}

// checkKeys refuses keys that this project has published where clients on other machines
// could sign tokens with them.
func (c *Config) checkKeys(registry *tenant.Registry) error {
	samples := registry.SampleKeys()
	if len(samples) == 0 {
		return nil
	}
	if flag, address := c.publicListener(); flag != "" {
		return fmt.Errorf("%s: the key is a published sample, which is refused because %s is %s and not a loopback address", samples[0], flag, address)
	}
	return nil
}

// checkSample refuses the built-in sample where its public keys could be in use unnoticed.
func (c *Config) checkSample() error {
	reason := ""
	if flag, address := c.publicListener(); flag != "" {
		reason = fmt.Sprintf("%s is %s and not a loopback address", flag, address)
	} else if len(c.Mounts) == 1 {
		reason = "this process does not serve both production and the sandbox"
	}
	if reason == "" {
		return nil
	}
	return fmt.Errorf("there is no extension registry, and the built-in sample, whose keys are public, is refused because %s: write a registry with \"acclaim init\", or name its file with --extensions", reason)
}

// openRegistry opens the extension registry, or the built-in sample where there is none.
func (c *Config) openRegistry() (*tenant.Directory, error) {
	if c.Extensions == "" {
		if err := c.checkSample(); err != nil {
			return nil, err
		}
		return tenant.OpenSample()
	}
	return tenant.Open(c.Extensions, c.checkKeys)
}

// IsLocal reports whether only clients on this machine reach the listeners.
func (c *Config) IsLocal() bool {
	flag, _ := c.publicListener()
	return flag == ""
}

// PlainListener returns the flag and the address of a listener that sends tokens without TLS
// to other machines, and empty texts where there is none.
func (c *Config) PlainListener() (flag, address string) {
	if c.TLSCert != "" || len(c.Domains) > 0 {
		return "", ""
	}
	api := Config{Listen: c.Listen, GameListen: c.GameListen}
	return api.publicListener()
}

// publicListener returns the flag and the address of a listener that other machines reach, and
// empty texts where there is none.
func (c *Config) publicListener() (flag, address string) {
	if len(c.Domains) > 0 {
		return "--domain", c.Domains[0]
	}
	for _, listener := range [][2]string{
		{"--listen", c.Listen}, {"--admin-listen", c.AdminListen},
		{"--maintenance-listen", c.MaintenanceListen}, {"--gamelink-listen", c.GameListen},
	} {
		if listener[1] != "" && !isLoopback(listener[1]) {
			return listener[0], listener[1]
		}
	}
	return "", ""
}

// isLoopback reports whether only clients on this machine reach an address to listen on.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
