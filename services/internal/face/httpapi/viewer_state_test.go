package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

// A viewer that has not shared a user id has no extension-viewer state.
func TestExtensionViewerStateNeedsUserID(t *testing.T) {
	a := newAPI(t)
	a.as(stranger(), "GET", "/extension_viewer_state", "").want(200, "{}")
	for _, method := range []string{"POST", "PATCH"} {
		a.as(stranger(), method, "/extension_viewer_state", `{"a":1}`).is(400)
	}
	a.as(stranger(), "GET", "/extension_viewer_state", "").want(200, "{}")
}

func TestAdminMap(t *testing.T) {
	a := newAPI(t)
	a.as(viewer(), "POST", "/extension_viewer_state", `{"a":1,"keep":true}`).is(200)
	a.as(admin(), "PATCH", "/extension_viewer_state", `{"5":{"a":null},"6":[{"op":"add","path":"/b","value":2}]}`).want(200, "{}")
	a.as(viewer(), "GET", "/extension_viewer_state", "").want(200, `{"keep":true}`)
	a.as(backend(), "GET", "/extension_viewer_state?user_ids=5,6,7,5", "").want(200, `{"5":{"keep":true},"6":{"b":2}}`)
	a.as(admin(), "GET", "/extension_viewer_state?userID=6", "").want(200, `{"b":2}`)
	a.as(admin(), "GET", "/extension_viewer_state?userID=7", "").want(200, `{}`)
	a.as(admin(), "GET", "/extension_viewer_state", "").want(200, `{}`)
}

// One failure refuses the whole map, with a reason that says whose it is.
func TestAdminMapIsAllOrNothing(t *testing.T) {
	a := newAPI(t)
	large := `"` + strings.Repeat("x", 64<<10) + `"`
	for _, test := range []struct {
		patch  string
		status int
	}{
		{`5`, 400}, {`null`, 400}, {`"x"`, 400}, {`[1]`, 400}, {`[{"op":"test","path":"/a","value":1}]`, 400},
		{`[{"op":"replace","path":"","value":[]}]`, 400}, {`{"a":` + large + `}`, 413},
	} {
		got := a.as(admin(), "PATCH", "/extension_viewer_state", `{"1":{"a":1},"2":`+test.patch+`,"3":{"a":1}}`).is(test.status)
		if !strings.Contains(got.field("reason"), "2") {
			t.Errorf("reason %s does not name the user", got.field("reason"))
		}
	}
	a.as(admin(), "GET", "/extension_viewer_state?user_ids=1,2,3", "").want(200, "{}")
}

// Only an object whose keys are all user ids is a map, and only an admin's.
func TestOtherPatchesOfViewerState(t *testing.T) {
	a := newAPI(t)
	a.as(admin(), "PATCH", "/extension_viewer_state", `{}`).want(200, "{}")
	a.as(admin(), "PATCH", "/extension_viewer_state", `{"5":1,"x":2}`).want(200, "{}")
	a.as(admin(), "GET", "/extension_viewer_state", "").want(200, `{"5":1,"x":2}`)
	a.as(admin(), "PATCH", "/extension_viewer_state", `[{"op":"remove","path":"/5"}]`).want(200, "{}")
	a.as(admin(), "GET", "/extension_viewer_state", "").want(200, `{"x":2}`)
	a.as(viewer(), "PATCH", "/extension_viewer_state", `{"6":{"a":1}}`).want(200, "{}")
	a.as(viewer(), "GET", "/extension_viewer_state", "").want(200, `{"6":{"a":1}}`)
	a.as(admin(), "GET", "/extension_viewer_state?user_ids=6", "").want(200, "{}")
}

// Section 8: up to 1000 user ids.
func TestTooManyViewers(t *testing.T) {
	a := newAPI(t)
	var members, ids []string
	for n := range 1000 {
		members, ids = append(members, fmt.Sprintf(`"%d":{"n":%d}`, n+1, n)), append(ids, fmt.Sprint(n+1))
	}
	whole := strings.Join(members, ",")
	a.as(admin(), "PATCH", "/extension_viewer_state", "{"+whole+"}").want(200, "{}")
	a.as(admin(), "PATCH", "/extension_viewer_state", `{"0":{},`+whole+"}").refused(400, "Too many ids specified")
	query := "/extension_viewer_state?user_ids=" + strings.Join(ids, ",")
	if got := a.as(backend(), "GET", query, "").is(200); strings.Count(got.body, `"n"`) != 1000 {
		t.Errorf("read %d documents, want 1000", strings.Count(got.body, `"n"`))
	}
	a.as(backend(), "GET", query+",0", "").refused(400, "Too many ids specified")
}

// A map may be larger than other bodies.
func TestAdminMapSizes(t *testing.T) {
	a := newAPI(t)
	viewers := func(n int) string {
		var members []string
		for id := range n {
			members = append(members, fmt.Sprintf(`"%d":{"a":"%s"}`, id, strings.Repeat("x", 60<<10)))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	a.as(admin(), "PATCH", "/extension_viewer_state", viewers(60)).want(200, "{}")
	a.as(admin(), "PATCH", "/extension_viewer_state", viewers(70)).is(413)
	a.as(viewer(), "PATCH", "/extension_viewer_state", viewers(5)).is(413)
	for _, body := range []string{`{"own":1}`, `[]`, `x`} {
		a.as(admin(), "PATCH", "/extension_viewer_state", body+strings.Repeat(" ", 256<<10)).is(413)
	}
}

func TestMalformedUserIDs(t *testing.T) {
	a := newAPI(t)
	for _, ids := range []string{"", ",", ",,"} {
		a.as(backend(), "GET", "/extension_viewer_state?user_ids="+ids, "").refused(400, "Malformed user_ids parameter")
	}
	a.as(admin(), "PATCH", "/extension_viewer_state", `{"5":{"a":1}}`).is(200)
	for _, id := range []string{"U5", "5;6", "-5", "%zz", "%00", "", strings.Repeat("9", 65)} {
		a.as(backend(), "GET", "/extension_viewer_state?user_ids=5,"+id, "").want(200, `{"5":{"a":1}}`)
	}
	a.as(backend(), "GET", "/extension_viewer_state?user_ids=U5", "").want(200, "{}")
	for _, id := range []string{"", "U5", "5,6"} {
		a.as(backend(), "GET", "/extension_viewer_state?userID="+id, "").refused(400, "Malformed userID parameter")
	}
}
