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
	// Name tells people which issuer it is.
	Name             string
	Issuer, ClientID string
	// ClientSecret is empty for a public client.
	ClientSecret string
	// RedirectURL is the public address of GET /staff/callback.
	RedirectURL string
	// Scopes are those that the issuer is asked for beside openid.
	Scopes []string
	// Staff makes people staff of channels. The first rule that fits a person counts.
	Staff []StaffRule
}

// StaffRule makes those staff of a channel who have a claim.
type StaffRule struct {
	// ID stays the same while the rule, the issuer and the client do.
	ID string
	// Claim and Value are those of the identity token: a text, or a list that has it. Without a value
	// the claim alone counts.
	Claim, Value string
	// Channel is the channel, or ChannelClaim the claim that names it.
	Channel, ChannelClaim string
	// Scopes are those of a moderator. A broadcaster has none.
	Scopes []string
}

// HasRule reports whether a rule is in force. An extension without a sign-in has none.
func (s *SignIn) HasRule(id string) bool {
	return s != nil && slices.ContainsFunc(s.Staff, func(r StaffRule) bool { return r.ID == id })
}

type signInBlock struct {
	Name         string           `json:"name"`
	Issuer       string           `json:"issuer"`
	ClientID     string           `json:"clientID"`
	ClientSecret string           `json:"clientSecret"`
	RedirectURL  string           `json:"redirectURL"`
	Scopes       []string         `json:"scopes"`
	Staff        []staffRuleBlock `json:"staff"`
}

type staffRuleBlock struct {
	Claim        string   `json:"claim"`
	Value        string   `json:"value"`
	Channel      string   `json:"channel"`
	ChannelClaim string   `json:"channelClaim"`
	Role         string   `json:"role"`
	Scopes       []string `json:"scopes"`
}

// parseSignIn returns the sign-in of a block, nil for none.
func parseSignIn(block *signInBlock, report reportFunc) *SignIn {
	if block == nil {
		return nil
	}
	signIn := &SignIn{
		Issuer: block.Issuer, ClientID: block.ClientID, ClientSecret: block.ClientSecret, RedirectURL: block.RedirectURL, Scopes: block.Scopes,
	}
	for field, address := range map[string]string{"issuer": block.Issuer, "redirectURL": block.RedirectURL} {
		at, ok := parseAddress(address)
		if !ok {
			report("signIn."+field, "is %q, should be an address", address)
			continue
		}
		if field == "issuer" {
			signIn.Name = cmp.Or(block.Name, at.Host)
		}
	}
	if block.ClientID == "" {
		report("signIn.clientID", "is empty")
	}
	for i, rule := range block.Staff {
		if problem := rule.problem(); problem != "" {
			report(fmt.Sprintf("signIn.staff[%d]", i), "%s", problem)
		}
		signIn.Staff = append(signIn.Staff, StaffRule{block.ruleID(rule), rule.Claim, rule.Value, rule.Channel, rule.ChannelClaim, rule.Scopes})
	}
	return signIn
}

// parseAddress returns the address of a page.
func parseAddress(address string) (at *url.URL, ok bool) {
	at, err := url.Parse(address)
	return at, err == nil && at.Host != "" && (at.Scheme == "https" || at.Scheme == "http")
}

// ruleID returns a digest of a rule and of where people show its claim.
func (b *signInBlock) ruleID(rule staffRuleBlock) string {
	text, err := json.Marshal([]any{b.Issuer, b.ClientID, rule})
	if err != nil {
		panic(err) // texts
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// problem returns what is wrong with a rule.
func (r staffRuleBlock) problem() string {
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
