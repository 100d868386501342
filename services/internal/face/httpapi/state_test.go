package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

// documentPaths maps the path of each document to a caller that may write it.
func documentPaths() map[string]identity {
	return map[string]identity{
		"/extension_state":        owner(),
		"/extension_hidden_state": owner(),
		"/channel_state":          broadcaster(),
		"/viewer_state":           viewer(),
		"/extension_viewer_state": viewer(),
		"/config/extension":       admin(),
		"/config/channel":         broadcaster(),
	}
}

func TestDocuments(t *testing.T) {
	a := newAPI(t)
	for path, who := range documentPaths() {
		t.Run(path, func(t *testing.T) {
			a.as(who, "GET", path, "").want(200, "{}")
			a.as(who, "PATCH", path, `{"merge":{"a":1,"b":null}}`).want(200, "{}")
			a.as(who, "GET", path, "").want(200, `{"merge":{"a":1}}`)
			a.as(who, "POST", path, `{"path":"`+path+`"}`).want(200, "{}")
			a.as(who, "PATCH", path, `[{"op":"test","path":"/path","value":"`+path+`"},{"op":"add","path":"/n","value":[1]}]`).want(200, "{}")
			a.as(who, "GET", path, "").want(200, `{"path":"`+path+`","n":[1]}`)
		})
	}
	for path, who := range documentPaths() {
		a.as(who, "GET", path, "").want(200, `{"path":"`+path+`","n":[1]}`)
	}
}

func TestDocumentRefusals(t *testing.T) {
	a := newAPI(t)
	for path, who := range documentPaths() {
		t.Run(path, func(t *testing.T) {
			a.as(who, "POST", path, `{"keep":1}`).is(200)
			for _, body := range []string{``, `x`, `null`, `5`, `"x"`, `[]`, `{}x`, `{"a":`, "{\"a\":\"\xff\"}"} {
				if reason := a.as(who, "POST", path, body).is(400).field("reason"); reason == `""` {
					t.Errorf("POST %q: no reason", body)
				}
			}
			for _, patch := range []string{
				``, `x`, `null`, `5`, `[1]`, `[{}]`, `[{"op":"add"}]`, `[{"op":"nope","path":"/a"}]`, `[{"op":"remove","path":"/none"}]`,
				`[{"op":"add","path":"/x","value":1},{"op":"test","path":"/keep","value":2}]`, `[{"op":"replace","path":"","value":[]}]`,
				`[{"op":"add","path":"x","value":1}]`, `[{"op":"copy","path":"/a"}]`,
			} {
				if reason := a.as(who, "PATCH", path, patch).is(400).field("reason"); reason == `""` {
					t.Errorf("PATCH %q: no reason", patch)
				}
			}
			a.as(who, "GET", path, "").want(200, `{"keep":1}`)
		})
	}
}

func TestDocumentSizes(t *testing.T) {
	a := newAPI(t)
	body := func(size int) string { return `{"a":"` + strings.Repeat("x", size-8) + `"}` }
	for path, who := range documentPaths() {
		a.as(who, "POST", path, body(64<<10)).want(200, "{}")
		a.as(who, "POST", path, body(64<<10+1)).is(413)
		a.as(who, "POST", path, body(256<<10+1)).is(413)
		a.as(who, "PATCH", path, `{"b":1}`).is(413)
		a.as(who, "GET", path, "").want(200, body(64<<10))
	}
}

func TestDocumentsTogether(t *testing.T) {
	a := newAPI(t)
	a.as(viewer(), "GET", "/all_state", "").want(200, `{"extension":{},"channel":{},"viewer":{},"extension_viewer":{}}`)
	a.as(viewer(), "GET", "/config", "").want(200, `{"extension":{},"channel":{}}`)
	for path, who := range documentPaths() {
		a.as(who, "POST", path, `{"path":"`+path+`"}`).is(200)
	}
	a.as(viewer(), "GET", "/all_state", "").want(200, `{"extension":{"path":"/extension_state"},"channel":{"path":"/channel_state"},
		"viewer":{"path":"/viewer_state"},"extension_viewer":{"path":"/extension_viewer_state"}}`)
	a.as(stranger(), "GET", "/all_state", "").want(200, `{"extension":{"path":"/extension_state"},"channel":{"path":"/channel_state"},
		"viewer":{},"extension_viewer":{}}`)
	a.as(stranger(), "GET", "/config", "").want(200, `{"extension":{"path":"/config/extension"},"channel":{"path":"/config/channel"}}`)
}

