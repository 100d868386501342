package httpapi_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// Many addresses without a credential leave another one its share of what an extension gives to all, and
// staff signs in beside any number of viewers.
func TestSharesOfAddresses(t *testing.T) {
	const (
		signIn        = "GET /v1/staff/signin?extension=signed"
		staffReturns  = "GET /v1/staff/callback?state=S&code=eve"
		viewer        = "GET /v1/viewer/signin?" + pollName
		viewerReturns = "GET /v1/viewer/callback?state=S&code=ada"
	)
	for name, test := range map[string]struct {
		many, other, body string
		status            int
	}{
		"devices":               {"POST /v1/devices", "POST /v1/devices", `{"client":"ext","channel":"77","poll":"lunch"}`, http.StatusOK},
		"PINs":                  {"POST /v1/pin", "POST /v1/pin", `{"identifier":"ext"}`, http.StatusOK},
		"sign-ins":              {signIn, signIn, "", http.StatusSeeOther},
		"staff, beside viewers": {viewer, signIn, "", http.StatusSeeOther},
		"viewers":               {viewer, viewer, "", http.StatusSeeOther},
		"returns of staff":      {staffReturns, staffReturns, "", http.StatusUnauthorized},
		"returns of viewers":    {viewerReturns, viewerReturns, "", http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPublicWorld(t)
			w.configureDevices("lunch", "")
			refused := 0
			from := func(n int, request string) answer {
				method, path, _ := strings.Cut(request, " ")
				return w.send(method, path, test.body, "X-Forwarded-For", netip.AddrFrom4([4]byte{203, 0, 113, byte(n)}).String(), "Cookie", flowOfSigned+"; "+flowOfViewer)
			}
			for round := 0; refused < 240; round++ { // until each of the many has taken all that it gets
				if refused = 0; round == 25 {
					t.Fatal("many addresses get what they ask for")
				}
				for n := range 240 {
					if from(n, test.many).status == http.StatusTooManyRequests {
						refused++
					}
				}
			}
			from(250, test.other).is(test.status)
		})
	}
}

// A crowd, each from an address of its own, begins sign-ins, and all who have begun return.
func TestCrowds(t *testing.T) {
	for name, crowd := range map[string]struct{ begin, returns string }{
		"viewers": {"/v1/viewer/signin?" + pollName, "/v1/viewer/callback?state=S&code=ada"},
		"staff":   {"/v1/staff/signin?extension=signed", "/v1/staff/callback?state=S&code=eve"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPublicWorld(t)
			visit := func(n int, path string) int {
				return w.send("GET", path, "", "X-Forwarded-For", netip.AddrFrom4([4]byte{203, 0, byte(n >> 8), byte(n)}).String(), "Cookie", flowOfSigned+"; "+flowOfViewer).status
			}
			begun := 0
			for visit(begun, crowd.begin) == http.StatusSeeOther {
				begun++
			}
			if begun < 450 {
				t.Errorf("%d people begin at once", begun)
			}
			for n := range begun {
				if status := visit(n, crowd.returns); status == http.StatusTooManyRequests {
					t.Fatalf("person %d of %d cannot return", n, begun)
				}
			}
		})
	}
}
