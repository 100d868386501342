package v1alpha1

// ResultLog says with what the voting service signs the results of Polls with verifiable.
type ResultLog struct {
	// Origin is the name of the log of results, such as votes.example.org/acclaim: who checks
	// a result knows the log by it and by its key. Another origin begins another log, which
	// names this one: give one after the database was restored from a copy.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=190
	// +kubebuilder:validation:Pattern=`^[!-*,-~]+$`
	Origin string `json:"origin"`

	// KeySecretName names the Secret with the key that signs: result-log.pem, an Ed25519 key
	// in PKCS #8. Keep a copy of it outside of the cluster. A log whose key is lost cannot
	// go on.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	KeySecretName string `json:"keySecretName"`
}
