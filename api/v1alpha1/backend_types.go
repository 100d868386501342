package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BackendFinalizer keeps a Backend, and so its services, until the configurations of
// its deleted Polls are removed from them. Its name is that of the Polls' own: an operator
// of the version before, which does not know it, removes it when it is uninstalled.
const BackendFinalizer = PollFinalizer

// Backend declares the services of one environment: production or the sandbox.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=be,categories=acclaim
// +kubebuilder:printcolumn:name="Environment",type=string,JSONPath=`.spec.environment`
// +kubebuilder:printcolumn:name="Pods",type=integer,JSONPath=`.status.replicas`
// +kubebuilder:printcolumn:name="Serving",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.status.host`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Shared",type=string,priority=1,JSONPath=`.spec.allowedNamespaces.from`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Looked",type=date,JSONPath=`.status.observedTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]{0,48}[a-z0-9])?$')",message="the name is part of the names of Services: at most 50 lower-case letters, digits and '-', a letter first and no '-' last",fieldPath=".metadata"
type Backend struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BackendSpec `json:"spec"`
	// Status is the observed state. Until an operator has seen the object, its generation
	// is -1, which tools that know kstatus wait for to change.
	// +kubebuilder:default:={"observedGeneration":-1}
	Status BackendStatus `json:"status,omitempty"`
}

// BackendSpec declares how a backend runs.
//
// +kubebuilder:validation:XValidation:rule="self.environment == 'sandbox' || !has(self.services) || !has(self.services.sandbox)",message="only a sandbox backend has the sandbox service"
// +kubebuilder:validation:XValidation:rule="!has(self.ingress) || !has(self.route)",message="ingress and route exclude each other"
// +kubebuilder:validation:XValidation:rule="has(self.services) && has(self.services.gamelink) || (!has(self.ingress) || !has(self.ingress.gameHost)) && (!has(self.route) || !has(self.route.gameHost))",message="a gameHost needs services.gamelink"
// +kubebuilder:validation:XValidation:rule="has(self.restoreFrom) == has(oldSelf.restoreFrom) && (!has(self.restoreFrom) || self.restoreFrom == oldSelf.restoreFrom)",message="restoreFrom is set when the Backend is created, and is immutable"
type BackendSpec struct {
	// Environment is production or sandbox.
	// +kubebuilder:default=production
	// +kubebuilder:validation:Enum=production;sandbox
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="environment is immutable"
	Environment string `json:"environment,omitempty"`

	// Image that all services run.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.matches('[[:space:]]')",message="image must not contain white space"
	Image string `json:"image"`

	// ImagePullSecrets name Secrets with credentials of the image's registry.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	ImagePullSecrets []ObjectReference `json:"imagePullSecrets,omitempty"`

	// MongoDB names the Secret entry with the URI of the database.
	MongoDB SecretKeyReference `json:"mongodb"`

	// Services declares how each service runs. A service that is not set runs with 2
	// replicas, but for gamelink.
	// +optional
	Services Services `json:"services,omitempty"`

	// AllowPrivateSinks lets sinks of Extensions have addresses that are not public, such as
	// those of other Services of the cluster, and plain http. Every author of an Extension can
	// then make the state service send requests to them.
	// +optional
	AllowPrivateSinks bool `json:"allowPrivateSinks,omitempty"`

	// TLSSecretName names the Secret with the certificate with which the services serve the
	// API inside of the cluster: tls.crt, tls.key and ca.crt. The certificate is valid for
	// <name>-<service>.<namespace>.svc of each service, and ca.crt is the authority by which
	// the operator verifies it. Without it the API is plain HTTP inside of the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	TLSSecretName string `json:"tlsSecretName,omitempty"`

	// ResultLog has the voting service sign the results of Polls with verifiable. Without it
	// such Polls are refused.
	// +optional
	ResultLog *ResultLog `json:"resultLog,omitempty"`

	// Ingress exposes the services through an Ingress.
	// +optional
	Ingress *Ingress `json:"ingress,omitempty"`

	// Route exposes the services through a Gateway API HTTPRoute.
	// +optional
	Route *Route `json:"route,omitempty"`

	// NetworkPolicy declares which peers may reach the pods.
	// +optional
	NetworkPolicy NetworkPolicy `json:"networkPolicy,omitempty"`

	// AllowedNamespaces are the namespaces whose Extensions and Polls may name the Backend,
	// besides its own.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`

	// Scheduling restricts where pods may run.
	// +optional
	Scheduling Scheduling `json:"scheduling,omitempty"`

	// PodTemplate adds to the pods of all services.
	// +optional
	PodTemplate PodTemplate `json:"podTemplate,omitempty"`

	// Suspend runs no pods, and keeps everything else: what is stored, the addresses, the
	// Secrets. Polls report BackendSuspended. The number of pods of each service is the
	// declared one again when it ends.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// RestoreFrom restores a backup into the empty database of a new Backend, once, before
	// the services start. A database that holds anything stays as it is, and no service
	// starts. It is set when the Backend is created, and is immutable.
	// +optional
	RestoreFrom *RestoreFrom `json:"restoreFrom,omitempty"`

	// BackupMaxAgeHours promises a newer backup than that, by Backups and ScheduledBackups: an
	// alert of the chart fires when the newest is older. By default nothing is promised.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=87600
	BackupMaxAgeHours *int32 `json:"backupMaxAgeHours,omitempty"`
}

