// Package arch holds the tree to its layers: the imports that each package may
// have, the packages that may use a library or ask the machine for the time. The
// tables below are the architecture; the test of this package compares them with
// the code. Nothing imports it.
package arch

// domains are the services' rules; the tables call them by this word.
const domains = "voting accumulation ranking state message roster pairing purchase match sandbox"

// layers lists every package of the module and the others that it may import, by
// the last element of their path, which is therefore unique. The last column lists
// the packages that only its tests may import.
const layers = `
package                     | imports                                                                        | tests also
api/tracing            |                                                                                |
services/internal/budget    |                                                                                |
services/internal/filewatch |                                                                                |
services/internal/fault     |                                                                                |
services/internal/quota     |                                                                                |
services/internal/exactjson |                                                                                |
services/internal/engine/key       |                                                                                |
services/internal/engine/wire      |                                                                                |
services/internal/schedule  |                                                                                |
services/internal/testing/cputime   |                                                                                |
services/internal/engine/batch     |                                                                                |
services/internal/engine/batchtrace | fault                                                                         |
services/internal/engine/once      | fault                                                                          |
services/internal/engine/stream    | batch batchtrace exactjson fault once wire                                                     | storetest mongostore mongotest cputime
services/internal/engine/document  | batch batchtrace exactjson fault once                                                          | storetest cputime
services/internal/testing/storetest | fault once stream document wire                                                       |
services/internal/store/pebblestore | fault batch once stream document wire                                             | storetest
services/internal/cluster/peer      | budget stream wire                                                             | cputime
services/internal/store/mongostore | batch fault once stream document peer                                               | storetest mongotest faultproxy
services/internal/testing/faultproxy |                                                                               |
services/internal/testing/simnet    |                                                                                |
services/internal/testing/mongotest | faultproxy                                                                     |
services/internal/testing/mongotest/mongoset | mongotest                                                           |
services/voting             | exactjson fault key once schedule stream wire                                                | storetest
services/accumulation       | fault key once stream wire                                                          | storetest
services/ranking            | exactjson fault key once schedule stream wire                                                | storetest
services/state              | fault key once document                                                             | storetest
services/message            | fault key once stream wire                                                          | storetest
services/roster             | key stream wire                                                                | storetest fault
services/pairing            | fault key document                                                             | storetest
services/purchase           | fault key once document                                                           | storetest
services/match              | fault key document                                                             | storetest
services/sandbox            | fault tenant                                                                   |
services/internal/tenant    | filewatch fault quota                                                                          |
services/internal/upkeep/transfer  | exactjson fault key once stream document voting accumulation ranking roster             | storetest
services/internal/upkeep/backup    | transfer                                                                       | storetest stream voting
services/internal/telemetry | stream live sink                                                               |
services/internal/feed/event     | exactjson key schedule stream document voting accumulation ranking message                                             | storetest live sink tenant
services/internal/feed/live      | budget event fault                                                                    | storetest stream document voting accumulation ranking state message
services/internal/feed/sink      | tracing event key stream document tenant                                               | storetest sinktest voting accumulation ranking state message
services/internal/testing/sinktest  |                                                                                |
services/internal/face/page      |                                                                                |
services/internal/face/httpapi   | tracing exactjson budget fault once quota schedule domains stream document tenant telemetry event live            | storetest ceiling
services/internal/testing/ceiling   | fault domains schedule once stream document tenant telemetry httpapi                         |
services/internal/upkeep/admin     | exactjson fault key stream document tenant state purchase sink                         | domains storetest transfer pebblestore
services/internal/face/gamelink  | budget exactjson fault event live tenant httpapi pairing purchase match sandbox | domains storetest stream document
services/internal/process/app       | tracing batchtrace gamelink budget filewatch fault key quota domains stream document tenant telemetry event live sink page httpapi ceiling pebblestore mongostore peer admin | mongotest simnet schedule
services/internal/process/cli       | tracing client stream tenant sandbox telemetry sink transfer backup admin app                 |
services                    | cli                                                                            | domains stream document tenant admin httpapi gamelink transfer pebblestore mongostore storetest mongotest faultproxy sinktest overlay
services/votingtest         | voting stream tenant telemetry httpapi pebblestore                               |
operator                    | tracing v1alpha1 backend extension poll desired breaker holder registry task uninstall | assets
operator/internal/breaker   |                                                                                |
operator/internal/census    |                                                                                |
operator/internal/task      |                                                                                |
operator/internal/testcluster | v1alpha1 assets                                                              |
operator/internal/desired   | v1alpha1                                                                       |
operator/internal/registry  | v1alpha1 status                                                                       |
operator/internal/status    | v1alpha1                                                                       |
operator/internal/holder    | v1alpha1 status                                                                |
operator/internal/sharing   | v1alpha1                                                                       |
operator/internal/secrets   |                                                                                |
operator/internal/uninstall | v1alpha1 status                                                                       |
operator/internal/controller/backend | v1alpha1 census desired holder secrets sharing status                                       | testcluster
operator/internal/controller/extension | client v1alpha1 census desired holder registry secrets sharing status                            | testcluster backend poll votingtest
operator/internal/controller/poll | v1alpha1 census desired holder client registry secrets sharing status                            | testcluster votingtest
api/v1alpha1                |                                                                                | assets
api/client                  |                                                                                | votingtest
hack/arch                   |                                                                                | language
hack/arch/language          |                                                                                |
hack/words                  | language                                                                       |
hack/docs                   |                                                                                |
hack/envtest                | assets                                                                         |
hack/envtest/assets         |                                                                                |
hack/overlay                |                                                                                |
hack/child                  |                                                                                |
hack/processor              |                                                                                |
hack/abuse                  | overlay child processor                                                        |
hack/defects                | overlay                                                                        |
hack/bench                  | overlay child                                                                  |
hack/chart                  |                                                                                |
hack/cluster                | assets                                                                         |
hack/cluster/pause          |                                                                                |
hack/e2e                    |                                                                                | v1alpha1 processor
hack/e2e/kill               |                                                                                |
hack/e2e/clock              | overlay                                                                        |
hack/scale                  | v1alpha1 assets                                                                |
`

