package v1alpha1

import "github.com/acclaim-dev/acclaim/api/contract"

// SignIn names an OpenID Connect issuer, a client there, and the people who are staff.
type SignIn struct {
	contract.SignIn `json:",inline"`
	// ClientSecretRef names the Secret entry with the secret of the client, as the issuer shows it.
	// Without one the client is public.
	// +optional
	ClientSecretRef *SecretKeyReference `json:"clientSecretRef,omitempty"`
}

// ViewerIssuer names an OpenID Connect issuer whose tokens make people viewers of some channels.
//
// +kubebuilder:validation:XValidation:rule="!has(self.clientSecretRef) || has(self.redirectURL)",message="clientSecretRef needs redirectURL"
type ViewerIssuer struct {
	contract.ViewerIssuer `json:",inline"`
	// ClientSecretRef names the Secret entry with the secret of the client, as the issuer shows it.
	// Without one the client is public.
	// +optional
	ClientSecretRef *SecretKeyReference `json:"clientSecretRef,omitempty"`
}
