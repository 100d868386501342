// Package httpapi is the HTTP face of the services: the routes of the contract
// and everything that stands between a connection and a domain.
//
//	observe ─▶ route (404, 405) ─▶ cross-origin headers ─▶ credential (401)
//	        ─▶ role (403) ─▶ rate (429) ─▶ body (413) ─▶ handler (400 …)
//
// Requests under way advance in step: each yields the processor before a read of its connection, before
// the checks, before its body and before a write. So they do the same step one after the other, while the
// caches hold its code and data, and votes that come together are decided together. Under load that saves
// a fifth of the processor time of a vote (services/docs/internals/capacity.md). Alone, a request waits for nothing.
//
// Handlers decode, ask for one operation and encode; they return errors, and one place writes them.
// Identity is a parameter, never taken from a context below this package. Neither a rule of a domain
// nor a limit lives here.
package httpapi

import (
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/operation"

	"github.com/gorilla/mux"
	"github.com/klauspost/compress/gzhttp"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// API serves one environment.
type API struct {
	*operation.Service
	proxies    TrustedProxies
	proxyWatch *ProxyWatch // of all APIs of a process; nil for none
	gzip       func(http.Handler) http.HandlerFunc
	buffers    sync.Pool // for events
}

// New returns an API for operations. Trusted proxies name its clients, and a watch that is not nil
// notes how they do so. It starts nothing.
func New(operations *operation.Service, proxies TrustedProxies, watch *ProxyWatch) *API {
	gzip, err := gzhttp.NewWrapper(gzhttp.ContentTypes([]string{"application/json"}))
	if err != nil {
		panic(err) // the options are constant
	}
	return &API{Service: operations, proxies: proxies, proxyWatch: watch, gzip: gzip}
}

// apiRequest is the input of a handler.
type apiRequest struct {
	*http.Request
	operation.Call
	// credential is the verified Authorization header.
	credential string
	bodyLeases operation.BodyLeases
	x          *httpExchange
}

// Mount is an API and the paths under which it is served, the base path last.
type Mount struct {
	API      *API
	Prefixes []string
}

// beside returns what precedes the paths that stand beside the base path.
func (m Mount) beside() string { return contract.BesideBase(m.Prefixes[len(m.Prefixes)-1]) }

// NewHandler returns a handler that serves all mounts. The first API answers
// requests for unknown paths.
func NewHandler(mounts ...Mount) http.Handler {
	router, fixed := mux.NewRouter().SkipClean(true), map[string]http.Handler{}
	for _, m := range mounts {
		for _, prefix := range m.Prefixes {
			under := router.PathPrefix(prefix).Subrouter()
			for _, res := range m.API.resources(false) {
				handler, path := m.API.observeRequests(res.serveMethod), prefix+res.path
				under.Handle(res.path, handler)
				if fixed[path] == nil { // the router's first match
					fixed[path] = handler
				}
			}
		}
	}
	for _, m := range mounts {
		// Ids in these paths may hold slashes.
		beside := router.PathPrefix(m.beside() + "/").Subrouter().UseEncodedPath()
		for _, res := range m.API.resources(true) {
			beside.Handle(strings.ReplaceAll(res.path, fileElement, "{file:.+}"), m.API.observeRequests(res.serveMethod))
		}
	}
	router.NotFoundHandler = mounts[0].API.notFound()
	return pathMatcher{router, fixed}
}

// pathMatcher calls the handler that its router matches. It knows those of paths without a variable,
// for which the router tries one pattern after another. Router.ServeHTTP would also copy
// each request twice to store the match in its context, which no handler reads: 4
// allocations and 736 bytes more for a vote, which takes 39 and 2,560. Nor does the
// router select by method: the contract wants the allowed methods in each 405, and
// OPTIONS and HEAD on every route.
type pathMatcher struct {
	*mux.Router

	fixed map[string]http.Handler // by the path
}

func (m pathMatcher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if fixed := m.fixed[r.URL.Path]; fixed != nil {
		fixed.ServeHTTP(w, r)
		return
	}
	var match mux.RouteMatch
	m.Match(r, &match) // what matches nothing has the NotFoundHandler
	match.Handler.ServeHTTP(w, r)
}

// notFound answers requests for unknown paths.
func (a *API) notFound() http.Handler {
	return a.observeRequests(func(x *httpExchange, r *http.Request) {
		allowAnyExtension(x.Header(), r.Header.Get("Origin"), a.Config.Environment, a.Config.Registry())
		x.writeFailure(r.Context(), fault.New(fault.NotFound, "No such route"))
	})
}

// pathResource is the routes of one path.
type pathResource struct {
	api    *API
	path   string
	shared bool             // answers are the same for everyone
	routes map[string]Route // by method
}

// resources returns those of the operations that are shared, or of those that are not.
func (a *API) resources(shared bool) []*pathResource {
	var all []*pathResource
	byPath := map[string]*pathResource{}
	for _, route := range routesOf(func(o *operation.Definition) bool { return o.Shared == shared && o.Served(&a.Config) }) {
		res := byPath[route.Path]
		if res == nil {
			res = &pathResource{api: a, path: route.Path, shared: shared, routes: map[string]Route{}}
			byPath[route.Path] = res
			all = append(all, res)
		}
		res.routes[route.Method] = route
	}
	return all
}

// serveMethod runs every check in the order that the contract demands when several fail.
func (res *pathResource) serveMethod(x *httpExchange, r *http.Request) {
	runtime.Gosched()
	a, origin := res.api, r.Header.Get("Origin")
	x.Route = res.path
	if res.shared {
		allowEveryone(x.Header())
	} else {
		allowAnyExtension(x.Header(), origin, a.Config.Environment, a.Config.Registry())
	}
	if r.Method == http.MethodOptions {
		answerPreflight(x)
		return
	}
	route, ok := res.routeFor(r.Method)
	if !ok {
		x.Header().Set("Allow", res.allowedMethods())
		x.Err = fault.New(fault.Invalid, "The method is not allowed on this route")
		writeReason(x, http.StatusMethodNotAllowed, "The method is not allowed on this route")
		return
	}
	x.Operation = route.Definition
	in := &apiRequest{Request: r, x: x, Call: operation.Call{Verb: r.Method, Path: res.path, SentKeys: r.Header[keyHeader]}}
	x.request = in
	defer func() { in.bodyLeases.Release(); x.lease.Release() }()
	err := a.admitRequest(x, in, route, origin)
	if err == nil {
		err = a.answerRequest(x, in, route)
	}
	if err != nil {
		x.writeFailure(in.Context(), err)
	}
}

// answerRequest has the handler of a route answer.
func (a *API) answerRequest(x *httpExchange, in *apiRequest, route Route) (err error) {
	x.notes = a
	if !route.Long {
		return route.handle(a, x, in)
	}
	page, err := a.Config.Budgets.TakePage(in.Caller)
	if err != nil {
		return err
	}
	defer page.Release()
	a.gzip(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		err = route.handle(a, w, in)
	})).ServeHTTP(x, in.Request)
	return err
}