// owners lists what only some packages may import outside their tests, packages
// below it included: what stands for a layer (HTTP, the database, the command
// line, the machine) or has a better place.
const owners = `
library                          | imported by
net/http                         | client votingtest tracing page httpapi gamelink ceiling peer sink sinktest app cli bench abuse scale poll extension status testcluster breaker operator
github.com/gorilla/mux           | httpapi
github.com/coder/websocket       | gamelink bench abuse
github.com/golang-jwt/jwt/v5     | client httpapi sandbox sink sinktest bench abuse
github.com/evanphx/json-patch/v5 | document
github.com/prometheus            | httpapi telemetry census task poll backend extension operator scale
github.com/fsnotify/fsnotify     | filewatch
sigs.k8s.io/yaml                 | tenant cli registry testcluster chart abuse
github.com/spf13                 | cli operator scale cluster
github.com/cockroachdb/pebble/v2 | pebblestore
go.mongodb.org/mongo-driver/v2   | mongostore mongotest bench
go.opentelemetry.io              | tracing batchtrace httpapi stream app
os/exec                          | mongotest child bench abuse defects scale assets cluster
database/sql                     |
os                               | tenant backup pebblestore mongotest mongoset simnet services cli child bench abuse processor overlay defects scale arch language words envtest assets testcluster operator cluster pause chart kill clock
testing                          | storetest mongotest mongoset sinktest cputime
`

// timeless lists the packages that may not ask the machine for the time: it is
// an argument there, so that a replay gives what the first run gave.
const timeless = "domains fault key schedule batch document desired"
