package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/sharing"
)

// clusterState is everything that a decision depends on.
type clusterState struct {
	now     time.Time
	backend *v1alpha1.Backend
	// want are the objects that the Backend should consist of.
	want desired.Set
	// have are the stored objects with the Backend's labels.
	have map[objectID]client.Object
	// pods are those that are neither finished nor being deleted, sorted by name.
	pods []corev1.Pod
	// hasDatabase reports whether the Secret with the database's URI exists.
	hasDatabase bool
	// unknownHost is a host of the database's URI that DNS does not know, and its answer,
	// looked up only while the database does not answer pods; empty: none.
	unknownHost string
	// hasRegistry reports whether the Secret with the extension registry exists;
	// registryTaken, whether its name belongs to something else.
	hasRegistry, registryTaken bool
	// hasCertificate reports whether the Secret with the services' certificate is whole, or
	// none is declared.
	hasCertificate bool
	// restoration has the progress of the restore that the Backend declares.
	restoration restoration
	// hasGatewayAPI reports whether the cluster knows HTTPRoutes.
	hasGatewayAPI bool
	// lacksIngressClass and lacksCertificate report what the Ingress names and does not
	// exist.
	lacksIngressClass bool
	lacksCertificate  hostCertificate // empty: none
	// selectorErr tells why the selector of other namespaces selects none; nil if it does not
	// fail.
	selectorErr error
}

// hostCertificate names the Secret with the certificate of a host of the Ingress.
type hostCertificate struct{ host, secret string }

type objectID struct{ kind, name string }

// deployment returns the Deployment of a service, nil without one.
func (s *clusterState) deployment(r desired.Rollout) *appsv1.Deployment {
	d, _ := s.have[objectID{"Deployment", *r.Deployment.Name}].(*appsv1.Deployment)
	return d
}

// podsOf returns the pods of a service.
func (s *clusterState) podsOf(service string) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(s.pods), func(p corev1.Pod) bool { return p.Labels[desired.ServiceLabel] != service })
}

// gather does all reads.
func (r *Reconciler) gather(ctx context.Context, b *v1alpha1.Backend) (*clusterState, error) {
	database, err := r.readSecret(ctx, b.Namespace, b.Spec.MongoDB.Name)
	if err != nil {
		return nil, err
	}
	registry, err := r.readSecret(ctx, b.Namespace, desired.RegistrySecret(b.Name))
	if err != nil {
		return nil, err
	}
	uri := database.Data[b.Spec.MongoDB.Key]
	exists := registry.UID != ""
	owned := desired.BelongsTo(registry, b)
	s := &clusterState{
		now:           r.Now(),
		backend:       b,
		want:          desired.Backend(b, database.ResourceVersion),
		have:          map[objectID]client.Object{},
		hasDatabase:   len(uri) > 0,
		hasRegistry:   owned && len(registry.Data[desired.RegistryKey]) > 0,
		registryTaken: exists && !owned,
		hasGatewayAPI: true,
	}
	if allowed := b.Spec.AllowedNamespaces; allowed != nil && allowed.From == v1alpha1.FromSelector {
		_, s.selectorErr = sharing.Consent{Watched: r.Watched, Labels: r.Labels}.Selector(b)
	}
	if err := errors.Join(r.readCertificate(ctx, s), r.readIngressNeeds(ctx, s)); err != nil {
		return nil, err
	}
	if s.restoration, err = r.readRestoration(ctx, s); err != nil {
		return nil, err
	}
	if err := r.listOwned(ctx, s); err != nil {
		return nil, err
	}
	if diagnoseReadiness(s)(s.pods) != nil {
		s.unknownHost = r.findUnknownHost(ctx, b.Namespace, string(uri))
	}
	return s, nil
}

// listOwned lists the objects and the pods of the Backend.
func (r *Reconciler) listOwned(ctx context.Context, s *clusterState) error {
	mine := objectsOf(s.backend)
	for _, k := range objectKinds() {
		if err := r.listObjects(ctx, k, s, mine); err != nil {
			return err
		}
	}
	return r.listPods(ctx, s, mine)
}

// objectsOf selects the objects of a Backend.
func objectsOf(b *v1alpha1.Backend) []client.ListOption {
	return []client.ListOption{client.InNamespace(b.Namespace), client.MatchingLabels{
		desired.BackendLabel:  b.Name,
		desired.OperatorLabel: desired.Operator,
	}}
}

// readSecret returns a Secret, an empty one if it does not exist.
func (r *Reconciler) readSecret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	var secret corev1.Secret
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &secret)
	return &secret, client.IgnoreNotFound(err)
}

// readCertificate looks the certificate of the services up.
func (r *Reconciler) readCertificate(ctx context.Context, s *clusterState) error {
	name := s.backend.Spec.TLSSecretName
	if s.hasCertificate = name == ""; s.hasCertificate {
		return nil
	}
	secret, err := r.readSecret(ctx, s.backend.Namespace, name)
	s.hasCertificate = !slices.ContainsFunc([]string{desired.CertificateKey, desired.PrivateKeyKey, desired.AuthorityKey},
		func(key string) bool { return len(secret.Data[key]) == 0 })
	return err
}

// readIngressNeeds looks up what the Ingress names. An operator may lack the right to read
// IngressClasses, where an administrator has not granted it.
func (r *Reconciler) readIngressNeeds(ctx context.Context, s *clusterState) error {
	declared := s.backend.Spec.Ingress
	if declared == nil {
		return nil
	}
	if declared.ClassName != nil {
		class := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "IngressClass"}}
		err := r.APIReader.Get(ctx, client.ObjectKey{Name: *declared.ClassName}, &class)
		if s.lacksIngressClass = apierrors.IsNotFound(err); err != nil && !s.lacksIngressClass && !apierrors.IsForbidden(err) {
			return err
		}
	}
	for _, c := range []hostCertificate{{declared.Host, declared.TLSSecretName}, {declared.GameHost, declared.GameTLSSecretName}} {
		if c.secret == "" {
			continue
		}
		certificate, err := r.readSecret(ctx, s.backend.Namespace, c.secret)
		if err != nil {
			return err
		}
		if certificate.UID == "" {
			s.lacksCertificate = c
			return nil
		}
	}
	return nil
}

// listObjects adds the objects of one kind to the state.
func (r *Reconciler) listObjects(ctx context.Context, k objectKind, s *clusterState, mine []client.ListOption) error {
	err := r.Client.List(ctx, k.list, mine...)
	if meta.IsNoMatchError(err) && k.name == desired.HTTPRouteKind {
		s.hasGatewayAPI = false
		return nil
	}
	if err != nil {
		return fmt.Errorf("list objects of kind %s: %w", k.name, err)
	}
	return meta.EachListItem(k.list, func(o runtime.Object) error {
		object := o.(client.Object)
		s.have[objectID{k.name, object.GetName()}] = object
		return nil
	})
}

func (r *Reconciler) listPods(ctx context.Context, s *clusterState, mine []client.ListOption) error {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, mine...); err != nil {
		return err
	}
	s.pods = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
		return p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	})
	slices.SortFunc(s.pods, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}
