package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

// files returns the manifests and the configurations of what runs on a node,
// templates all of them.
//
//go:embed manifests config registry
var files embed.FS

// certificatePath returns the path of a file that the authority wrote.
func (c *cluster) certificatePath(name string) string {
	return filepath.Join(c.state, "pki", name)
}

// issueCertificates makes a certificate for each that has to say who it is.
func (c *cluster) issueCertificates(nodes int) error {
	a, err := newAuthority(filepath.Join(c.state, "pki"))
	if err != nil {
		return err
	}
	all := []certificateIdentity{
		{file: "apiserver", user: "kube-apiserver", noKubeconfig: true, names: []string{
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
			"localhost", "127.0.0.1", controlAddress, firstService,
		}},
		{file: "service-account", user: "service-account", noKubeconfig: true},
		{file: "front-proxy", user: "front-proxy-client", noKubeconfig: true},
		{file: "admin", user: "admin", group: "system:masters"},
		{file: "controller-manager", user: "system:kube-controller-manager"},
		{file: "scheduler", user: "system:kube-scheduler"},
		{file: "kube-proxy", user: "system:kube-proxy"},
		{file: "kube-router", user: "system:kube-router"},
	}
	for i := 1; i <= nodes; i++ {
		name := nodeName(i)
		all = append(all, certificateIdentity{file: name, user: "system:node:" + name, group: "system:nodes", names: []string{name, nodeAddress(i)}})
	}
	for _, who := range all {
		if err := a.issueCertificate(who, "https://"+controlAddress+":6443"); err != nil {
			return err
		}
	}
	return nil
}

