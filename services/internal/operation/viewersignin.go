package operation

import (
	"context"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/signin"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// ListViewerSignIns returns where people can sign in as viewers of a channel of an extension.
func (s *Service) ListViewerSignIns(clientID, channel string) []OfferedSignIn {
	extension, at, ok := s.signInOfViewers(clientID, channel)
	if !ok {
		return []OfferedSignIn{}
	}
	return []OfferedSignIn{{extension.ClientID, at.Name}}
}

// BeginViewerSignIn returns the address at an issuer to which a browser goes to sign in as a viewer of
// the channel of a poll, and what it keeps meanwhile.
func (s *Service) BeginViewerSignIn(ctx context.Context, c *Call, name contract.PublicName) (address string, flow signin.Flow, err error) {
	issuer, err := s.issuerOfViewers(c, name, limit.ViewerSignIns)
	if err != nil {
		return "", flow, err
	}
	return s.beginAt(ctx, issuer)
}

// FinishViewerSignIn returns the issuer's token of a viewer who comes back from the issuer, and how long it
// is valid. The token is one that a header with the channel may have.
func (s *Service) FinishViewerSignIn(ctx context.Context, c *Call, name contract.PublicName, flow signin.Flow, state, code string) (token string, left time.Duration, err error) {
	issuer, err := s.issuerOfViewers(c, name, limit.ViewerReturns)
	if err != nil {
		return "", 0, err
	}
	_, token, err = s.Config.Pairing.SignIn.Finish(ctx, issuer, flow, state, code)
	if err != nil {
		return "", 0, errSignInFailed(err)
	}
	found, err := s.Verifier.VerifyHeader(viewerScheme + name.Client + "/" + name.Channel + "/" + token)
	switch {
	case fault.KindOf(err) == fault.Unavailable:
		return "", 0, err
	case err != nil:
		return "", 0, errSignInFailed(err)
	}
	return token, found.expires.Sub(s.Config.Now()), nil
}

// errSignInFailed refuses a person that the issuer does not confirm.
func errSignInFailed(err error) error {
	return fault.Wrap(fault.Unauthenticated, err, "The sign-in has failed; begin it again")
}

// issuerOfViewers returns where the viewers of the channel of a poll sign in, within the rates of
// a kind.
func (s *Service) issuerOfViewers(c *Call, name contract.PublicName, kind limit.Kind) (issuer signin.Issuer, err error) {
	extension, at, ok := s.signInOfViewers(name.Client, name.Channel)
	if !ok || name.Poll == "" || contract.PollIDBound("", name.Poll).IsBroken() {
		return issuer, fault.New(fault.Invalid, "The channel has no sign-in for viewers here")
	}
	if err := s.admitSignIn(c, extension, kind); err != nil {
		return issuer, err
	}
	return signin.Issuer{URL: string(at.Issuer), ClientID: at.Audience, ClientSecret: at.ClientSecret, RedirectURL: string(at.RedirectURL)}, nil
}

func (s *Service) signInOfViewers(clientID, channel string) (extension *tenant.Extension, at contract.RegisteredViewerIssuer, ok bool) {
	extension, ok = s.Config.Registry().ByClientID(clientID)
	if !ok || s.Config.Pairing.SignIn == nil || s.Config.Environment != tenant.Production {
		return nil, at, false
	}
	at, ok = extension.SignInOfViewers(channel)
	return extension, at, ok
}

// LacksViewerToken reports whether a header has the form of the credential of an issuer's viewer without the
// token.
func LacksViewerToken(header string) bool {
	return isOfViewer(header) && header[len(header)-1] == '/'
}
