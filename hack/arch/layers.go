// Package arch holds the tree to its layers: the imports that each package may
// have, the packages that may use a library or ask the machine for the time. The
// tables below are the architecture; the test of this package compares them with
// the code. Nothing imports it.
package arch

// domains are the services' rules; the tables call them by this word.
const domains = "voting accumulation ranking state message roster pairing purchase match picture sandbox"

// layers lists every package of the module and the others that it may import, by
// the last element of their path, which is therefore unique. The last column lists
// the packages that only its tests may import.
const layers = `
package                     | imports                                                                        | tests also
api                    |                                                                                |
api/contract           |                                                                                |
api/tracing            |                                                                                |
api/verifiable         |                                                                                |
api/terminal                | contract client                                                                |
services/internal/filewatch |                                                                                |
services/internal/fault     |                                                                                |
services/internal/limit     | fault                                                                          |
services/internal/exactjson | contract                                                                       |
services/internal/engine/key       |                                                                                |
services/internal/engine/wire      |                                                                                |
services/internal/testing/cputime   |                                                                                |
services/internal/engine/batch     |                                                                                |
services/internal/engine/batchtrace | fault                                                                         |
services/internal/engine/once      | contract fault                                                                          |
services/internal/engine/stream    | batch batchtrace exactjson fault once wire                                                     | ledger storetest mongostore mongotest cputime rewrite
services/internal/engine/rewrite   | fault stream                                                                   | ledger storetest
services/internal/engine/document  | batch batchtrace exactjson fault once                                                          | storetest cputime
services/internal/testing/storetest | fault once rewrite stream document wire                                                       |
services/internal/testing/ledger | fault rewrite stream storetest wire |
services/internal/store/pebblestore | fault batch once stream document wire                                             | storetest
services/internal/cluster/peer      | limit stream wire                                                             | cputime simnet
services/internal/store/mongostore | batch fault once stream document peer                                               | storetest mongotest faultproxy
services/internal/testing/faultproxy |                                                                               |
services/internal/testing/simnet    |                                                                                |
services/internal/testing/mongotest | faultproxy                                                                     |
services/internal/testing/mongotest/mongoset | mongotest                                                           |
services/voting             | contract exactjson fault key once rewrite stream verifiable wire | storetest cputime
services/accumulation       | contract fault key once rewrite stream wire                                                          | storetest
services/ranking            | contract exactjson fault key once rewrite stream wire | storetest
services/state              | contract fault key once document                                                             | storetest
services/resultlog          | fault key rewrite stream verifiable wire | storetest
services/message            | contract fault key once rewrite stream wire                                                          | storetest
services/roster             | contract key rewrite stream wire                                                                | storetest fault
services/pairing            | contract fault key document                                                             | storetest
services/purchase           | contract fault key once document                                                           | storetest stream mongostore mongotest faultproxy
services/match              | contract fault key document                                                             | storetest
services/picture            | contract fault key document                                                             | storetest mongostore mongotest
services/sandbox            | contract fault tenant                                                                   |
services/internal/tenant    | contract filewatch limit |
services/internal/upkeep/transfer  | exactjson fault key once stream document voting accumulation ranking roster             | storetest contract
services/internal/upkeep/backup    | document key transfer                                                          | storetest stream voting
services/internal/telemetry |  |
services/internal/feed/event     | contract exactjson key stream document voting accumulation ranking message | storetest live sink tenant
services/internal/feed/live      | contract limit event fault                                                                    | storetest stream document voting accumulation ranking state message
services/internal/feed/cosign    | verifiable |
services/internal/feed/publish   | contract fault cosign resultlog stream verifiable voting | storetest
services/internal/feed/sink      | tracing event key stream document tenant                                               | storetest sinktest voting accumulation ranking state message
services/internal/testing/sinktest  |                                                                                |
services/internal/face/page      | api                                                                            |
services/internal/face/rig       | contract sandbox                                                               |
services/internal/signin | |
services/internal/operation | contract tracing exactjson limit fault once voting accumulation ranking state message roster pairing purchase picture sandbox document tenant event live publish signin | telemetry
services/internal/face/httpapi   | contract verifiable operation signin exactjson limit fault once voting ranking state pairing document tenant event live publish | storetest ceiling cputime resultlog accumulation picture purchase roster stream telemetry tracing message rewrite sandbox
services/internal/upkeep/admin     | exactjson fault key rewrite stream document tenant state purchase sink                         | domains storetest transfer pebblestore
services/internal/face/gamelink  | contract operation limit exactjson fault event live tenant voting state document pairing purchase match sandbox | domains storetest stream once httpapi
services/internal/process/app | contract operation signin tracing batchtrace gamelink limit filewatch fault key domains rewrite stream document tenant telemetry event live cosign publish verifiable resultlog sink page httpapi pebblestore mongostore peer admin transfer | mongotest simnet sinktest
services/internal/process/cli | contract tracing client verifiable stream tenant sandbox telemetry sink publish transfer backup admin app rig terminal | storetest document voting key
services/internal/testing/ceiling   | contract operation voting accumulation ranking state once stream document |
services/internal/testing/ceilingserver | ceiling cli app |
services                    | cli                                                                            | domains stream document tenant admin operation httpapi gamelink transfer pebblestore mongostore storetest mongotest faultproxy sinktest overlay harness app key contract verifiable
services/votingtest         | operation voting stream tenant telemetry httpapi pebblestore                               |
operator/kubectl-acclaim    | client terminal v1alpha1 desired overview podlink sharing supportreport               | votingtest
operator | tracing v1alpha1 census backend extension poll desired breaker holder registry task uninstall watchdog scope sharing backups | assets testcluster harness
operator/internal/breaker |  |
operator/internal/census |  |
operator/internal/task | census |
operator/internal/job       |                                                                                |
operator/internal/testcluster | v1alpha1 assets                                                              |
operator/internal/desired   | contract v1alpha1                                                              | harness
operator/internal/registry  | contract v1alpha1 status                                                                       |
operator/internal/status    | v1alpha1                                                                       |
operator/internal/scope     |                                                                                |
operator/internal/holder    | v1alpha1 status                                                                |
operator/internal/sharing   | v1alpha1                                                                       |
operator/internal/secrets   |                                                                                |
operator/internal/uninstall | v1alpha1 status                                                                       |
operator/internal/supportreport | v1alpha1 desired overview                                                       |
operator/internal/podlink   |                                                                                |
operator/internal/overview  | terminal v1alpha1 desired sharing                                                     |
operator/internal/watchdog  | v1alpha1 status                                                                       |
operator/internal/controller/backups | v1alpha1 census desired holder job status task                                     | testcluster
operator/internal/controller/backend | v1alpha1 census desired holder job secrets sharing status                                       | testcluster
operator/internal/controller/extension | client v1alpha1 census desired holder registry secrets sharing status                            | testcluster backend poll votingtest contract
operator/internal/controller/poll | contract v1alpha1 census desired holder client registry secrets sharing status | testcluster votingtest watchdog
api/v1alpha1                | contract                                                                       | assets
api/client                  | contract                                                                       | votingtest verifiable
hack/arch                   |                                                                                | language
hack/arch/language          |                                                                                |
hack/words                  | language                                                                       |
hack/docs                   |                                                                                | harness
hack/envtest                | assets                                                                         |
hack/envtest/assets         |                                                                                |
hack/overlay                |                                                                                |
hack/harness                |                                                                                |
hack/processor              |                                                                                |
hack/abuse                  | overlay harness processor                                                      |
hack/defects                | overlay harness                                                                |
hack/bench                  | harness                                                                  |
hack/chart                  |                                                                                |
hack/cluster                | assets                                                                         |
hack/cluster/pause          |                                                                                |
hack/e2e                    |                                                                                | v1alpha1 processor harness
hack/e2e/kill               |                                                                                |
hack/e2e/clock              | overlay                                                                        |
hack/scale                  | v1alpha1 assets harness                                                                |
`

