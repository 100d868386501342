package v1alpha1

// ViewerIssuer names an OpenID Connect issuer whose tokens make people viewers of some channels.
//
// +kubebuilder:validation:XValidation:rule="!has(self.clientSecretRef) || has(self.redirectURL)",message="clientSecretRef needs redirectURL"
type ViewerIssuer struct {
	// Issuer is the URL with /.well-known/openid-configuration below it. It signs the tokens with RS256
	// or EdDSA.
	Issuer SinkURL `json:"issuer"`
	// Audience is the id of the client at the issuer that its tokens are for.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Audience string `json:"audience"`
	// Channels are the ids of the channels in which people with such a token are viewers.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Channels []ID `json:"channels"`
	// Name tells people which issuer it is, on the page for viewers. By default it is the issuer's host.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name,omitempty"`
	// RedirectURL is the public address of GET /viewer/callback, such as
	// https://votes.example.org/v1/viewer/callback. Viewers then sign in on the page for viewers, at the
	// client that audience names. Without it the page has no sign-in.
	// +optional
	RedirectURL SinkURL `json:"redirectURL,omitempty"`
	// ClientSecretRef names the Secret entry with the secret of the client, as the issuer shows it.
	// Without one the client is public.
	// +optional
	ClientSecretRef *SecretKeyReference `json:"clientSecretRef,omitempty"`
}
