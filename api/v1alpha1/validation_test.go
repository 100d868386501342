package v1alpha1_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/acclaim-dev/acclaim/hack/envtest/assets"
)

type spec = map[string]any

// sound returns, for each kind, a spec that is accepted.
func sound(kind string) spec {
	switch kind {
	case "Poll":
		return spec{"extensionRef": spec{"name": "quiz"}, "channel": "42"}
	case "Extension":
		return spec{"clientID": "quiz", "keys": keys(1)}
	case "Backup":
		return spec{"backendRef": spec{"name": "default"}, "where": spec{"claimName": "backups"}}
	case "ScheduledBackup":
		return spec{"backendRef": spec{"name": "default"}, "where": spec{"claimName": "backups"}, "schedule": "17 3 * * *"}
	}
	return spec{"image": "acclaim:1", "mongodb": spec{"name": "mongodb", "key": "uri"}}
}

func keys(n int) []any {
	var all []any
	for i := range n {
		all = append(all, spec{"secretRef": spec{"name": "quiz", "key": fmt.Sprintf("key-%d", i)}})
	}
	return all
}

func texts(n int, text string) []any {
	var all []any
	for i := range n {
		all = append(all, strings.Replace(text, "#", fmt.Sprint(i), 1))
	}
	return all
}

// rule is one rule of the schemas: a change of the sound spec that it accepts
// and one that it refuses.
type rule struct {
	kind, name string
	good, bad  spec
	message    string
}