// owners lists what only some packages may import outside their tests, packages
// below it included: what stands for a layer (HTTP, the database, the command
// line, the machine) or has a better place.
const owners = `
library                          | imported by
net/http                         | client votingtest tracing page rig operation httpapi signin gamelink ceiling peer cosign sink sinktest app cli harness bench abuse scale poll extension status testcluster breaker podlink kubectl-acclaim operator
github.com/gorilla/mux           | httpapi
github.com/coder/websocket       | gamelink app bench abuse
github.com/coreos/go-oidc/v3      | signin
github.com/go-jose/go-jose/v4     | signin
golang.org/x/oauth2               | signin
github.com/golang-jwt/jwt/v5     | client operation purchase sandbox sink sinktest harness bench abuse
github.com/evanphx/json-patch/v5 | document
github.com/go-json-experiment/json | exactjson verifiable
github.com/prometheus            | httpapi telemetry census task poll backend backups extension operator scale
github.com/fsnotify/fsnotify     | filewatch
sigs.k8s.io/yaml                 | tenant cli registry supportreport testcluster chart abuse kubectl-acclaim
github.com/spf13                 | cli operator kubectl-acclaim scale cluster
github.com/cockroachdb/pebble/v2 | pebblestore
go.mongodb.org/mongo-driver/v2   | mongostore mongotest bench
go.opentelemetry.io              | tracing batchtrace operation httpapi stream app
os/exec                          | mongotest harness bench abuse defects scale assets cluster
golang.org/x/image                | picture
database/sql                     |
os | ceilingserver tenant backup pebblestore mongotest mongoset simnet services cli harness bench abuse processor overlay defects scale arch language words envtest assets testcluster operator cluster pause chart kill clock terminal kubectl-acclaim
testing                          | storetest ledger mongotest mongoset sinktest cputime
`

// timeless lists the packages that may not ask the machine for the time: it is
// an argument there, so that a replay gives what the first run gave.
const timeless = "contract verifiable resultlog domains fault key batch document desired"
