package poll

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/services/votingclient"
)

// configure compares the service's configuration with the declared one and
// does what policy says.
func (r *Reconciler) configure(ctx context.Context, p *v1alpha1.Poll, t target) (*problem, error) {
	want, err := declared(p)
	if err != nil {
		return unconfigured(v1alpha1.ReasonInvalidConfiguration, "userData: %v", err), nil
	}
	written := p.Status.AppliedHash != "" && p.Status.Backend == t.backend.Name
	if written && p.Spec.DriftPolicy == v1alpha1.DriftInitOnly {
		return nil, nil
	}
	got, found, err := t.service.Config(ctx, t.poll)
	if err != nil {
		return r.refused(t, err), nil
	}
	if !written || p.Status.AppliedHash != hashOf(t, want) {
		// Otherwise it was perhaps written already, and what the service holds is not the
		// operator's to replace, or not without saying so.
		if err := r.current(ctx, p); err != nil {
			return nil, err
		}
		return r.write(ctx, p, t, want), nil
	}
	return r.correct(ctx, p, t, want, found && visiblyEqual(want, got)), nil
}

// correct does what policy says of a configuration that was written before.
func (r *Reconciler) correct(ctx context.Context, p *v1alpha1.Poll, t target, want votingclient.Config, equal bool) *problem {
	if equal {
		return nil
	}
	if p.Spec.DriftPolicy == v1alpha1.DriftObserve {
		return unconfigured(v1alpha1.ReasonDrifted, "The service holds another configuration than the declared one")
	}
	if problem := r.write(ctx, p, t, want); problem != nil {
		return problem
	}
	r.Metrics.driftCorrected()
	r.note(p, "DriftCorrected", "The service held another configuration; the declared one was written back")
	return nil
}

// write stores a configuration and remembers what and where.
func (r *Reconciler) write(ctx context.Context, p *v1alpha1.Poll, t target, want votingclient.Config) *problem {
	if err := t.service.Configure(ctx, t.poll, want); err != nil {
		return r.refused(t, err)
	}
	if earlier := p.Status.Backend; earlier != "" && earlier != t.backend.Name {
		r.warn(p, "LeftBehind", "The configuration in Backend "+earlier+" was left behind")
	}
	p.Status.Backend, p.Status.AppliedHash = t.backend.Name, hashOf(t, want)
	return nil
}

// refused says what an error of the service means.
func (r *Reconciler) refused(t target, err error) *problem {
	var p *problem
	status := votingclient.StatusOf(err)
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		p = unconfigured(v1alpha1.ReasonNotAuthorized, "%v", err)
		p.retry = err // a new key takes a moment to reach the service
	case status/100 == 4 && status != http.StatusTooManyRequests:
		p = unconfigured(v1alpha1.ReasonInvalidConfiguration, "%v", err)
	default:
		p = unanswered(t.backend, err)
	}
	r.Metrics.configurationError(p.reason)
	return p
}

// declared returns the configuration that a Poll declares.
func declared(p *v1alpha1.Poll) (votingclient.Config, error) {
	config := votingclient.Config{
		UserIDVoting:           p.Spec.VoterIdentity == v1alpha1.SharedUserID,
		DistinctOptionsPerUser: p.Spec.DistinctOptionsPerUser,
		TotalVotesPerUser:      p.Spec.TotalVotesPerUser,
		VotesPerOption:         p.Spec.VotesPerOption,
		Global:                 p.Spec.Global,
		Disabled:               p.Spec.Disabled,
		Prompt:                 p.Spec.Prompt,
		Options:                p.Spec.Options,
		StartsAt:               seconds(p.Spec.StartsAt),
		EndsAt:                 seconds(p.Spec.EndsAt),
	}
	if p.Spec.UserData == nil {
		return config, nil
	}
	var compact bytes.Buffer
	err := json.Compact(&compact, p.Spec.UserData.Raw)
	config.UserData = compact.Bytes()
	return config, err
}

func seconds(t *metav1.Time) int64 {
	if t == nil {
		return 0
	}
	return t.Unix()
}

// hashOf returns a short name of a configuration, prompt and userData included,
// and of the extension that it is for.
func hashOf(t target, c votingclient.Config) string {
	encoded, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings, integers and JSON that was compacted
	}
	sum := sha256.Sum256(append(encoded, t.poll.ClientID...))
	return hex.EncodeToString(sum[:8])
}

// visiblyEqual compares what the service returns of a configuration. Of options,
// none and an empty list are the same.
func visiblyEqual(want, got votingclient.Config) bool {
	if !slices.Equal(want.Options, got.Options) {
		return false
	}
	for _, c := range []*votingclient.Config{&want, &got} {
		c.Prompt, c.UserData, c.Status, c.Options = "", nil, "", nil
	}
	return reflect.DeepEqual(want, got)
}
