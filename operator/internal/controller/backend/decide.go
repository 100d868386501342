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
	"github.com/acclaim-dev/acclaim/operator/internal/status"
)

// changePlan lists the writes to do, and describes the state before them.
type changePlan struct {
	// handOver are Deployments whose number of pods passes to an autoscaler.
	handOver []*appsv1.Deployment
	// apply are the objects that differ from what is wanted.
	apply []desired.Object
	// remove are the Backend's objects that are no longer wanted.
	remove []objectID
	// rollouts are the states of the services, in the order of their rollout.
	rollouts []rolloutState
	// unobserved: the Deployment controller has not seen the last change of some
	// Deployment yet, so its status is about to change.
	unobserved bool
	// restoration has the progress of the restore that the Backend declares.
	restoration restoration
	// awaited describes a missing object that new pods need and that is expected to
	// appear, nil without one.
	awaited *status.Problem
	// addressed describes the addresses of the Ingress, nil without one.
	addressed *metav1.Condition
	// problem is the first one that a person should know of, nil without one.
	problem *status.Problem
}

// rolloutState is the state of the rollout of one service.
type rolloutState struct {
	service string
	// serves: some pod is ready.
	serves bool
	// settled: the pods are those declared, as many as declared, and ready.
	settled bool
	// waits: new pods are held back until Secrets are there, and those that replace others
	// until the services before are settled.
	waits bool
	// replacing: old pods still exist.
	replacing bool
	// ready pods of those declared. An autoscaler declares the least number; pods is the one
	// that it wants now.
	ready, declared, pods int32
}

// decide returns the changes to make. It reads and writes nothing.
func decide(s *clusterState) (changePlan, error) {
	p := changePlan{
		remove: findUnwanted(s), addressed: describeAddress(s), restoration: s.restoration,
		awaited: status.FirstProblem(s.restoration.awaited, awaitRegistry(s)), problem: diagnose(s),
	}
	if err := p.addObjects(s); err != nil {
		return changePlan{}, err
	}
	// New pods need these Secrets, and the restored store. Those that replace others wait for the services before
	// them, too.
	mayStart := s.hasDatabase && s.hasRegistry && s.hasCertificate && s.restoration.done
	mayReplace := mayStart
	for _, rollout := range s.want.Rollouts {
		open := mayStart
		if s.deployment(rollout) != nil {
			open = mayReplace
		}
		state, err := p.addRollout(s, rollout, open)
		if err != nil {
			return changePlan{}, err
		}
		p.rollouts = append(p.rollouts, state)
		mayReplace = mayReplace && state.settled
	}
	return p, nil
}

// addObjects adds the objects that differ from what is wanted, without Deployments.
func (p *changePlan) addObjects(s *clusterState) error {
	for _, o := range s.want.Objects {
		if o.Kind == desired.HTTPRouteKind && !s.hasGatewayAPI {
			continue
		}
		same, err := isUnchanged(s, o)
		if err != nil {
			return err
		}
		if !same {
			p.apply = append(p.apply, o)
		}
	}
	return nil
}

// addRollout decides on one service. New pods wait until the way is open; changes
// that leave the pods as they are, such as their number, do not wait.
func (p *changePlan) addRollout(s *clusterState, r desired.Rollout, open bool) (rolloutState, error) {
	have := s.deployment(r)
	state := readRollout(r, have)
	d, err := compareDeployment(r, have)
	switch {
	case err != nil:
		return rolloutState{}, err
	case !d.any:
		p.unobserved = p.unobserved || !isObserved(have)
		return state, nil
	case r.Start != nil && d.isStart(have):
		r.Deployment.Spec.WithReplicas(*r.Start)
	case d.replicas:
		p.handOver = append(p.handOver, have)
	}
	state.settled = state.settled && !d.pods
	state.waits = d.pods && !open
	state.replacing = state.replacing || d.pods && have != nil
	if !state.waits {
		p.apply = append(p.apply, desired.Object{Kind: "Deployment", Name: *r.Deployment.Name, Config: r.Deployment})
	}
	return state, nil
}

// deploymentDiff tells in which parts a stored Deployment differs from the wanted
// one.
type deploymentDiff struct {
	any      bool
	pods     bool // the template: pods are replaced
	replicas bool // it sets a number of pods that an autoscaler now owns
}

// isStart reports whether a Deployment does not exist yet or was suspended: an autoscaler leaves
// one without pods alone.
func (d deploymentDiff) isStart(have *appsv1.Deployment) bool {
	return have == nil || d.replicas && *have.Spec.Replicas == 0
}

func compareDeployment(r desired.Rollout, have *appsv1.Deployment) (deploymentDiff, error) {
	if have == nil {
		return deploymentDiff{any: true, pods: true}, nil
	}
	applied, err := appsv1ac.ExtractDeployment(have, FieldOwner)
	if err != nil {
		return deploymentDiff{}, fmt.Errorf("read what was applied to Deployment %s: %w", have.Name, err)
	}
	spec := cmp.Or(applied.Spec, appsv1ac.DeploymentSpec())
	return deploymentDiff{
		any:      !equality.Semantic.DeepEqual(r.Deployment, applied),
		pods:     !equality.Semantic.DeepEqual(r.Deployment.Spec.Template, spec.Template),
		replicas: r.Start != nil && spec.Replicas != nil,
	}, nil
}

// readRollout reads the state of a service from its Deployment's status. Pods that
// an autoscaler adds do not hold a rollout up.
func readRollout(r desired.Rollout, have *appsv1.Deployment) rolloutState {
	s := rolloutState{service: r.Service}
	switch {
	case r.Start != nil:
		s.declared = *r.Start
	case r.Deployment.Spec.Replicas != nil:
		s.declared = *r.Deployment.Spec.Replicas
	}
	s.pods = s.declared
	if have == nil {
		return s
	}
	if have.Spec.Replicas != nil {
		s.pods = *have.Spec.Replicas
	}
	stored := have.Status
	s.ready, s.serves = stored.AvailableReplicas, stored.AvailableReplicas > 0
	s.replacing = stored.UpdatedReplicas != stored.Replicas
	enough := stored.AvailableReplicas >= s.declared && (s.declared > 0 || stored.Replicas == 0)
	s.settled = isObserved(have) && !s.replacing && enough
	return s
}

// isObserved reports whether the Deployment controller has seen the current spec.
func isObserved(d *appsv1.Deployment) bool { return d.Status.ObservedGeneration >= d.Generation }

// isUnchanged reports whether applying an object would change nothing.
func isUnchanged(s *clusterState, o desired.Object) (bool, error) {
	have, exists := s.have[objectID{o.Kind, o.Name}]
	if !exists {
		return false, nil
	}
	same, err := kindOf(o).isSame(o.Config, have)
	if err != nil {
		return false, fmt.Errorf("read what was applied to %s %s: %w", o.Kind, o.Name, err)
	}
	return same, nil
}

// findUnwanted returns the Backend's own objects that it no longer consists of.
func findUnwanted(s *clusterState) []objectID {
	wanted := map[objectID]bool{}
	for _, o := range s.want.Objects {
		wanted[objectID{o.Kind, o.Name}] = true
	}
	for _, r := range s.want.Rollouts {
		wanted[objectID{"Deployment", *r.Deployment.Name}] = true
	}
	var unwanted []objectID
	for id, o := range s.have {
		if !wanted[id] && metav1.IsControlledBy(o, s.backend) && o.GetDeletionTimestamp() == nil {
			unwanted = append(unwanted, id)
		}
	}
	slices.SortFunc(unwanted, func(a, b objectID) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name)) })
	return unwanted
}
