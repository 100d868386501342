// Package operation has what callers can ask for: one table of operations, and what each of them
// does. Faces bind to it.
//
//	face ─▶ credential (401) ─▶ role (403) ─▶ rate (429) ─▶ quotas ─▶ domain ─▶ answer
//	        and for each call one observation, one span, and one line in the log or a count
//
// An operation takes typed input and returns typed output or a [fault.Error]; it calls one domain,
// or several where they belong together. Admission, quotas and the keys of repeated requests are
// here and nowhere else, so that no face can forget them. HTTP has more to do on the way of a
// request and calls the steps; other faces use [Service.Run].
//
// The package knows no route but by the table, reads no header and writes no answer. No rule of a
// domain lives here.
package operation

import (
	"context"
	"net/netip"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
)

// Service answers what can be asked of the services in one environment.
type Service struct {
	Config   Config
	table    map[string]*Definition // by name
	Verifier *CredentialVerifier
	noted    *notedViewers
	past     *pastAnswers
	sampler  *callSampler // of lines in the log
	// refusedPairings holds until when a pairing that was refused is so without another look.
	refusedPairings *lru.Cache[pairingName, time.Time]
	public          *publicResults
	pictures        *servedPictures
}

// NewService returns the operations of one environment. It starts nothing.
func NewService(config Config) *Service {
	if config.Budgets == nil {
		config.Budgets = defaultBudgets()
	}
	if config.Processes == nil {
		config.Processes = func() int { return 1 }
	}
	if config.StorageLow == nil {
		config.StorageLow = func() bool { return false }
	}
	if config.Ledger == nil {
		config.Ledger = limit.NewLedger(config.Processes, nil)
	}
	verifier := NewVerifier(config.Environment, config.Registry, config.Now)
	verifier.viewers = config.Viewers
	table := map[string]*Definition{}
	for _, operation := range Table() {
		table[operation.Name] = &operation
	}
	return &Service{
		Config:   config,
		table:    table,
		Verifier: verifier,
		noted:    newNotedViewers(),
		past:     newPastAnswers(),
		sampler:  newCallSampler(config.LogRequests),

		refusedPairings: newRefusedPairings(),
		public:          newPublicResults(),
		pictures:        newServedPictures(),
	}
}

// Call is one request for an operation, whatever face it arrives at.
type Call struct {
	Caller *Caller // nil where the operation needs no credential
	// Verb and Path are the method and the path of the operation. The keys of repeated requests
	// belong to them.
	Verb, Path string
	// Client is the network that stands for the client, invalid where that is not known.
	Client netip.Prefix
	// SentKeys are the keys that the client sent.
	SentKeys []string
	keys     []*once.Key
	// Sent is the body of the request, which its quotas count.
	Sent []byte
	paid int64 // bytes of the body that the quotas have counted
	// RetryAfter is the time after which a refused request may succeed, 0 where it is not known.
	RetryAfter time.Duration
}

// IsReplayed reports whether the answer repeats that to an earlier request.
func (c *Call) IsReplayed() bool {
	for _, key := range c.keys {
		if key.Replayed {
			return true
		}
	}
	return false
}

// Admission holds the proof that a caller shows to be admitted to an operation.
type Admission struct {
	Credential string // an Authorization header
	// Remote reports that a proxy names a client on another machine.
	Remote bool
	// BeforeStore, if not nil, is called before the store is asked about the credential.
	BeforeStore func()
}

// Identified holds the caller of a credential that has not been admitted to anything yet.
type Identified struct {
	Caller   *Caller
	verified verifiedCredential
}

// VerifyCredential returns the caller of a credential. The error is fault.Unauthenticated, or one of
// the store's.
func (s *Service) VerifyCredential(ctx context.Context, shown Admission) (found Identified, err error) {
	if found.verified, err = s.Verifier.VerifyHeader(shown.Credential); err != nil {
		return found, err
	}
	if err := found.verified.Caller.checkSampleKey(shown.Remote); err != nil {
		return found, err
	}
	if found.verified.Caller.isRevocable() && shown.BeforeStore != nil {
		shown.BeforeStore()
	}
	found.Caller, err = s.ResolveCaller(ctx, found.verified.Caller)
	return found, err
}

// admit takes a call from the rates of an identified caller. The error is fault.RateLimited.
func (s *Service) admit(found Identified) error {
	if err := s.admitRate(found.Caller); err != nil {
		return err
	}
	found.verified.cache()
	return nil
}

// Authorize admits an identified caller to an operation. The error is fault.Forbidden or
// fault.RateLimited.
func (s *Service) Authorize(found Identified, operation *Definition) error {
	if !operation.Access.allowsCaller(found.Caller) {
		return errRole()
	}
	return s.admit(found)
}

// Identify returns the caller of a credential, within its rates, for a connection that asks for
// operations later. The error is fault.Unauthenticated, fault.RateLimited or one of the store's.
func (s *Service) Identify(ctx context.Context, header string, remote bool) (*Caller, error) {
	found, err := s.VerifyCredential(ctx, Admission{Credential: header, Remote: remote})
	if err != nil {
		return nil, err
	}
	if err := s.admit(found); err != nil {
		return nil, err
	}
	return found.Caller, nil
}

// checkStorage refuses a write of viewers and channels where the disk is nearly full.
func (s *Service) checkStorage(c *Caller) error {
	if c != nil && c.hasQuotas() && s.Config.StorageLow() {
		return fault.New(fault.Unavailable, "the disk is nearly full: writes of all but backends and validated admins are refused")
	}
	return nil
}
