package v1alpha1

// Types of conditions. Ready is derived from the others of its kind; kstatus and
// `kubectl wait` read it.
const (
	// Ready: everything declared is in force.
	Ready = "Ready"

	// ServicesAvailable: the Backend of a Poll is rolled out and serves.
	ServicesAvailable = "ServicesAvailable"
	// Configured: the poll's configuration in the service is the declared one.
	Configured = "Configured"

	// KeysValid: every key of an Extension is there and can be used.
	KeysValid = "KeysValid"

	// Degraded: a part of a Backend is not as declared and does not get there by
	// itself.
	Degraded = "Degraded"
)

// Reasons of ServicesAvailable.
const (
	// ReasonServing: the Backend is ready.
	ReasonServing = "Serving"
	// ReasonBackendNotFound: the Backend that the Poll names does not exist.
	ReasonBackendNotFound = "BackendNotFound"
	// ReasonBackendAmbiguous: the Poll names no Backend and the namespace has some,
	// none of them named "default".
	ReasonBackendAmbiguous = "BackendAmbiguous"
	// ReasonBackendNotReady: the Backend exists and is not ready yet.
	ReasonBackendNotReady = "BackendNotReady"
	// ReasonServiceUnreachable: the voting service did not answer, or answered 5xx.
	ReasonServiceUnreachable = "ServiceUnreachable"
)

// Reasons of Configured.
const (
	// ReasonInSync: the service holds the declared configuration.
	ReasonInSync = "InSync"
	// ReasonDrifted: the service holds another configuration, and policy is to observe.
	ReasonDrifted = "Drifted"
	// ReasonExtensionNotFound: the Extension that the Poll names does not exist.
	ReasonExtensionNotFound = "ExtensionNotFound"
	// ReasonNoKey: the Extension has no usable key for the Backend's environment.
	ReasonNoKey = "NoKey"
	// ReasonConflict: an older Poll declares the same poll.
	ReasonConflict = "Conflict"
	// ReasonInvalidConfiguration: the service refused the configuration.
	ReasonInvalidConfiguration = "InvalidConfiguration"
	// ReasonNotAuthorized: the service refused the operator's token.
	ReasonNotAuthorized = "NotAuthorized"
	// ReasonWaiting: the service cannot be asked yet; see ServicesAvailable.
	ReasonWaiting = "Waiting"
)

// Reasons of KeysValid.
const (
	// ReasonKeysFound: all keys were found and are sound.
	ReasonKeysFound = "KeysFound"
	// ReasonSecretNotFound: a Secret, or the key in it, does not exist.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonInvalidKey: a key is not base64, or is shared by production and sandbox.
	ReasonInvalidKey = "InvalidKey"
	// ReasonDuplicateID: an older Extension has the same client or app id.
	ReasonDuplicateID = "DuplicateID"
)
