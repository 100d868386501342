package extension

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	acclaim "github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

const (
	// podTimeout limits a request to a pod.
	podTimeout = 3 * time.Second
	// podsAtOnce limits the pods of a Backend that are asked at a time.
	podsAtOnce = 16
	// rememberedExtensions limits the Extensions whose keys are known to be in the pods.
	// A forgotten one is asked for once more.
	rememberedExtensions = 65536
)

// PodAsker asks pods whether they accept the keys of Extensions: by a request that needs a
// token, so that the answer is that of the registry in force.
type PodAsker struct {
	// baseURL returns the base address of the API of a pod.
	baseURL   func(*v1alpha1.Backend, *corev1.Pod) string
	confirmed *lru.Cache[types.UID, [32]byte] // the marks of Extensions
}

// NewPodAsker returns an asker of the pods with the base addresses that baseURL returns.
func NewPodAsker(baseURL func(*v1alpha1.Backend, *corev1.Pod) string) *PodAsker {
	confirmed, err := lru.New[types.UID, [32]byte](rememberedExtensions)
	if err != nil {
		panic(err) // the size is positive
	}
	return &PodAsker{baseURL: baseURL, confirmed: confirmed}
}

// podAnswer holds the answer of a pod to the questions in their order: it accepts those
// before the index.
type podAnswer struct {
	accepted int
	refused  bool // the next; else the pod did not answer to it
}

// ask asks pods for the keys of some Extensions and notes what they lack. A service
// without a route that needs a token is not asked.
func (a *PodAsker) ask(ctx context.Context, b *v1alpha1.Backend, pods []corev1.Pod, authority []byte, questions []*confirmation) {
	answers := make([]podAnswer, len(pods))
	var group errgroup.Group
	group.SetLimit(podsAtOnce)
	for i := range pods {
		group.Go(func() error {
			answers[i] = a.askPod(ctx, b, &pods[i], authority, questions)
			return nil
		})
	}
	_ = group.Wait() // no function fails
	for i, c := range questions {
		name := sharing.NameFrom(b, c.extension.Namespace)
		if len(pods) == 0 {
			c.unknown = newWait("Backend %q has no ready pod that could have read the registry", name)
		}
		for j, answer := range answers {
			switch {
			case answer.accepted > i:
			case answer.refused:
				c.refused = newWait("Pods of Backend %q have yet to read the registry with the Extension's keys", name)
			case c.extension.Namespace != b.Namespace: // whose pods are not its concern
				c.unknown = newWait("A pod of Backend %q does not answer the operator", name)
			default:
				c.unknown = newWait("Pod %q does not answer the operator", pods[j].Name)
			}
		}
	}
}

func newWait(format string, args ...any) *status.Problem {
	return status.NewProblem(v1alpha1.Registered, v1alpha1.ReasonWaitingForRegistry, format, args...)
}

// askPod asks one pod until it refuses a key or does not answer.
func (a *PodAsker) askPod(ctx context.Context, b *v1alpha1.Backend, pod *corev1.Pod, authority []byte, questions []*confirmation) podAnswer {
	service := pod.Labels[desired.ServiceLabel]
	path := desired.TokenPath(service)
	if path == "" {
		return podAnswer{accepted: len(questions)}
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	if authority != nil {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(authority)
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: desired.HostName(b, service)}
	}
	options := acclaim.Options{HTTP: &http.Client{Transport: transport, Timeout: podTimeout}, Attempts: 1}
	for i, c := range questions {
		for _, key := range c.keys[b.UID] {
			signer := acclaim.Signer{ClientID: string(c.extension.Spec.ClientID), Keys: [][]byte{key}}
			_, err := acclaim.New(a.baseURL(b, pod), signer.Credentials, options).Call(ctx, acclaim.Request{Method: http.MethodGet, Path: path}, nil)
			switch code := acclaim.StatusOf(err); {
			case code == http.StatusUnauthorized:
				return podAnswer{accepted: i, refused: true}
			case err != nil && (code == 0 || code >= http.StatusInternalServerError):
				return podAnswer{accepted: i}
			}
		}
	}
	return podAnswer{accepted: len(questions)}
}
