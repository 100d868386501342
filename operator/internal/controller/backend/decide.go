package backend

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"github.com/acclaim-dev/acclaim/operator/internal/desired"
)

// plan is what is to be done, and how things stand before it is.
type plan struct {
	// handOver are Deployments whose number of pods an autoscaler is to have from
	// now on.
	handOver []*appsv1.Deployment
	// apply are the objects that differ from what is wanted.
	apply []desired.Object
	// remove are the Backend's objects that are no longer wanted.
	remove []id
	// standings are those of the services, in the order of their rollout.
	standings []standing
	// unknown: it will be known in a moment how a service stands, whose Deployment
	// was changed and has not been looked at.
	unknown bool
	// awaited is what new pods cannot do without and is on its way, nil when there is
	// nothing.
	awaited *trouble
	// trouble is what a person should know of, nil when there is nothing.
	trouble *trouble
}

// standing is how the rollout of a service stands.
type standing struct {
	service string
	// serves: some pod is ready.
	serves bool
	// settled: the pods are those declared, as many as declared, and ready.
	settled bool
	// waits: new pods are held back until the services before are settled.
	waits bool
	// replacing: there are old pods still.
	replacing bool
	// ready pods of those declared.
	ready, declared int32
}

// decide says what is to be done. It reads and writes nothing.
func decide(w *world) (plan, error) {
	p := plan{remove: unwanted(w), awaited: registrySecret(w), trouble: diagnose(w)}
	for _, o := range w.want.Objects {
		if o.Kind == desired.HTTPRouteKind && !w.routes {
			continue
		}
		same, err := unchanged(w, o)
		if err != nil {
			return plan{}, err
		}
		if !same {
			p.apply = append(p.apply, o)
		}
	}
	// New pods need both Secrets.
	open := w.database && w.registry
	for _, rollout := range w.want.Rollouts {
		s, err := p.roll(w, rollout, open)
		if err != nil {
			return plan{}, err
		}
		p.standings = append(p.standings, s)
		open = open && s.settled
	}
	return p, nil
}

// roll decides on one service. New pods are for when the way is open; whatever
// leaves the pods as they are, such as their number, need not wait.
func (p *plan) roll(w *world, r desired.Rollout, open bool) (standing, error) {
	have := w.deployment(r)
	s := stand(r, have)
	d, err := differ(r, have)
	switch {
	case err != nil:
		return standing{}, err
	case !d.any:
		p.unknown = p.unknown || !observed(have)
		return s, nil
	case have == nil && r.Start != nil:
		r.Deployment.Spec.WithReplicas(*r.Start)
	case d.number:
		p.handOver = append(p.handOver, have)
	}
	s.settled = s.settled && !d.pods
	s.waits = d.pods && !open
	s.replacing = s.replacing || d.pods && have != nil
	if !s.waits {
		p.apply = append(p.apply, desired.Object{Kind: "Deployment", Name: *r.Deployment.Name, Config: r.Deployment})
	}
	return s, nil
}

// difference is in what a stored Deployment differs from the one that is wanted.
type difference struct {
	any  bool
	pods bool // so that they are replaced
	// number: it says how many pods there are, which is no longer for it to say.
	number bool
}

func differ(r desired.Rollout, have *appsv1.Deployment) (difference, error) {
	if have == nil {
		return difference{any: true, pods: true}, nil
	}
	applied, err := appsv1ac.ExtractDeployment(have, FieldOwner)
	if err != nil {
		return difference{}, fmt.Errorf("read what was applied to Deployment %s: %w", have.Name, err)
	}
	spec := cmp.Or(applied.Spec, appsv1ac.DeploymentSpec())
	return difference{
		any:    !equality.Semantic.DeepEqual(r.Deployment, applied),
		pods:   !equality.Semantic.DeepEqual(r.Deployment.Spec.Template, spec.Template),
		number: r.Start != nil && spec.Replicas != nil,
	}, nil
}

// stand reads the standing of a service from its Deployment's status. Pods that
// an autoscaler adds may take their time.
func stand(r desired.Rollout, have *appsv1.Deployment) standing {
	s := standing{service: r.Service}
	switch {
	case r.Start != nil:
		s.declared = *r.Start
	case r.Deployment.Spec.Replicas != nil:
		s.declared = *r.Deployment.Spec.Replicas
	}
	if have == nil {
		return s
	}
	status := have.Status
	s.ready, s.serves = status.AvailableReplicas, status.AvailableReplicas > 0
	s.replacing = status.UpdatedReplicas != status.Replicas
	s.settled = observed(have) && !s.replacing && status.AvailableReplicas >= s.declared
	return s
}

// observed says whether a Deployment's status is about its spec as it is.
func observed(d *appsv1.Deployment) bool { return d.Status.ObservedGeneration >= d.Generation }

// unchanged says whether applying an object would change nothing.
func unchanged(w *world, o desired.Object) (bool, error) {
	have, exists := w.have[id{o.Kind, o.Name}]
	if !exists {
		return false, nil
	}
	same, err := kindOf(o).same(o.Config, have)
	if err != nil {
		return false, fmt.Errorf("read what was applied to %s %s: %w", o.Kind, o.Name, err)
	}
	return same, nil
}

// unwanted returns the Backend's own objects that it no longer consists of.
func unwanted(w *world) []id {
	wanted := map[id]bool{}
	for _, o := range w.want.Objects {
		wanted[id{o.Kind, o.Name}] = true
	}
	for _, r := range w.want.Rollouts {
		wanted[id{"Deployment", *r.Deployment.Name}] = true
	}
	var gone []id
	for i, o := range w.have {
		if !wanted[i] && metav1.IsControlledBy(o, w.backend) && o.GetDeletionTimestamp() == nil {
			gone = append(gone, i)
		}
	}
	slices.SortFunc(gone, func(a, b id) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name)) })
	return gone
}
