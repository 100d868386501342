package v1alpha1

// ViewerIssuer names an OpenID Connect issuer whose tokens make people viewers of some channels.
type ViewerIssuer struct {
	// Issuer is the URL with /.well-known/openid-configuration below it.
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
}
