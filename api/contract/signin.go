package contract

// Reasons for which a terminal has no session yet and asks again (section 4.23).
const (
	SignInPending = "The person has not signed in yet"
	SignInTooFast = "The terminal asks too often; wait 5 seconds longer from now on"
)

// URL is an http or https URL without user, password and fragment.
// +kubebuilder:validation:MaxLength=1024
// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/?#@:][^/?#@]*([/?][^#]*)?$') && isURL(self)",message="must be an http or https URL with a host, and without user, password and fragment, such as https://example.com/events"
type URL string

// SignIn names an OpenID Connect issuer, a client there, and the people who are staff. The
// resource Extension adds a reference to the client's secret, the registry file the secret. The text of a
// field is that of the resource, here and in the types below.
//
// +kubebuilder:object:generate=true
type SignIn struct {
	// Name tells people which issuer it is, on the button of the staff page. By default it is the
	// issuer's host.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name,omitempty"`
	// Issuer is the URL with /.well-known/openid-configuration below it.
	Issuer URL `json:"issuer"`
	// ClientID is the id of the client at the issuer.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	ClientID string `json:"clientID"`
	// RedirectURL is the public address of GET /staff/callback, such as
	// https://votes.example.org/v1/staff/callback.
	RedirectURL URL `json:"redirectURL"`
	// Scopes are those that the issuer is asked for beside openid.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	Scopes []string `json:"scopes,omitempty"`
	// Staff makes people staff of channels. The first rule that fits a person counts. A rule that is
	// removed or changed ends the sessions that it opened.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Staff []StaffRule `json:"staff,omitempty"`
}

// StaffRule makes people with a claim in their identity token staff of a channel.
//
// +kubebuilder:validation:XValidation:rule="has(self.channel) != has(self.channelClaim)",message="a rule has exactly one of channel and channelClaim"
// +kubebuilder:validation:XValidation:rule="has(self.value) || has(self.channelClaim)",message="without a value everyone would be staff of the channel"
// +kubebuilder:validation:XValidation:rule="(self.role == 'moderator') == has(self.scopes)",message="a moderator has scopes, a broadcaster has none"
// +kubebuilder:object:generate=true
type StaffRule struct {
	// Claim is the name of the claim.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Claim string `json:"claim"`
	// Value is the claim's text, or one in its list. Without it the claim alone counts.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Value string `json:"value,omitempty"`
	// Channel is the id of the channel.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Channel string `json:"channel,omitempty"`
	// ChannelClaim is the name of a claim that has the id of the channel.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	ChannelClaim string `json:"channelClaim,omitempty"`
	// Role is broadcaster, or moderator with the rights of a staff key.
	// +kubebuilder:validation:Enum=broadcaster;moderator
	Role string `json:"role"`
	// Scopes of a moderator.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=polls;answers
	Scopes []string `json:"scopes,omitempty"`
}

// ViewerIssuer names an OpenID Connect issuer whose tokens make people viewers of some channels.
//
// +kubebuilder:object:generate=true
type ViewerIssuer struct {
	// Issuer is the URL with /.well-known/openid-configuration below it. It signs the tokens with RS256
	// or EdDSA.
	Issuer URL `json:"issuer"`
	// Audience is the id of the client at the issuer that its tokens are for.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Audience string `json:"audience"`
	// Channels are the ids of the channels in which people with such a token are viewers.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[A-Za-z0-9._-]*$')",message="an id has only letters, digits, '.', '_' and '-'"
	Channels []string `json:"channels"`
	// Name tells people which issuer it is, on the page for viewers. By default it is the issuer's host.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name,omitempty"`
	// RedirectURL is the public address of GET /viewer/callback, such as
	// https://votes.example.org/v1/viewer/callback. Viewers then sign in on the page for viewers, at the
	// client that audience names. Without it the page has no sign-in.
	// +optional
	RedirectURL URL `json:"redirectURL,omitempty"`
}

// RegisteredSignIn is a sign-in as the registry file has it.
type RegisteredSignIn struct {
	SignIn
	// ClientSecret is empty for a public client.
	ClientSecret string `json:"clientSecret,omitempty"`
}

// RegisteredViewerIssuer is an issuer of viewers as the registry file has it.
type RegisteredViewerIssuer struct {
	ViewerIssuer
	// ClientSecret is empty for a public client.
	ClientSecret string `json:"clientSecret,omitempty"`
}
