package backend_test

import (
	"context"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/desired"
	"github.com/acclaim-dev/acclaim/operator/internal/holder"
)

// objects returns the kinds and names of all that there is in the namespace.
func (w *world) objects(ctx context.Context) []string {
	GinkgoHelper()
	var all []string
	for kind, list := range map[string]client.ObjectList{
		"Deployment": &appsv1.DeploymentList{}, "Service": &corev1.ServiceList{},
		"PodDisruptionBudget": &policyv1.PodDisruptionBudgetList{}, "NetworkPolicy": &networkingv1.NetworkPolicyList{},
		"HorizontalPodAutoscaler": &autoscalingv2.HorizontalPodAutoscalerList{}, "Ingress": &networkingv1.IngressList{},
		"ServiceAccount": &corev1.ServiceAccountList{}, "ConfigMap": &corev1.ConfigMapList{}, "Role": &rbacv1.RoleList{}, "RoleBinding": &rbacv1.RoleBindingList{},
	} {
		Expect(w.List(ctx, list, client.InNamespace(w.backend.Namespace))).To(Succeed())
		for _, name := range namesOf(list) {
			all = append(all, kind+" "+name)
		}
	}
	slices.Sort(all)
	return all
}

var _ = Describe("Objects", func() {
	everything := func(s *v1alpha1.BackendSpec) {
		s.Environment = "sandbox"
		s.Ingress = &v1alpha1.Ingress{Host: "quiz.example", TLSSecretName: "tls", GameHost: "games.example", Annotations: map[string]string{"a": "b"}}
		s.Services.GameLink = &v1alpha1.Service{}
		s.Services.Voting = &v1alpha1.Service{
			Autoscaling: &v1alpha1.Autoscaling{MaxReplicas: 9, Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
				ScaleDown: &autoscalingv2.HPAScalingRules{Policies: []autoscalingv2.HPAScalingPolicy{{Type: "Pods", Value: 1, PeriodSeconds: 60}}},
			}},
			// Not how the API server writes it.
			Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1000m")}},
		}
		s.Scheduling = v1alpha1.Scheduling{
			NodeSelector:      map[string]string{"pool": "games"},
			Tolerations:       []corev1.Toleration{{Key: "games", Operator: corev1.TolerationOpExists}},
			PriorityClassName: "high",
			Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
					{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "pool", Operator: "Exists"}}},
				}},
			}},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{TopologyKey: "zone", MaxSkew: 1, WhenUnsatisfiable: "ScheduleAnyway"}},
		}
		// References as people write them, without what the API server adds.
		s.PodTemplate = v1alpha1.PodTemplate{
			Labels:                    map[string]string{"team": "games"},
			Annotations:               map[string]string{"a.example/b": "c"},
			ServiceAccountAnnotations: map[string]string{"a.example/role": "quiz"},
			ImagePullPolicy:           corev1.PullAlways,
			Env: []corev1.EnvVar{
				{Name: "PLAIN", Value: "a"},
				{Name: "EMPTY"},
				{Name: "FIELD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
				{Name: "SECRET", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "a"}, Key: "b"}}},
			},
		}
		s.ResultLog = &v1alpha1.ResultLog{Origin: "votes.example/acclaim", KeySecretName: "result-log"}
		s.ImagePullSecrets = []v1alpha1.ObjectReference{{Name: "registry"}}
		s.NetworkPolicy.AdminFrom = []v1alpha1.NetworkPeer{
			{NamespaceSelector: &metav1.LabelSelector{}, PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "prometheus"}}},
			{IPBlock: &v1alpha1.IPBlock{CIDR: "192.0.2.0/24"}},
		}
		s.NetworkPolicy.EgressTo = []v1alpha1.NetworkPeer{{IPBlock: &v1alpha1.IPBlock{CIDR: "198.51.100.0/24"}}}
	}

	It("come and go with what is declared", func(ctx context.Context) {
		w := newWorld(ctx, nil)
		w.rollOut(ctx)
		few := w.objects(ctx)
		Expect(few).To(HaveLen(15))

		w.change(ctx, func(s *v1alpha1.BackendSpec) {
			environment := s.Environment
			everything(s)
			s.Environment = environment
		})
		w.rollOut(ctx)
		w.settle(ctx)
		Expect(w.objects(ctx)).To(ConsistOf(append(few, "Ingress default", "HorizontalPodAutoscaler default-voting",
			"Deployment default-gamelink", "Service default-gamelink", "PodDisruptionBudget default-gamelink",
			"ConfigMap default-result-log-mark", "Role default-result-log-mark", "RoleBinding default-result-log-mark")))

		w.change(ctx, func(s *v1alpha1.BackendSpec) {
			s.Ingress, s.Scheduling, s.ImagePullSecrets, s.ResultLog = nil, v1alpha1.Scheduling{}, nil, nil
			s.Services.Voting, s.Services.Ranking, s.Services.GameLink = nil, &v1alpha1.Service{Disabled: true}, nil
		})
		w.rollOut(ctx)
		w.settle(ctx)
		Expect(w.objects(ctx)).To(ConsistOf(slices.DeleteFunc(few, func(o string) bool { return strings.HasSuffix(o, "ranking") })))
		spec := w.deployment(ctx, "voting").Spec.Template.Spec
		Expect(spec.NodeSelector).To(BeEmpty())
		Expect(spec.Tolerations).To(BeEmpty())
		Expect(spec.ImagePullSecrets).To(BeEmpty())
		Expect(w.events()).To(ContainElement("Normal Removed Ingress default is no longer declared"))
	})

	It("are compared with what the API server makes of them", func(ctx context.Context) {
		w := newWorld(ctx, everything)
		w.rollOut(ctx)
		w.settle(ctx)
		Expect(w.objects(ctx)).To(HaveLen(26))
	})

	It("are corrected after changes, with one write each", func(ctx context.Context) {
		w := newWorld(ctx, everything)
		w.rollOut(ctx)
		w.settle(ctx)
		for _, spoil := range []func() (client.Object, func()){
			func() (client.Object, func()) {
				d := &appsv1.Deployment{ObjectMeta: w.named("default-state")}
				return d, func() { d.Spec.Template.Spec.Containers[0].Image = "other" }
			},
			func() (client.Object, func()) {
				d := &appsv1.Deployment{ObjectMeta: w.named("default-state")}
				return d, func() { d.Labels["app.kubernetes.io/name"] = "other" }
			},
			func() (client.Object, func()) {
				s := &corev1.Service{ObjectMeta: w.named("default-state")}
				return s, func() { s.Spec.Ports[0].TargetPort = intstr.FromInt32(1) }
			},
			func() (client.Object, func()) {
				b := &policyv1.PodDisruptionBudget{ObjectMeta: w.named("default-state")}
				return b, func() { b.Spec.MaxUnavailable = new(intstr.FromInt32(2)) }
			},
			func() (client.Object, func()) {
				h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: w.named("default-voting")}
				return h, func() { h.Spec.MaxReplicas = 50 }
			},
			func() (client.Object, func()) {
				n := &networkingv1.NetworkPolicy{ObjectMeta: w.named("default")}
				return n, func() { n.Spec.Ingress = n.Spec.Ingress[:1] }
			},
			func() (client.Object, func()) {
				i := &networkingv1.Ingress{ObjectMeta: w.named("default")}
				return i, func() { i.Spec.Rules[0].Host = "other.example" }
			},
			func() (client.Object, func()) {
				a := &corev1.ServiceAccount{ObjectMeta: w.named("default-services")}
				return a, func() { a.AutomountServiceAccountToken = new(true) }
			},
			func() (client.Object, func()) {
				r := &rbacv1.Role{ObjectMeta: w.named("default-result-log-mark")}
				return r, func() { r.Rules[0].ResourceNames = nil }
			},
			func() (client.Object, func()) {
				b := &rbacv1.RoleBinding{ObjectMeta: w.named("default-result-log-mark")}
				return b, func() { b.Subjects[0].Name = "default" }
			},
			func() (client.Object, func()) {
				m := &corev1.ConfigMap{ObjectMeta: w.named("default-result-log-mark")}
				return m, func() { m.Labels["app.kubernetes.io/name"] = "other" }
			},
		} {
			o, change := spoil()
			w.load(ctx, o)
			change()
			Expect(w.Update(ctx, o)).To(Succeed())
			Expect(w.reconcile(ctx)).To(Succeed())
			writes := slices.DeleteFunc(w.requests.writes, func(write string) bool { return strings.HasSuffix(write, "/status") })
			Expect(writes).To(HaveLen(1), "%T", o)
			w.rollOut(ctx)
			o, change = spoil()
			w.load(ctx, o)
			good := o.DeepCopyObject()
			change()
			Expect(o).NotTo(Equal(good), "%T is as it was before", o)
		}
	})

	It("keep the additions of others", func(ctx context.Context) {
		w := newWorld(ctx, everything)
		w.rollOut(ctx)
		w.settle(ctx)
		d := w.deployment(ctx, "state")
		d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = "now"
		d.Spec.Template.Spec.Containers[0].Env = append(d.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "GODEBUG", Value: "x=1"})
		Expect(w.Update(ctx, d)).To(Succeed())
		mark := &corev1.ConfigMap{ObjectMeta: w.named("default-result-log-mark")}
		w.load(ctx, mark)
		mark.Data, mark.Labels["app.kubernetes.io/name"] = map[string]string{"checkpoint": "signed"}, "other"
		Expect(w.Update(ctx, mark)).To(Succeed())
		Expect(w.reconcile(ctx)).To(Succeed())
		w.rollOut(ctx)
		w.settle(ctx)
		w.load(ctx, mark)
		Expect(mark.Data).To(HaveKeyWithValue("checkpoint", "signed"))
		Expect(mark.Labels).To(HaveKeyWithValue("app.kubernetes.io/name", "acclaim"))
		template := w.deployment(ctx, "state").Spec.Template
		Expect(template.Annotations).To(HaveKey("kubectl.kubernetes.io/restartedAt"))
		Expect(template.Spec.Containers[0].Env).To(ContainElement(HaveField("Name", "GODEBUG")))
	})

	It("are never taken from another owner", func(ctx context.Context) {
		w := newWorld(ctx, nil)
		foreign := &corev1.Service{ObjectMeta: w.named("default-voting"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		w.create(ctx, foreign)
		Expect(w.reconcile(ctx)).NotTo(Succeed(), "no watch reports that the name is free, so it tries again")
		Expect(w.expectDegraded(v1alpha1.ReasonNameTaken)).To(ContainSubstring("Service default-voting"))
		Expect(w.images(ctx)).To(HaveLen(4), "the rest goes on")
		Expect(w.reconcile(ctx)).NotTo(Succeed())
		Expect(w.requests.writes).To(BeEmpty())
		w.load(ctx, foreign)
		Expect(foreign.Spec.Ports).To(HaveExactElements(HaveField("Port", BeEquivalentTo(80))))
		Expect(w.Delete(ctx, foreign)).To(Succeed())
		w.rollOut(ctx)
	})

	It("are not made for a Backend that another operator holds", func(ctx context.Context) {
		w := newWorld(ctx, nil)
		w.reconciler.Instance = holder.NewInstance("team-a/acclaim")
		w.backend.Annotations = map[string]string{v1alpha1.OperatorAnnotation: "team-b/acclaim"}
		Expect(w.Update(ctx, w.backend)).To(Succeed())
		w.settle(ctx)
		Expect(w.backend.Status.Conditions).To(BeEmpty())
		Expect(w.images(ctx)).To(BeEmpty())
		Expect(w.events()).To(ConsistOf(HavePrefix("Normal HeldByAnother")))

		w.backend.Annotations = nil
		Expect(w.Update(ctx, w.backend)).To(Succeed())
		w.rollOut(ctx)
		Expect(w.backend.Annotations).To(HaveKeyWithValue(v1alpha1.OperatorAnnotation, "team-a/acclaim"))
	})

	It("are left as they are while their Backend is paused", func(ctx context.Context) {
		w := newWorld(ctx, nil)
		w.rollOut(ctx)
		w.load(ctx, w.backend)
		w.backend.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
		w.backend.Spec.Image = "acclaim:2"
		Expect(w.Update(ctx, w.backend)).To(Succeed())
		Expect(w.Delete(ctx, w.deployment(ctx, "state"))).To(Succeed())
		Expect(w.reconcile(ctx)).To(Succeed())
		Expect(w.requests.writes).To(BeEmpty())
		w.load(ctx, w.backend)
		w.backend.Annotations = nil
		Expect(w.Update(ctx, w.backend)).To(Succeed())
		w.rollOut(ctx)
		Expect(w.deployment(ctx, "state").Spec.Template.Spec.Containers[0].Image).To(Equal("acclaim:2"))
	})

	It("are adopted when their Backend was deleted without them", func(ctx context.Context) {
		w := newWorld(ctx, nil)
		w.rollOut(ctx)
		d := w.deployment(ctx, "voting")
		uid := d.UID
		d.OwnerReferences = nil // as `kubectl delete --cascade=orphan` leaves it
		Expect(w.Update(ctx, d)).To(Succeed())
		w.settle(ctx)
		d = w.deployment(ctx, "voting")
		Expect(d.UID).To(Equal(uid))
		Expect(metav1.IsControlledBy(d, w.backend)).To(BeTrue())
	})

	It("that the API server refuses are reported and keep nothing else back", func(ctx context.Context) {
		w := newWorld(ctx, func(s *v1alpha1.BackendSpec) {
			s.Ingress = &v1alpha1.Ingress{Host: "a.example", Annotations: map[string]string{"not a name": ""}}
		})
		Expect(w.reconcile(ctx)).NotTo(Succeed())
		Expect(w.expectDegraded(v1alpha1.ReasonObjectRefused)).To(And(ContainSubstring("Ingress default"), ContainSubstring("annotations")))
		Expect(w.images(ctx)).To(HaveLen(4))
		w.change(ctx, func(s *v1alpha1.BackendSpec) { s.Ingress.Annotations = nil })
		w.rollOut(ctx)
	})
})

