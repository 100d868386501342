package operation

import (
	"context"
	"crypto/rand"
	"errors"
	"net/netip"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// Request is one request for an operation over another face than HTTP.
type Request struct {
	Operation string // its name
	Face      string
	// Credential is an Authorization header.
	Credential string
	// Remote reports that a proxy names a client on another machine.
	Remote bool
	// Client is the network that stands for the client, invalid where that is not known.
	Client netip.Prefix
	// Body has the bytes that the client sent: its quotas count them, and the operation limits them.
	Body []byte
}

// Run has do answer a request once its caller is admitted, as a request over HTTP is: within the
// budgets, by the credential, the role, the rates and the quotas, with its report.
func (s *Service) Run(ctx context.Context, r Request, do func(context.Context, *Call) error) error {
	operation := s.table[r.Operation]
	x := &Observation{
		ID: rand.Text(), Began: time.Now(), Method: operation.Method, Route: operation.Paths[0], Operation: operation, face: r.Face,
	}
	if s.Config.Tracing != nil {
		ctx, x.Span = s.Config.Tracing.AcceptCall(ctx, x.Method, x.Began)
	}
	defer s.Report(x)
	call := &Call{Verb: operation.Method, Path: operation.Paths[0], Client: r.Client, Sent: r.Body}
	x.Err = s.runAdmitted(ctx, x, operation, r, call, do)
	switch gone := ctx.Err(); {
	case x.Err == nil:
		x.Status = 200
	case gone != nil && errors.Is(x.Err, gone):
		x.Status = StatusClientGone
	default:
		x.Status = OutcomeOf(x.Err).Status
	}
	return x.Err
}

func (s *Service) runAdmitted(ctx context.Context, x *Observation, operation *Definition, r Request, call *Call, do func(context.Context, *Call) error) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = s.LogPanic(x, x.Route, panicked)
		}
	}()
	lease, err := s.Config.Budgets.TakeRequest(s.Config.Environment, r.Client)
	if err != nil {
		return err
	}
	defer lease.Release()
	found, err := s.VerifyCredential(ctx, Admission{Credential: r.Credential, Remote: r.Remote})
	if err != nil {
		return err
	}
	x.Caller, call.Caller = found.Caller, found.Caller
	if err := s.Authorize(found, operation); err != nil {
		return err
	}
	if err := s.AdmitBody(call, operation, func(limit int) error {
		if len(call.Sent) > limit {
			return ErrTooLarge(limit)
		}
		return nil
	}); err != nil {
		return err
	}
	if err := do(ctx, call); err != nil {
		return err
	}
	s.NoteViewer(ctx, call.Caller)
	return nil
}

// AdmitBody has read take the body of an admitted request, of at most limit bytes, and has the
// caller pay for it. A request that reads has none. The error is that of read, fault.RateLimited or
// fault.Unavailable.
func (s *Service) AdmitBody(call *Call, operation *Definition, read func(limit int) error) error {
	switch operation.Method {
	case "GET":
		return nil
	case "DELETE":
	default:
		if err := s.checkStorage(call.Caller); err != nil {
			return err
		}
		if err := read(operation.limitBody(call.Caller)); err != nil {
			return err
		}
	}
	return s.chargeStaff(call, operation.Access)
}

// limitBody returns the largest body of a request in bytes.
func (d *Definition) limitBody(c *Caller) int {
	switch {
	case d.bodyBytes != nil:
		return d.bodyBytes(c)
	case c != nil:
		return c.Limits().BodyBytes
	}
	return contract.MaxPublicBody
}

// ErrTooLarge refuses a body of more than that many bytes.
func ErrTooLarge(limit int) error {
	return fault.Newf(fault.TooLarge, "The body is larger than %d bytes", limit)
}
