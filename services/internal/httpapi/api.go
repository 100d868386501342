// Package httpapi is the HTTP face of the services: the routes of the contract
// and everything that stands between a connection and a domain.
//
//	observe ─▶ route (404, 405) ─▶ cross-origin headers ─▶ credential (401)
//	        ─▶ role (403) ─▶ rate (429) ─▶ body (413) ─▶ handler (400 …)
//
// Handlers decode, call one method of a domain and encode; they return errors,
// and one place writes them. Identity is a parameter, never taken from a
// context below this package. No rule of a domain lives here.
package httpapi

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/mux"
	"github.com/klauspost/compress/gzhttp"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// Config is what an API is made of. Services that are nil are not served.
type Config struct {
	Environment tenant.Environment
	// Registry returns the extensions as they are now.
	Registry     func() *tenant.Registry
	Now          func() time.Time
	Logger       *slog.Logger
	Metrics      Metrics
	Voting       Voting
	Accumulation Accumulation
	Ranking      Ranking
	State        State
	Live         Live
	Messages     Messages
	Sandbox      Sandbox
}

// Metrics observes finished requests.
type Metrics interface {
	Observe(route, method string, status int, took time.Duration)
}

// API serves one environment.
type API struct {
	config   Config
	verifier *verifier
	limiters *limiters
	gzip     func(http.Handler) http.HandlerFunc
	buffers  sync.Pool // of what is sent to listeners
}

// New returns an API. It starts nothing.
func New(config Config) *API {
	gzip, err := gzhttp.NewWrapper(gzhttp.ContentTypes([]string{"application/json"}))
	if err != nil {
		panic(err) // the options are constant
	}
	return &API{
		config:   config,
		verifier: newVerifier(config.Environment, config.Registry, config.Now),
		limiters: newLimiters(),
		gzip:     gzip,
	}
}

// request is what a handler is given.
type request struct {
	*http.Request
	caller *Caller // nil on public routes
	// credential is what the caller has proved to be by, as the header has it.
	credential string
	body       []byte
	x          *exchange
}

type handler func(w http.ResponseWriter, r *request) error

// Route is one method of one path, relative to the base address.
type Route struct {
	Method, Path string
	access       access
	handle       handler
	public       bool // needs no credential
	inQuery      bool // takes the credential in access_token, too
	compress     bool // answers may be long
	// limit returns the largest body in bytes; nil: the extension's BodyBytes.
	limit func(*Caller) int
}

// Routes returns every route that the API serves, those asked most first.
func (a *API) Routes() []Route {
	return slices.Concat(a.votingRoutes(), a.accumulationRoutes(), a.rankingRoutes(),
		a.stateRoutes(), a.configRoutes(), a.userInfoRoutes(), a.eventRoutes(), a.sandboxRoutes())
}

// Mount is an API and the paths under which it is served.
type Mount struct {
	API      *API
	Prefixes []string
}

// NewHandler returns everything that is mounted, on one router. The first API
// answers for paths that nothing is mounted at.
func NewHandler(mounts ...Mount) http.Handler {
	router := mux.NewRouter().SkipClean(true)
	for _, m := range mounts {
		for _, prefix := range m.Prefixes {
			under := router.PathPrefix(prefix).Subrouter()
			for _, res := range m.API.resources() {
				under.Handle(res.path, m.API.observe(res.serve))
			}
		}
	}
	router.NotFoundHandler = mounts[0].API.notFound()
	return matcher{router}
}

// matcher serves what its router matches. The router itself would also
// copy every request to put the match into its context, where nobody looks.
type matcher struct{ *mux.Router }

func (m matcher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var match mux.RouteMatch
	m.Match(r, &match) // what matches nothing has the NotFoundHandler
	match.Handler.ServeHTTP(w, r)
}

// notFound answers requests for paths that nothing is mounted at.
func (a *API) notFound() http.Handler {
	return a.observe(func(x *exchange, r *http.Request) {
		allowAnyExtension(x.Header(), r.Header.Get("Origin"), a.config.Environment, a.config.Registry())
		x.fail(fault.New(fault.NotFound, "No such route"))
	})
}

// resource is the routes of one path.
type resource struct {
	api    *API
	path   string
	routes map[string]Route // by method
}

func (a *API) resources() []*resource {
	var all []*resource
	byPath := map[string]*resource{}
	for _, route := range a.Routes() {
		res := byPath[route.Path]
		if res == nil {
			res = &resource{api: a, path: route.Path, routes: map[string]Route{}}
			byPath[route.Path] = res
			all = append(all, res)
		}
		res.routes[route.Method] = route
	}
	return all
}

// serve takes a request through every check in the order in which the contract
// decides when several things are wrong.
func (res *resource) serve(x *exchange, r *http.Request) {
	a, origin := res.api, r.Header.Get("Origin")
	x.route = res.path
	allowAnyExtension(x.Header(), origin, a.config.Environment, a.config.Registry())
	if r.Method == http.MethodOptions {
		preflight(x)
		return
	}
	route, ok := res.route(r.Method)
	if !ok {
		x.Header().Set("Allow", res.allowed())
		x.fail(fault.New(fault.MethodNotAllowed, "The method is not allowed on this route"))
		return
	}
	in := &request{Request: r, x: x}
	if err := a.admit(x, in, route, origin); err != nil {
		x.fail(err)
		return
	}
	if !route.compress {
		if err := route.handle(x, in); err != nil {
			x.fail(err)
		}
		return
	}
	var err error
	a.gzip(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		err = route.handle(w, in)
	})).ServeHTTP(x, r)
	if err != nil {
		x.fail(err)
	}
}

// admit checks the caller and reads the body.
func (a *API) admit(x *exchange, in *request, route Route, origin string) error {
	if !route.public {
		in.credential = in.Header.Get("Authorization")
		if in.credential == "" && route.inQuery {
			in.credential, _ = in.parameter("access_token")
		}
		caller, err := a.verifier.verify(in.credential)
		if err != nil {
			return err
		}
		x.caller, in.caller = caller, caller
		allowCaller(x.Header(), origin, caller)
		if !route.access.allows(caller) {
			return fault.New(fault.Forbidden, "The JWT role is not allowed to perform this operation.")
		}
		if err := a.limiters.admit(caller); err != nil {
			return err
		}
	}
	if route.Method == http.MethodGet || route.Method == http.MethodDelete {
		return nil
	}
	limit := publicBodyBytes
	switch {
	case route.limit != nil:
		limit = route.limit(in.caller)
	case in.caller != nil:
		limit = in.caller.Limits().BodyBytes
	}
	var err error
	in.body, err = readBody(x, in.Request, limit)
	return err
}

func (res *resource) route(method string) (Route, bool) {
	if method == http.MethodHead {
		method = http.MethodGet // the server leaves the body out
	}
	route, ok := res.routes[method]
	return route, ok
}

// allowed is the value of the Allow header.
func (res *resource) allowed() string {
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