// AllowedNamespaces lets objects of other namespaces name a Backend, as allowedRoutes of
// a Gateway does, and bounds what they get.
//
// +kubebuilder:validation:XValidation:rule="has(self.selector) == (self.from == 'Selector')",message="selector is set exactly with from: Selector"
type AllowedNamespaces struct {
	// From is Same, for the Backend's own namespace alone; All; or Selector.
	// +kubebuilder:default=Same
	From FromNamespaces `json:"from,omitempty"`
	// Selector of the labels of the namespaces. An operator that does not watch all
	// namespaces reads no labels: there it may select by kubernetes.io/metadata.name alone,
	// which is the namespace's name.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// MaxExtensions is the number of Extensions of each other namespace that the Backend
	// serves, the oldest of them; by default there is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxExtensions *int32 `json:"maxExtensions,omitempty"`
	// Limits are the most that each Extension of another namespace may set in its own
	// limits, and its limits where it sets none; by default there are no such bounds.
	// +optional
	Limits *Limits `json:"limits,omitempty"`
}

// FromNamespaces are the namespaces that a Backend serves.
// +kubebuilder:validation:Enum=Same;All;Selector
type FromNamespaces string

// The namespaces that a Backend serves.
const (
	FromSame     FromNamespaces = "Same"
	FromAll      FromNamespaces = "All"
	FromSelector FromNamespaces = "Selector"
)

// PodTemplate adds to the pods of all services. A change replaces pods.
type PodTemplate struct {
	// Labels of the pods, besides those of the operator.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(name, !name.startsWith('app.kubernetes.io/'))",message="labels of app.kubernetes.io/ are the operator's"
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the pods, besides those of the operator.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(name, !name.startsWith('acclaim.dev/'))",message="annotations of acclaim.dev/ are the operator's"
	Annotations map[string]string `json:"annotations,omitempty"`
	// ServiceAccountAnnotations are annotations of the pods' ServiceAccount, such as the role
	// that it has at a cloud.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	ServiceAccountAnnotations map[string]string `json:"serviceAccountAnnotations,omitempty"`
	// Env are environment variables of the containers, besides those of the operator.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(variable, !(variable.name in ['ACCLAIM_MONGODB_URI', 'POD_IP']))",message="ACCLAIM_MONGODB_URI and POD_IP are the operator's"
	// +kubebuilder:validation:XValidation:rule="self.all(variable, !has(variable.valueFrom) || has(variable.valueFrom.secretKeyRef) || has(variable.valueFrom.configMapKeyRef) || has(variable.valueFrom.fieldRef))",message="valueFrom has secretKeyRef, configMapKeyRef or fieldRef"
	Env []corev1.EnvVar `json:"env,omitempty"`
	// ImagePullPolicy of the containers; by default that of Kubernetes for the image's tag.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
}

