package httpapi_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	gocmp "github.com/google/go-cmp/cmp"
)

// rolesOf maps the roles of the document to callers. A moderator has the rights
// of a viewer.
func rolesOf() map[string][]identity {
	known := callers()
	server := known["k"]
	server.user = "3" // so that every caller has extension-viewer state
	return map[string][]identity{
		"viewer":         {known["v"], known["m"]},
		"broadcaster":    {known["b"]},
		"admin":          {known["a"]},
		"validatedAdmin": {known["o"], known["l"]},
		"backend":        {server},
		"nobody":         {known["e"], known["?"]},
	}
}

// testRoles sends the document's own examples as every role under every prefix: the
// roles in x-roles get through, no others.
func (c *contract) testRoles(t *testing.T) {
	apis, keys := map[string]*api{}, map[string]map[string][]string{}
	for _, op := range c.operations(t) {
		for _, prefix := range op.prefixes {
			if apis[prefix] == nil {
				apis[prefix] = newSampleAPI(t)
			}
			if keys[prefix] == nil && op.authenticated() {
				a, staff := apis[prefix], broadcaster().in(prefix)
				keys[prefix] = map[string][]string{
					"overlay":      {a.newOverlay(prefix, staff, `{"polls":["default","lunch"],"questions":["default","lunch"]}`)},
					"staffPolls":   {a.newStaffKey(prefix, staff, `{"name":"x","scopes":["polls"]}`).Credential},
					"staffAnswers": {a.newStaffKey(prefix, staff, `{"name":"x","scopes":["answers"]}`).Credential},
				}
			}
			t.Run(op.method+" "+prefix+op.path, func(t *testing.T) {
				c.testAccess(t, apis[prefix], op, prefix, keys[prefix])
			})
		}
	}
}

func (c *contract) testAccess(t *testing.T, a *api, op describedOperation, prefix string, keys map[string][]string) {
	poll := "phones"
	if slices.Contains(texts(op.Extensions["x-roles"]), "device") {
		_, poll, _ = strings.Cut(op.target(), "?id=")
		poll = cmp.Or(poll, "default")
	}
	senders := map[string][]string{}
	if op.authenticated() {
		senders = maps.Clone(keys)
		senders["device"] = []string{a.sampleDevice(prefix, poll)}
	}
	for role, identities := range rolesOf() {
		for _, i := range identities {
			senders[role] = append(senders[role], i.in(prefix).header(t))
		}
	}
	want, allowed := texts(op.Extensions["x-roles"]), []string{}
	if !op.authenticated() {
		want = slices.Collect(maps.Keys(senders)) // whatever they send
	}
	for role, credentials := range senders {
		through := 0
		for _, body := range op.examples(t) {
			if strings.HasPrefix(prefix, "/sandbox") {
				body = strings.Replace(body, `"production:`, `"sandbox:`, 1) // in the name of an event
			}
			for _, credential := range credentials {
				got := a.send(op.method, prefix+op.target(), body, "Authorization", credential)
				c.check(t, op, got)
				if got.status != http.StatusForbidden {
					if !slices.Contains(op.exampleStatuses(), got.status) {
						t.Errorf("as %s: %d %s", role, got.status, got.body)
					}
					through++
				}
			}
		}
		switch through {
		case 0:
		case len(credentials) * len(op.examples(t)):
			allowed = append(allowed, role)
		default:
			t.Errorf("role %s gets through %d times", role, through)
		}
	}
	slices.Sort(want)
	slices.Sort(allowed)
	if diff := gocmp.Diff(want, allowed); diff != "" {
		t.Errorf("x-roles (-), roles that get through (+):\n%s", diff)
	}
}

// exampleStatuses returns what the examples may be answered with: 200, or x-example-status
// where that depends on what went before.
func (op describedOperation) exampleStatuses() (statuses []int) {
	listed, _ := op.Extensions["x-example-status"].([]any)
	for _, status := range listed {
		statuses = append(statuses, int(status.(float64)))
	}
	if len(statuses) == 0 {
		statuses = []int{http.StatusOK}
	}
	return statuses
}

func (op describedOperation) authenticated() bool { return op.Security == nil || len(*op.Security) > 0 }

// target is the path with the examples of its elements and of the id, where there are any.
func (op describedOperation) target() string {
	path, query := op.path, ""
	for _, parameter := range op.Parameters {
		switch example, _ := parameter.Value.Example.(string); {
		case parameter.Value.In == openapi3.ParameterInPath:
			path = strings.Replace(path, "{"+parameter.Value.Name+"}", example, 1)
		case parameter.Value.Name == "id":
			query = "?id=" + example
		}
	}
	return path + query
}

// examples returns the bodies that the document shows, by their names' order, or
// an empty one for none.
func (op describedOperation) examples(t *testing.T) []string {
	t.Helper()
	if op.RequestBody == nil {
		return []string{""}
	}
	var bodies []string
	examples := op.RequestBody.Value.Content["application/json"].Examples
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		body, err := json.Marshal(examples[name].Value.Value)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, string(body))
	}
	if len(bodies) == 0 {
		t.Errorf("%s shows no body", op.name())
	}
	return bodies
}
