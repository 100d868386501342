package registry_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
)

var born = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// named returns an Extension that is the older the smaller its age is.
func named(name string, age int, change func(*v1alpha1.ExtensionSpec)) v1alpha1.Extension {
	e := v1alpha1.Extension{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(born.Add(time.Duration(age) * time.Second))},
		Spec:       v1alpha1.ExtensionSpec{ClientID: v1alpha1.ID(name)},
	}
	change(&e.Spec)
	return e
}

// key names an entry of the Secret "keys".
// render renders Extensions of one namespace.
func render(extensions []v1alpha1.Extension, secrets registry.SecretContents) registry.Rendering {
	return registry.Render(registry.Input{Extensions: extensions, Secrets: map[string]registry.SecretContents{"": secrets}})
}

func key(entry string) v1alpha1.Key {
	return v1alpha1.Key{SecretRef: v1alpha1.SecretKeyReference{Name: "keys", Key: entry}}
}

func from(k v1alpha1.Key, after time.Duration) v1alpha1.Key {
	k.ActiveFrom = &metav1.Time{Time: born.Add(after).In(time.FixedZone("", 3600))}
	return k
}

func production(keys ...v1alpha1.Key) func(*v1alpha1.ExtensionSpec) {
	return func(s *v1alpha1.ExtensionSpec) { s.Keys = keys }
}

func sandbox(keys ...v1alpha1.Key) func(*v1alpha1.ExtensionSpec) {
	return func(s *v1alpha1.ExtensionSpec) { s.Sandbox = &v1alpha1.Environment{Keys: keys} }
}

func both(changes ...func(*v1alpha1.ExtensionSpec)) func(*v1alpha1.ExtensionSpec) {
	return func(s *v1alpha1.ExtensionSpec) {
		for _, change := range changes {
			change(s)
		}
	}
}

// padding makes a key of a name, long enough to be used.
const padding = "-key-of-more-than-32-bytes-0123456"

// secrets holds a Secret whose good entries are base64 of their names and padding.
func secrets() registry.SecretContents {
	entries := map[string][]byte{
		"text": []byte("not base64"), "empty": {}, "spaced": []byte(" bmV3\n"), "line": append(encoded("line"), '\n'),
		"weak": []byte("MTIzNDU2Nzg5MDEyMzQ1"), "sample": []byte(base64.StdEncoding.EncodeToString([]byte("sample-key-that-everyone-knows"))),
		"longest": longKey(contract.MaxKeyBytes), "long": longKey(contract.MaxKeyBytes + 1),
	}
	for _, name := range []string{"old", "new", "other", "third"} {
		entries[name] = encoded(name)
	}
	return registry.SecretContents{"keys": entries}
}

func encoded(name string) []byte {
	return []byte(base64.StdEncoding.EncodeToString([]byte(name + padding)))
}

