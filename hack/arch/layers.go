// Package arch holds the tree to its layers: who may import whom, who owns which
// library, who may ask the machine for the time. The tables below are the
// architecture; the test of this package compares them with the code. Nothing
// imports it.
package arch

// domains are the services' rules; the tables call them by this word.
const domains = "voting accumulation ranking state message sandbox"

// layers lists every package of the module and what it may import of the others,
// by the last element of their path, which is therefore unique. The last column
// is what its tests may import besides.
const layers = `
package                     | imports                                                                        | tests also
services/internal/fault     |                                                                                |
services/internal/key       |                                                                                |
services/internal/batch     |                                                                                |
services/internal/stream    | fault batch                                                                    | storetest
services/internal/document  | fault batch                                                                    | storetest
services/internal/storetest | fault stream document                                                          |
services/internal/boltstore | fault stream document                                                          | storetest
services/internal/peer      | stream                                                                         |
services/internal/mongostore | fault stream document peer                                                    | storetest mongotest faultproxy
services/internal/faultproxy |                                                                               |
services/internal/mongotest | faultproxy                                                                     |
services/voting             | fault key stream                                                               | storetest
services/accumulation       | fault key stream                                                               | storetest
services/ranking            | fault key stream                                                               | storetest
services/state              | fault key document                                                             | storetest
services/message            | fault key stream                                                               | storetest
services/sandbox            | fault tenant                                                                   |
services/internal/tenant    | fault                                                                          |
services/internal/transfer  | fault key stream document voting accumulation ranking state                    | storetest
services/internal/telemetry | stream live sink                                                               |
services/internal/live      | fault key stream document voting state message                                 | storetest
services/internal/sink      | key stream document tenant voting state message                                | storetest sinktest
services/internal/sinktest  |                                                                                |
services/internal/page      |                                                                                |
services/internal/httpapi   | fault domains stream document tenant telemetry live                            | storetest ceiling
services/internal/ceiling   | fault domains stream document tenant telemetry httpapi                         |
services                    | fault key domains stream document tenant telemetry live sink page httpapi ceiling boltstore mongostore peer transfer | storetest mongotest faultproxy sinktest
services/votingclient       |                                                                                | votingtest
services/votingtest         | voting stream tenant telemetry httpapi boltstore                               |
operator                    | v1alpha1 backend extension poll desired breaker uninstall                      | assets
operator/internal/breaker   |                                                                                |
operator/internal/census    |                                                                                |
operator/internal/testcluster | v1alpha1 assets                                                              |
operator/internal/desired   | v1alpha1                                                                       |
operator/internal/registry  | v1alpha1                                                                       |
operator/internal/secrets   |                                                                                |
operator/internal/uninstall | v1alpha1 poll                                                                  |
operator/internal/controller/backend | v1alpha1 census desired secrets                                       | testcluster
operator/internal/controller/extension | v1alpha1 census desired registry secrets                            | testcluster poll votingclient
operator/internal/controller/poll | v1alpha1 census votingclient registry secrets                            | testcluster votingtest
api/v1alpha1                |                                                                                | assets
hack/arch                   |                                                                                |
hack/envtest                | assets                                                                         |
hack/envtest/assets         |                                                                                |
hack/bench                  |                                                                                |
hack/chart                  |                                                                                |
hack/cluster                | assets                                                                         |
hack/cluster/pause          |                                                                                |
hack/e2e                    |                                                                                | v1alpha1
hack/e2e/kill               |                                                                                |
hack/scale                  | v1alpha1 assets                                                                |
`

// owners lists what only some packages may import outside their tests, packages
// below it included: what stands for a layer (HTTP, the database, the command
// line, the machine) or has a better place.
const owners = `
library                          | imported by
net/http                         | votingclient votingtest page httpapi telemetry ceiling peer sink sinktest services bench scale poll backend extension testcluster breaker operator
github.com/gorilla/mux           | httpapi
github.com/golang-jwt/jwt/v5     | votingclient httpapi sandbox sink sinktest services bench
github.com/evanphx/json-patch/v5 | document
github.com/prometheus            | httpapi telemetry services census poll backend extension operator scale
github.com/fsnotify/fsnotify     | tenant
sigs.k8s.io/yaml                 | tenant registry testcluster chart
github.com/spf13                 | services operator scale cluster
go.etcd.io/bbolt                 | boltstore
go.mongodb.org/mongo-driver/v2   | mongostore mongotest bench
os/exec                          | mongotest bench scale assets cluster
database/sql                     |
os                               | tenant boltstore mongotest services bench scale arch envtest assets testcluster operator cluster pause chart kill
testing                          | storetest mongotest sinktest
`

// timeless lists the packages that may not ask the machine for the time: it is
// an argument there, so that a replay gives what the first run gave.
const timeless = "domains fault key batch document desired"