// Ingress exposes the services outside of the cluster.
//
// +kubebuilder:validation:XValidation:rule="!has(self.gameHost) || self.gameHost != self.host || oldSelf.hasValue() && has(oldSelf.value().gameHost) && oldSelf.value().gameHost == oldSelf.value().host",optionalOldSelf=true,message="gameHost must differ from host: all of its paths lead to the gamelink service"
type Ingress struct {
	// ClassName of the Ingress; by default the cluster's.
	// +optional
	ClassName *string `json:"className,omitempty"`
	// Host name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([*][.])?[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="host is a DNS name in lower case, such as api.example.com, and may begin with '*.'"
	Host string `json:"host"`
	// Path in front of the routes.
	// +kubebuilder:default=/v1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/[A-Za-z0-9._~-]+)+$')",message="path begins with '/' and does not end with one, and has letters, digits, '.', '_', '~' and '-' between them"
	Path string `json:"path,omitempty"`
	// Pages leads /live and /vote, the pages of polls for people, to the state service. By default
	// it does so with the path /v1 and with no other, so that Backends can share a host.
	// +optional
	Pages *bool `json:"pages,omitempty"`
	// TLSSecretName names the Secret with the host's certificate.
	// +optional
	TLSSecretName string `json:"tlsSecretName,omitempty"`
	// GameHost is the host name for games, whose paths all lead to the gamelink service:
	// games that exist know no path in front of theirs.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$')",message="gameHost is a DNS name in lower case, such as games.example.com"
	GameHost string `json:"gameHost,omitempty"`
	// GameTLSSecretName names the Secret with the certificate of GameHost. Without it games
	// connect by ws://, the only scheme that Unity and C# clients have.
	// +optional
	GameTLSSecretName string `json:"gameTLSSecretName,omitempty"`
	// Annotations of the Ingress.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Route exposes the services through a Gateway.
//
// +kubebuilder:validation:XValidation:rule="!has(self.gameHost) || self.gameHost != self.host || oldSelf.hasValue() && has(oldSelf.value().gameHost) && oldSelf.value().gameHost == oldSelf.value().host",optionalOldSelf=true,message="gameHost must differ from host: all of its paths lead to the gamelink service"
type Route struct {
	// Gateway names the Gateway to attach to.
	Gateway ObjectReference `json:"gateway"`
	// GatewayNamespace is the Gateway's namespace; by default this object's.
	// +optional
	GatewayNamespace string `json:"gatewayNamespace,omitempty"`
	// Host name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([*][.])?[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="host is a DNS name in lower case, such as api.example.com, and may begin with '*.'"
	Host string `json:"host"`
	// Path in front of the routes.
	// +kubebuilder:default=/v1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/[A-Za-z0-9._~-]+)+$')",message="path begins with '/' and does not end with one, and has letters, digits, '.', '_', '~' and '-' between them"
	Path string `json:"path,omitempty"`
	// Pages leads /live and /vote, the pages of polls for people, to the state service. By default
	// it does so with the path /v1 and with no other, so that Backends can share a host.
	// +optional
	Pages *bool `json:"pages,omitempty"`
	// GameHost is the host name for games, whose paths all lead to the gamelink service:
	// games that exist know no path in front of theirs.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$')",message="gameHost is a DNS name in lower case, such as games.example.com"
	GameHost string `json:"gameHost,omitempty"`
}

// BackendStatus is the observed state of a Backend.
type BackendStatus struct {
	// ObservedGeneration is the generation of the spec that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Replicas is the number of pods that all services together should have.
	// +optional
	// +kubebuilder:default=0
	Replicas int32 `json:"replicas"`
	// ReadyReplicas is the number of them that serve.
	// +optional
	// +kubebuilder:default=0
	ReadyReplicas int32 `json:"readyReplicas"`
	// Host is the name under which the services are exposed, empty without ingress and route.
	// +optional
	Host string `json:"host,omitempty"`
	// ObservedTime holds the time at which the operator last looked, no more than five minutes ago
	// while one runs.
	// +optional
	ObservedTime *metav1.Time `json:"observedTime,omitempty"`
	// Conditions are Available, Reconciling, Degraded and Ready, and Stalled while only a
	// person can help.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BackendList is a list of Backends.
//
// +kubebuilder:object:root=true
type BackendList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Backend `json:"items"`
}
