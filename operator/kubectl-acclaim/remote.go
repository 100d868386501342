package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/podlink"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
)

// remotePoll is a Poll and the way to the service that holds it.
type remotePoll struct {
	*v1alpha1.Poll
	service *api.Client
	stop    func()
}

// openPoll returns the way to the voting service of a Poll: connections to one of its pods,
// with the token of a back end that a program in the pod signs. No key leaves the cluster.
func (c *cluster) openPoll(ctx context.Context, name string) (*remotePoll, error) {
	var p v1alpha1.Poll
	if err := c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, &p); err != nil {
		return nil, err
	}
	var e v1alpha1.Extension
	if err := c.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: p.Spec.ExtensionRef.Name}, &e); err != nil {
		return nil, err
	}
	holder := sharing.HolderOf(&p)
	if holder.Name == "" {
		return nil, fmt.Errorf("no Backend holds the Poll %s yet: %s", name, describeReady(p.Status.Conditions))
	}
	var b v1alpha1.Backend
	if err := c.Get(ctx, holder, &b); err != nil {
		return nil, err
	}
	pod, err := c.readyPod(ctx, &b, desired.Voting)
	if err != nil {
		return nil, err
	}
	link := podlink.Link{Config: c.config, Clientset: c.clientset}
	token, err := link.Exec(ctx, pod, desired.Voting, tokenCommand(&b, &e, &p)...)
	if err != nil {
		return nil, err
	}
	address, stop, err := link.Forward(ctx, pod, desired.APIPort)
	if err != nil {
		return nil, err
	}
	service := api.New(desired.Scheme(&b)+"://"+address+desired.BasePath(&b), api.UseToken(strings.TrimSpace(token)), api.Options{HTTP: newHTTPClient()})
	return &remotePoll{Poll: &p, service: service, stop: stop}, nil
}

// tokenCommand returns the command that prints the token of a back end.
func tokenCommand(b *v1alpha1.Backend, e *v1alpha1.Extension, p *v1alpha1.Poll) []string {
	channel := p.Spec.Channel
	if p.Spec.Global {
		channel = "1" // a token has one, and a poll of all channels does not look at it
	}
	return []string{
		"/acclaim", "token", "--extensions=" + desired.RegistryFile, "--environment=" + b.Spec.Environment,
		"--extension=" + string(e.Spec.ClientID), "--role=backend", "--channel=" + channel,
	}
}

// newHTTPClient returns a client for forwarded connections. With TLS the certificate of the
// service is not verified: it is for a name inside of the cluster, and the API server, which
// is verified, leads into the pod.
func newHTTPClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}

// readyPod returns a ready pod of a service.
func (c *cluster) readyPod(ctx context.Context, b *v1alpha1.Backend, service string) (*corev1.Pod, error) {
	var pods corev1.PodList
	labels := client.MatchingLabels{desired.OperatorLabel: desired.Operator, desired.BackendLabel: b.Name, desired.ServiceLabel: service}
	if err := c.List(ctx, &pods, client.InNamespace(b.Namespace), labels); err != nil {
		return nil, err
	}
	at := slices.IndexFunc(pods.Items, func(p corev1.Pod) bool {
		return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	})
	if at < 0 {
		return nil, fmt.Errorf("the service %s of the Backend %s/%s has no pod that is ready: `kubectl acclaim status` says why", service, b.Namespace, b.Name)
	}
	return &pods.Items[at], nil
}

func describeReady(conditions []metav1.Condition) string {
	ready := meta.FindStatusCondition(conditions, v1alpha1.Ready)
	if ready == nil {
		return "no operator has looked at it"
	}
	return ready.Reason + ": " + ready.Message
}
