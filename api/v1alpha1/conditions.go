package v1alpha1

// Types of conditions. Ready is derived from the others of its kind; kstatus and
// `kubectl wait` read it.
const (
	// Ready: everything declared is in force.
	Ready = "Ready"

	// KeysUsable: every key of an Extension can be read, and one is active.
	KeysUsable = "KeysUsable"
	// Registered: the Extension is in the registry of every Backend of its namespace
	// for whose environment it has a key.
	Registered = "Registered"

	// ServicesAvailable: the Backend of a Poll is rolled out and serves.
	ServicesAvailable = "ServicesAvailable"
	// Configured: the poll's configuration in the service is the declared one.
	Configured = "Configured"
)

// Reasons of KeysUsable. Keys that it does not complain of work on.
const (
	// ReasonUsable: there is nothing wrong with any key.
	ReasonUsable = "Usable"
	// ReasonSecretNotFound: the Secret of a key does not exist or may not be read.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonKeyNotFound: the Secret does not have the entry.
	ReasonKeyNotFound = "KeyNotFound"
	// ReasonInvalidKey: the entry is not base64 of 1 to 4096 bytes.
	ReasonInvalidKey = "InvalidKey"
	// ReasonSharedKey: a sandbox key is also a production key of some Extension.
	ReasonSharedKey = "SharedKey"
	// ReasonNotActive: no key is active yet.
	ReasonNotActive = "NotActive"
)

// Reasons of Registered; ReasonConflict is another: an older Extension has one
// of the ids.
const (
	// ReasonRegistered: the services are given the Extension.
	ReasonRegistered = "Registered"
	// ReasonNoUsableKey: no key can be used; see KeysUsable.
	ReasonNoUsableKey = "NoUsableKey"
	// ReasonNoBackend: the namespace has no Backend for whose environment the
	// Extension has a key.
	ReasonNoBackend = "NoBackend"
	// ReasonRegistryFull: older Extensions fill the registry, which is one Secret.
	ReasonRegistryFull = "RegistryFull"
	// ReasonRegistryNotWritten: the API server refused the registry.
	ReasonRegistryNotWritten = "RegistryNotWritten"
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
	// ReasonConflict: an older Poll declares the same poll, or an older Extension one
	// of the ids.
	ReasonConflict = "Conflict"
	// ReasonInvalidConfiguration: the service refused the configuration.
	ReasonInvalidConfiguration = "InvalidConfiguration"
	// ReasonNotAuthorized: the service refused the operator's token.
	ReasonNotAuthorized = "NotAuthorized"
	// ReasonWaiting: the service cannot be asked yet; see ServicesAvailable.
	ReasonWaiting = "Waiting"
)
