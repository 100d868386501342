package e2e_test

import (
	"context"
	"fmt"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// ofGateway is the label of what needs an implementation of the Gateway API, as
// hack/cluster has it: of the class traefik, at port 30081 of each node.
const ofGateway = "gateway"

// gateways give the sandbox a route in place of its Ingress.
func gateways(w *world) {
	It("serves through a Gateway, once that has accepted the route", Label(ofGateway), func(ctx SpecContext) {
		host := "gateway." + w.host
		gateway := w.gateway("front", "elsewhere.test")
		Expect(w.Create(ctx, gateway)).To(Succeed())
		values := w.values()
		delete(values["sandbox"].(object), "ingress")
		values["sandbox"].(object)["route"] = object{"host": host, "path": sandbox, "gateway": object{"name": gateway.GetName()}}
		Expect(w.upgrade(ctx, values)).To(Succeed())
		b := &v1alpha1.Backend{ObjectMeta: w.named("sandbox")}
		Eventually(ctx, func(g Gomega) {
			g.Expect(w.Get(ctx, client.ObjectKeyFromObject(b), b)).To(Succeed())
			degraded := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.Degraded)
			g.Expect(degraded).To(HaveValue(And(HaveField("Reason", "RouteNotAccepted"), HaveField("Message", ContainSubstring("NoMatchingListenerHostname")))))
			g.Expect(isReady(b.Status.Conditions, b.Generation)).To(MatchError(ContainSubstring("RouteNotAccepted")))
		}).Should(Succeed())

		began := time.Now()
		edit(ctx, w, gateway, func(gateway *unstructured.Unstructured) {
			gateway.Object["spec"] = w.gateway("front", host).Object["spec"]
		})
		w.ready(ctx, "sandbox", os.Getenv("ACCLAIM_E2E_IMAGE"))
		w.report.took("a Gateway that admits a route, to Ready", began)
		caller := func(role string) api {
			a := w.as(sandbox, sign([]byte(sandboxKey), role, "", "U1"))
			a.base, a.host = w.gatewayAddress(ctx)+sandbox, host
			return a
		}
		// The Gateway has accepted the route a moment before it serves it.
		Eventually(ctx, func() error { return caller("viewer").post(ctx, "/vote?id=gateway", object{"value": 1}, nil) }).Should(Succeed())
		Expect(caller("backend").log(ctx, "gateway")).To(Equal([]record{{"U1", 1}}))

		Expect(w.upgrade(ctx, w.values())).To(Succeed())
		w.ready(ctx, "sandbox", os.Getenv("ACCLAIM_E2E_IMAGE"))
		Expect(w.Delete(ctx, gateway)).To(Succeed())
	}, SpecTimeout(6*time.Minute))
}

// gateway returns one that admits the routes of its namespace for a host.
func (w *world) gateway(name, host string) *unstructured.Unstructured {
	g := &unstructured.Unstructured{Object: object{"spec": object{
		"gatewayClassName": "traefik",
		"listeners":        []any{object{"name": "web", "protocol": "HTTP", "port": int64(8000), "hostname": host}},
	}}}
	g.SetGroupVersionKind(schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "Gateway"})
	g.SetNamespace(w.namespace)
	g.SetName(name)
	return g
}

// gatewayAddress returns the base URL of the implementation.
func (w *world) gatewayAddress(ctx context.Context) string {
	return fmt.Sprintf("http://%s:30081", w.nodeAddress(ctx, ""))
}
