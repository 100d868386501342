package message

import "testing"

// TestReservedNames: section 4.8. Some of the service's own names are reserved with all that begin like them.
func TestReservedNames(t *testing.T) {
	for name, want := range map[string]bool{
		"vote_update:lunch": true, "vote_updates": true, "vote_delete": true, "channel_state_update2": true, "extension_state_update": true,
		"resync": true, "resyncs:all": true,
		"poll_update": true, "poll_update:lunch": true, "channel_config_update": true, "channel_config_update:x": true,
		"extension_config_update": true, "json_store_update:x": true, "curated_poll_update:x": true, "accumulate:": true, "rank_update:q": true,
		"poll_updates": false, "poll_updates:x": false, "accumulated": false, "rank_update2": false, "json_store_updates": false,
		"channel_config_updates": false, "vote": false, "goal:vote_update": false, "": false,
	} {
		if got := IsReserved(name); got != want {
			t.Errorf("%q is reserved: %v, want %v", name, got, want)
		}
	}
}
