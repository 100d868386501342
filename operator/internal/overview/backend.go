package overview

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
)

func (in *inventory) describeBackends() (nodes []*Node) {
	for i := range in.backends {
		nodes = append(nodes, in.describeBackend(&in.backends[i]))
	}
	return nodes
}

// describeBackend returns the node of a Backend, with its services, backups, Extensions and
// Polls below it.
func (in *inventory) describeBackend(b *v1alpha1.Backend) *Node {
	n := in.judge(KindBackend, b, b.Status.ObservedGeneration, b.Status.Conditions)
	n.Facts = append(n.Facts, b.Spec.Environment, b.Spec.Image)
	if b.Spec.Ingress != nil {
		n.Facts = append(n.Facts, b.Spec.Ingress.Host)
	}
	if b.Spec.Route != nil {
		n.Facts = append(n.Facts, b.Spec.Route.Host)
	}
	for _, service := range desired.Services(b) {
		n.Children = append(n.Children, in.describeService(b, service))
	}
	n.Children = append(n.Children, in.describeBackups(b)...)
	extensions := map[types.NamespacedName]*Node{}
	for i := range in.extensions {
		if e := &in.extensions[i]; serves(b, e) {
			child := in.describeExtension(e)
			extensions[client.ObjectKeyFromObject(e)] = child
			n.Children = append(n.Children, child)
		}
	}
	for i := range in.polls {
		p := &in.polls[i]
		if in.backendOf(p) != client.ObjectKeyFromObject(b) {
			continue
		}
		parent := cmp.Or(extensions[extensionOf(p)], n)
		parent.Children = append(parent.Children, in.describePoll(p))
	}
	return n
}

// serves reports whether a Backend is one for an Extension, which has a key for it.
func serves(b *v1alpha1.Backend, e *v1alpha1.Extension) bool {
	keys := e.Spec.Keys
	if b.Spec.Environment == desired.Sandbox {
		if e.Spec.Sandbox == nil {
			return false
		}
		keys = e.Spec.Sandbox.Keys
	}
	return len(keys) > 0 && sharing.Wants(e, b)
}

func extensionOf(p *v1alpha1.Poll) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Spec.ExtensionRef.Name}
}

// backendOf returns the Backend that holds a Poll or, where none does yet, the one that is
// to; the one without a name is none.
func (in *inventory) backendOf(p *v1alpha1.Poll) types.NamespacedName {
	if held := sharing.HolderOf(p); held.Name != "" {
		return held
	}
	if p.Spec.BackendRef != nil {
		return sharing.Resolve(p.Spec.BackendRef, p.Namespace)
	}
	for i := range in.extensions {
		if e := &in.extensions[i]; client.ObjectKeyFromObject(e) == extensionOf(p) && e.Spec.BackendRef != nil {
			return sharing.Resolve(e.Spec.BackendRef, e.Namespace)
		}
	}
	var here []string
	for i := range in.backends {
		if in.backends[i].Namespace == p.Namespace {
			here = append(here, in.backends[i].Name)
		}
	}
	switch {
	case len(here) == 1:
		return types.NamespacedName{Namespace: p.Namespace, Name: here[0]}
	case slices.Contains(here, "default"):
		return types.NamespacedName{Namespace: p.Namespace, Name: "default"}
	}
	return types.NamespacedName{}
}

// describeRest returns the Extensions, Polls and backups that no root has below it.
func (in *inventory) describeRest(roots []*Node) (rest []*Node) {
	type name struct{ kind, namespace, name string }
	placed := map[name]bool{}
	var note func(nodes []*Node)
	note = func(nodes []*Node) {
		for _, n := range nodes {
			placed[name{n.Kind, n.Namespace, n.Name}] = true
			note(n.Children)
		}
	}
	note(roots)
	add := func(kind string, o client.Object, describe func() *Node) {
		if !placed[name{kind, o.GetNamespace(), o.GetName()}] {
			rest = append(rest, describe())
		}
	}
	for i := range in.extensions {
		e := &in.extensions[i]
		add(KindExtension, e, func() *Node { return in.describeExtension(e) })
	}
	for i := range in.polls {
		p := &in.polls[i]
		add(KindPoll, p, func() *Node { return in.describePoll(p) })
	}
	known := func(name types.NamespacedName) bool {
		return slices.ContainsFunc(in.backends, func(b v1alpha1.Backend) bool { return client.ObjectKeyFromObject(&b) == name })
	}
	for i := range in.backups {
		if b := &in.backups[i]; !known(backedUp(b)) {
			rest = append(rest, in.describeBackup(b))
		}
	}
	return rest
}

