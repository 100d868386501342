package v1alpha1

// SignIn names an OpenID Connect issuer, a client there, and the people who are staff.
type SignIn struct {
	// Name tells people which issuer it is, on the button of the staff page. By default it is the
	// issuer's host.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name,omitempty"`
	// Issuer is the URL with /.well-known/openid-configuration below it.
	Issuer SinkURL `json:"issuer"`
	// ClientID is the id of the client at the issuer.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	ClientID string `json:"clientID"`
	// ClientSecretRef names the Secret entry with the secret of the client, as the issuer shows it.
	// Without one the client is public.
	// +optional
	ClientSecretRef *SecretKeyReference `json:"clientSecretRef,omitempty"`
	// RedirectURL is the public address of GET /staff/callback, such as
	// https://votes.example.org/v1/staff/callback.
	RedirectURL SinkURL `json:"redirectURL"`
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
