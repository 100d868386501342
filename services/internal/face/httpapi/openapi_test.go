package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/mux"
)

// contract is api/openapi.yaml and the parts of it that answers have confirmed.
type contract struct {
	doc *openapi3.T
	// seen holds the outcomes that the API was caught at.
	seen map[outcome]bool
}

// outcome is an answer that the document promises. reason is empty where the
// status has none.
type outcome struct {
	operation, status, reason string
}

// describedOperation is one operation of the document.
type describedOperation struct {
	*openapi3.Operation
	method, path string
	item         *openapi3.PathItem
	prefixes     []string // where it is served
}

func (op describedOperation) name() string { return op.method + " " + op.path }

func loadContract(t *testing.T) *contract {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile("../../../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	openapi3filter.RegisterBodyDecoder("image/png", openapi3filter.FileBodyDecoder)
	return &contract{doc: doc, seen: map[outcome]bool{}}
}

// operations returns all operations: POST before PATCH before GET before DELETE,
// and a poll's configuration before its votes.
func (c *contract) operations(t *testing.T) []describedOperation {
	t.Helper()
	var all []describedOperation
	for path, item := range c.doc.Paths.Map() {
		servers := c.doc.Servers
		if len(item.Servers) > 0 {
			servers = item.Servers
		}
		var prefixes []string
		for _, server := range servers {
			base, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			prefixes = append(prefixes, base.Path)
		}
		for method, op := range item.Operations() {
			all = append(all, describedOperation{op, method, path, item, prefixes})
		}
	}
	slices.SortFunc(all, func(a, b describedOperation) int { return strings.Compare(b.name(), a.name()) })
	return all
}

// check holds an answer against the document: its status must be documented for
// the operation, its reason must be listed, headers and body must fit.
func (c *contract) check(t *testing.T, op describedOperation, got answer) {
	t.Helper()
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: httptest.NewRequestWithContext(t.Context(), op.method, op.path, nil),
			Route:   &routers.Route{Spec: c.doc, Path: op.path, PathItem: op.item, Method: op.method, Operation: op.Operation},
		},
		Status:  got.status,
		Header:  got.header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	if err := openapi3filter.ValidateResponse(t.Context(), input.SetBodyBytes([]byte(got.body))); err != nil {
		t.Errorf("%s answers %d %s: %v", op.name(), got.status, got.body, err)
		return
	}
	for _, promised := range op.outcomes() {
		if promised.fits(got) {
			c.seen[promised] = true
			return
		}
	}
	t.Errorf("%s answers %d %s: the reason is not listed", op.name(), got.status, got.body)
}

// expect checks for an answer of that status and, where not empty, that reason.
func (c *contract) expect(t *testing.T, op describedOperation, got answer, status int, reason string) {
	t.Helper()
	c.check(t, op, got)
	if want := (outcome{op.name(), strconv.Itoa(status), reason}); !want.fits(got) {
		t.Errorf("%s answers %d %s, want %d %q", op.name(), got.status, got.body, status, reason)
	}
}

// outcomes returns what the document promises of an operation.
func (op describedOperation) outcomes() (all []outcome) {
	for status, response := range op.Responses.Map() {
		reasons := texts(response.Value.Extensions["x-reasons"])
		if len(reasons) == 0 {
			reasons = []string{""}
		}
		for _, reason := range reasons {
			all = append(all, outcome{op.name(), status, reason})
		}
	}
	return all
}

// fits reports whether an answer is of this outcome. Text in braces in a
// reason matches any text.
func (o outcome) fits(got answer) bool {
	var body struct{ Reason string }
	if got.status >= http.StatusBadRequest {
		_ = json.Unmarshal([]byte(got.body), &body) // checked to be JSON
	}
	pattern := regexp.MustCompile(`\\\{[a-z]+\\\}`).ReplaceAllString(regexp.QuoteMeta(o.reason), ".+")
	return o.status == strconv.Itoa(got.status) && regexp.MustCompile("^"+pattern+"$").MatchString(body.Reason)
}

// texts returns the strings of an extension of the document.
func texts(list any) (all []string) {
	items, _ := list.([]any)
	for _, item := range items {
		all = append(all, item.(string))
	}
	return all
}

// newSampleAPI returns the API with the sample registry, for which the examples
// of the document are made.
func newSampleAPI(t *testing.T, change ...func(*apiSettings)) *api {
	t.Helper()
	a := newAPI(t, change...)
	registry, err := os.ReadFile("../../../../config/extensions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a.reload(string(registry))
	return a
}

// in returns the identity as one of the sample extension, with the keys of the
// environment that is served under prefix.
func (i identity) in(prefix string) identity {
	i.extension, i.key, i.channel = "sample-extension", "sample-secret-that-everyone-knows", "42"
	if strings.HasPrefix(prefix, "/sandbox") {
		i.key = "sample-sandbox-secret-that-everyone-knows"
	}
	return i
}

func TestContractIsValid(t *testing.T) {
	err := loadContract(t).doc.Validate(t.Context(), openapi3.EnableExamplesValidation(),
		openapi3.EnableSchemaFormatValidation(), openapi3.EnableMultiError())
	if err != nil {
		t.Fatal(err)
	}
}

// Nothing is documented that is not served, and nothing served that is not
// documented.
func TestContractIsWhatIsServed(t *testing.T) {
	c, a := loadContract(t), newAPI(t)
	var documented, served []string
	for _, op := range c.operations(t) {
		for _, prefix := range op.prefixes {
			documented = append(documented, op.method+" "+prefix+op.path)
		}
	}
	err := a.handler.(interface{ Walk(walk mux.WalkFunc) error }).Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := route.GetPathTemplate()
		if err != nil || route.GetHandler() == nil {
			return err
		}
		path = strings.ReplaceAll(path, "{file:.+}", "{file}")
		allowed := a.send("UNHEARD-OF", path, "").is(http.StatusMethodNotAllowed).header.Get("Allow")
		for method := range strings.SplitSeq(allowed, ", ") {
			if method != http.MethodOptions && method != http.MethodHead {
				served = append(served, method+" "+path)
			}
		}
		a.send(http.MethodOptions, path, "").is(http.StatusNoContent)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(documented)
	slices.Sort(served)
	if diff := cmp.Diff(documented, served); diff != "" {
		t.Errorf("documented (-), served (+):\n%s", diff)
	}
}

// The rest of the document is true: each operation answers as documented, and
// everything documented is an answer that it gives.
func TestContract(t *testing.T) {
	c := loadContract(t)
	t.Run("roles", c.testRoles)
	t.Run("refusals", c.testRefusals)
	t.Run("outages", c.testOutages)
	for _, op := range c.operations(t) {
		for _, promised := range op.outcomes() {
			if !c.seen[promised] {
				t.Errorf("%s never answers %s %q", promised.operation, promised.status, promised.reason)
			}
		}
	}
}
