package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
)

// exportAnswer is an answer whose body the test reads when it likes.
type exportAnswer struct {
	status int
	header http.Header
	body   io.Reader
}

// serveExports serves GET /export and returns a function that requests one.
func serveExports(t *testing.T, export httpapi.ExportFunc) func(who identity, query string) exportAnswer {
	t.Helper()
	budgets := operation.NewBudgets(operation.BudgetLimits{Requests: 10, PerAddress: 10, BodyBytes: 1 << 20})
	a := newAPI(t)
	_, address := serve(t, httpapi.NewExportHandler(a.registry.Load, a.now, export, budgets))
	return func(who identity, query string) exportAnswer {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/export?"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", who.header(t))
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = response.Body.Close() }) // the test looks at what it needs
		return exportAnswer{response.StatusCode, response.Header, response.Body}
	}
}

// Each extension has one export at a time, and a process two.
func TestExportsAtOnce(t *testing.T) {
	begun, release := make(chan string, 1), make(chan struct{})
	ask := serveExports(t, func(_ context.Context, r httpapi.ExportRequest, w io.Writer) error {
		_, err := io.WriteString(w, r.Extension)
		begun <- r.Extension
		<-release
		return err
	})
	other := identity{extension: "other", key: otherKey, role: "backend"}
	answers := make(chan exportAnswer, 2)
	for _, who := range []identity{backend(), other} {
		go func() { answers <- ask(who, "") }()
		<-begun
	}
	if response := ask(backend(), ""); response.status != http.StatusTooManyRequests || response.header.Get("Retry-After") == "" {
		t.Errorf("a second export of an extension: %d", response.status)
	}
	close(release)
	for range 2 {
		response := <-answers
		if body, err := io.ReadAll(response.body); err != nil || response.status != http.StatusOK || len(body) == 0 {
			t.Errorf("%d %s, %v", response.status, body, err)
		}
	}
	go func() { answers <- ask(backend(), "") }()
	if <-begun; (<-answers).status != http.StatusOK {
		t.Error("an export that has ended holds its place")
	}
}

// A client cannot take a part of an export for the whole; what fails before is an answer.
func TestExportFails(t *testing.T) {
	ask := serveExports(t, func(_ context.Context, r httpapi.ExportRequest, w io.Writer) error {
		if r.Format == "none" {
			return fault.New(fault.Invalid, "format: none")
		}
		if r.Format == "csv" {
			_, err := io.WriteString(w, strings.Repeat("a part\n", 10_000))
			return errors.Join(err, errors.New("the store is gone"))
		}
		return errors.New("damaged")
	})
	for query, want := range map[string]struct {
		status int
		says   string
	}{
		"format=none":             {http.StatusBadRequest, "format: none"},
		"":                        {http.StatusInternalServerError, ""},
		"environment=elsewhere":   {http.StatusBadRequest, "environment"},
		"kinds=votes":             {http.StatusBadRequest, `\"kinds\" is none of`},
		"environment=production&": {http.StatusInternalServerError, ""},
	} {
		response := ask(backend(), query)
		body, err := io.ReadAll(response.body)
		if err != nil || response.status != want.status || !strings.Contains(string(body), want.says) || response.header.Get("Content-Type") != "application/json" {
			t.Errorf("%q: %d %s, %v", query, response.status, body, err)
		}
	}
	if body, err := io.ReadAll(ask(backend(), "format=csv").body); err == nil {
		t.Errorf("a part of %d bytes is taken for the whole", len(body))
	}
}