// controlPlane returns the machine that runs etcd, the API server, the controller
// manager and the scheduler, each once: tests never take it away.
func (c *cluster) controlPlane(nodes int) machine {
	// A node is given up soon where another one can take its pods, and where there is none
	// not for what tests do to the API server.
	grace := "25s"
	if nodes == 1 {
		grace = "3m"
	}
	folder := machineFolder(c.state, control)
	etcd := program{Name: "etcd", Arguments: []string{
		c.findProgram("etcd"), "--data-dir=" + filepath.Join(folder, "etcd"), "--log-level=warn",
		"--unsafe-no-fsync", // nothing here outlives the machine
	}}
	// Both read who they are, and who others are, from their kubeconfig.
	standing := func(name string) []string {
		kubeconfig := c.certificatePath(strings.TrimPrefix(name, "kube-") + ".kubeconfig")
		return []string{
			c.findProgram(name), "--leader-elect=false", "--kubeconfig=" + kubeconfig,
			"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		}
	}
	manager := append(standing("kube-controller-manager"),
		"--use-service-account-credentials",
		"--service-account-private-key-file="+c.certificatePath("service-account.key"),
		"--root-ca-file="+c.certificatePath("ca.crt"),
		"--cluster-signing-cert-file="+c.certificatePath("ca.crt"),
		"--cluster-signing-key-file="+c.certificatePath("ca.key"),
		// Tests wait for these, and their defaults are minutes.
		"--horizontal-pod-autoscaler-sync-period=5s",
		"--horizontal-pod-autoscaler-downscale-stabilization=30s",
		"--horizontal-pod-autoscaler-initial-readiness-delay=5s",
		"--horizontal-pod-autoscaler-cpu-initialization-period=15s",
		"--node-monitor-grace-period="+grace,
		"--flex-volume-plugin-dir="+filepath.Join(folder, "volume-plugins"),
	)
	return machine{Name: control, Group: c.group(control), Folder: folder, Programs: []program{
		etcd,
		{Name: "kube-apiserver", Arguments: c.apiServer()},
		{Name: "kube-controller-manager", Arguments: manager},
		{Name: "kube-scheduler", Arguments: standing("kube-scheduler")},
	}}
}

func (c *cluster) apiServer() []string {
	return []string{
		c.findProgram("kube-apiserver"),
		"--advertise-address=" + controlAddress,
		"--etcd-servers=http://127.0.0.1:2379",
		"--service-cluster-ip-range=" + serviceNetwork,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged",
		"--client-ca-file=" + c.certificatePath("ca.crt"),
		"--tls-cert-file=" + c.certificatePath("apiserver.crt"),
		"--tls-private-key-file=" + c.certificatePath("apiserver.key"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + c.certificatePath("service-account.pub"),
		"--service-account-signing-key-file=" + c.certificatePath("service-account.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-certificate-authority=" + c.certificatePath("ca.crt"),
		"--kubelet-client-certificate=" + c.certificatePath("admin.crt"),
		"--kubelet-client-key=" + c.certificatePath("admin.key"),
		// API servers that extend this one, such as that of metrics, learn from these
		// headers which user asks. This one finds them by their pods: it has no kube-proxy.
		"--enable-aggregator-routing",
		"--proxy-client-cert-file=" + c.certificatePath("front-proxy.crt"),
		"--proxy-client-key-file=" + c.certificatePath("front-proxy.key"),
		"--requestheader-client-ca-file=" + c.certificatePath("ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
	}
}

// nodeValues are the values in the configuration of a node.
type nodeValues struct {
	Name, Group, Address, PodRange, PodNetwork, DNS string
	Folder, Registries, Certificates                string
	Plugins, Runtime, Pause                         string
}

// registriesFolder returns the folder in which containerd finds how to reach registries.
func registriesFolder(node string) string { return filepath.Join(node, "registries") }

// manifestValues are the values in manifests.
type manifestValues struct {
	DNS     string
	Ingress int
	Gateway int
	// Foreign is set for a cluster of others, whose kubelets sign their certificates themselves.
	Foreign bool
}

// newNode writes the configuration of a node and returns its machine: containerd,
// the kubelet, kube-proxy and kube-router.
func (c *cluster) newNode(number int) (machine, error) {
	name := nodeName(number)
	folder := machineFolder(c.state, name)
	if err := renderTemplates("registry", filepath.Join(registriesFolder(folder), registryAddress), registryAddress); err != nil {
		return machine{}, err
	}
	err := renderTemplates("config", folder, nodeValues{
		Name: name, Group: c.group(name), Address: nodeAddress(number), PodRange: fmt.Sprintf(podRange, number), PodNetwork: podNetwork, DNS: dnsService,
		Folder: folder, Registries: registriesFolder(folder), Certificates: c.certificatePath(""), Plugins: c.Plugins, Runtime: c.findProgram("runc"), Pause: imageName("pause"),
	})
	path := strings.Join(append(c.Path, "/usr/sbin", "/usr/bin", "/sbin", "/bin"), ":")
	return machine{Name: name, Group: c.group(name), Folder: folder, Node: true, Programs: []program{
		{Name: "containerd", Path: path, Arguments: []string{c.findProgram("containerd"), "--config=" + filepath.Join(folder, "containerd.toml")}},
		{Name: "kubelet", Path: path, Arguments: []string{
			c.findProgram("kubelet"), "--config=" + filepath.Join(folder, "kubelet.yaml"), "--kubeconfig=" + c.certificatePath(name+".kubeconfig"),
			"--hostname-override=" + name, "--node-ip=" + nodeAddress(number),
		}},
		{Name: "kube-proxy", Path: path, Arguments: []string{c.findProgram("kube-proxy"), "--config=" + filepath.Join(folder, "kube-proxy.yaml")}},
		{Name: "kube-router", Path: path, Arguments: []string{
			c.findProgram("kube-router"), "--kubeconfig=" + c.certificatePath("kube-router.kubeconfig"),
			"--hostname-override=" + name, "--service-cluster-ip-range=" + serviceNetwork,
		}},
	}}, err
}

// renderTemplates fills in the templates of one of our folders: those with the names, or all without names.
func renderTemplates(from, to string, values any, names ...string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	all, err := template.New("").Funcs(template.FuncMap{"image": imageName}).ParseFS(files, from+"/*")
	if err != nil {
		return err
	}
	return fs.WalkDir(files, from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || len(names) > 0 && !slices.Contains(names, entry.Name()) {
			return err
		}
		file, err := os.Create(filepath.Join(to, entry.Name()))
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		return all.ExecuteTemplate(file, entry.Name(), values)
	})
}