func rules() []rule {
	service := func(s spec) spec { return spec{"services": spec{"voting": s}} }
	resources := func(memory string, cpu any) spec { // with limits of 1Gi and cpu
		return service(spec{"resources": spec{"requests": spec{"memory": memory, "cpu": "1"}, "limits": spec{"memory": "1Gi", "cpu": cpu}}})
	}
	peers := func(of, cidr string, except ...any) spec {
		block := spec{"cidr": cidr}
		if len(except) > 0 {
			block["except"] = except
		}
		return spec{"networkPolicy": spec{of: []any{spec{"ipBlock": block}}}}
	}
	const within = "each ipBlock.except is a smaller range within ipBlock.cidr"
	tolerations := func(t spec) spec { return spec{"scheduling": spec{"tolerations": []any{t}}} }
	return []rule{
		{"Poll", "id length", spec{"id": strings.Repeat("é", 64)}, spec{"id": strings.Repeat("a", 65)}, "64"},
		{"Poll", "id not empty", spec{"id": "a"}, spec{"id": ""}, "at least 1"},
		{"Poll", "id dot", spec{"id": "a-b"}, spec{"id": "a.b"}, "must not contain '.'"},
		// The contract (section 2.3) takes any other character in an id.
		{"Poll", "id with signs", spec{"id": "a/b?c=d&e f"}, spec{"id": "a\nb"}, "or have control characters"},
		{"Poll", "blank id", spec{"id": "a b"}, spec{"id": " "}, "id must not begin or end with white space"},
		{"Poll", "blanks around an id", spec{"id": "é"}, spec{"id": "a\u00a0"}, "id must not begin or end with white space"},
		{"Poll", "global prefix", spec{"id": "global-1", "global": true, "channel": nil}, spec{"id": "local", "global": true, "channel": nil}, "begins with 'global'"},
		{"Poll", "local prefix", spec{"id": "local"}, spec{"id": "globalist"}, "begins with 'global'"},
		{"Poll", "channel or global", spec{"channel": "1"}, spec{"channel": nil}, "set exactly one of"},
		{"Poll", "not channel and global", spec{"channel": "1"}, spec{"id": "global", "global": true}, "set exactly one of"},
		{"Poll", "distinctOptionsPerUser low", spec{"distinctOptionsPerUser": 1}, spec{"distinctOptionsPerUser": 0}, "greater than or equal to 1"},
		{"Poll", "distinctOptionsPerUser high", spec{"distinctOptionsPerUser": 258}, spec{"distinctOptionsPerUser": 259}, "less than or equal to 258"},
		{"Poll", "totalVotesPerUser low", spec{"totalVotesPerUser": 1}, spec{"totalVotesPerUser": 0}, "greater than or equal to 1"},
		{"Poll", "totalVotesPerUser high", spec{"totalVotesPerUser": 1024}, spec{"totalVotesPerUser": 1025}, "less than or equal to 1024"},
		// The contract (section 2.4) has no upper bound, and none of one by the other: the
		// smallest of the three limits counts.
		{"Poll", "votesPerOption", spec{"votesPerOption": 1 << 40}, spec{"votesPerOption": 0}, "greater than or equal to 1"},
		{"Poll", "more options than votes", spec{"distinctOptionsPerUser": 5, "totalVotesPerUser": 2}, spec{"distinctOptionsPerUser": 259, "totalVotesPerUser": 2}, "less than or equal to 258"},
		{"Poll", "prompt length", spec{"prompt": strings.Repeat("a", 256)}, spec{"prompt": strings.Repeat("a", 257)}, "256"},
		{"Poll", "prompt bytes", spec{"prompt": strings.Repeat("é", 128)}, spec{"prompt": strings.Repeat("é", 129)}, "at most 256 bytes"},
		{"Poll", "options number", spec{"options": texts(32, "#")}, spec{"options": texts(33, "#")}, "32"},
		{"Poll", "option length", spec{"options": texts(1, strings.Repeat("a", 128))}, spec{"options": texts(1, strings.Repeat("a", 129))}, "128"},
		{"Poll", "option bytes", spec{"options": texts(1, strings.Repeat("é", 64))}, spec{"options": texts(1, strings.Repeat("é", 65))}, "at most 128 bytes"},
		{"Poll", "startsAt", spec{"startsAt": "2030-01-01T00:00:00Z"}, spec{"startsAt": "1969-12-31T23:59:59Z"}, "startsAt must be after 1970"},
		{"Poll", "endsAt", spec{"endsAt": "2030-01-01T00:00:00+02:00"}, spec{"endsAt": "1970-01-01T00:00:00Z"}, "endsAt must be after 1970"},
		{"Poll", "schedule", spec{"startsAt": "2030-01-01T00:00:00Z", "endsAt": "2030-01-01T00:00:01Z"}, spec{"startsAt": "2030-01-01T00:00:00Z", "endsAt": "2030-01-01T00:00:00Z"}, "startsAt must be before endsAt"},
		{"Poll", "schedule in whole seconds", spec{"startsAt": "2030-01-01T00:00:00.9Z", "endsAt": "2030-01-01T00:00:01.1Z"},
			spec{"startsAt": "2030-01-01T00:00:00.1Z", "endsAt": "2030-01-01T00:00:00.9Z"}, "startsAt must be before endsAt, in whole seconds"},
		{"Poll", "namespace of the backend", spec{"backendRef": spec{"name": "a", "namespace": "team-1"}}, spec{"backendRef": spec{"name": "a", "namespace": "NO_SUCH"}}, "the name of a namespace has lower-case letters"},
		{"Poll", "blank channel", spec{"channel": "a b"}, spec{"channel": "  "}, "channel must not be blank"},
		{"Poll", "blank after a channel", spec{"channel": "1"}, spec{"channel": "1 "}, "channel must not be blank, begin or end with a space"},
		{"Poll", "blank before a channel", spec{"channel": "a.b:c"}, spec{"channel": " 1"}, "channel must not be blank, begin or end with a space"},
		{"Poll", "no-break space in a channel", spec{"channel": "é"}, spec{"channel": "1\u00a02"}, "have other white space or control characters"},
		{"Poll", "tab in a channel", spec{"channel": "日本"}, spec{"channel": "1\t"}, "have other white space or control characters"},
		{"Poll", "control character in a channel", spec{"channel": "a  b"}, spec{"channel": "1\u200b"}, "have other white space or control characters"},
		{"Poll", "NUL in the prompt", spec{"prompt": "two\nlines"}, spec{"prompt": "a\x00b"}, "prompt must not contain NUL"},
		{"Poll", "NUL in an option", spec{"options": []any{"a\tb"}}, spec{"options": []any{"a", "b\x00"}}, "options must not contain NUL"},
		{"Poll", "equal options", spec{"options": []any{"red", "green"}}, spec{"options": []any{"red", "red"}}, "must differ from each other"},
		{"Poll", "empty option", spec{"options": []any{" "}}, spec{"options": []any{""}}, "options must not be empty"},
		{"Poll", "voterIdentity", spec{"voterIdentity": "SharedUserID"}, spec{"voterIdentity": "Name"}, "Unsupported value"},
		{"Poll", "deletionPolicy", spec{"deletionPolicy": "Retain"}, spec{"deletionPolicy": "Keep"}, "Unsupported value"},
		{"Poll", "driftPolicy", spec{"driftPolicy": "Observe"}, spec{"driftPolicy": "Ignore"}, "Unsupported value"},
		{"Poll", "resultsVisibility", spec{"resultsVisibility": "AfterVote", "showCount": true}, spec{"resultsVisibility": "Never"}, "Unsupported value"},
		{"Poll", "showCount", spec{"showCount": false}, spec{"showCount": true}, "showCount needs a resultsVisibility"},
		{"Poll", "report interval", spec{"reportInterval": "1m30s"}, spec{"reportInterval": "1 minute"}, "such as 1m30s"},
		{"Poll", "report interval without digits", spec{"reportInterval": ".5h"}, spec{"reportInterval": ".h"}, "reportInterval must be from 10s to 24h"},
		{"Poll", "report interval with two dots", spec{"reportInterval": "1.m30s"}, spec{"reportInterval": "1.2.3h"}, "reportInterval must be from 10s to 24h"},
		{"Poll", "userData", spec{"userData": []any{"any", spec{"json": true}}}, spec{"userData": "x", "prompt": 7}, "prompt"},

		{"Backend", "environment", spec{"environment": "sandbox"}, spec{"environment": "test"}, "Unsupported value"},
		{"Backend", "image", spec{"image": "a"}, spec{"image": ""}, "image"},
		{"Backend", "image with a blank", spec{"image": "registry.example:5000/acclaim@sha256:0"}, spec{"image": "has space:!!"}, "white space"},
		{"Backend", "host", spec{"ingress": spec{"host": "*.a-b.example"}}, spec{"ingress": spec{"host": "BAD_host"}}, "host is a DNS name"},
		{"Backend", "route's host", spec{"route": spec{"host": "a.example", "gateway": spec{"name": "g"}}}, spec{"route": spec{"host": "a.example.", "gateway": spec{"name": "g"}}}, "host is a DNS name"},
		{"Backend", "labels of pods", spec{"podTemplate": spec{"labels": spec{"team": "a"}}}, spec{"podTemplate": spec{"labels": spec{"app.kubernetes.io/instance": "a"}}}, "are the operator's"},
		{"Backend", "annotations of pods", spec{"podTemplate": spec{"annotations": spec{"team": "a"}}}, spec{"podTemplate": spec{"annotations": spec{"acclaim.dev/mongodb-secret-version": "1"}}}, "are the operator's"},
		{"Backend", "variables of pods", spec{"podTemplate": spec{"env": []any{spec{"name": "A", "value": "b"}}}}, spec{"podTemplate": spec{"env": []any{spec{"name": "POD_IP", "value": "b"}}}}, "are the operator's"},
		{"Backend", "selector of namespaces", spec{"allowedNamespaces": spec{"from": "Selector", "selector": spec{"matchLabels": spec{"team": "a"}}}}, spec{"allowedNamespaces": spec{"from": "Selector"}}, "selector is set exactly with from: Selector"},
		{"Backend", "all namespaces", spec{"allowedNamespaces": spec{"from": "All"}}, spec{"allowedNamespaces": spec{"from": "All", "selector": spec{}}}, "selector is set exactly with from: Selector"},
		{"Backend", "some namespaces", spec{"allowedNamespaces": spec{"maxExtensions": 1}}, spec{"allowedNamespaces": spec{"from": "Some"}}, "Unsupported value"},
		{"Backend", "sandbox service", spec{"environment": "sandbox", "services": spec{"sandbox": spec{}}}, spec{"services": spec{"sandbox": spec{}}}, "only a sandbox backend"},
		{"Backend", "replicas", service(spec{"replicas": 1}), service(spec{"replicas": 0}), "replicas"},
		{"Backend", "replicas or autoscaling", service(spec{"autoscaling": spec{"maxReplicas": 2}}), service(spec{"replicas": 2, "autoscaling": spec{"maxReplicas": 2}}), "exclude each other"},
		{"Backend", "autoscaling", service(spec{"autoscaling": spec{"minReplicas": 3, "maxReplicas": 3}}), service(spec{"autoscaling": spec{"minReplicas": 3, "maxReplicas": 2}}), "must not exceed"},
		{"Backend", "request of memory", resources("512Mi", "2"), resources("2Gi", "2"), "a request of cpu or memory must not exceed its limit"},
		{"Backend", "request of cpu", resources("1Gi", 1), resources("1Gi", "500m"), "a request of cpu or memory must not exceed its limit"},
		{"Backend", "limit of memory", service(spec{"resources": spec{"limits": spec{"memory": "128Mi"}}}), service(spec{"resources": spec{"limits": spec{"memory": "127Mi"}}}), "a limit of memory must be at least 128Mi"},
		{"Backend", "limit of memory without its unit", service(spec{"resources": spec{"limits": spec{"memory": 1 << 30}}}), service(spec{"resources": spec{"limits": spec{"memory": "512"}}}), "with its unit, such as 512Mi"},
		{"Backend", "request alone", service(spec{"resources": spec{"requests": spec{"memory": "2Gi"}, "limits": spec{"cpu": 1}}}), service(spec{"resources": spec{"requests": spec{"memory": "lots"}}}), "memory"},
		{"Backend", "peers of the admin port", peers("adminFrom", "fd00::/8"), peers("adminFrom", "bogus"), "an ipBlock.cidr is an address and the length of its prefix"},
		{"Backend", "peers of egress", spec{"networkPolicy": spec{"egressTo": []any{spec{"podSelector": spec{}}}}}, peers("egressTo", "10.0.0.0"), "an ipBlock.cidr is an address and the length of its prefix"},
		{"Backend", "peers of one kind", spec{"networkPolicy": spec{"egressTo": []any{spec{"podSelector": spec{}, "namespaceSelector": spec{}}}}},
			spec{"networkPolicy": spec{"egressTo": []any{spec{"podSelector": spec{}, "ipBlock": spec{"cidr": "10.0.0.0/8"}}}}}, "a peer has either an ipBlock, or"},
		{"Backend", "peers at all", spec{"networkPolicy": spec{"adminFrom": []any{spec{"namespaceSelector": spec{}}}}},
			spec{"networkPolicy": spec{"adminFrom": []any{spec{}}}}, "a peer has either an ipBlock, or"},
		{"Backend", "exceptions of a peer", peers("egressTo", "10.0.0.0/8", "10.1.0.0/16", "10.2.3.4/32"), peers("egressTo", "10.0.0.0/8", "10.1.0.0/16", "11.0.0.0/16"), within},
		{"Backend", "exceptions of a peer in IPv6", peers("adminFrom", "fd00::/8", "fd01::/16"), peers("adminFrom", "fd00::/8", "10.0.0.0/16"), within},
		{"Backend", "an exception that is a range", peers("egressTo", "0.0.0.0/0", "169.254.169.254/32"), peers("egressTo", "0.0.0.0/0", "169.254.169.254"), within},
		{"Backend", "an exception that is smaller", peers("egressTo", "10.0.0.0/8", "10.0.0.0/9"), peers("egressTo", "10.0.0.0/8", "10.0.0.0/8"), within},
		{"Backend", "tolerations", tolerations(spec{"operator": "Exists", "key": "a"}), tolerations(spec{"operator": "Exists", "value": "x"}), "with the operator Exists has no value"},
		{"Backend", "tolerations that are equal", tolerations(spec{"key": "a", "value": "x"}), tolerations(spec{"key": 1}), "key"},
		{"Backend", "ingress or route", spec{"ingress": spec{"host": "a.example"}}, spec{"ingress": spec{"host": "a.example"}, "route": spec{"host": "a.example", "gateway": spec{"name": "g"}}}, "exclude each other"},
		{"Backend", "path", spec{"ingress": spec{"host": "a.example", "path": "/a/v1"}}, spec{"ingress": spec{"host": "a.example", "path": "v1/"}}, "path"},
		{"Backend", "host of games of an ingress", spec{"services": spec{"gamelink": spec{}}, "ingress": spec{"host": "a.example", "gameHost": "b.example"}},
			spec{"services": spec{"voting": spec{}}, "ingress": spec{"host": "a.example", "gameHost": "b.example"}}, "needs services.gamelink"},
		{"Backend", "name of the host of games", spec{"services": spec{"gamelink": spec{}}, "ingress": spec{"host": "a.example", "gameHost": ""}},
			spec{"services": spec{"gamelink": spec{}}, "ingress": spec{"host": "a.example", "gameHost": "BAD_host"}}, "gameHost is a DNS name"},
		{"Backend", "two hosts of an ingress", spec{"services": spec{"gamelink": spec{}}, "ingress": spec{"host": "*.example", "gameHost": "a.example"}},
			spec{"services": spec{"gamelink": spec{}}, "ingress": spec{"host": "a.example", "gameHost": "a.example"}}, "gameHost must differ from host"},
		{"Backend", "two hosts of a route", spec{"services": spec{"gamelink": spec{}}, "route": spec{"host": "a.example", "gateway": spec{"name": "g"}, "gameHost": "b.example"}},
			spec{"services": spec{"gamelink": spec{}}, "route": spec{"host": "a.example", "gateway": spec{"name": "g"}, "gameHost": "a.example"}}, "gameHost must differ from host"},
		{"Backend", "host of games of a route", spec{"services": spec{"gamelink": spec{}}, "route": spec{"host": "a.example", "gateway": spec{"name": "g"}, "gameHost": "b.example"}},
			spec{"route": spec{"host": "a.example", "gateway": spec{"name": "g"}, "gameHost": "b.example"}}, "needs services.gamelink"},
	}
}

