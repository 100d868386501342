package v1alpha1

// Types of the conditions of a Backend. Ready is derived from them.
const (
	// Available: every service has a pod that serves.
	Available = "Available"
	// Reconciling: something is still to be brought about; kstatus reads it.
	Reconciling = "Reconciling"
	// Degraded: something is wrong that a person should know of, though older pods
	// may go on serving.
	Degraded = "Degraded"
)

// Reasons of Available, of Reconciling and of Ready where nothing is wrong.
const (
	// ReasonRolledOut: everything that is declared runs.
	ReasonRolledOut = "RolledOut"
	// ReasonRollingOut: new pods of a service are not all ready yet, and old ones are
	// not all gone. The services after it wait.
	ReasonRollingOut = "RollingOut"
	// ReasonRegistryMissing: the Secret with the extension registry does not exist yet,
	// and new pods wait for it.
	ReasonRegistryMissing = "RegistryMissing"
	// ReasonNoReadyPods: a service has no pod that serves.
	ReasonNoReadyPods = "NoReadyPods"
	// ReasonHealthy: nothing is known to be wrong.
	ReasonHealthy = "Healthy"
)

// Reasons of Degraded.
const (
	// ReasonMongoDBSecretMissing: the Secret, or the entry in it, that has the URI of
	// the database does not exist. What runs goes on as it is.
	ReasonMongoDBSecretMissing = "MongoDBSecretMissing"
	// ReasonNameTaken: an object that the Backend needs exists and is somebody else's.
	ReasonNameTaken = "NameTaken"
	// ReasonObjectRefused: the API server refused an object; the message is its own.
	ReasonObjectRefused = "ObjectRefused"
	// ReasonGatewayAPIMissing: a route is declared, and the cluster has no HTTPRoutes.
	ReasonGatewayAPIMissing = "GatewayAPIMissing"

	// ReasonImagePullBackOff: the image cannot be pulled.
	ReasonImagePullBackOff = "ImagePullBackOff"
	// ReasonCrashLoopBackOff: a container ends again and again; the message has its
	// exit code and its last words.
	ReasonCrashLoopBackOff = "CrashLoopBackOff"
	// ReasonContainerNotCreated: a container cannot be created from what is declared.
	ReasonContainerNotCreated = "ContainerNotCreated"
	// ReasonUnschedulable: no node takes a pod; the message is the scheduler's.
	ReasonUnschedulable = "Unschedulable"
	// ReasonDatabaseUnreachable: a pod runs and is not ready, no longer or not yet: the
	// database does not answer it.
	ReasonDatabaseUnreachable = "DatabaseUnreachable"
	// ReasonQuotaExceeded: a quota of the namespace refuses more pods.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonPodsRefused: the API server refuses the pods for another reason.
	ReasonPodsRefused = "PodsRefused"
	// ReasonProgressDeadlineExceeded: a rollout takes longer than it should, and none
	// of the above says why.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
)
