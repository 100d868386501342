package httpapi

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/feed/publish"
	"github.com/acclaim-dev/acclaim/services/voting"
)

const (
	// logFolder is the path of the files of the log, and fileElement the element of the route for
	// the rest of a path, which has slashes.
	logFolder, fileElement = "/log/", "{file}"
	// immutableCaching lets caches keep a file that never changes for a year.
	immutableCaching = "public, max-age=31536000, immutable"
	logCaching       = "public, max-age=1"
	receiptSuffix    = ".acclaim-receipt"
)

// getLogFile answers everyone alike, as getPublicResult does.
func (a *API) getLogFile(w http.ResponseWriter, r *apiRequest) error {
	if r.URL.RawQuery != "" || r.URL.ForceQuery {
		return fault.New(fault.Invalid, "A file of the log has no query")
	}
	_, path, _ := strings.Cut(r.URL.EscapedPath(), logFolder)
	file, err := a.ReadLogFile(r.Context(), path)
	if withheld, ok := errors.AsType[*publish.Withheld](err); ok {
		w.Header().Set("acclaim-withheld", withheld.Reason)
		w.Header().Set("Access-Control-Expose-Headers", "acclaim-withheld, X-Request-Id")
		err = fault.New(fault.NotFound, "The entries are withheld")
	}
	if pruned, ok := errors.AsType[*voting.Pruned](err); ok {
		w.Header().Set("acclaim-minimum", strconv.FormatInt(pruned.Minimum, 10))
		w.Header().Set("Access-Control-Expose-Headers", "acclaim-minimum, X-Request-Id")
	}
	if err != nil {
		if fault.KindOf(err) == fault.NotFound {
			w.Header().Set("Cache-Control", logCaching)
		}
		return err
	}
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	if !strings.Contains(path, "tile/") && !strings.Contains(path, "ballots/") {
		header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	caching := logCaching
	if file.Immutable {
		caching = immutableCaching
	}
	sum := sha256.Sum256(file.Data)
	writeTaggedBody(w, r, `"`+base64.RawURLEncoding.EncodeToString(sum[:12])+`"`, caching, file.Data)
	return nil
}

// getReceipt answers with the receipt of the caller's latest vote. Its client adds the nonce.
func (a *API) getReceipt(w http.ResponseWriter, r *apiRequest) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	text, err := a.MakeReceipt(r.Context(), &r.Call, id)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="vote`+receiptSuffix+`"`)
	_, _ = w.Write(text) // a client that went away is not our failure
	return nil
}
