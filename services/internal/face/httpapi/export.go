package httpapi

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// ExportRequest selects what of an extension to export.
type ExportRequest struct {
	Extension, Actor string
	Environment      tenant.Environment // "": both
	Kinds            []string           // none: all
	Format           string             // "": JSON Lines
}

// ExportFunc writes an export. The error is of the kind fault.Invalid, and nothing is written,
// where there is no such kind or format.
type ExportFunc func(ctx context.Context, request ExportRequest, w io.Writer) error

// NewExportHandler returns the handler of GET /export on the maintenance listener. An export
// holds the salt of the ids that viewers show, so the token is a production token of a backend
// and no admin's. An answer that ends early is cut off. It is not a route of the contract.
func NewExportHandler(registry func() *tenant.Registry, now func() time.Time, export ExportFunc, budgets *operation.Budgets) http.Handler {
	verifier := operation.NewVerifier(tenant.Production, registry, now)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &exportWriter{deadlineWriter: deadlineWriter{w, http.NewResponseController(w)}}
		err := exportFor(out, r, verifier, budgets, export)
		if err != nil && out.begun {
			panic(http.ErrAbortHandler) // a client must not take a part for the whole
		}
		if err != nil {
			writeError(w, err)
		}
	})
}

func exportFor(w *exportWriter, r *http.Request, verifier *operation.CredentialVerifier, budgets *operation.Budgets, export ExportFunc) error {
	caller, err := verifier.VerifyOperator(r.Header.Get("Authorization"), operation.NamesRemoteClient(r.Header), operation.AllowRoles(operation.Backend))
	if err != nil {
		return err
	}
	request, err := parseExport(r)
	if err != nil {
		return err
	}
	lease, err := budgets.TakeExport(caller)
	if err != nil {
		return err
	}
	defer lease.Release()
	request.Extension, request.Actor = caller.Extension.ClientID, caller.Actor()
	w.Header().Set("Content-Type", contentTypeOfExport(request.Format))
	if r.Method == http.MethodHead {
		return nil
	}
	return export(r.Context(), request, w)
}

func parseExport(r *http.Request) (request ExportRequest, err error) {
	query := r.URL.Query()
	for name := range query {
		if name != "environment" && name != "kind" && name != "format" {
			return request, fault.Newf(fault.Invalid, "%q is none of environment, kind, format", name)
		}
	}
	if name := query.Get("environment"); name != "" {
		if request.Environment, err = tenant.ParseEnvironment(name); err != nil {
			return request, fault.New(fault.Invalid, err.Error())
		}
	}
	if kinds := query.Get("kind"); kinds != "" {
		request.Kinds = strings.Split(kinds, ",")
	}
	request.Format = query.Get("format")
	return request, nil
}

func contentTypeOfExport(format string) string {
	if format == "csv" {
		return "text/csv; charset=utf-8"
	}
	return "application/x-ndjson"
}

// exportWriter notes that an answer has begun. A client that stops reading it for long loses it.
type exportWriter struct {
	deadlineWriter
	begun bool
}

func (w *exportWriter) Write(b []byte) (int, error) {
	w.begun = true
	return w.deadlineWriter.Write(b)
}
