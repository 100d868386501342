package v1alpha1

// Types of the conditions of a Backend. Ready is derived from them and Degraded.
const (
	// Available: every service has a pod that serves.
	Available = "Available"
	// Addressed: an ingress controller has published an address of the Backend's Ingress.
	// It is unknown as long as none has, since not every controller publishes one, and no
	// part of Ready.
	Addressed = "Addressed"
	// Restored: the backup that restoreFrom names is in the database. Other Backends do not
	// have the condition.
	Restored = "Restored"
)

// Reasons of Addressed.
const (
	// ReasonAddressPublished: the message has the addresses.
	ReasonAddressPublished = "AddressPublished"
	// ReasonNoAddress: no ingress controller takes the Ingress, or the one that does
	// publishes no address.
	ReasonNoAddress = "NoAddress"
)

// Reasons of Restored; the last three are reasons of Ready, too.
const (
	// ReasonRestoreCompleted: the restore has ended, and what is stored was verified.
	ReasonRestoreCompleted = "RestoreCompleted"
	// ReasonRestoring: the restore has not ended, and no service has started.
	ReasonRestoring = "Restoring"
	// ReasonNotEmpty: the database holds something that is not of this restore. Nothing was
	// restored, and no service starts.
	ReasonNotEmpty = "NotEmpty"
	// ReasonRestoreFailed: the restore has failed; the message is the program's last line.
	ReasonRestoreFailed = "RestoreFailed"
)

// ReasonBackendSuspended is the reason of Ready and Available while a Backend is suspended,
// and of ServicesAvailable of its Polls.
const ReasonBackendSuspended = "BackendSuspended"

// Reasons of Available, of Reconciling, and of Ready without a problem.
const (
	// ReasonRolledOut: everything that is declared runs.
	ReasonRolledOut = "RolledOut"
	// ReasonRollingOut: not all new pods of a service are ready yet, or old ones still
	// exist. The services after it wait.
	ReasonRollingOut = "RollingOut"
	// ReasonRegistryMissing: the Secret with the extension registry does not exist yet,
	// and new pods wait for it.
	ReasonRegistryMissing = "RegistryMissing"
	// ReasonNoReadyPods: a service has no pod that serves.
	ReasonNoReadyPods = "NoReadyPods"
	// ReasonHealthy: there is no known problem.
	ReasonHealthy = "Healthy"
)

// Reasons of Degraded.
const (
	// ReasonMongoDBSecretMissing: the Secret, or the entry in it, that has the URI of
	// the database does not exist. Running pods stay as they are.
	ReasonMongoDBSecretMissing = "MongoDBSecretMissing"
	// ReasonNameTaken: an object that the Backend needs exists and belongs to something
	// else.
	ReasonNameTaken = "NameTaken"
	// ReasonObjectRefused: the API server refused an object; the message is its own.
	ReasonObjectRefused = "ObjectRefused"
	// ReasonNoServices: every service is disabled.
	ReasonNoServices = "NoServices"
	// ReasonIngressClassMissing: the IngressClass that is declared does not exist.
	ReasonIngressClassMissing = "IngressClassMissing"
	// ReasonTLSSecretMissing: the Secret with the certificate of the host, or the one of the
	// services, does not exist or lacks an entry.
	ReasonTLSSecretMissing = "TLSSecretMissing"
	// ReasonRouteNotAccepted: no Gateway has taken the HTTPRoute; the message is the
	// Gateway's.
	ReasonRouteNotAccepted = "RouteNotAccepted"
	// ReasonGatewayAPIMissing: a route is declared, and the cluster has no HTTPRoutes.
	ReasonGatewayAPIMissing = "GatewayAPIMissing"
	// ReasonSelectorNotUsable: the selector of allowedNamespaces is not valid, or needs
	// labels that an operator of some namespaces cannot read. It selects none.
	ReasonSelectorNotUsable = "SelectorNotUsable"

	// ReasonImagePullBackOff: the image cannot be pulled.
	ReasonImagePullBackOff = "ImagePullBackOff"
	// ReasonCrashLoopBackOff: a container ends repeatedly; the message has its exit
	// code and its last line of output.
	ReasonCrashLoopBackOff = "CrashLoopBackOff"
	// ReasonContainerNotCreated: a container cannot be created from what is declared, or its
	// pod has a node and, after half a minute, no sandbox: no volumes or no network.
	ReasonContainerNotCreated = "ContainerNotCreated"
	// ReasonUnschedulable: no node takes a pod; the message is the scheduler's.
	ReasonUnschedulable = "Unschedulable"
	// ReasonDatabaseUnreachable: a pod runs and is no longer, or not yet, ready: the
	// database does not answer it. The message names a host that does not exist.
	ReasonDatabaseUnreachable = "DatabaseUnreachable"
	// ReasonQuotaExceeded: a quota of the namespace refuses more pods.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonPodsRefused: the API server refuses the pods for another reason.
	ReasonPodsRefused = "PodsRefused"
	// ReasonProgressDeadlineExceeded: a rollout takes too long for none of the reasons
	// above.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
)
