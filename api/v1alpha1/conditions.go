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
	// ReasonServiceUnreachable: the voting service did not answer, or answered 5xx.
	ReasonServiceUnreachable = "ServiceUnreachable"
	// ReasonBackendNotReady: the same, and the Backend is not ready; the message is
	// the Backend's.
	ReasonBackendNotReady = "BackendNotReady"
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
