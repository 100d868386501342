package httpapi_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rolesOf maps the roles of the document to callers. A moderator has the rights
// of a viewer.
func rolesOf() map[string][]identity {
	known := callers()
	server := known["k"]
	server.user = "3" // so that extension-viewer state has an owner whoever asks
	return map[string][]identity{
		"viewer":         {known["v"], known["m"]},
		"broadcaster":    {known["b"]},
		"admin":          {known["a"]},
		"validatedAdmin": {known["o"], known["l"]},
		"backend":        {server},
		"nobody":         {known["e"], known["?"]},
	}
}

// testRoles sends the document's own examples as every role under every prefix:
// those of x-roles get through, and nobody else.
func (c *contract) testRoles(t *testing.T) {
	apis := map[string]*api{}
	for _, op := range c.operations(t) {
		for _, prefix := range op.prefixes {
			if apis[prefix] == nil {
				apis[prefix] = newSampleAPI(t)
			}
			t.Run(op.method+" "+prefix+op.path, func(t *testing.T) {
				c.testAccess(t, apis[prefix], op, prefix)
			})
		}
	}
}

func (c *contract) testAccess(t *testing.T, a *api, op operation, prefix string) {
	want, allowed := texts(op.Extensions["x-roles"]), []string{}
	if !op.authenticated() {
		want = slices.Collect(maps.Keys(rolesOf())) // whatever they send
	}
	for role, identities := range rolesOf() {
		through := 0
		for _, body := range op.examples(t) {
			for _, i := range identities {
				got := a.send(op.method, prefix+op.target(), body, "Authorization", i.in(prefix).header(t))
				c.check(t, op, got)
				if got.status != http.StatusForbidden {
					got.is(http.StatusOK)
					through++
				}
			}
		}
		switch through {
		case 0:
		case len(identities) * len(op.examples(t)):
			allowed = append(allowed, role)
		default:
			t.Errorf("role %s gets through %d times", role, through)
		}
	}
	slices.Sort(want)
	slices.Sort(allowed)
	if diff := cmp.Diff(want, allowed); diff != "" {
		t.Errorf("x-roles (-), roles that get through (+):\n%s", diff)
	}
}

func (op operation) authenticated() bool { return op.Security == nil || len(*op.Security) > 0 }

// target is the path with the example of the id, where there is one.
func (op operation) target() string {
	for _, parameter := range op.Parameters {
		if parameter.Value.Name == "id" {
			return op.path + "?id=" + parameter.Value.Example.(string)
		}
	}
	return op.path
}

// examples returns the bodies that the document shows, by their names' order, or
// an empty one for none.
func (op operation) examples(t *testing.T) []string {
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