// describeService returns the node of a service, with the pods that do not serve.
func (in *inventory) describeService(b *v1alpha1.Backend, service string) *Node {
	n := &Node{Kind: KindService, Namespace: b.Namespace, Name: b.Name + "-" + service, State: OK}
	d := in.deploymentOf(b, service)
	if d == nil {
		n.raise(Waiting, "NoDeployment", "its Deployment does not exist, or may not be read")
		return n
	}
	wanted := int32(1)
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	n.Facts = append(n.Facts, fmt.Sprintf("%d of %d pods ready", d.Status.ReadyReplicas, wanted))
	switch {
	case wanted > 0 && d.Status.AvailableReplicas == 0:
		n.raise(Wrong, v1alpha1.ReasonNoReadyPods, "no pod serves")
	case d.Status.ReadyReplicas < wanted || d.Status.UpdatedReplicas < wanted || d.Status.ObservedGeneration < d.Generation:
		n.raise(Waiting, v1alpha1.ReasonRollingOut, fmt.Sprintf("%d pods have the newest version", d.Status.UpdatedReplicas))
	}
	if n.State == OK {
		return n
	}
	for i := range in.pods {
		if p := &in.pods[i]; p.Namespace == b.Namespace && belongs(p.Labels, b, service) {
			n.Notes = append(n.Notes, in.describePod(p)...)
		}
	}
	return n
}

func belongs(labels map[string]string, b *v1alpha1.Backend, service string) bool {
	return labels[desired.BackendLabel] == b.Name && labels[desired.ServiceLabel] == service
}

func (in *inventory) deploymentOf(b *v1alpha1.Backend, service string) *appsv1.Deployment {
	for i := range in.deployments {
		if d := &in.deployments[i]; d.Namespace == b.Namespace && belongs(d.Labels, b, service) {
			return d
		}
	}
	return nil
}

// describePod returns a line about a pod that is not ready, and its last Events.
func (in *inventory) describePod(p *corev1.Pod) []string {
	why := ""
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return nil
		}
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			why = c.Reason + ": " + c.Message
		}
	}
	restarts := int32(0)
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		restarts += c.RestartCount
		if waiting := c.State.Waiting; waiting != nil {
			why = cmp.Or(why, joinReason(waiting.Reason, waiting.Message))
		}
		if ended := c.LastTerminationState.Terminated; ended != nil {
			why = joinReason(why, fmt.Sprintf("ended with exit code %d (%s)", ended.ExitCode, joinReason(ended.Reason, ended.Message)))
		}
	}
	line := fmt.Sprintf("pod %s is not ready: %s", p.Name, cmp.Or(why, string(p.Status.Phase)))
	if restarts > 0 {
		line += fmt.Sprintf("; %d restarts", restarts)
	}
	return append([]string{line}, in.describeEvents("Pod", p)...)
}

func joinReason(reason, message string) string {
	if reason == "" || message == "" {
		return reason + message
	}
	return reason + ": " + message
}

// describeBackups returns the nodes of the backups of a Backend. Of Backups it is the newest:
// one that failed is of no concern once another is there.
func (in *inventory) describeBackups(b *v1alpha1.Backend) (nodes []*Node) {
	var newest *unstructured.Unstructured
	for i := range in.backups {
		o := &in.backups[i]
		switch {
		case backedUp(o) != client.ObjectKeyFromObject(b):
		case o.GetKind() == KindScheduledBackup:
			nodes = append(nodes, in.describeBackup(o))
		case newest == nil || newest.GetCreationTimestamp().Time.Before(o.GetCreationTimestamp().Time):
			newest = o
		}
	}
	if newest != nil {
		nodes = append(nodes, in.describeBackup(newest))
	}
	return nodes
}

// backedUp returns the Backend that a Backup or ScheduledBackup names.
func backedUp(o *unstructured.Unstructured) types.NamespacedName {
	var declared struct {
		Spec struct{ BackendRef v1alpha1.BackendReference }
	}
	decode(o.Object, &declared)
	return sharing.Resolve(&declared.Spec.BackendRef, o.GetNamespace())
}

func (in *inventory) describeBackup(o *unstructured.Unstructured) *Node {
	var observed struct {
		Status struct {
			ObservedGeneration int64
			Conditions         []metav1.Condition
		}
	}
	decode(o.Object, &observed)
	return in.judge(o.GetKind(), o, observed.Status.ObservedGeneration, observed.Status.Conditions)
}

// decode reads the fields that the package knows of an object of a kind that it does not.
// What is not there, or of another form, stays zero.
func decode(object, into any) {
	if content, err := json.Marshal(object); err == nil {
		_ = json.Unmarshal(content, into)
	}
}