// The overview pages of the hosted service name the same documents otherwise.
func TestOtherNamesOfConfiguration(t *testing.T) {
	a := newAPI(t)
	a.as(broadcaster(), "POST", "/channel_config", `{"a":1}`).is(200)
	a.as(admin(), "PATCH", "/extension_config", `{"b":2}`).is(200)
	a.as(viewer(), "GET", "/config/channel", "").want(200, `{"a":1}`)
	a.as(viewer(), "GET", "/config/extension", "").want(200, `{"b":2}`)
	a.as(viewer(), "GET", "/all_config", "").want(200, `{"channel":{"a":1},"extension":{"b":2}}`)
}

// Extension scopes are the same on every channel; the viewer's own state is per
// channel and opaque id, the extension-viewer state per shared user id.
func TestDocumentScopes(t *testing.T) {
	a := newAPI(t)
	for path, who := range documentPaths() {
		a.as(who, "POST", path, `{"x":1}`).is(200)
	}
	elsewhere := identity{role: "viewer", opaque: "U5", user: "5", channel: "88"}
	otherOpaque := identity{role: "viewer", opaque: "U6", user: "5"}
	for path, seen := range map[string][2]string{
		"/extension_state":        {`{"x":1}`, `{"x":1}`},
		"/channel_state":          {`{}`, `{"x":1}`},
		"/viewer_state":           {`{}`, `{}`},
		"/extension_viewer_state": {`{"x":1}`, `{"x":1}`},
		"/config/extension":       {`{"x":1}`, `{"x":1}`},
		"/config/channel":         {`{}`, `{"x":1}`},
	} {
		a.as(elsewhere, "GET", path, "").want(200, seen[0])
		a.as(otherOpaque, "GET", path, "").want(200, seen[1])
	}
}

func TestVersions(t *testing.T) {
	a := newAPI(t)
	never := a.as(viewer(), "GET", "/viewer_state", "").header.Get("ETag")
	written := a.as(viewer(), "POST", "/viewer_state", `{"a":1}`, "If-Match", never).is(200).header.Get("ETag")
	read := a.as(viewer(), "GET", "/viewer_state", "").header.Get("ETag")
	if read != written || read == never || len(read) < 3 || read[0] != '"' || read[len(read)-1] != '"' {
		t.Fatalf("ETag is %q when never written, %q after the write and %q when read", never, written, read)
	}
	for _, stale := range []string{never, `"99"`, `"abc"`, "x", `"1", "2"`} {
		for _, method := range []string{"POST", "PATCH"} {
			if reason := a.as(viewer(), method, "/viewer_state", `{"b":1}`, "If-Match", stale).is(412).field("reason"); reason == `""` {
				t.Errorf("If-Match %s: no reason", stale)
			}
		}
	}
	a.as(viewer(), "GET", "/viewer_state", "").want(200, `{"a":1}`)
	a.as(viewer(), "PATCH", "/viewer_state", `{"b":1}`, "If-Match", read).want(200, "{}")
	a.as(viewer(), "PATCH", "/viewer_state", `{"c":1}`, "If-Match", "*").want(200, "{}")
	a.as(viewer(), "GET", "/viewer_state", "").want(200, `{"a":1,"b":1,"c":1}`)

	together := a.as(viewer(), "GET", "/all_state", "").header.Get("ETag")
	a.as(broadcaster(), "POST", "/channel_state", "{}").is(200)
	if after := a.as(viewer(), "GET", "/all_state", "").header.Get("ETag"); after == together || after == "" {
		t.Errorf("ETag of all states stays %q after a write", after)
	}
}

