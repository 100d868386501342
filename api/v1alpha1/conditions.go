package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Types of conditions. Ready is derived from the others of its kind; kstatus and
// `kubectl wait` read it.
const (
	// Ready: everything that is declared is in effect.
	Ready = "Ready"

	// Reconciling: Ready may become true without a change of what is declared; kstatus
	// reads it.
	Reconciling = "Reconciling"
	// Stalled: only a person can make Ready true; kstatus reads it.
	Stalled = "Stalled"
	// Degraded: there is a problem that a person should know of. Older pods of a Backend may
	// still serve; a ScheduledBackup tries again.
	Degraded = "Degraded"

	// KeysUsable: every key of an Extension can be read, and one is active.
	KeysUsable = "KeysUsable"
	// Registered: the Extension is in the registry of every Backend that it names, or else
	// of its namespace, and for whose environment it has a key, and their ready pods accept its active keys.
	Registered = "Registered"

	// ServicesAvailable: the Backend of a Poll is rolled out and serves.
	ServicesAvailable = "ServicesAvailable"
	// Configured: the poll's configuration in the service is the declared one.
	Configured = "Configured"
	// Ended: the poll has expired, and the status has its final statistics.
	Ended = "Ended"
)

// Reasons of Ended.
const (
	// ReasonPending: the poll has not started.
	ReasonPending = "Pending"
	// ReasonActive: the poll is active.
	ReasonActive = "Active"
	// ReasonSettling: the poll has expired, and its last votes are being counted.
	ReasonSettling = "Settling"
	// ReasonExpired: the poll has expired and its statistics are final.
	ReasonExpired = "Expired"
)

// Reasons of KeysUsable. It is false as soon as one key is not usable; the others
// keep working.
const (
	// ReasonUsable: every key is usable.
	ReasonUsable = "Usable"
	// ReasonSecretNotFound: the Secret of a key does not exist or may not be read.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonKeyNotFound: the Secret does not have the entry.
	ReasonKeyNotFound = "KeyNotFound"
	// ReasonInvalidKey: the entry is not base64 of at most 4096 bytes.
	ReasonInvalidKey = "InvalidKey"
	// ReasonWeakKey: a key has less than 16 bytes.
	ReasonWeakKey = "WeakKey"
	// ReasonPublicKey: a key is a sample that this project has published.
	ReasonPublicKey = "PublicKey"
	// ReasonSharedKey: a key is also one of an older Extension, or a sandbox key is also a
	// production key of some Extension.
	ReasonSharedKey = "SharedKey"
	// ReasonUnsafeSink: a sink of kind pubsub has a URL of its own, and its receiver would
	// get tokens of a backend.
	ReasonUnsafeSink = "UnsafeSink"
	// ReasonNotActive: no key is active yet.
	ReasonNotActive = "NotActive"
)

// Reasons of Registered; ReasonConflict is another: an older Extension has one
// of the ids.
const (
	// ReasonRegistered: the services have the Extension.
	ReasonRegistered = "Registered"
	// ReasonNoUsableKey: no key can be used; see KeysUsable.
	ReasonNoUsableKey = "NoUsableKey"
	// ReasonNoBackend: the Backend that the Extension names in its namespace does not exist,
	// or it names none and the namespace has none for whose environment it has a key.
	ReasonNoBackend = "NoBackend"
	// ReasonRegistryFull: older Extensions fill the registry, which is one Secret.
	ReasonRegistryFull = "RegistryFull"
	// ReasonTooManyExtensions: older Extensions of the namespace are as many as the
	// Backend of another one serves.
	ReasonTooManyExtensions = "TooManyExtensions"
	// ReasonRefNotPermitted: the Backend of another namespace that is named does not exist
	// or does not allow this namespace; which of the two is not told. It is a reason of
	// ServicesAvailable, too.
	ReasonRefNotPermitted = "RefNotPermitted"
	// ReasonWaitingForExtension, of Ready of a Poll alone: the service holds the declared
	// configuration, and pods have yet to accept the keys of the Extension. A vote may still
	// be refused.
	ReasonWaitingForExtension = "WaitingForExtension"
	// ReasonWaitingForPolls, of Ready alone: the Extension or Backend is being deleted, and
	// Polls that are signed with its keys, or configured in its services, still exist.
	ReasonWaitingForPolls = "WaitingForPolls"
	// ReasonRegistryNotWritten: the API server refused the registry, or a Secret with
	// its name belongs to something else.
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
	// ReasonServiceDisabled: the Backend runs no voting service.
	ReasonServiceDisabled = "ServiceDisabled"
	// ReasonServiceUnreachable: the voting service did not answer, or answered 5xx.
	ReasonServiceUnreachable = "ServiceUnreachable"
	// ReasonBackendNotReady: the Backend is not ready, and the service does not answer or
	// was not asked; the message is the Backend's.
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
	// ReasonOtherQuestion: the poll is strict and has votes, and its question changed.
	ReasonOtherQuestion = "OtherQuestion"
	// ReasonWaitingForRegistry: the service refused the operator's token, and its pods may
	// not have read the registry with the Extension's key yet.
	ReasonWaitingForRegistry = "WaitingForRegistry"
	// ReasonNotAuthorized: the service refused the operator's token.
	ReasonNotAuthorized = "NotAuthorized"
	// ReasonWaiting: the service cannot be asked yet; see ServicesAvailable.
	ReasonWaiting = "Waiting"
)

// ConditionsOf returns the conditions of a Poll, an Extension or a Backend, nil of anything
// else.
func ConditionsOf(o any) *[]metav1.Condition {
	switch o := o.(type) {
	case *Poll:
		return &o.Status.Conditions
	case *Extension:
		return &o.Status.Conditions
	case *Backend:
		return &o.Status.Conditions
	}
	return nil
}
