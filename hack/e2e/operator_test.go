package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// ofControl is the label of what takes the API server away: it needs the command that
// pauses and resumes it.
const ofControl = "control"

// leaders are killed.
func leaders(w *world) {
	It("loses nothing that is declared to a leader that is killed while it writes", func(ctx SpecContext) {
		before, leads := w.leader(ctx), w.leadingPod(ctx)

		declaring, enough := context.WithCancel(ctx)
		defer enough()
		declared := w.declare(declaring, "led")
		w.pollReady(ctx, "led-0")
		began := time.Now()
		w.kill(ctx, leads)
		Eventually(ctx, func() string { return w.leader(ctx) }).ShouldNot(BeElementOf(before, ""))
		w.report.took("a killed leader to a new one", began)
		enough()
		count := <-declared
		for n := range count {
			w.pollReady(ctx, fmt.Sprintf("led-%d", n))
		}
		w.report.took(fmt.Sprintf("a killed leader to all %d Polls that were declared meanwhile in force", count), began)
		Expect(w.options(ctx, fmt.Sprintf("led-%d", count-1))()).To(Equal([]string{"red", "green", "blue"}))
		Expect(w.DeleteAllOf(ctx, &v1alpha1.Poll{}, client.InNamespace(w.namespace), client.MatchingLabels{"declared": "led"})).To(Succeed())
		for n := range count {
			w.gone(ctx, &v1alpha1.Poll{ObjectMeta: w.named(fmt.Sprintf("led-%d", n))})
		}
	}, SpecTimeout(6*time.Minute))
}

// outages take the API server away.
func outages(w *world) {
	It("serves on while the API server is away for a minute", Label(ofControl), func(ctx SpecContext) {
		l := w.start(ctx, "api-server")
		defer l.stop()
		l.counted(ctx, 100)
		controlPlane(ctx, "pause")
		paused := true
		DeferCleanup(func(ctx SpecContext) {
			if paused {
				controlPlane(ctx, "resume")
			}
		}, NodeTimeout(time.Minute))
		away := time.Now().Add(time.Minute)
		Eventually(ctx, time.Now).Should(BeTemporally(">", away))
		l.expectNoneSoFar()
		controlPlane(ctx, "resume")
		paused = false
		began := time.Now()
		Eventually(ctx, func() error { return w.Create(ctx, poll(w.named("after-outage"))) }).Should(Succeed())
		w.pollReady(ctx, "after-outage")
		w.report.took("the API server back to a new Poll in force", began)
		for _, node := range w.nodes(ctx) {
			w.nodeReady(ctx, node.Name, true)
		}
		w.running(ctx)
		w.pollReady(ctx, "colour")
		w.report.took("the API server back to everything Ready", began)
		Expect(w.Delete(ctx, &v1alpha1.Poll{ObjectMeta: w.named("after-outage")})).To(Succeed())
		l.counted(ctx, 100)
		// When it is back Kubernetes may take nodes for lost that could not report to it.
		l.finish(ctx, w, "the API server away for a minute, and back")
	}, SpecTimeout(6*time.Minute))
}

// leader returns the operator that leads, POD_UNIQUE, or nothing.
func (w *world) leader(ctx context.Context) string {
	lease := &coordinationv1.Lease{ObjectMeta: w.named("operator.acclaim.dev")}
	Expect(w.Get(ctx, client.ObjectKeyFromObject(lease), lease)).To(Succeed())
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// declare declares Polls, whose names begin with a prefix, until the context ends, and
// then says how many.
func (w *world) declare(ctx context.Context, prefix string) <-chan int {
	declared := make(chan int, 1)
	go func() {
		defer GinkgoRecover()
		n := 0
		defer func() { declared <- n }()
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			p := poll(w.named(fmt.Sprintf("%s-%d", prefix, n)))
			p.Labels = map[string]string{"declared": prefix}
			Expect(w.Create(context.WithoutCancel(ctx), p)).To(Succeed())
			n++
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	return declared
}

// controlPlane has the API server answer nothing ("pause"), or go on ("resume").
func controlPlane(ctx context.Context, what string) {
	GinkgoHelper()
	command := strings.Fields(os.Getenv("ACCLAIM_E2E_POWER"))
	Expect(command).NotTo(BeEmpty(), "ACCLAIM_E2E_POWER names the command that pauses the API server, as `make e2e` does")
	command = append(command, what, "kube-apiserver")
	Expect(run(exec.CommandContext(ctx, command[0], command[1:]...))).To(Succeed())
}
