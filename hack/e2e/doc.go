// Package e2e tests Acclaim as its users meet it: the chart is installed with
// Helm into a real cluster, polls are declared in YAML's terms, and extension
// clients come through the ingress while pods roll and die. It has nothing but
// tests, whose table of contents is in e2e_test.go, what crashes a pod, and what sets its
// clock wrong.
//
// It takes a kubeconfig and the names of images, from the environment:
//
//	KUBECONFIG                  the cluster, in which Helm may do everything
//	ACCLAIM_E2E_IMAGE           the image; without it nothing is tested
//	ACCLAIM_E2E_PREVIOUS_IMAGE  the image of the version before, to upgrade from
//	ACCLAIM_E2E_PREVIOUS_CHART  its chart, packed
//	ACCLAIM_E2E_DATABASE_IMAGE  the MongoDB-wire server of hack/mongod, packed; backups
//	                            are restored into one
//	ACCLAIM_E2E_KILL_IMAGE      hack/e2e/kill, packed
//	ACCLAIM_E2E_CLOCK_IMAGE     the services, built with a clock that is off (hack/e2e/clock)
//	ACCLAIM_E2E_PLUGINS         the folder with the plugin of kubectl
//	ACCLAIM_E2E_MONGODB_URI     a database to use instead for the release
//	ACCLAIM_E2E_INGRESS         where the ingress controller listens, if not at port
//	                            30080 of the first node
//	ACCLAIM_E2E_POWER           a command that is given `stop NODE` to cut the power of
//	                            a node, or `start NODE`, for the specs with the label
//	                            `power`; there must be two nodes at least. For those
//	                            with the label `control` it is given `pause
//	                            kube-apiserver`, or `resume kube-apiserver`
//
// Specs with the label `pods` connect with pods by their addresses. Those with the label
// `policies` need a network that enforces NetworkPolicies, and those with the label
// `gateway` an implementation of the Gateway API: a GatewayClass `traefik` whose listeners
// have the port 8000, at port 30081 of each node.
//
// It calls helm, kubectl and, for the commands of documents, bash and curl. Nodes have the images already.
// `make e2e` sees to all of it.
package e2e
