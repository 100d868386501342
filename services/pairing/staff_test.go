package pairing_test

import (
	"testing"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/engine/document"
	"github.com/acclaim-dev/acclaim/services/internal/fault"
	"github.com/acclaim-dev/acclaim/services/internal/testing/storetest"
	"github.com/acclaim-dev/acclaim/services/pairing"
)

// A channel has no staff key while a process runs that could not read it.
func TestStaffKeysWait(t *testing.T) {
	upgraded := false
	documents := document.NewService(storetest.NewMemory(), storetest.Hasty{}, document.Options{})
	d := &desk{t, pairing.NewService(documents, func() bool { return upgraded }), noon}
	key := pairing.StaffKey{ID: pairing.NewKeyID(), Name: "Ada", Scopes: []string{"polls"}, Expires: noon.Add(time.Hour).Unix()}
	d.refused(d.AddStaffKey(t.Context(), channel, key, noon), fault.Unavailable, "Staff keys wait for processes of an earlier version")
	if held, err := d.StaffKeys(t.Context(), channel, noon); err != nil || len(held) > 0 {
		t.Errorf("listed: %v, %v", held, err)
	}
	_, err := d.BeginSession(t.Context(), channel, pairing.StaffKey{Name: "Grace"}, noon)
	d.refused(err, fault.Unavailable, "Staff keys wait for processes of an earlier version")
	upgraded = true
	d.must(d.AddStaffKey(t.Context(), channel, key, noon))
	if held, err := d.ResolveStaffKey(t.Context(), channel, key.ID, noon); err != nil || held.Name != "Ada" {
		t.Errorf("resolved: %v, %v", held, err)
	}
}
