package e2e_test

import (
	"context"
	"encoding/base64"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// The extension's first key, and that of the sandbox.
const (
	firstKey   = "the first key of production"
	sandboxKey = "the key of the sandbox"
)

// installation installs the release and the extension that all others use.
func installation(w *world) {
	BeforeAll(func(ctx SpecContext) {
		w.connect(ctx)
		w.keys.use(firstKey)
		values := w.values()
		values["image"].(object)["repository"], values["image"].(object)["tag"] = cutImage(w.installed.image)
		began := time.Now()
		install := []string{"install", release, w.installed.chart, "--namespace", w.namespace, "--wait", "--timeout", "9m"}
		if w.installed != thisVersion() {
			install = append(install, "--skip-crds") // Helm refuses to put others in place of those that are there
		}
		err := helm(ctx, values, install...)
		Expect(err).NotTo(HaveOccurred())
		w.run(ctx, w.installed)
		w.report.took("helm install to everything Ready", began)

		Expect(w.Create(ctx, &corev1.Secret{ObjectMeta: w.named("quiz"), StringData: map[string]string{
			"first":   base64.StdEncoding.EncodeToString([]byte(firstKey)),
			"sandbox": base64.StdEncoding.EncodeToString([]byte(sandboxKey)),
		}})).To(Succeed())
		quiz := extension(w.named("quiz"))
		if w.frugal {
			quiz.Spec.Sandbox = nil
		} else {
			defer known(ctx, w.as(sandbox, sign([]byte(sandboxKey), "backend", "", "")))
		}
		Expect(w.Create(ctx, quiz)).To(Succeed())
		known(ctx, w.backend())
	}, NodeTimeout(10*time.Minute))
}

// charted runs the tests of the chart.
func charted(w *world) {
	It("passes the chart's own tests", func(ctx SpecContext) {
		err := helm(ctx, nil, "test", release, "--namespace", w.namespace)
		Expect(err).NotTo(HaveOccurred())
	}, SpecTimeout(5*time.Minute))
}

// declaration declares the Poll that later specs read.
func declaration(w *world, labels ...string) {
	It("counts a vote for a poll that was just declared", Label(labels...), func(ctx SpecContext) {
		began := time.Now()
		Expect(w.Create(ctx, poll(w.named("colour")))).To(Succeed())
		voter := w.viewer("U1")
		Eventually(ctx, func() error {
			var config struct{ Options []string }
			if err := voter.get(ctx, "/vote_config?id=colour", &config); err != nil {
				return err
			}
			return voter.post(ctx, "/vote?id=colour", object{"value": 2}, nil)
		}).WithPolling(10 * time.Millisecond).Should(Succeed())
		w.report.took("applying a Poll to its first accepted vote", began)
		w.pollReady(ctx, "colour")
		if !w.frugal {
			w.measureMemory(ctx, "idle", 21)
		}
	}, SpecTimeout(5*time.Minute))
}

// known waits until every pod of an environment knows the extension. Each learns
// of it from its own kubelet in its own time, so both of a service must have been
// asked: it takes many answers in a row. Without paths every service is asked.
func known(ctx context.Context, caller api, paths ...string) {
	if paths == nil {
		paths = []string{"/vote?id=none", "/accumulate?id=none", "/rank?id=none", "/channel_state"}
	}
	Eventually(ctx, func() error {
		for range 10 {
			for _, path := range paths {
				if err := caller.get(ctx, path, nil); err != nil {
					return err
				}
			}
		}
		return nil
	}).Should(Succeed())
}

func extension(meta metav1.ObjectMeta) *v1alpha1.Extension {
	key := func(entry string) []v1alpha1.Key {
		return []v1alpha1.Key{{SecretRef: v1alpha1.SecretKeyReference{Name: meta.Name, Key: entry}}}
	}
	return &v1alpha1.Extension{ObjectMeta: meta, Spec: v1alpha1.ExtensionSpec{
		ClientID:    clientID,
		OwnerUserID: owner,
		Environment: v1alpha1.Environment{Keys: key("first")},
		Sandbox:     &v1alpha1.Environment{Keys: key("sandbox"), AllowedOrigins: []v1alpha1.Origin{"https://localhost:*"}},
	}}
}

// poll returns one in which each viewer has one vote, on three options.
func poll(meta metav1.ObjectMeta) *v1alpha1.Poll {
	return &v1alpha1.Poll{ObjectMeta: meta, Spec: v1alpha1.PollSpec{
		ExtensionRef: v1alpha1.ObjectReference{Name: "quiz"},
		BackendRef:   new(v1alpha1.BackendReference{Name: "default"}),
		Channel:      channel,
		Prompt:       "Which colour?",
		Options:      []string{"red", "green", "blue"},
	}}
}
