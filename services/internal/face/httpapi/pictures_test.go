package httpapi_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
	"github.com/acclaim-dev/acclaim/services/internal/face/httpapi"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
	"github.com/acclaim-dev/acclaim/services/internal/operation"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/picture"
)

// encodedPicture returns a PNG in one colour, which tells numbers below 2^24 apart.
func encodedPicture(t testing.TB, width, height, n int) []byte {
	t.Helper()
	pixels, out := image.NewNRGBA(image.Rect(0, 0, width, height)), bytes.Buffer{}
	for i := range width * height {
		pixels.SetNRGBA(i%width, i/width, color.NRGBA{byte(n >> 16), byte(n >> 8), byte(n), 255})
	}
	if err := png.Encode(&out, pixels); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func uploadOf(data []byte) string {
	return `{"data":"` + base64.StdEncoding.EncodeToString(data) + `"}`
}

// pictureOf returns a function that returns the body of an upload of a size.
func pictureOf(width, height int) func(*testing.T, *api) string {
	return func(t *testing.T, _ *api) string { return uploadOf(encodedPicture(t, width, height, 0)) }
}

// addPicture uploads a picture and returns its id.
func (a *api) addPicture(by identity, n int) string {
	a.t.Helper()
	got := a.as(by, http.MethodPost, "/pictures", uploadOf(encodedPicture(a.t, 2, 2, n))).is(http.StatusOK)
	return strings.Trim(got.field("id"), `"`)
}

// manyPictures adds as many pictures as a channel may have, and returns the body of another one.
func manyPictures(t *testing.T, a *api) string {
	t.Helper()
	for n := range 64 {
		a.addPicture(owner(), n)
	}
	return uploadOf(encodedPicture(t, 2, 2, 64))
}

func shownPicture(_ *testing.T, a *api) string { return "?id=" + a.addPicture(owner(), 1) }

func addressOfPicture(_ *testing.T, a *api) string {
	return "/public/ext/77/" + a.addPicture(owner(), 1) + "/picture.png"
}

func (a *api) readPicture(name string, headers ...string) answer {
	a.t.Helper()
	return a.send(http.MethodGet, "/public/"+name+"/picture.png", "", headers...)
}

// Staff uploads a picture, a poll names it, and everyone sees it, as a PNG in which nothing but the
// pixels is left.
func TestPicture(t *testing.T) {
	a := newAPI(t)
	sent := append(encodedPicture(t, 8, 4, 0xff0000), "<script>alert(1)</script>"...)
	added := a.as(broadcaster(), "POST", "/pictures", uploadOf(sent), "Content-Type", "image/svg+xml").is(200)
	id := strings.Trim(added.field("id"), `"`)
	if added.field("width") != "8" || added.field("height") != "4" {
		t.Error(added.body)
	}
	a.as(broadcaster(), "GET", "/pictures", "").want(200, `{"pictures":[`+added.body+`]}`)
	a.as(broadcaster(), "POST", "/vote_config", configOf("p", `{"options":["a","b"],"pictures":["","`+id+`"],"publicResults":true}`)).is(200)
	if got := a.as(viewer(), "GET", "/poll?id=p", "").is(200); got.field("pictures") != `["","`+id+`"]` {
		t.Errorf("viewers see the poll %s", got.body)
	}
	if got := a.send("GET", "/public/ext/77/p/result.json", "").is(200); !strings.Contains(got.body, `"pictures":["","`+id+`"]`) {
		t.Errorf("everyone sees the poll %s", got.body)
	}

	served := a.readPicture("ext/77/"+id, "Origin", "https://anywhere.example").is(200)
	for name, want := range map[string]string{
		"Content-Type": "image/png", "Cache-Control": "public, max-age=3600", "ETag": `"` + id + `"`,
		"Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'", "Access-Control-Allow-Origin": "*", "Vary": "", "Set-Cookie": "",
	} {
		if got := served.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	pixels, err := png.Decode(strings.NewReader(served.body))
	if err != nil || pixels.Bounds() != image.Rect(0, 0, 8, 4) || strings.Contains(served.body, "script") {
		t.Errorf("%v, %v: %q", pixels, err, served.body)
	}
	if r, g, b, alpha := pixels.At(7, 3).RGBA(); r != 0xffff || g != 0 || b != 0 || alpha != 0xffff {
		t.Errorf("a pixel is %v", pixels.At(7, 3))
	}
	a.readPicture("ext/77/"+id, "If-None-Match", `"`+id+`"`).is(304)
	for _, name := range []string{"ext/78/" + id, "other/77/" + id, "none/77/" + id, "ext/77/" + id[1:], "ext/77/p", "ext/" + strings.Repeat("7", 300) + "/" + id} {
		if got := a.readPicture(name); got.header.Get("Cache-Control") != "public, max-age=1" || got.header.Get("Content-Security-Policy") != "" {
			t.Errorf("%s: %v", name, got.header)
		} else {
			got.refused(404, "No such picture")
		}
	}
	a.send("GET", "/sandbox/public/ext/77/"+id+"/picture.png", "").is(404)

	a.as(broadcaster(), "DELETE", "/pictures?id="+id, "").is(200)
	a.readPicture("ext/77/" + id).is(404)
	a.as(broadcaster(), "DELETE", "/pictures?id="+id, "").refused(404, "No such picture")
	a.as(broadcaster(), "GET", "/pictures", "").want(200, `{"pictures":[]}`)
	a.as(viewer(), "POST", "/vote?id=p", `{"value":1}`).is(200) // the poll goes on without it
}

// Staff of the channel adds, lists and removes pictures, and no other caller does.
func TestPicturesAreOfStaff(t *testing.T) {
	a := newAPI(t)
	polls := a.with(a.newStaffKey("/v1", broadcaster(), `{"name":"Ada","scopes":["polls"]}`).Credential)
	answers := a.with(a.newStaffKey("/v1", broadcaster(), `{"name":"Grace","scopes":["answers"]}`).Credential)
	id := a.addPicture(broadcaster(), 1)
	polls("POST", "/pictures", uploadOf(encodedPicture(t, 2, 2, 2))).is(200)
	neighbour := identity{role: "broadcaster", opaque: "U78", user: "78", channel: "78"}
	for _, request := range [][2]string{{"POST", "/pictures"}, {"GET", "/pictures"}, {"DELETE", "/pictures?id=" + id}} {
		body := uploadOf(encodedPicture(t, 2, 2, 3))
		a.as(viewer(), request[0], request[1], body).is(403)
		answers(request[0], request[1], body).is(403)
		a.send(request[0], "/v1"+request[1], body).is(401)
	}
	a.as(neighbour, "DELETE", "/pictures?id="+id, "").refused(404, "No such picture")
	a.as(neighbour, "GET", "/pictures", "").want(200, `{"pictures":[]}`)
	a.readPicture("ext/77/" + id).is(200)
	if got := polls("GET", "/pictures", "").is(200); strings.Count(got.body, `"id"`) != 2 {
		t.Error(got.body)
	}
}

// A poll shows no address of another server, and no more pictures than options.
func TestPicturesOfPoll(t *testing.T) {
	a := newAPI(t)
	id := a.addPicture(broadcaster(), 1)
	const noPlace = "pictures needs a poll of one channel, no more entries than options has, and all processes of one release"
	for pictures, reason := range map[string]string{
		`["https://elsewhere.example/a.png"]`: "each of pictures must be the id of a picture or empty",
		`["` + id + `=="]`:                    "each of pictures must be the id of a picture or empty",
		`["../../../../../live/x.js"]`:        "each of pictures must be the id of a picture or empty",
		`["` + id + `","",""]`:                noPlace,
	} {
		a.as(broadcaster(), "POST", "/vote_config", configOf("p", `{"options":["a","b"],"pictures":`+pictures+`}`)).refused(400, reason)
	}
	a.as(owner(), "POST", "/vote_config", configOf("global-p", `{"options":["a"],"pictures":["`+id+`"]}`)).refused(400, noPlace)
	a.as(broadcaster(), "POST", "/vote_config", configOf("p", `{"options":["a"],"pictures":"`+id+`"}`)).refused(400, "Invalid body")
	a.as(broadcaster(), "POST", "/vote_config", configOf("p", `{"options":["a","b"],"pictures":["`+id+`"]}`)).is(200)
	a.as(broadcaster(), "PATCH", "/vote_config", `{"id":"p","config":{"options":[]}}`).refused(400, noPlace)
	a.as(broadcaster(), "PATCH", "/vote_config", `{"id":"p","config":{"pictures":null}}`).is(200)
	if got := a.as(viewer(), "GET", "/poll?id=p", "").is(200); got.field("pictures") != "" {
		t.Error(got.body)
	}
}

// What staff of a channel uploads counts, by what is kept of it, and a channel uploads no more than one
// picture a second in the long run.
func TestPictureQuotas(t *testing.T) {
	a := newAPI(t)
	now := time.Now()
	a.quotas(0, 0, 4000, 0) // of a viewer; a channel's staff has 10 times as much
	noise := image.NewNRGBA(image.Rect(0, 0, 80, 80))
	for i := range noise.Pix {
		noise.Pix[i] = byte(i * i * i >> 7)
	}
	var out bytes.Buffer
	if err := png.Encode(&out, noise); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		got := a.as(broadcaster(), "POST", "/pictures", uploadOf(out.Bytes()))
		if got.status == http.StatusTooManyRequests {
			got.refused(429, "Too many bytes stored; nothing was stored")
			break
		}
		if got.is(200); i > 10 {
			t.Fatal("no quota holds")
		}
	}

	a = newAPI(t, func(c *apiSettings) { c.Now = func() time.Time { return now } })
	for range 128 {
		a.as(backend(), "POST", "/pictures", `{"data":""}`).is(400)
	}
	a.as(backend(), "POST", "/pictures", uploadOf(encodedPicture(t, 2, 2, 1))).refused(429, "Too many requests; nothing was stored")
	other := backend()
	other.channel = "78"
	a.addPicture(other, 1)
}

// Few pictures are decoded at one time, few of them of one extension.
func TestPicturesAtOnce(t *testing.T) {
	budgets := operation.NewBudgets(operation.BudgetLimits{Requests: 1000, PerAddress: 1000, BodyBytes: 1 << 20})
	a := newAPI(t, func(c *apiSettings) { c.Budgets = budgets })
	share := limit.Share[limit.Holder]{Holder: limit.Holder{Environment: "production", Extension: "ext"}, Scope: limit.Extension, Limit: 2}
	lease := budgets.Pictures.Lease(limit.Caller{}, share)
	if err := lease.Take(2); err != nil {
		t.Fatal(err)
	}
	got := a.as(broadcaster(), "POST", "/pictures", uploadOf(encodedPicture(t, 2, 2, 1)))
	got.refused(429, "Too many pictures at once; nothing was stored")
	if got.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	elsewhere := identity{extension: "other", key: otherKey, role: "broadcaster", opaque: "U5"}
	a.addPicture(elsewhere, 1)
	lease.Release()
	a.addPicture(broadcaster(), 1)
	if stats := budgets.Pictures.Stats(); stats.Used != 0 {
		t.Errorf("%+v", stats)
	}
}

// countedPictures counts reads.
type countedPictures struct {
	operation.Pictures
	reads atomic.Int64
}

func (c *countedPictures) Read(ctx context.Context, channel picture.Channel, id string) ([]byte, error) {
	c.reads.Add(1)
	return c.Pictures.Read(ctx, channel, id)
}

// A picture is read once a minute however many ask, and an unknown one once a second. An address asks
// for few unknown ones. What one process removes, another stops to serve.
func TestPictureReads(t *testing.T) {
	store := storetest.NewMemory()
	var elapsed atomic.Int64
	began := time.Now()
	open := func() (*api, *countedPictures) {
		documents := document.NewService(store, stream.SystemClock(), document.Options{})
		counted := &countedPictures{Pictures: picture.NewService(documents, nil)}
		return newAPI(t, func(c *apiSettings) {
			c.Now = func() time.Time { return began.Add(time.Duration(elapsed.Load())) }
			c.Pictures, c.Proxies = counted, httpapi.TrustedProxies{netip.MustParsePrefix("192.0.2.0/24")}
		}), counted
	}
	a, reads := open()
	other, _ := open()
	id := a.addPicture(broadcaster(), 1)
	for range 300 {
		a.readPicture("ext/77/"+id, "X-Forwarded-For", "203.0.113.6").is(200)
		a.readPicture("ext/77/AAAAAAAAAAAAAAAAAAAAAA", "X-Forwarded-For", "203.0.113.6").is(404)
	}
	if got := reads.reads.Load(); got != 2 {
		t.Errorf("%d reads for 600 requests of two names, want 2", got)
	}
	refused := 0
	for n := range 400 {
		if a.readPicture(fmt.Sprintf("ext/77/%022d", n), "X-Forwarded-For", "203.0.113.7").status == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused < 199 {
		t.Errorf("%d unknown names of one address were refused", refused)
	}
	a.readPicture("ext/77/"+id, "X-Forwarded-For", "203.0.113.7").is(200)
	other.as(broadcaster(), "DELETE", "/pictures?id="+id, "").is(200)
	elapsed.Add(int64(time.Minute))
	a.readPicture("ext/77/"+id, "X-Forwarded-For", "203.0.113.7").is(404)
	if again := a.addPicture(broadcaster(), 1); again != id {
		t.Errorf("the same picture is %s and then %s", id, again)
	}
	a.readPicture("ext/77/" + id).is(200) // at once
}

// What a process remembers of pictures has a bound in bytes.
func TestPicturesInMemory(t *testing.T) {
	served := &madePictures{png: make([]byte, 1<<20)}
	a := newAPI(t, func(c *apiSettings) { c.Pictures = served })
	for n := range 40 {
		name := fmt.Sprintf("ext/77/%022d", n)
		a.readPicture(name).is(200)
		a.readPicture(name).is(200)
	}
	if got := served.reads.Load(); got != 40 {
		t.Errorf("%d reads of 40 pictures", got)
	}
	for n := range 40 {
		a.readPicture(fmt.Sprintf("ext/77/%022d", 39-n)).is(200)
	}
	if got := served.reads.Load() - 40; got != 40-16 {
		t.Errorf("%d of 40 pictures of 1 MiB were read again, want 24", got)
	}
}

// madePictures has every picture.
type madePictures struct {
	operation.Pictures
	png   []byte
	reads atomic.Int64
}

func (m *madePictures) Read(context.Context, picture.Channel, string) ([]byte, error) {
	m.reads.Add(1)
	return m.png, nil
}

func TestPicturesOfTheSandbox(t *testing.T) {
	a := newAPI(t)
	box := identity{role: "broadcaster", opaque: "U77", user: "77", key: sandboxKey}
	got := a.send("POST", "/sandbox/v1/pictures", uploadOf(encodedPicture(t, 2, 2, 1)), "Authorization", box.header(t)).is(200)
	var added struct{ ID string }
	if err := json.Unmarshal([]byte(got.body), &added); err != nil {
		t.Fatal(err)
	}
	a.send("GET", "/sandbox/public/ext/77/"+added.ID+"/picture.png", "").is(200)
	a.readPicture("ext/77/" + added.ID).is(404)
}
