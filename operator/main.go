// Operator rolls out the services of Acclaim that Kubernetes resources declare,
// gives them the declared extensions and makes the declared polls exist in them.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	// The roots of public certificate authorities: the image has none of its own.
	_ "golang.org/x/crypto/x509roots/fallback"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/breaker"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/backend"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/extension"
	"github.com/acclaim-dev/acclaim/operator/internal/controller/poll"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
)

// leaseName is the lease of leader election.
const leaseName = "operator.acclaim.dev"

// settings are the program's flags.
type settings struct {
	namespaces    []string
	leaderElect   bool
	health        string
	metrics       string
	votingURL     string
	driftInterval time.Duration
	giveUpAfter   time.Duration
	workers       int
	defaultImage  string
	mongoDBSecret string
	uninstall     string
}

func main() {
	var s settings
	f := pflag.CommandLine
	f.StringSliceVar(&s.namespaces, "namespaces", nil, "namespaces to watch (default all)")
	f.BoolVar(&s.leaderElect, "leader-elect", true, "let one of several operators work at a time")
	f.StringVar(&s.health, "health-listen", ":8081", "address of /healthz and /readyz")
	f.StringVar(&s.metrics, "metrics-listen", ":8080", "address of /metrics")
	f.StringVar(&s.votingURL, "voting-url", "http://{backend}-voting.{namespace}.svc:8080{path}", "base address of a Backend's voting service")
	f.DurationVar(&s.driftInterval, "drift-interval", time.Minute, "how often a configuration is compared with the declared one")
	f.DurationVar(&s.giveUpAfter, "give-up-after", 5*time.Minute, "how long the deletion of a Poll waits for a service that does not answer")
	f.IntVar(&s.workers, "workers", 8, "Polls, and namespaces of Extensions, to work on at once")
	f.StringVar(&s.defaultImage, "default-backend-image", "", "image of the Backend created in a namespace that has Polls and no Backend (default: none is created)")
	f.StringVar(&s.mongoDBSecret, "default-backend-mongodb-secret", "mongodb", `Secret whose entry "uri" is the address of that Backend's database`)
	f.StringVar(&s.uninstall, "uninstall", "", "namespace/release of Helm whose operator to take out of the cluster, instead of being one")
	pflag.Parse()
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, nil)))
	work := run
	if s.uninstall != "" {
		work = takeOut
	}
	if err := work(ctrl.SetupSignalHandler(), s); err != nil {
		fmt.Fprintf(os.Stderr, "operator: %v\n", err)
		os.Exit(1)
	}
}

// run works until the context is done.
func run(ctx context.Context, s settings) error {
	manager, err := newManager(s)
	if err != nil {
		return err
	}
	recorder := manager.GetEventRecorder("acclaim-operator")
	backends := &backend.Reconciler{Client: manager.GetClient(), Live: manager.GetAPIReader(), Recorder: recorder, Now: time.Now}
	polls := &poll.Reconciler{
		Client:         manager.GetClient(),
		Live:           manager.GetAPIReader(),
		Recorder:       recorder,
		HTTP:           s.httpClient(),
		Endpoint:       s.endpoint,
		DefaultBackend: s.defaultBackend(),
		Now:            time.Now,
		DriftInterval:  s.driftInterval,
		GiveUpAfter:    s.giveUpAfter,
		Metrics:        poll.NewMetrics(metrics.Registry),
	}
	extensions := &extension.Reconciler{Client: manager.GetClient(), Recorder: recorder, Now: time.Now}
	metrics.Registry.MustRegister(censuses(manager.GetClient())...)
	if err := errors.Join(
		backends.Setup(manager), extensions.Setup(ctx, manager, s.workers), polls.Setup(ctx, manager, s.workers),
	); err != nil {
		return err
	}
	return manager.Start(ctx)
}

// censuses count what there is in a cache.
func censuses(c client.Reader) []prometheus.Collector {
	return []prometheus.Collector{poll.NewCensus(c), extension.NewCensus(c), backend.NewCensus(c)}
}

// The lease is in the operator's own namespace:
//
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,namespace=acclaim-system,verbs=get;create;update

func newManager(s settings) (ctrl.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cache.Options{DefaultNamespaces: s.watched(), ByObject: backend.Cached()},
		Client:                        client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		LeaderElection:                s.leaderElect,
		LeaderElectionID:              leaseName,
		LeaderElectionReleaseOnCancel: true,
		HealthProbeBindAddress:        s.health,
		Metrics:                       server.Options{BindAddress: s.metrics},
	})
	if err != nil {
		return nil, err
	}
	return manager, addChecks(manager)
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
}

func (s settings) watched() map[string]cache.Config {
	if len(s.namespaces) == 0 {
		return nil
	}
	watched := map[string]cache.Config{}
	for _, namespace := range s.namespaces {
		watched[namespace] = cache.Config{}
	}
	return watched
}

// httpClient returns the client of voting services. It keeps a connection for
// each worker, most of which ask the same service.
func (s settings) httpClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = s.workers
	return &http.Client{Transport: breaker.Over(transport), Timeout: 5 * time.Second}
}

func (s settings) endpoint(b *v1alpha1.Backend) string {
	return strings.NewReplacer("{backend}", b.Name, "{namespace}", b.Namespace, "{path}", desired.BasePath(b)).Replace(s.votingURL)
}

func (s settings) defaultBackend() *v1alpha1.BackendSpec {
	if s.defaultImage == "" {
		return nil
	}
	return &v1alpha1.BackendSpec{
		Image:   s.defaultImage,
		MongoDB: v1alpha1.SecretKeyReference{Name: s.mongoDBSecret, Key: "uri"},
	}
}
