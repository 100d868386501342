package tenant

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// SignIn lets people sign in as staff with an OpenID Connect issuer.
type SignIn struct {
	contract.RegisteredSignIn // Name is not empty
	// ruleIDs are those of Staff, in its order.
	ruleIDs []string
}

// RuleID names the rule at an index. It stays the same while the rule, the issuer and the client do.
func (s *SignIn) RuleID(i int) string { return s.ruleIDs[i] }

// HasRule reports whether a rule is in force. An extension without a sign-in has none.
func (s *SignIn) HasRule(id string) bool { return s != nil && slices.Contains(s.ruleIDs, id) }

// checkSignIn returns the sign-in of an extension, nil for none, and reports what is wrong with it.
func checkSignIn(registered *contract.RegisteredSignIn, report reportFunc) *SignIn {
	if registered == nil {
		return nil
	}
	signIn := &SignIn{RegisteredSignIn: *registered}
	signIn.Name = cmp.Or(signIn.Name, checkAddress("issuer", signIn.Issuer, report))
	checkAddress("redirectURL", signIn.RedirectURL, report)
	if signIn.ClientID == "" {
		report("clientID", "is empty")
	}
	for i, rule := range signIn.Staff {
		if problem := problemOf(rule); problem != "" {
			report(fmt.Sprintf("staff[%d]", i), "%s", problem)
		}
		signIn.ruleIDs = append(signIn.ruleIDs, signIn.digest(rule))
	}
	return signIn
}

// checkAddress returns the host of the address of a page, and reports what is none.
func checkAddress(field string, address contract.URL, report reportFunc) (host string) {
	at, err := url.Parse(string(address))
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		report(field, "is %q, should be an address", address)
		return ""
	}
	return at.Host
}

// digest returns the id of a rule, with where people show its claim.
func (s *SignIn) digest(rule contract.StaffRule) string {
	text, err := json.Marshal([]any{s.Issuer, s.ClientID, rule})
	if err != nil {
		panic(err) // texts
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// problemOf returns what is wrong with a rule.
func problemOf(r contract.StaffRule) string {
	unknown := func(scope string) bool { return scope != contract.ScopePolls && scope != contract.ScopeAnswers }
	switch {
	case r.Claim == "":
		return "claim is empty"
	case (r.Channel == "") == (r.ChannelClaim == ""):
		return "needs either channel or channelClaim"
	case r.Value == "" && r.ChannelClaim == "":
		return "without a value everyone would be staff of the channel"
	case r.Role == "broadcaster" && len(r.Scopes) == 0:
	case r.Role != "moderator" || len(r.Scopes) == 0 || slices.ContainsFunc(r.Scopes, unknown):
		return `role should be "broadcaster", or "moderator" with the scopes "polls", "answers" or both`
	}
	return ""
}
