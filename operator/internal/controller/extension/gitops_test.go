package extension_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/operator/internal/controller/backend"
	"github.com/acclaim-dev/acclaim/services/votingtest"
)

// readExample returns the objects of the GitOps example in namespaces of a world, with a
// key instead of its placeholder.
func (w *world) readExample(team string) (objects []*unstructured.Unstructured) {
	GinkgoHelper()
	replace := strings.NewReplacer("acclaim-platform", w.namespace, "acclaim-team", team,
		"REPLACE-WITH-THE-KEY-OF-THE-EXTENSION", base64.StdEncoding.EncodeToString([]byte("old"+padding)))
	for _, file := range []string{"namespaces.yaml", "platform.yaml", "team.yaml"} {
		content, err := os.ReadFile("../../../../config/samples/gitops/" + file)
		Expect(err).NotTo(HaveOccurred())
		for document := range bytes.SplitSeq([]byte(replace.Replace(string(content))), []byte("\n---\n")) {
			o := &unstructured.Unstructured{}
			Expect(yaml.UnmarshalStrict(document, &o.Object)).To(Succeed())
			objects = append(objects, o)
		}
	}
	return objects
}

// startBackends starts the Backend controller beside the others.
func (w *world) startBackends() {
	GinkgoHelper()
	skip := true
	manager, err := ctrl.NewManager(operator, ctrl.Options{
		Scheme:     api.Scheme(),
		Metrics:    server.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: w.watchedNamespaces(), ByObject: backend.CacheOptions()},
		Controller: controllerconfig.Controller{SkipNameValidation: &skip},
	})
	Expect(err).NotTo(HaveOccurred())
	r := &backend.Reconciler{Client: manager.GetClient(), APIReader: manager.GetAPIReader(), Recorder: events.NewFakeRecorder(10_000), Now: time.Now}
	Expect(r.Setup(manager)).To(Succeed())
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- manager.Start(ctx) }()
	DeferCleanup(func() {
		stop()
		Expect(<-stopped).To(Succeed())
	})
}

// rollOut does the work of Kubernetes' own controllers once: pods of Deployments are
// ready.
func (w *world) rollOut(ctx context.Context) error {
	var all appsv1.DeploymentList
	err := api.List(ctx, &all, client.InNamespace(w.namespace))
	for i := range all.Items {
		d := &all.Items[i]
		replicas := *d.Spec.Replicas
		if d.Status.ObservedGeneration == d.Generation && d.Status.AvailableReplicas == replicas {
			continue
		}
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas}
		err = errors.Join(err, client.IgnoreNotFound(api.Status().Update(ctx, d)))
	}
	return err
}

var _ = Describe("The GitOps example", func() {
	seed := uint64(GinkgoRandomSeed())
	order := rand.New(rand.NewPCG(seed, 0))
	for i := range 8 {
		It(fmt.Sprintf("is current, and pruned, in any order: %d of seed %d", i, seed), func(ctx context.Context) {
			w := newWorld(ctx)
			team := w.newTeam(ctx)
			objects := w.readExample(team)
			voting, err := votingtest.New(GinkgoT().TempDir(), time.Now)
			Expect(err).NotTo(HaveOccurred())
			Expect(voting.SetKeys(map[string][]string{"abcdefghijklmnopqrstuvwxyz0123": {string(w.secret("old").Data["old"])}})).To(Succeed())
			Expect(voting.Start(context.WithoutCancel(ctx))).To(Succeed())
			DeferCleanup(voting.Stop)
			w.serving.Store(&pod{base: voting.Base()})
			w.start()
			w.startBackends()

			// The namespaces are there; a tool applies those first.
			order.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
			for _, o := range objects {
				By("applying " + o.GetKind() + " " + o.GetName())
				Expect(api.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("gitops"), client.ForceOwnership)).To(Succeed())
			}
			Eventually(func() error {
				return errors.Join(w.rollOut(ctx), cluster.CheckCurrent(ctx, w.namespace, 1), cluster.CheckCurrent(ctx, team, 3))
			}).Should(Succeed())

			order.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
			for _, o := range objects {
				if o.GetKind() != "Namespace" { // nothing empties those here
					By("pruning " + o.GetKind() + " " + o.GetName())
					Expect(client.IgnoreNotFound(api.Delete(ctx, o))).To(Succeed())
				}
			}
			Eventually(func() error {
				return errors.Join(cluster.CheckCurrent(ctx, w.namespace, 0), cluster.CheckCurrent(ctx, team, 0))
			}).Should(Succeed())
		})
	}
})
