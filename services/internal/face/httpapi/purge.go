package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// PurgeRequest selects the polls, questions and buffers to remove.
type PurgeRequest struct {
	Extension, Actor string
	Environment      tenant.Environment
	Kind             string // "": all
	Channel, Prefix  string
	OlderThan        time.Duration
	DryRun           bool
}

// PurgeFunc removes what a request selects and returns a report.
type PurgeFunc func(ctx context.Context, request PurgeRequest) (report any, err error)

// NewPurgeHandler returns the handler of POST /purge on the maintenance listener. It is not
// a route of the contract.
func NewPurgeHandler(registry func() *tenant.Registry, now func() time.Time, purge PurgeFunc, budgets *operation.Budgets) http.Handler {
	return newMaintenanceRoute(registry, now, budgets, func(ctx context.Context, caller *operation.Caller, body []byte) (any, error) {
		request, err := parsePurge(body)
		if err != nil {
			return nil, err
		}
		request.Extension, request.Actor = caller.Extension.ClientID, caller.Actor()
		return purge(ctx, request)
	})
}

func parsePurge(body []byte) (r PurgeRequest, err error) {
	o := operation.DecodeObject(body)
	r.Kind, r.Channel, r.Prefix, r.DryRun = o.Text("kind"), o.Text("channel"), o.Text("prefix"), o.Boolean("dryRun")
	environment, age := o.Text("environment"), o.Text("olderThan")
	if o.Err != nil {
		return r, o.Err
	}
	if r.Environment, err = tenant.ParseEnvironment(environment); err != nil {
		return r, fault.New(fault.Invalid, err.Error())
	}
	if r.OlderThan, err = time.ParseDuration(age); err != nil {
		return r, fault.New(fault.Invalid, "olderThan is not a duration such as 24h")
	}
	return r, nil
}