func TestConcurrentPatchesLoseNothing(t *testing.T) {
	a := newAPI(t)
	const patches = 64
	done := make(chan answer)
	for n := range patches {
		go func() { done <- a.as(broadcaster(), "PATCH", "/channel_state", fmt.Sprintf(`{"k%d":1}`, n)) }()
	}
	for range patches {
		(<-done).want(200, "{}")
	}
	if got := a.as(broadcaster(), "GET", "/channel_state", ""); strings.Count(got.body, `:1`) != patches {
		t.Errorf("after %d patches: %s", patches, got.body)
	}
}

// Of concurrent writers that read the same version one succeeds, and all others
// receive a conflict.
func TestConcurrentWritesOfOneVersion(t *testing.T) {
	a := newAPI(t)
	for path, who := range documentPaths() {
		a.as(who, "POST", path, `{}`).is(200)
		version := a.as(who, "GET", path, "").header.Get("ETag")
		const writers = 16
		done := make(chan answer)
		for n := range writers {
			go func() { done <- a.as(who, "POST", path, fmt.Sprintf(`{"n":%d}`, n), "If-Match", version) }()
		}
		statuses := map[int]int{}
		for range writers {
			statuses[(<-done).status]++
		}
		if statuses[200] != 1 || statuses[412] != writers-1 {
			t.Errorf("%s: statuses are %v", path, statuses)
		}
	}
}

// A patch is RFC 6902 or RFC 7396 by its shape, applied to {} at first.
func TestPatches(t *testing.T) {
	a := newAPI(t)
	for _, step := range []struct{ patch, want string }{
		{`[{"op":"add","path":"/a","value":[1,2]}]`, `{"a":[1,2]}`},
		{`[{"op":"add","path":"/a/-","value":null},{"op":"add","path":"/a/0","value":{"x~/y":0}}]`, `{"a":[{"x~/y":0},1,2,null]}`},
		{`[{"op":"test","path":"/a/0/x~0~1y","value":0.0},{"op":"replace","path":"/a/0/x~0~1y","value":"z"}]`, `{"a":[{"x~/y":"z"},1,2,null]}`},
		{`[{"op":"move","from":"/a/0","path":"/b"},{"op":"copy","from":"/b","path":"/c"},{"op":"remove","path":"/b"}]`, `{"a":[1,2,null],"c":{"x~/y":"z"}}`},
		{`{"a":null,"c":{"x~/y":null,"n":{"gone":null,"kept":[null]}}}`, `{"c":{"n":{"kept":[null]}}}`},
		{`{"c":{"n":5}}`, `{"c":{"n":5}}`},
		{`{}`, `{"c":{"n":5}}`},
		{`[]`, `{"c":{"n":5}}`},
		{`[{"op":"replace","path":"","value":{"whole":true}}]`, `{"whole":true}`},
		{`[{"op":"add","path":"/","value":"empty name"},{"op":"remove","path":"/whole","value":"ignored"}]`, `{"":"empty name"}`},
	} {
		a.as(viewer(), "PATCH", "/viewer_state", step.patch).want(200, "{}")
		a.as(viewer(), "GET", "/viewer_state", "").want(200, step.want)
	}
	for patch, operation := range map[string]string{
		`[{"op":"add","path":"/x","value":1},{"op":"test","path":"/x","value":2}]`:  "operation 1",
		`[{"op":"remove","path":"/none"},{"op":"add","path":"/x","value":1}]`:       "operation 0",
		`[{"op":"test","path":"/","value":null}]`:                                   "operation 0",
		`[{"op":"add","path":"/x","value":1},{"op":"add","path":"/y/z","value":1}]`: "operation 1",
	} {
		if reason := a.as(viewer(), "PATCH", "/viewer_state", patch).is(400).field("reason"); !strings.Contains(reason, operation) {
			t.Errorf("%s: reason %s does not name %s", patch, reason, operation)
		}
		a.as(viewer(), "GET", "/viewer_state", "").want(200, `{"":"empty name"}`)
	}
}
