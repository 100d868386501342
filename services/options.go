package main

import (
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/acclaim-dev/acclaim/services/internal/tenant"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// options are the flags of the commands that serve.
type options struct {
	listen          string
	adminListen     string
	dataDir         string
	extensions      string
	mongodbURI      string
	peerListen      string
	peerAdvertise   string
	shutdownTimeout time.Duration
	drainDelay      time.Duration
	halfLife        time.Duration
	logLevel        slog.Level

	// Of single services only.
	environment string
	basePath    string
}

// mongodbVariable names the database where no flag does.
const mongodbVariable = "ACCLAIM_MONGODB_URI"

const extensionsFile = "config/extensions.yaml"

func (o *options) register(f *pflag.FlagSet) {
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "address of the API; port 0 picks one")
	f.StringVar(&o.adminListen, "admin-listen", "127.0.0.1:9090", "address of /healthz, /readyz, /metrics and /erase; port 0 picks one")
	o.registerStore(f)
	f.StringVar(&o.peerListen, "peer-listen", "127.0.0.1:0", "with --mongodb-uri, address for the other processes that share the database; port 0 picks one")
	f.StringVar(&o.peerAdvertise, "peer-advertise", "", "address at which they reach it, as host:port or as an IP with the port of --peer-listen (default that of --peer-listen)")
	f.StringVar(&o.extensions, "extensions", extensionsFile, "extension registry; read again when it changes")
	f.DurationVar(&o.shutdownTimeout, "shutdown-timeout", 25*time.Second, "how long SIGTERM waits for what was accepted")
	f.DurationVar(&o.drainDelay, "drain-delay", 0, "how long SIGTERM first goes on serving while /readyz fails, for load balancers to notice")
	f.DurationVar(&o.halfLife, "decay-half-life", voting.HalfLife, "half-life of the decayed sum in poll statistics; the same in every process")
	f.TextVar(&o.logLevel, "log-level", slog.LevelInfo, "least level that is logged to standard error: debug, info, warn or error")
}

// check returns what is wrong with the flags of a command that serves, if anything.
func (o *options) check() error {
	switch {
	case o.shutdownTimeout < 0:
		return errors.New("--shutdown-timeout must not be negative")
	case o.drainDelay < 0:
		return errors.New("--drain-delay must not be negative")
	case o.basePath != "" && !strings.HasPrefix(o.basePath, "/"):
		return errors.New("--base-path must begin with /")
	}
	return o.checkHalfLife()
}

func (o *options) checkHalfLife() error {
	if o.halfLife < time.Millisecond {
		return errors.New("--decay-half-life must be at least 1ms")
	}
	return nil
}

// registerStore adds the flags that name a store.
func (o *options) registerStore(f *pflag.FlagSet) {
	f.StringVar(&o.dataDir, "data-dir", "acclaim-data", "folder of the embedded store, used by one process at a time")
	f.StringVar(&o.mongodbURI, "mongodb-uri", "", "database that replaces the embedded store and that several processes may share (default $"+mongodbVariable+")")
}

// registerSingle adds the flags of single services. The sandbox service exists
// in the sandbox only.
func (o *options) registerSingle(f *pflag.FlagSet, service string) {
	environment := tenant.Production
	if service == sandboxService {
		environment = tenant.Sandbox
	}
	f.StringVar(&o.environment, "environment", string(environment), "production or sandbox")
	f.StringVar(&o.basePath, "base-path", "", "path of the API, also served with /e behind it (default /v1, or /sandbox/v1 in the sandbox)")
}