// admitRequest checks the client and the caller and reads the body.
func (a *API) admitRequest(x *httpExchange, in *apiRequest, route Route, origin string) (err error) {
	if x.lease, err = a.takeRequest(in); err != nil {
		return err
	}
	if !route.Public {
		if err := a.admitCaller(x, in, route, origin); err != nil {
			return err
		}
	}
	a.noteUnnamed(in)
	if end := turnOf(in.Context()); end != nil {
		end()
	}
	runtime.Gosched()
	return a.AdmitBody(&in.Call, route.Definition, func(limit int) (err error) {
		in.bodyLeases = a.Config.Budgets.BodyLeases(a.Config.Environment, in.Caller, limit)
		in.Sent, err = in.bodyLeases.ReadAll(limitReader(x, in.Request, limit), in.ContentLength)
		return err
	})
}

// limitReader returns the body of a request, cut off after limit bytes: the server itself cuts one
// off whose length is announced.
func limitReader(w http.ResponseWriter, r *http.Request, limit int) io.Reader {
	if r.ContentLength < 0 {
		return http.MaxBytesReader(w, r.Body, int64(limit))
	}
	return r.Body
}

// admitCaller checks the credential, the role and the rate of the caller.
func (a *API) admitCaller(x *httpExchange, in *apiRequest, route Route, origin string) error {
	in.credential = in.Header.Get("Authorization")
	if in.credential == "" && route.CredentialInQuery {
		in.credential, _ = in.queryParameter("access_token")
	}
	if in.credential == "" {
		in.credential = sessionOf(in.Request)
	}
	if route.ViewerCookie {
		in.credential = completeViewer(in.Request, in.credential)
	}
	found, err := a.VerifyCredential(in.Context(), operation.Admission{
		Credential: in.credential, Remote: operation.NamesRemoteClient(in.Header), BeforeStore: turnOf(in.Context()),
	})
	if err != nil {
		return err
	}
	x.Caller, in.Caller = found.Caller, found.Caller
	allowCaller(x.Header(), origin, found.Caller)
	return a.Authorize(found, route.Definition)
}

func (res *pathResource) routeFor(method string) (Route, bool) {
	if method == http.MethodHead {
		method = http.MethodGet // the server leaves the body out
	}
	route, ok := res.routes[method]
	return route, ok
}

// allowedMethods is the value of the Allow header.
func (res *pathResource) allowedMethods() string {
	methods := []string{http.MethodOptions}
	for method := range res.routes {
		methods = append(methods, method)
		if method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}
