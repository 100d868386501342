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
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/klauspost/compress/gzhttp"

	"github.com/acclaim-dev/acclaim/api/tracing"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/quota"
	"github.com/acclaim-dev/acclaim/services/internal/tenant"
)

// Config configures an API. Services that are nil are not served.
type Config struct {
	Environment tenant.Environment
	// Registry returns the extensions as they are now.
	Registry     func() *tenant.Registry
	Now          func() time.Time
	Logger       *slog.Logger
	Metrics      Metrics
	Tracing      *tracing.Tracing // nil: off
	Voting       Voting
	PollLister   PollLister // the routes that show polls need it and Voting
	Accumulation Accumulation
	Ranking      Ranking
	State        State
	Live         Live
	Messages     Messages
	Sandbox      Sandbox
	Pairing      Pairing   // without it, no credential of a game is valid
	GameLink     bool      // games are served, here or by another process
	Roster       Roster    // nil: viewers are not noted
	Purchases    Purchases // its routes need State and Messages, too
	// Budgets bound what requests hold; nil uses defaults that no other API shares.
	Budgets *Budgets
	// Proxies are trusted to name their clients.
	Proxies TrustedProxies
	// ProxyWatch notes how they do so, for all APIs of a process; nil for none.
	ProxyWatch *ProxyWatch

	// Processes returns the number of live processes that share the store, this one
	// included; nil where it is alone.
	Processes func() int
	// StorageLow reports whether the disk has so little room left that viewers' writes are
	// refused; nil where the store does not know.
	StorageLow func() bool
	// Quotas counts what callers bring into being; nil stands for a ledger of this API's own.
	Quotas *quota.Ledger
}

// Metrics observes finished requests. traceID is that of a sampled request, else "".
type Metrics interface {
	Observe(route, method string, status int, took time.Duration, traceID string)
}

// API serves one environment.
type API struct {
	config   Config
	verifier *credentialVerifier
	limiters *rateLimiters
	noted    *notedViewers
	past     *pastAnswers
	// refusedPairings holds until when a pairing that was refused is so without another look.
	refusedPairings *lru.Cache[pairingName, time.Time]

	gzip    func(http.Handler) http.HandlerFunc
	buffers sync.Pool // for events
}

// New returns an API. It starts nothing.
func New(config Config) *API {
	gzip, err := gzhttp.NewWrapper(gzhttp.ContentTypes([]string{"application/json"}))
	if err != nil {
		panic(err) // the options are constant
	}
	if config.Budgets == nil {
		config.Budgets = defaultBudgets()
	}
	if config.Processes == nil {
		config.Processes = func() int { return 1 }
	}
	if config.StorageLow == nil {
		config.StorageLow = func() bool { return false }
	}
	if config.Quotas == nil {
		config.Quotas = quota.NewLedger(config.Processes)
	}
	return &API{
		config:   config,
		verifier: newVerifier(config.Environment, config.Registry, config.Now),
		limiters: newLimiters(config.Processes),
		noted:    newNotedViewers(),
		past:     newPastAnswers(),

		refusedPairings: newRefusedPairings(),
		gzip:            gzip,
	}
}

// apiRequest is the input of a handler.
type apiRequest struct {
	*http.Request
	caller *Caller // nil on public routes
	// credential is the verified Authorization header.
	credential string
	body       []byte
	bodyLeases bodyLeases
	paid       int64 // bytes of those that the request stores
	x          *httpExchange
}

// Mount is an API and the paths under which it is served.
type Mount struct {
	API      *API
	Prefixes []string
}

// NewHandler returns a handler that serves all mounts. The first API answers
// requests for unknown paths.
func NewHandler(mounts ...Mount) http.Handler {
	router := mux.NewRouter().SkipClean(true)
	for _, m := range mounts {
		for _, prefix := range m.Prefixes {
			under := router.PathPrefix(prefix).Subrouter()
			for _, res := range m.API.resources() {
				under.Handle(res.path, m.API.observeRequests(res.serveMethod))
			}
		}
	}
	router.NotFoundHandler = mounts[0].API.notFound()
	return pathMatcher{router}
}

// pathMatcher calls the handler that its router matches. Router.ServeHTTP would copy
// each request twice to store the match in its context, which no handler reads: 4
// allocations and 736 bytes more for a vote, which takes 39 and 2,560. Nor does the
// router select by method: the contract wants the allowed methods in each 405, and
// OPTIONS and HEAD on every route.
type pathMatcher struct{ *mux.Router }

