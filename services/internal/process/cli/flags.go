package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/crypto/acme/autocert"

	"github.com/acclaim-dev/acclaim/services/internal/process/app"
	"github.com/acclaim-dev/acclaim/services/internal/telemetry"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// mongodbVariable is the environment variable that names the database where no flag
// does.
const mongodbVariable = "ACCLAIM_MONGODB_URI"

// gamesVariable is the environment variable that reports that another process serves games: one
// that an earlier version ignores, as it would not a flag.
const gamesVariable = "ACCLAIM_GAMES"

// requestsVariable is the environment variable that sets --log-requests where no flag does, as in
// the pods of a Backend. An earlier version ignores it.
const requestsVariable = "ACCLAIM_LOG_REQUESTS"

// extensionsFile is the extension registry where no flag names one.
const extensionsFile = "config/extensions.yaml"

const extensionsHelp = "file of the extension registry (default " + extensionsFile + ", or the built-in sample extension where that does not exist)"

// findRegistry returns the file of the extension registry: the one that a flag names or the
// default one. It returns "" where neither is there.
func findRegistry(named string) string {
	if _, err := os.Stat(extensionsFile); named == "" && errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return cmp.Or(named, extensionsFile)
}

// storeFlags name a store.
type storeFlags struct {
	dataDir, mongodbURI string
	damaged             bool
}

func (s *storeFlags) register(f *pflag.FlagSet) {
	f.StringVar(&s.dataDir, "data-dir", "acclaim-data", "folder of the embedded store, which one process at a time may have open")
	f.StringVar(&s.mongodbURI, "mongodb-uri", "", "database that replaces the embedded store and that several processes may share (default $"+mongodbVariable+")")
}

// registerDamaged adds the flag of commands that only read.
func (s *storeFlags) registerDamaged(f *pflag.FlagSet) {
	f.BoolVar(&s.damaged, "damaged", false, "read what is left of a folder that has lost data and is refused otherwise; changes nothing")
}

func (s *storeFlags) config() app.StoreConfig {
	return app.StoreConfig{DataDir: s.dataDir, MongoDBURI: cmp.Or(s.mongodbURI, os.Getenv(mongodbVariable)), Damaged: s.damaged}
}

// tellWaiting returns what tells the user that a command waits.
func tellWaiting(progress io.Writer) app.Waiting {
	return func(err error, next time.Duration) {
		_, _ = fmt.Fprintf(progress, "%v; trying again in %v\n", err, next.Round(time.Second/10))
	}
}

// serveFlags are the flags of the commands that serve.
type serveFlags struct {
	results  resultLogFlags
	store    storeFlags
	app      app.Config
	logLevel slog.Level
	memory   byteSize
	proxies  []string
}

func (s *serveFlags) register(f *pflag.FlagSet) {
	c := &s.app
	f.StringVar(&c.Listen, "listen", "", "address of the API; port 0 picks one (default 127.0.0.1:8080, with --domain :443)")
	f.StringVar(&c.AdminListen, "admin-listen", "127.0.0.1:9090", "address of /healthz, /readyz and /metrics; port 0 picks one")
	f.StringVar(&c.MaintenanceListen, "maintenance-listen", "", "address of /erase and /debug/pprof, which a scraper of metrics need not reach; port 0 picks one (default that of --admin-listen)")
	f.StringVar(&c.GameListen, "gamelink-listen", "", "address of GameLink, the protocol of games; port 0 picks one (default none; of the command gamelink, that of --listen)")
	f.BoolVar(&c.Games, "games", false, "let games without a credential ask for PINs, because another process serves GameLink (default: where this one does, or $"+gamesVariable+" is true)")
	f.StringVar(&c.TLSCert, "tls-cert", "", "file of the certificate with which the API is served, and those that signed it (PEM); read again when it changes")
	f.StringVar(&c.TLSKey, "tls-key", "", "file of its key (PEM)")
	f.StringSliceVar(&c.Domains, "domain", nil, "name such as votes.example.org that leads to this machine: the API is served with a certificate for it, by ACME over port 443; accepts the authority's terms")
	f.StringVar(&c.ACMEDirectory, "acme-directory", autocert.DefaultACMEDirectory, "with --domain, directory of the authority")
	s.store.register(f)
	s.results.register(f)
	f.StringVar(&c.PeerListen, "peer-listen", "127.0.0.1:0", "with --mongodb-uri, address for the other processes that share the database; port 0 picks one")
	f.StringVar(&c.PeerAdvertise, "peer-advertise", "", "address at which they reach it, as host:port or as an IP with the port of --peer-listen (default that of --peer-listen)")
	f.StringVar(&c.Extensions, "extensions", "", extensionsHelp+"; read again when it changes")
	f.TextVar(&s.memory, "memory-budget", byteSize(0), "memory of the process, which its limits follow, such as 512MiB (default: 90 % of the container's memory or 50 % of the machine's)")
	f.IntVar(&c.ConnectionsPerAddress, "connections-per-address", 0, "connections, or requests behind a trusted proxy, of one client address at a time (default: an eighth of all, at most 1024)")
	f.StringSliceVar(&s.proxies, "trusted-proxies", privateNetworks(), "networks of proxies whose X-Forwarded-For names the client address")
	f.DurationVar(&c.ShutdownTimeout, "shutdown-timeout", 25*time.Second, "after SIGTERM, time limit for finishing accepted requests")
	f.DurationVar(&c.DrainDelay, "drain-delay", 0, "after SIGTERM, time to go on serving while /readyz fails, until load balancers have noticed")
	f.BoolVar(&c.SinkAllowPrivate, "sink-allow-private", false, "let sinks have private and local addresses, and plain http")
	f.TextVar(&s.logLevel, "log-level", slog.LevelInfo, "minimum level to log to standard error: debug, info, warn or error")
	f.TextVar(&c.LogRequests, "log-requests", c.LogRequests, "requests with a line in the log: all, sampled (what staff writes, sign-ins, failures, and some of the others) or off (failures) (default sampled, or $"+requestsVariable+")")
}