var _ = Describe("A Backend claims only what was looked at", func() {
	It("of the class and the certificate of its Ingress", func(ctx context.Context) {
		class := "missing-" + strconv.FormatInt(GinkgoRandomSeed(), 10)
		w := newWorld(ctx, func(s *v1alpha1.BackendSpec) {
			s.Services.GameLink = &v1alpha1.Service{}
			s.Ingress = &v1alpha1.Ingress{
				ClassName: &class, Host: "a.example", TLSSecretName: "absent", GameHost: "games.example", GameTLSSecretName: "later",
			}
		})
		Expect(w.reconcile(ctx)).NotTo(Succeed(), "no watch reports the class, so it tries again")
		Expect(w.expectDegraded(v1alpha1.ReasonIngressClassMissing)).To(ContainSubstring(class))
		w.create(ctx, &networkingv1.IngressClass{
			ObjectMeta: metav1.ObjectMeta{Name: class}, Spec: networkingv1.IngressClassSpec{Controller: "example.com/ingress"},
		})
		w.playAll(ctx)
		Expect(w.reconcile(ctx)).To(Succeed())
		Expect(w.expectDegraded(v1alpha1.ReasonTLSSecretMissing)).To(ContainSubstring(`"absent"`))
		w.create(ctx, w.secret("absent", "tls.crt", "any"))
		w.playAll(ctx)
		Expect(w.reconcile(ctx)).To(Succeed())
		Expect(w.expectDegraded(v1alpha1.ReasonTLSSecretMissing)).To(ContainSubstring(`"later" with the certificate of games.example`))
		w.create(ctx, w.secret("later", "tls.crt", "any"))
		w.rollOut(ctx)
	})

	It("of the class of its Ingress, with the rights of an operator of some namespaces", func(ctx context.Context) {
		class := "absent-" + strconv.FormatInt(GinkgoRandomSeed(), 10)
		w := newWorld(ctx, func(s *v1alpha1.BackendSpec) { s.Ingress = &v1alpha1.Ingress{ClassName: &class, Host: "a.example"} })
		limited, err := client.New(asOperator(ctx, w, w.backend.Namespace, "namespace.yaml", "role.yaml", "service_account.yaml",
			"namespaced/role_binding.yaml", "lookups/role.yaml", "lookups/role_binding.yaml"), client.Options{Scheme: cluster.Scheme})
		Expect(err).NotTo(HaveOccurred())
		w.reconciler.APIReader = limited
		Expect(w.reconcile(ctx)).NotTo(Succeed(), "no watch reports the class, so it tries again")
		Expect(w.expectDegraded(v1alpha1.ReasonIngressClassMissing)).To(ContainSubstring(class))
	})

	It("of the address of its Ingress, which does not keep it from being ready", func(ctx context.Context) {
		w := newWorld(ctx, func(s *v1alpha1.BackendSpec) { s.Ingress = &v1alpha1.Ingress{Host: "a.example"} })
		w.rollOut(ctx)
		Expect(w.condition(v1alpha1.Addressed)).To(And(HaveField("Status", metav1.ConditionUnknown), HaveField("Reason", v1alpha1.ReasonNoAddress)))
		ingress := &networkingv1.Ingress{ObjectMeta: w.named("default")}
		w.load(ctx, ingress)
		ingress.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}, {Hostname: "edge.example"}}
		Expect(w.Status().Update(ctx, ingress)).To(Succeed())
		w.settle(ctx)
		Expect(w.condition(v1alpha1.Addressed)).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Message", "192.0.2.1, edge.example")))
		w.expectReady()
		w.change(ctx, func(s *v1alpha1.BackendSpec) { s.Ingress = nil })
		w.rollOut(ctx)
		Expect(meta.FindStatusCondition(w.backend.Status.Conditions, v1alpha1.Addressed)).To(BeNil())
	})

	It("of the certificate of its services, without which no pod is started", func(ctx context.Context) {
		w := newWorld(ctx, func(s *v1alpha1.BackendSpec) { s.TLSSecretName = "services" })
		Expect(w.reconcile(ctx)).To(Succeed())
		Expect(w.expectDegraded(v1alpha1.ReasonTLSSecretMissing)).To(ContainSubstring(`"services"`))
		Expect(w.images(ctx)).To(BeEmpty())
		certificate := w.secret("services", desired.CertificateKey, "any")
		certificate.Data[desired.PrivateKeyKey] = []byte("any")
		w.create(ctx, certificate)
		Expect(w.reconcile(ctx)).To(Succeed())
		w.expectDegraded(v1alpha1.ReasonTLSSecretMissing)
		certificate.Data[desired.AuthorityKey] = []byte("any")
		Expect(w.Update(ctx, certificate)).To(Succeed())
		w.rollOut(ctx)
		pod := w.deployment(ctx, "voting").Spec.Template.Spec
		Expect(pod.Containers[0].Args).To(ContainElement("--tls-cert=/etc/acclaim-tls/tls.crt"))
		Expect(pod.Volumes).To(ContainElement(HaveField("VolumeSource.Secret.SecretName", "services")))
	})

	It("and not to serve without services", func(ctx context.Context) {
		off := &v1alpha1.Service{Disabled: true}
		w := newWorld(ctx, func(s *v1alpha1.BackendSpec) {
			s.Services = v1alpha1.Services{Voting: off, Accumulation: off, Ranking: off, State: off}
		})
		w.settle(ctx)
		w.expectDegraded(v1alpha1.ReasonNoServices)
		Expect(w.condition(v1alpha1.Available)).To(HaveField("Status", metav1.ConditionFalse))
		Expect(w.condition(v1alpha1.Stalled)).To(HaveField("Status", metav1.ConditionTrue))
	})
})