func (m pathMatcher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var match mux.RouteMatch
	m.Match(r, &match) // what matches nothing has the NotFoundHandler
	match.Handler.ServeHTTP(w, r)
}

// notFound answers requests for unknown paths.
func (a *API) notFound() http.Handler {
	return a.observeRequests(func(x *httpExchange, r *http.Request) {
		allowAnyExtension(x.Header(), r.Header.Get("Origin"), a.config.Environment, a.config.Registry())
		x.writeFailure(r.Context(), fault.New(fault.NotFound, "No such route"))
	})
}

// pathResource is the routes of one path.
type pathResource struct {
	api    *API
	path   string
	routes map[string]Route // by method
}

func (a *API) resources() []*pathResource {
	var all []*pathResource
	byPath := map[string]*pathResource{}
	for _, route := range routesOf(func(g routeGroup) bool { return g.served(&a.config) }) {
		res := byPath[route.Path]
		if res == nil {
			res = &pathResource{api: a, path: route.Path, routes: map[string]Route{}}
			byPath[route.Path] = res
			all = append(all, res)
		}
		res.routes[route.Method] = route
	}
	return all
}

// serveMethod runs every check in the order that the contract demands when several fail.
func (res *pathResource) serveMethod(x *httpExchange, r *http.Request) {
	a, origin := res.api, r.Header.Get("Origin")
	x.route = res.path
	allowAnyExtension(x.Header(), origin, a.config.Environment, a.config.Registry())
	if r.Method == http.MethodOptions {
		answerPreflight(x)
		return
	}
	route, ok := res.routeFor(r.Method)
	if !ok {
		x.Header().Set("Allow", res.allowedMethods())
		x.err = fault.New(fault.Invalid, "The method is not allowed on this route")
		writeOutcome(x, outcome{status: http.StatusMethodNotAllowed}, x.err)
		return
	}
	in := &apiRequest{Request: r, x: x}
	defer func() { in.bodyLeases.release(); x.lease.Release() }()
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
	x.onSuccess = a.noteViewer(in)
	if !route.compress {
		return route.handle(a, x, in)
	}
	page, err := a.config.Budgets.takePage(in.caller)
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
	if x.lease, err = a.takeRequest(in.Request); err != nil {
		return err
	}
	if !route.public {
		if err := a.admitCaller(x, in, route, origin); err != nil {
			return err
		}
	}
	a.noteUnnamed(in)
	endTurn(in.Context())
	switch route.Method {
	case http.MethodGet:
		return nil
	case http.MethodDelete:
		return a.chargeStaff(in, route)
	}
	if in.caller != nil && in.caller.hasQuotas() && a.config.StorageLow() {
		return fault.New(fault.Unavailable, "the disk is nearly full: writes of all but backends and validated admins are refused")
	}
	limit := publicBodyBytes
	switch {
	case route.limit != nil:
		limit = route.limit(in.caller)
	case in.caller != nil:
		limit = in.caller.Limits().BodyBytes
	}
	in.bodyLeases = a.config.Budgets.bodyLeases(a.config.Environment, in.caller, limit)
	in.body, err = (&bodyReader{leases: &in.bodyLeases, limit: limit}).readAll(x, in.Request)
	if err != nil {
		return err
	}
	return a.chargeStaff(in, route)
}

// admitCaller checks the credential, the role and the rate of the caller.
func (a *API) admitCaller(x *httpExchange, in *apiRequest, route Route, origin string) error {
	in.credential = in.Header.Get("Authorization")
	if in.credential == "" && route.inQuery {
		in.credential, _ = in.queryParameter("access_token")
	}
	verified, err := a.verifier.verifyHeader(in.credential)
	if err != nil {
		return err
	}
	if err := verified.caller.checkSampleKey(in.Header); err != nil {
		return err
	}
	if verified.caller.isRevocable() {
		endTurn(in.Context()) // for the store
	}
	caller, err := a.resolveCaller(in.Context(), verified.caller)
	if err != nil {
		return err
	}
	x.caller, in.caller = caller, caller
	allowCaller(x.Header(), origin, caller)
	if !route.access.allowsCaller(caller) {
		return fault.New(fault.Forbidden, "The JWT role is not allowed to perform this operation.")
	}
	if err := a.limiters.admitCaller(caller); err != nil {
		return err
	}
	verified.cache()
	return nil
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