// TestResources asks one API server, which takes seconds to start, everything.
func TestResources(t *testing.T) {
	config := start(t)
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]func(*testing.T, client.Client){
		"schemas":             testSchemas,
		"names as ids":        testNamesAsIDs,
		"immutable":           testImmutable,
		"names of backends":   testBackendName,
		"samples":             testSamples,
		"objects from before": testOlder,
		"protection":          testProtection,
		"drains":              func(t *testing.T, c client.Client) { testDrainWarning(t, c, config) },
	} {
		t.Run(name, func(t *testing.T) { test(t, c) })
	}
}

func testSchemas(t *testing.T, c client.Client) {
	ctx := t.Context()
	for i, r := range slices.Concat(rules(), extensionRules(), backupRules()) {
		t.Run(r.kind+"/"+r.name, func(t *testing.T) {
			name := fmt.Sprintf("rule-%d", i)
			if err := c.Create(ctx, object(r.kind, name, r.good)); err != nil {
				t.Errorf("good one: %v", err)
			}
			refused(t, c.Create(ctx, object(r.kind, name+"-bad", r.bad)), r.message)
		})
	}
	for kind, name := range longNames() {
		refused(t, c.Create(ctx, object(kind, name, nil)), "the name is part of the name")
		create(ctx, t, c, object(kind, name[1:], nil))
	}
}

