package httpapi

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// What caches may do with a public result, and with the answer that there is none: keep it for a
// second, and for one more while they ask again.
const (
	publicCaching   = "public, max-age=1, stale-while-revalidate=1"
	noPublicCaching = "public, max-age=1"
)

// getPublicResult answers everyone alike: it reads no credential, and no header but If-None-Match.
func (a *API) getPublicResult(w http.ResponseWriter, r *apiRequest) error {
	if r.URL.RawQuery != "" || r.URL.ForceQuery {
		return fault.New(fault.Invalid, "A public result has no query") // caches would keep one for each
	}
	name, err := publicNameIn(r.URL)
	if err != nil {
		return err
	}
	result, err := a.ReadPublicResult(r.Context(), &r.Call, name)
	if fault.KindOf(err) == fault.NotFound {
		w.Header().Set("Cache-Control", noPublicCaching)
	}
	if err != nil {
		return err
	}
	writeTagged(w, r, result.Tag, publicCaching, result.Body)
	return nil
}

// publicNameIn returns the name that the address of a result, or of a picture, ends with. Ids may hold any
// character, a slash too, so the elements of the path are unescaped one by one.
func publicNameIn(address *url.URL) (name contract.PublicName, err error) {
	elements := strings.Split(address.EscapedPath(), "/")
	elements = elements[len(elements)-4:] // the route has them
	for i, id := range []*string{&name.Client, &name.Channel, &name.Poll} {
		if *id, err = url.PathUnescape(elements[i]); err != nil {
			return name, fault.New(fault.NotFound, "No such public result") // no address of net/http
		}
	}
	return name, nil
}