var _ = Describe("A route", func() {
	routed := func(s *v1alpha1.BackendSpec) {
		s.Route = &v1alpha1.Route{Gateway: v1alpha1.ObjectReference{Name: "public"}, Host: "quiz.example", GameHost: "games.example"}
		s.Services.GameLink = &v1alpha1.Service{}
	}
	getNamed := func(ctx context.Context, w *world, name string) (*unstructured.Unstructured, error) {
		r := route(w.backend.Namespace, name)
		return r, w.Get(ctx, client.ObjectKeyFromObject(r), r)
	}

	get := func(ctx context.Context, w *world) (*unstructured.Unstructured, error) {
		return getNamed(ctx, w, w.backend.Name)
	}

	It("needs the Gateway API, and says so", func(ctx context.Context) {
		w := newWorld(ctx, routed)
		Expect(w.reconcile(ctx)).NotTo(Succeed(), "no watch reports the installation, so it tries again")
		w.expectDegraded(v1alpha1.ReasonGatewayAPIMissing)
		Expect(w.images(ctx)).To(HaveLen(5), "the rest goes on")
		Expect(w.reconcile(ctx)).NotTo(Succeed())
		Expect(w.requests.writes).To(BeEmpty())
	})

	It("is accepted by the Gateway API", func(ctx context.Context) {
		installGatewayAPI(ctx)
		w := newWorld(ctx, routed)
		Expect(w.reconcile(ctx)).To(Succeed())
		w.expectDegraded(v1alpha1.ReasonRouteNotAccepted)
		answer := func(accepted, resolved string) {
			GinkgoHelper()
			taken, err := get(ctx, w)
			Expect(err).NotTo(HaveOccurred())
			Expect(w.answerRoute(ctx, taken, accepted, resolved)).To(Succeed())
			w.playAll(ctx)
		}
		answer("False", "True")
		Expect(w.reconcile(ctx)).To(Succeed())
		Expect(w.expectDegraded(v1alpha1.ReasonRouteNotAccepted)).To(ContainSubstring("of the host"))
		answer("True", "False")
		Expect(w.reconcile(ctx)).To(Succeed())
		Expect(w.expectDegraded(v1alpha1.ReasonRouteNotAccepted)).To(ContainSubstring("of a Service"))
		answer("True", "True")
		w.playAll(ctx)
		Expect(w.reconcile(ctx)).To(Succeed())
		Expect(w.expectDegraded(v1alpha1.ReasonRouteNotAccepted)).To(ContainSubstring("No Gateway has answered"))
		games, err := getNamed(ctx, w, "default-gamelink")
		Expect(err).NotTo(HaveOccurred())
		Expect(w.answerRoute(ctx, games, "True", "True")).To(Succeed())
		w.rollOut(ctx)
		w.settle(ctx)
		route, err := get(ctx, w)
		Expect(err).NotTo(HaveOccurred())
		Expect(unstructured.SetNestedStringSlice(route.Object, []string{"other.example"}, "spec", "hostnames")).To(Succeed())
		Expect(w.Update(ctx, route)).To(Succeed())
		w.settle(ctx)
		route, err = get(ctx, w)
		Expect(err).NotTo(HaveOccurred())
		Expect(route.Object["spec"]).To(HaveKeyWithValue("hostnames", HaveExactElements("quiz.example")))

		w.change(ctx, func(s *v1alpha1.BackendSpec) { s.Route = nil })
		w.settle(ctx)
		_, err = get(ctx, w)
		Expect(client.IgnoreNotFound(err)).To(Succeed())
		Expect(err).To(HaveOccurred())
	})
})

func route(namespace, name string) *unstructured.Unstructured {
	var r unstructured.Unstructured
	r.SetAPIVersion("gateway.networking.k8s.io/v1")
	r.SetKind("HTTPRoute")
	r.SetNamespace(namespace)
	r.SetName(name)
	return &r
}