// config returns the configuration of a process that logs to log.
func (s *serveFlags) config(log io.Writer, services []app.Service, mounts []app.Mount) (c app.Config, err error) {
	c = s.app
	if c.Listen == "" {
		c.Listen = defaultListen(c.Domains)
	}
	c.Extensions = findRegistry(c.Extensions)
	c.MemoryBudget = int64(s.memory)
	c.Games = c.Games || os.Getenv(gamesVariable) == "true"
	if c.LogRequests == "" {
		if err := c.LogRequests.UnmarshalText([]byte(os.Getenv(requestsVariable))); err != nil {
			return c, fmt.Errorf("%s: %w", requestsVariable, err)
		}
	}
	if c.TrustedProxies, err = parseNetworks(s.proxies); err != nil {
		return c, fmt.Errorf("--trusted-proxies: %w", err)
	}
	c.Store = s.store.config()
	c.Services, c.Mounts = services, mounts
	c.Build = app.Build(readBuild())
	c.Logger = telemetry.NewLogger(log, s.logLevel)
	c.Results, err = s.results.signing(&c)
	return c, err
}

func defaultListen(domains []string) string {
	if len(domains) > 0 {
		return ":443"
	}
	return "127.0.0.1:8080"
}

// privateNetworks returns the networks of addresses that are not routed on the Internet.
func privateNetworks() []string {
	return []string{"127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7"}
}

func parseNetworks(texts []string) (networks []netip.Prefix, err error) {
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, err
		}
		networks = append(networks, network)
	}
	return networks, nil
}

// byteSize is a number of bytes. As a flag it may have a unit, such as 512MiB.
type byteSize int64

// MarshalText implements [encoding.TextMarshaler].
func (b byteSize) MarshalText() ([]byte, error) {
	if b == 0 {
		return nil, nil // the default of a flag is in its help
	}
	return strconv.AppendInt(nil, int64(b), 10), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (b *byteSize) UnmarshalText(text []byte) error {
	number, shift := strings.TrimSuffix(string(text), "B"), 0
	for i, unit := range []string{"Ki", "Mi", "Gi", "Ti"} {
		if digits, ok := strings.CutSuffix(number, unit); ok {
			number, shift = digits, 10*(i+1)
			break
		}
	}
	if number == "" && len(text) == 0 {
		number = "0"
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return fmt.Errorf("%q is not a number of bytes such as 512MiB", text)
	}
	*b = byteSize(n << shift)
	return nil
}

// mountFlags set the environment and the path of a single service.
type mountFlags struct{ environment, basePath string }

func (m *mountFlags) register(f *pflag.FlagSet, environment tenant.Environment) {
	f.StringVar(&m.environment, "environment", string(environment), "production or sandbox")
	f.StringVar(&m.basePath, "base-path", "", "path of the API, also served with /e behind it (default /v1, or /sandbox/v1 in the sandbox)")
}

func (m *mountFlags) mount() (app.Mount, error) {
	environment, err := tenant.ParseEnvironment(m.environment)
	if err != nil {
		return app.Mount{}, err
	}
	mount := app.DefaultMount(environment)
	mount.Path = cmp.Or(m.basePath, mount.Path)
	return mount, nil
}
