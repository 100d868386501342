package operation

import (
	"context"
	"errors"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/signin"
)

// DeviceSignIn tells a terminal what to show to a person, and with what to ask for the session.
type DeviceSignIn struct {
	UserCode                string `json:"userCode"`
	VerificationURI         string `json:"verificationURI"`
	VerificationURIComplete string `json:"verificationURIComplete,omitempty"`
	DeviceCode              string `json:"deviceCode"`
	Interval                int64  `json:"interval"`  // seconds
	ExpiresIn               int64  `json:"expiresIn"` // seconds
}

// BeginDeviceSignIn begins a sign-in of staff at a terminal, by the device flow of an extension's issuer.
func (s *Service) BeginDeviceSignIn(ctx context.Context, c *Call, clientID string) (DeviceSignIn, error) {
	_, issuer, err := s.issuerOf(c, clientID, limit.SignIns)
	if err != nil {
		return DeviceSignIn{}, err
	}
	flow, err := s.Config.Pairing.SignIn.BeginDevice(ctx, issuer)
	if err != nil {
		return DeviceSignIn{}, errNoDeviceSession(err)
	}
	return DeviceSignIn{
		flow.UserCode, flow.VerificationURI, flow.VerificationURIComplete, flow.DeviceCode,
		int64(flow.Interval / time.Second), int64(flow.Lifetime.Round(time.Second) / time.Second),
	}, nil
}

// FinishDeviceSignIn begins a session of a person who has agreed at the issuer, and returns its credential.
// It asks the issuer once. While the person has not agreed, the error is fault.Conflict.
func (s *Service) FinishDeviceSignIn(ctx context.Context, c *Call, clientID, deviceCode string) (credential string, err error) {
	extension, issuer, err := s.issuerOf(c, clientID, limit.StaffReturns)
	if err != nil {
		return "", err
	}
	claims, err := s.Config.Pairing.SignIn.FinishDevice(ctx, issuer, deviceCode)
	if err != nil {
		return "", errNoDeviceSession(err)
	}
	return s.beginSession(ctx, extension, issuer, claims)
}

// errNoDeviceSession tells a terminal why it has no session.
func errNoDeviceSession(err error) error {
	refusal, _ := errors.AsType[signin.Refusal](err)
	switch refusal {
	case signin.Pending:
		return fault.Wrap(fault.Conflict, err, contract.SignInPending)
	case signin.SlowDown:
		return fault.Wrap(fault.Conflict, err, contract.SignInTooFast)
	case signin.Denied:
		return fault.Wrap(fault.Forbidden, err, "The sign-in was denied")
	case signin.Expired:
		return fault.Wrap(fault.Unauthenticated, err, "The code has expired; begin the sign-in again")
	case signin.Unoffered:
		return fault.Wrap(fault.Invalid, err, "The issuer does not let terminals sign in")
	case signin.Unreached:
		return fault.Wrap(fault.Unavailable, err, "the issuer")
	}
	return errSignInFailed(err)
}