func testNamesAsIDs(t *testing.T, c client.Client) {
	ctx := t.Context()
	for _, name := range []string{strings.Repeat("a", 65), "a.b"} {
		refused(t, c.Create(ctx, object("Poll", name, nil)), "the name is the poll's id")
		if err := c.Create(ctx, object("Poll", name, spec{"id": "short"})); err != nil {
			t.Errorf("name %q beside an id: %v", name, err)
		}
	}
}

func testImmutable(t *testing.T, c client.Client) {
	ctx := t.Context()
	for i, test := range []struct {
		kind           string
		before, change spec
		message        string
	}{
		{"Poll", nil, spec{"extensionRef": spec{"name": "other"}}, "extensionRef is immutable"},
		{"Poll", nil, spec{"channel": "43"}, "channel is immutable"},
		{"Poll", nil, spec{"id": "late"}, "id is immutable"},
		{"Poll", spec{"id": "early"}, spec{"id": "late"}, "id is immutable"},
		{"Poll", spec{"backendRef": spec{"name": "one"}}, spec{"backendRef": spec{"name": "two"}}, "backendRef is immutable"},
		{"Poll", spec{"backendRef": spec{"name": "one"}}, spec{"backendRef": nil}, "backendRef is immutable"},
		{"Poll", spec{"id": "global", "global": true, "channel": nil}, spec{"global": false, "channel": "1"}, "global is immutable"},
		{"Extension", nil, spec{"clientID": "other"}, "clientID is immutable"},
		{"Backend", nil, spec{"environment": "sandbox"}, "environment is immutable"},
		{"Backend", nil, spec{"restoreFrom": spec{"where": spec{"claimName": "backups"}}}, "restoreFrom is set when the Backend is created, and is immutable"},
		{"Backend", spec{"restoreFrom": spec{"where": spec{"claimName": "backups"}}}, spec{"restoreFrom": nil}, "restoreFrom is set when the Backend is created, and is immutable"},
		{"Backend", spec{"restoreFrom": spec{"where": spec{"claimName": "backups"}}}, spec{"restoreFrom": spec{"where": spec{"claimName": "other"}}}, "restoreFrom is set when the Backend is created, and is immutable"},
		{"Backup", nil, spec{"backendRef": spec{"name": "other"}}, "a Backup is immutable: create another one"},
	} {
		t.Run(fmt.Sprintf("%s/%s", test.kind, test.message), func(t *testing.T) {
			o := object(test.kind, fmt.Sprintf("fixed-%d", i), test.before)
			create(ctx, t, c, o)
			if err := c.Update(ctx, o); err != nil {
				t.Fatalf("update without a change: %v", err)
			}
			lay(o.Object["spec"].(spec), test.change)
			refused(t, c.Update(ctx, o), test.message)
		})
	}
}

// start starts an API server with the project's CRDs for the time of the test.
func start(t *testing.T) *rest.Config {
	t.Helper()
	folder, err := assets.Find(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	environment := &envtest.Environment{
		BinaryAssetsDirectory: folder,
		CRDDirectoryPaths:     []string{"../../config/crd"},
		ErrorIfCRDPathMissing: true,
	}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	return config
}

// object returns a sound object with a change laid over its spec.
func object(kind, name string, change spec) *unstructured.Unstructured {
	s := sound(kind)
	lay(s, change)
	return &unstructured.Unstructured{Object: spec{
		"apiVersion": "acclaim.dev/v1alpha1", "kind": kind,
		"metadata": spec{"name": name, "namespace": "default"},
		"spec":     s,
	}}
}

// lay lays a change over a spec; nil removes a field.
func lay(s, change spec) {
	maps.Copy(s, change)
	maps.DeleteFunc(s, func(_ string, value any) bool { return value == nil })
}

func create(ctx context.Context, t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	if err := c.Create(ctx, o); err != nil {
		t.Fatal(err)
	}
}

func refused(t *testing.T, err error, message string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), message) {
		t.Errorf("error is %v, want a refusal with %q", err, message)
	}
}
