package e2e_test

import (
	"context"
	"os"
	"path"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// provideVolume sees to a volume for a claim that will name no class: a cluster with
// storage classes has one, any other gets a folder of its first node.
func (w *world) provideVolume(ctx context.Context, claim string) {
	var classes storagev1.StorageClassList
	Expect(w.List(ctx, &classes)).To(Succeed())
	if len(classes.Items) > 0 {
		return
	}
	node, folder := w.nodes(ctx)[0], path.Join("/var/lib/acclaim-e2e", w.namespace, claim)
	w.makeFolder(ctx, node.Name, folder)
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-" + claim}, Spec: corev1.PersistentVolumeSpec{
		Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")},
		AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		ClaimRef:               &corev1.ObjectReference{Namespace: w.namespace, Name: claim},
		PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: folder}},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node.Labels[corev1.LabelHostname]},
			}},
		}}}},
	}}
	Expect(w.Create(ctx, volume)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(client.IgnoreNotFound(w.Delete(ctx, volume))).To(Succeed())
	}, NodeTimeout(time.Minute))
}

// makeFolder has the kubelet of a node make a folder, for a pod whose program need not
// even succeed.
func (w *world) makeFolder(ctx context.Context, node, folder string) {
	maker := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "folder-"}, Spec: corev1.PodSpec{
		NodeName:      node,
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{
			Name:         "folder",
			Image:        os.Getenv("ACCLAIM_E2E_KILL_IMAGE"),
			VolumeMounts: []corev1.VolumeMount{{Name: "folder", MountPath: "/folder"}},
		}},
		Volumes: []corev1.Volume{{Name: "folder", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
			Path: folder, Type: new(corev1.HostPathDirectoryOrCreate),
		}}}},
	}}
	Expect(w.Create(ctx, maker)).To(Succeed())
	Eventually(ctx, func() (corev1.PodPhase, error) {
		err := w.Get(ctx, client.ObjectKeyFromObject(maker), maker)
		return maker.Status.Phase, err
	}).Should(BeElementOf(corev1.PodSucceeded, corev1.PodFailed))
	Expect(w.Delete(ctx, maker)).To(Succeed())
}
