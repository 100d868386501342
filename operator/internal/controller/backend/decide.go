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
	// waits: the service is held back until those before it are settled.
	waits bool
	// ready pods of those declared.
	ready, declared int32
}

// decide says what is to be done. It reads and writes nothing.
func decide(w *world) (plan, error) {
	p := plan{trouble: diagnose(w), remove: unwanted(w)}
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
	if have == nil {
		if r.Start != nil {
			r.Deployment.Spec.WithReplicas(*r.Start)
		}
		s.settled, s.waits = false, !open
	} else {
		applied, err := appsv1ac.ExtractDeployment(have, FieldOwner)
		switch {
		case err != nil:
			return standing{}, fmt.Errorf("read what was applied to Deployment %s: %w", have.Name, err)
		case equality.Semantic.DeepEqual(r.Deployment, applied):
			return s, nil
		}
		newPods := applied.Spec == nil || !equality.Semantic.DeepEqual(r.Deployment.Spec.Template, applied.Spec.Template)
		s.settled, s.waits = s.settled && !newPods, newPods && !open
		if r.Start != nil && applied.Spec != nil && applied.Spec.Replicas != nil {
			p.handOver = append(p.handOver, have)
		}
	}
	if !s.waits {
		p.apply = append(p.apply, desired.Object{Kind: "Deployment", Name: *r.Deployment.Name, Config: r.Deployment})
	}
	return s, nil
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
	s.settled = status.ObservedGeneration >= have.Generation &&
		status.UpdatedReplicas == status.Replicas && status.AvailableReplicas >= s.declared
	return s
}

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
