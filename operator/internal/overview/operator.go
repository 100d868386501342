package overview

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// OperatorLease is the lease of leader election in an operator's namespace.
const OperatorLease = "operator.acclaim.dev"

// OperatorLabels select the Deployments of operators, and their pods.
func OperatorLabels() client.MatchingLabels {
	return client.MatchingLabels{"app.kubernetes.io/name": "acclaim", "app.kubernetes.io/component": "operator"}
}

// describeOperators returns the nodes of the operators that the objects name, and of those
// that run in the namespaces that are read. One that cannot be read has none.
func (in *inventory) describeOperators(ctx context.Context, roots []*Node) (nodes []*Node) {
	running := map[types.NamespacedName]*appsv1.Deployment{}
	for _, namespace := range in.namespaces() {
		in.findOperators(ctx, namespace, running)
	}
	for _, name := range in.namedOperators() {
		if running[name] != nil {
			continue
		}
		before := len(in.unread)
		in.findOperators(ctx, name.Namespace, running)
		if running[name] == nil && len(in.unread) == before {
			nodes = append(nodes, &Node{Kind: KindOperator, Namespace: name.Namespace, Name: name.Name, State: Wrong, Reason: "NotFound",
				Message: "objects name it in their annotation " + v1alpha1.OperatorAnnotation + ", and it does not exist"})
		}
	}
	for name, d := range running {
		nodes = append(nodes, in.describeOperator(ctx, name, d))
	}
	if len(nodes) == 0 && in.namespace == "" && len(in.unread) == 0 && len(roots) > 0 {
		nodes = append(nodes, &Node{Kind: KindOperator, Name: "none", State: Wrong, Reason: "NotFound", Message: "no operator runs in the cluster"})
	}
	return nodes
}

// findOperators adds the operators of a namespace, "" for all, by namespace and release.
func (in *inventory) findOperators(ctx context.Context, namespace string, running map[types.NamespacedName]*appsv1.Deployment) {
	for _, d := range listed[appsv1.Deployment](ctx, in, &appsv1.DeploymentList{}, client.InNamespace(namespace), OperatorLabels()) {
		running[types.NamespacedName{Namespace: d.Namespace, Name: d.Labels["app.kubernetes.io/instance"]}] = &d
	}
}

// namedOperators returns the operators that the objects name.
func (in *inventory) namedOperators() (names []types.NamespacedName) {
	var objects []client.Object
	for i := range in.backends {
		objects = append(objects, &in.backends[i])
	}
	for i := range in.extensions {
		objects = append(objects, &in.extensions[i])
	}
	for i := range in.polls {
		objects = append(objects, &in.polls[i])
	}
	for _, o := range objects {
		namespace, release, ok := strings.Cut(o.GetAnnotations()[v1alpha1.OperatorAnnotation], "/")
		if name := (types.NamespacedName{Namespace: namespace, Name: release}); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// describeOperator judges an operator by its pods and its lease.
func (in *inventory) describeOperator(ctx context.Context, name types.NamespacedName, d *appsv1.Deployment) *Node {
	n := &Node{Kind: KindOperator, Namespace: name.Namespace, Name: name.Name, State: OK}
	wanted := int32(1)
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	n.Facts = append(n.Facts, fmt.Sprintf("%d of %d pods ready", d.Status.ReadyReplicas, wanted))
	switch ready := d.Status.ReadyReplicas; {
	case ready == 0:
		n.raise(Wrong, v1alpha1.ReasonNoReadyPods, "no pod of the operator is ready")
	case ready < wanted:
		n.raise(Waiting, v1alpha1.ReasonRollingOut, "not all pods of the operator are ready")
	}
	var lease coordinationv1.Lease
	switch err := in.client.Get(ctx, types.NamespacedName{Namespace: d.Namespace, Name: OperatorLease}, &lease); {
	case err == nil:
		in.judgeLease(n, &lease.Spec)
	case apierrors.IsNotFound(err):
		n.raise(Wrong, "NoLeader", "no operator has ever led: the lease "+OperatorLease+" does not exist")
	default:
		in.miss(err)
	}
	return n
}

// judgeLease names the leader. One that has not renewed its lease for twice its duration
// does not work.
func (in *inventory) judgeLease(n *Node, lease *coordinationv1.LeaseSpec) {
	holder, seconds := "", int32(15)
	if lease.HolderIdentity != nil {
		holder, _, _ = strings.Cut(*lease.HolderIdentity, "_") // the pod's name
	}
	if lease.LeaseDurationSeconds != nil {
		seconds = max(seconds, *lease.LeaseDurationSeconds)
	}
	if holder == "" || lease.RenewTime == nil {
		n.raise(Wrong, "NoLeader", "no operator leads: nothing that is declared takes effect")
		return
	}
	renewed := metav1.NewTime(lease.RenewTime.Time)
	if in.age(renewed) > 2*time.Duration(seconds)*time.Second {
		n.raise(Wrong, "NoLeader", fmt.Sprintf("the leader %s renewed its lease %s ago: nothing that is declared takes effect", holder, in.ago(renewed)))
		return
	}
	n.Facts = append(n.Facts, fmt.Sprintf("%s leads, seen %s ago", holder, in.ago(renewed)))
}