func longKey(n int) []byte {
	return []byte(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", n))))
}

// everything is an Extension of each sort, for the files in testdata.
func everything() []v1alpha1.Extension {
	number := func(n int32) *int32 { return &n }
	age := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	return []v1alpha1.Extension{
		named("whole", 0, func(s *v1alpha1.ExtensionSpec) {
			s.AppIDs = []v1alpha1.ID{"1e3", "null", "2026-01-01"}
			s.OwnerUserID, s.AdminUserIDs, s.ExternalRole = "1000", []string{"1001", "true", "0x1f", `"'\`}, ""
			s.Moderators, s.GlobalPolls, s.ViewersCreateGlobal = "staff", "admin", new(bool)
			s.SignIn = &v1alpha1.SignIn{ClientSecretRef: &v1alpha1.SecretKeyReference{Name: "keys", Key: "text"}, SignIn: contract.SignIn{
				Name: "Example", Issuer: "https://id.example", ClientID: "acclaim", RedirectURL: "https://votes.example/v1/staff/callback",
				Scopes: []string{"profile"},
				Staff: []contract.StaffRule{
					{Claim: "groups", Value: "true", Channel: "1e3", Role: "moderator", Scopes: []string{"polls", "answers"}},
					{Claim: "sub", ChannelClaim: "sub", Role: "broadcaster"},
				},
			}}
			s.ViewerIssuers = []v1alpha1.ViewerIssuer{
				{ClientSecretRef: &v1alpha1.SecretKeyReference{Name: "keys", Key: "text"}, ViewerIssuer: contract.ViewerIssuer{
					Issuer: "https://id.example", Audience: "votes", Channels: []string{"1e3", "2"},
					Name: "null", RedirectURL: "https://votes.example/v1/viewer/callback",
				}},
				{ViewerIssuer: contract.ViewerIssuer{Issuer: "https://school.example/realms/a", Audience: "true", Channels: []string{"2"}}},
			}
			s.Keys = []v1alpha1.Key{key("old"), from(key("new"), time.Hour)}
			s.AllowedOrigins = []v1alpha1.Origin{"*", "https://a.example:*", "http://[::1]:3000"}
			s.Limits = &v1alpha1.Limits{
				IdentityRate:  &v1alpha1.Rate{PerSecond: 0, Burst: number(1)},
				ExtensionRate: &v1alpha1.Rate{PerSecond: 5000},
				DocumentBytes: number(1), BodyBytes: number(2), AdminMapBytes: number(3), AccumulationEntryBytes: number(4),
				MessageRate: &v1alpha1.Rate{PerSecond: 6}, TokenHours: number(7),
				IdentityStreamsPerHour: new(int64), ExtensionStreamsPerDay: new(int64), IdentityBytesPerDay: new(int64), IdentityWhispersPerHour: new(int64), ExtensionBytesPerDay: new(int64), ExtensionDocumentsPerDay: new(int64),
			}
			s.Retention = &v1alpha1.Retention{Logs: age(720 * time.Hour), Buffers: age(time.Hour), Rankings: age(87600 * time.Hour), Snapshots: age(90 * time.Minute)}
			s.Sinks = []v1alpha1.Sink{
				{Name: "hook", Webhook: &v1alpha1.Webhook{URL: "https://a.example/hook?a=b", Keys: []v1alpha1.Key{key("old"), from(key("new"), time.Hour)}}},
				{Name: "viewers", PubSub: &v1alpha1.PubSub{}},
			}
			s.Sandbox = &v1alpha1.Environment{
				Keys: []v1alpha1.Key{key("other")}, Limits: &v1alpha1.Limits{BodyBytes: number(5)},
				Retention: &v1alpha1.Retention{Logs: age(0)},
				Sinks:     []v1alpha1.Sink{{Name: "viewers", PubSub: &v1alpha1.PubSub{URL: "http://a.example"}}},
			}
		}),
		named("a-sandbox", 1, sandbox(key("third"))),
		named("b-production", 2, both(production(key("line")), func(s *v1alpha1.ExtensionSpec) { s.ExternalRole = "backend" })),
	}
}

// TestFiles compares with files that a test of the services' reader reads too.
func TestFiles(t *testing.T) {
	extensions := everything()
	for i := range extensions {
		extensions[i].Namespace = "team"
	}
	for range 10 {
		rand.Shuffle(len(extensions), func(i, j int) { extensions[i], extensions[j] = extensions[j], extensions[i] })
		r := registry.Render(registry.Input{Extensions: extensions, Secrets: map[string]registry.SecretContents{"team": secrets()}})
		for environment, got := range r.Files {
			want, err := os.ReadFile(filepath.Join("testdata", string(environment)+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", environment, diff)
			}
		}
		for name, finding := range r.Findings {
			if len(finding.Keys) > 0 || finding.Conflict != nil || len(finding.Full) > 0 {
				t.Errorf("%s: %+v", name, finding)
			}
		}
	}
}

// A sink without a usable key is left out and spoken of; the others stay.
func TestSinksWithoutKeys(t *testing.T) {
	hook := func(name string, keys ...v1alpha1.Key) v1alpha1.Sink {
		return v1alpha1.Sink{Name: name, Webhook: &v1alpha1.Webhook{URL: "https://a.example", Keys: keys}}
	}
	r := render([]v1alpha1.Extension{named("one", 0, func(s *v1alpha1.ExtensionSpec) {
		s.Keys = []v1alpha1.Key{key("old")}
		s.Sinks = []v1alpha1.Sink{hook("good", key("new"), key("text")), hook("bad", key("missing"))}
	})}, secrets())
	want := []any{map[string]any{"name": "good", "webhook": map[string]any{
		"url": "https://a.example", "secrets": []any{map[string]any{"value": string(encoded("new"))}},
	}}}
	if diff := cmp.Diff(any(want), clients(t, r.Files[registry.Production])["one"]["sinks"]); diff != "" {
		t.Errorf("sinks (-want +got):\n%s", diff)
	}
	var problems []string
	for _, p := range r.Findings[types.NamespacedName{Name: "one"}].Keys {
		problems = append(problems, p.Message)
	}
	if diff := cmp.Diff([]string{
		`sinks[0].webhook.keys[1]: the entry "text" of Secret "keys" is not base64`,
		`sinks[1].webhook.keys[0]: Secret "keys" has no entry "missing"`,
	}, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// A sign-in whose Secret does not have its secret is left out and spoken of; the keys stay.
func TestSignInWithoutSecret(t *testing.T) {
	for entry, reason := range map[string]string{"text": "", "missing": "KeyNotFound", "empty": "InvalidKey"} {
		extension := named("one", 0, func(s *v1alpha1.ExtensionSpec) {
			s.Keys = []v1alpha1.Key{key("old")}
			s.SignIn = &v1alpha1.SignIn{SignIn: contract.SignIn{Issuer: "https://id.example", ClientID: "a"}, ClientSecretRef: &v1alpha1.SecretKeyReference{Name: "keys", Key: entry}}
		})
		r := render([]v1alpha1.Extension{extension}, secrets())
		one := clients(t, r.Files[registry.Production])["one"]
		if (one["signIn"] != nil) != (reason == "") || one["secrets"] == nil || reasons(r)["one"] != reason {
			t.Errorf("%s: %v for %q", entry, one, reasons(r)["one"])
		}
		extension.Spec.SignIn.ClientSecretRef.Name = "other"
		if got := registry.SecretNames(&extension); !slices.Equal(got, []string{"keys", "other"}) {
			t.Errorf("it hangs on %v", got)
		}
	}
}

// An issuer of viewers whose Secret does not have its secret has no sign-in; its tokens stay good.
func TestViewerIssuerWithoutSecret(t *testing.T) {
	for entry, reason := range map[string]string{"text": "", "missing": "KeyNotFound", "empty": "InvalidKey"} {
		extension := named("one", 0, func(s *v1alpha1.ExtensionSpec) {
			s.Keys = []v1alpha1.Key{key("old")}
			s.ViewerIssuers = []v1alpha1.ViewerIssuer{{
				ViewerIssuer:    contract.ViewerIssuer{Issuer: "https://id.example", Audience: "a", Channels: []string{"1"}, RedirectURL: "https://votes.example/v1/viewer/callback"},
				ClientSecretRef: &v1alpha1.SecretKeyReference{Name: "keys", Key: entry},
			}}
		})
		if names := registry.SecretNames(&extension); len(names) != 1 {
			t.Errorf("the operator reads the Secrets %q", names)
		}
		r := render([]v1alpha1.Extension{extension}, secrets())
		issuers, _ := clients(t, r.Files[registry.Production])["one"]["viewerIssuers"].([]any)
		if len(issuers) != 1 {
			t.Fatalf("%s: issuers %v", entry, issuers)
		}
		issuer, _ := issuers[0].(map[string]any)
		if (issuer["redirectURL"] != nil) != (reason == "") || (issuer["clientSecret"] != nil) != (reason == "") || reasons(r)["one"] != reason {
			t.Errorf("%s: %v, reason %q", entry, issuer, reasons(r)["one"])
		}
	}
}

// The receiver of a pub/sub message gets a token with the role "external".
func TestUnsafeSinks(t *testing.T) {
	r := render([]v1alpha1.Extension{named("one", 0, func(s *v1alpha1.ExtensionSpec) {
		s.Keys, s.OwnerUserID, s.ExternalRole = []v1alpha1.Key{key("old")}, "1000", "backend"
		s.Sinks = []v1alpha1.Sink{{Name: "a", PubSub: &v1alpha1.PubSub{}}, {Name: "b", PubSub: &v1alpha1.PubSub{URL: "https://a.example"}}}
	})}, secrets())
	want := []any{map[string]any{"name": "a", "pubsub": map[string]any{}}}
	if diff := cmp.Diff(any(want), clients(t, r.Files[registry.Production])["one"]["sinks"]); diff != "" {
		t.Errorf("sinks (-want +got):\n%s", diff)
	}
	if got := reasons(r)["one"]; got != "UnsafeSink" {
		t.Errorf("reasons are %q", got)
	}
}

func TestRetention(t *testing.T) {
	kept := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	r := render([]v1alpha1.Extension{named("one", 0, func(s *v1alpha1.ExtensionSpec) {
		s.Keys = []v1alpha1.Key{key("old")}
		s.Retention = &v1alpha1.Retention{Logs: kept(720 * time.Hour), Buffers: kept(time.Hour), Rankings: kept(90 * time.Minute), Snapshots: kept(0)}
	})}, secrets())
	got := clients(t, r.Files[registry.Production])["one"]["retention"]
	want := map[string]any{"logs": "720h0m0s", "buffers": "1h0m0s", "rankings": "1h30m0s", "snapshots": "0s"}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("retention (-want +got):\n%s", diff)
	}
}

// clients returns the entries of a file by client id.
func clients(t *testing.T, file []byte) map[string]map[string]any {
	t.Helper()
	var content struct {
		Extensions []map[string]any `json:"extensions"`
	}
	if err := yaml.UnmarshalStrict(file, &content); err != nil {
		t.Fatalf("%v in\n%s", err, file)
	}
	entries := map[string]map[string]any{}
	for _, e := range content.Extensions {
		entries[e["clientID"].(string)] = e
	}
	return entries
}

// keysOf returns the decoded keys in a file by client id.
func keysOf(t *testing.T, file []byte) map[string]string {
	t.Helper()
	keys := map[string]string{}
	for client, e := range clients(t, file) {
		all, _ := e["secrets"].([]any)
		if inner, ok := e["sandbox"].(map[string]any); ok {
			all = append(all, inner["secrets"].([]any)...)
		}
		var names []string
		for _, s := range all {
			value, err := base64.StdEncoding.DecodeString(s.(map[string]any)["value"].(string))
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, fmt.Sprintf("%.8s", strings.TrimSuffix(string(value), padding)))
		}
		keys[client] = strings.Join(names, " ")
	}
	return keys
}

type keys = map[string]string

func TestNew(t *testing.T) {
	for name, test := range map[string]struct {
		extensions          []v1alpha1.Extension
		production, sandbox keys
		// wrong holds, by Extension, the reasons of its keys and of its conflict.
		wrong map[string]string
	}{
		"nothing": {},
		"no keys of the other environment": {
			extensions: []v1alpha1.Extension{named("one", 0, both(production(key("old")), sandbox(key("new"))))},
			production: keys{"one": "old"}, sandbox: keys{"one": "new"},
		},
		"bad keys are left out, good ones stay": {
			extensions: []v1alpha1.Extension{
				named("one", 0, production(key("absent"), key("text"), key("old"), key("empty"), key("long"), key("spaced"), key("longest"))),
				named("two", 1, production(v1alpha1.Key{SecretRef: v1alpha1.SecretKeyReference{Name: "absent", Key: "old"}})),
				named("three", 2, production(key("line"))),
			},
			production: keys{"one": "old kkkkkkkk", "three": "line"},
			wrong:      map[string]string{"one": "KeyNotFound InvalidKey InvalidKey InvalidKey InvalidKey", "two": "SecretNotFound"},
		},
		"a key of production is none of the sandbox": {
			extensions: []v1alpha1.Extension{
				named("one", 0, both(production(key("old")), sandbox(key("old"), key("new")))),
				named("two", 1, sandbox(key("old"))),
			},
			production: keys{"one": "old"}, sandbox: keys{"one": "new"},
			wrong: map[string]string{"one": "SharedKey", "two": "SharedKey"},
		},
		"weak and published keys are left out": {
			extensions: []v1alpha1.Extension{
				named("one", 0, both(production(key("weak"), key("old")), sandbox(key("sample")))),
				named("two", 1, production(key("weak"))),
			},
			production: keys{"one": "old"},
			wrong:      map[string]string{"one": "WeakKey PublicKey", "two": "WeakKey"},
		},
		"of two Extensions, the older has the key": {
			extensions: []v1alpha1.Extension{
				named("young", 1, both(production(key("old"), key("third")), sandbox(key("other")))),
				named("old", 0, both(production(key("old"), key("old")), sandbox(key("other")))),
			},
			production: keys{"old": "old old", "young": "third"}, sandbox: keys{"old": "other"},
			wrong: map[string]string{"young": "SharedKey SharedKey"},
		},
		"the older has the client id": {
			extensions: []v1alpha1.Extension{
				named("a-young", 1, both(production(key("new")), func(s *v1alpha1.ExtensionSpec) { s.ClientID = "id" })),
				named("z-old", 0, both(production(key("old")), func(s *v1alpha1.ExtensionSpec) { s.ClientID = "id" })),
			},
			production: keys{"id": "old"},
			wrong:      map[string]string{"a-young": "Conflict"},
		},
		"of one age, the lesser uid": {
			extensions: []v1alpha1.Extension{
				named("b", 0, both(production(key("new")), func(s *v1alpha1.ExtensionSpec) { s.ClientID = "id" })),
				named("a", 0, both(production(key("old")), func(s *v1alpha1.ExtensionSpec) { s.ClientID = "id" })),
			},
			production: keys{"id": "old"},
			wrong:      map[string]string{"b": "Conflict"},
		},
		"an app id is an id": {
			extensions: []v1alpha1.Extension{
				named("one", 0, both(production(key("old")), func(s *v1alpha1.ExtensionSpec) { s.AppIDs = []v1alpha1.ID{"two", "app"} })),
				named("two", 1, both(production(key("new")), func(s *v1alpha1.ExtensionSpec) { s.AppIDs = []v1alpha1.ID{"free"} })),
				named("three", 2, both(production(key("new")), func(s *v1alpha1.ExtensionSpec) { s.AppIDs = []v1alpha1.ID{"app"} })),
				named("free", 3, production(key("third"))), // what "two" did not get
			},
			production: keys{"one": "old", "free": "third"},
			wrong:      map[string]string{"two": "Conflict", "three": "Conflict"},
		},
		"an older one without keys has its id": {
			extensions: []v1alpha1.Extension{
				named("old", 0, both(production(key("absent")), func(s *v1alpha1.ExtensionSpec) { s.ClientID = "id" })),
				named("young", 1, both(production(key("new")), func(s *v1alpha1.ExtensionSpec) { s.ClientID = "id" })),
			},
			wrong: map[string]string{"old": "KeyNotFound", "young": "Conflict"},
		},
		"a key of an Extension in conflict is not used": {
			extensions: []v1alpha1.Extension{
				named("id", 0, both(production(key("old")), sandbox(key("new")))),
				named("young", 1, both(production(key("new")), func(s *v1alpha1.ExtensionSpec) { s.ClientID = "id" })),
			},
			production: keys{"id": "old"}, sandbox: keys{"id": "new"},
			wrong: map[string]string{"young": "Conflict"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := render(test.extensions, secrets())
			got := map[registry.Environment]keys{
				registry.Production: keysOf(t, r.Files[registry.Production]), registry.Sandbox: keysOf(t, r.Files[registry.Sandbox]),
			}
			want := map[registry.Environment]keys{registry.Production: filled(test.production), registry.Sandbox: filled(test.sandbox)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(filled(test.wrong), reasons(r)); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

func filled(k keys) keys {
	if k == nil {
		return keys{}
	}
	return k
}

func reasons(r registry.Rendering) map[string]string {
	all := map[string]string{}
	for name, finding := range r.Findings {
		var reasons []string
		for _, p := range finding.Keys {
			reasons = append(reasons, p.Reason)
		}
		if finding.Conflict != nil {
			reasons = append(reasons, finding.Conflict.Reason)
		}
		if len(reasons) > 0 {
			all[name.Name] = strings.Join(reasons, " ")
		}
	}
	return all
}

func TestActiveFrom(t *testing.T) {
	r := render([]v1alpha1.Extension{
		named("one", 0, both(production(from(key("old"), time.Hour), from(key("new"), time.Minute)), sandbox(from(key("third"), 0), key("other")))),
		named("two", 1, production(from(key("line"), time.Hour), key("absent"))),
	}, secrets())
	one, two := r.Findings[types.NamespacedName{Name: "one"}].ActiveFrom, r.Findings[types.NamespacedName{Name: "two"}].ActiveFrom
	if !one[registry.Production].Equal(born.Add(time.Minute)) || !one[registry.Sandbox].IsZero() || !two[registry.Production].Equal(born.Add(time.Hour)) {
		t.Errorf("active from %v and %v", one, two)
	}
	if _, any := two[registry.Sandbox]; any {
		t.Error("a key is active in the sandbox, which has none")
	}
}

// TestFull fills a file to the last byte and then asks for more.
func TestFull(t *testing.T) {
	var extensions []v1alpha1.Extension
	contents := secrets()
	large := func(i, size int) v1alpha1.Extension {
		own := fmt.Sprintf("key-%03d", i)
		contents["keys"][own] = encoded(own)
		return named(fmt.Sprintf("extension-%03d", i), i, both(production(key(own)), func(s *v1alpha1.ExtensionSpec) { s.OwnerUserID = strings.Repeat("u", size) }))
	}
	const size = 100_000
	room := registry.MaxBytes - len("extensions:\n")
	each := len(render([]v1alpha1.Extension{large(0, size)}, contents).Files[registry.Production]) - len("extensions:\n")
	for i := range room / each {
		extensions = append(extensions, large(i, size))
	}
	last := size + room%each - each
	if last < 1 { // what is left is too little for one more: the last one takes it
		last += each
		extensions = extensions[:len(extensions)-1]
	}
	extensions = append(extensions, large(500, last))
	r := render(extensions, contents)
	if got := len(r.Files[registry.Production]); got != registry.MaxBytes {
		t.Fatalf("the file has %d bytes, want %d", got, registry.MaxBytes)
	}

	tooLarge, small := large(501, size), large(502, 1)
	extensions[3].Spec.OwnerUserID = "" // makes room for the small one
	r = render(append(extensions, tooLarge, small), contents)
	for name, finding := range r.Findings {
		if full := finding.Full[registry.Production]; full != (name.Name == tooLarge.Name) {
			t.Errorf("%s: full is %v", name, full)
		}
	}
	file := string(r.Files[registry.Production])
	if strings.Contains(file, tooLarge.Name) || !strings.Contains(file, small.Name) || strings.Count(file, "clientID") != len(extensions)+1 {
		t.Errorf("the large one is in the file: %v, the small one: %v", strings.Contains(file, tooLarge.Name), strings.Contains(file, small.Name))
	}
}

func TestSigningKeys(t *testing.T) {
	e := named("one", 0, both(production(from(key("new"), time.Minute), from(key("other"), time.Hour), key("absent"), key("old")), sandbox(key("third"))))
	for _, test := range []struct {
		environment registry.Environment
		after       time.Duration
		want        string
	}{
		{registry.Production, 0, "old"},
		{registry.Production, time.Minute, "old new"},
		{registry.Production, time.Hour, "old new other"},
		{registry.Sandbox, 0, "third"},
	} {
		keys := registry.ActiveKeys(&e, test.environment, born.Add(test.after))
		if got := strings.ReplaceAll(string(bytes.Join(keys.Decode(secrets()), []byte(" "))), padding, ""); got != test.want {
			t.Errorf("%s after %v: keys %q, want %q", test.environment, test.after, got, test.want)
		}
	}
	e.Spec.Sandbox = nil
	if names := registry.ActiveKeys(&e, registry.Sandbox, born).SecretNames(); len(names) != 0 {
		t.Errorf("without a sandbox there are Secrets %v", names)
	}
}

func TestInvalidKeys(t *testing.T) {
	for entry, want := range map[string]string{"": "is empty", "\n": "is empty", "a": "is not base64", "YQ": "is not base64", "YQ==": "has less than 16 bytes", "YWFhYWFhYWFhYWFhYWFhYQ==": "", "Y\nWFhYWFhYWFhYWFhYWFhYQ=\r\n=\n": "", "****": "is not base64"} {
		e := named("one", 0, production(key("entry")))
		contents := registry.SecretContents{"keys": {"entry": []byte(entry)}}
		values := registry.ActiveKeys(&e, registry.Production, born).Decode(contents)
		problems := render([]v1alpha1.Extension{e}, contents).Findings[types.NamespacedName{Name: "one"}].Keys
		if want == "" {
			if len(problems) != 0 || len(values) != 1 || string(values[0]) != strings.Repeat("a", 16) {
				t.Errorf("%q: %q, %v", entry, values, problems)
			}
			continue
		}
		if len(values) != 0 || len(problems) != 1 || !strings.HasSuffix(problems[0].Message, want) {
			t.Errorf("%q: %q, %v, want %s", entry, values, problems, want)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	var extensions []v1alpha1.Extension
	contents := secrets()
	for i := range 1000 {
		own := func(purpose string) v1alpha1.Key {
			name := fmt.Sprintf("%s-%04d", purpose, i)
			contents["keys"][name] = encoded(name)
			return key(name)
		}
		extensions = append(extensions, named(fmt.Sprintf("extension-%04d", i), i, both(production(own("old"), from(own("new"), time.Hour)), sandbox(own("other")))))
	}
	for b.Loop() {
		render(extensions, contents)
	}
}
