package sandbox_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/services/sandbox"
)

// Browser clients decode the payload with plain atob, which knows neither '-'
// nor '_', and take its bytes for characters.
func FuzzPayloadSuitsBrowsers(f *testing.F) {
	f.Add("viewer", "77", "U5", "5", "one")
	f.Add("~?>", "~~~???>>>", "\x7f\x00\u2028", "é😀", "<&\"\\/")
	f.Add("\xff\xfe", "\u07ff\u0800\uffff", "\U00010000\U0010ffff", "þÿ", "ïïï")
	f.Fuzz(func(t *testing.T, role, channel, opaque, user, extension string) {
		grant := sandbox.Grant{
			ExtensionID: extension, ChannelID: channel, Role: role, OpaqueID: opaque, UserID: user, Stage: "production",
		}
		token, err := sandbox.IssueToken(grant, []byte("secret"), now)
		if err != nil {
			t.Fatal(err)
		}
		payload := strings.Split(token, ".")[1]
		if strings.ContainsAny(payload, "-_") {
			t.Errorf("payload %s", payload)
		}
		plain, err := base64.RawStdEncoding.DecodeString(payload)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range plain {
			if b < ' ' || b > '~' {
				t.Fatalf("claims are not printable ASCII: %q", plain)
			}
		}
		var got struct {
			Role      string `json:"role"`
			Channel   string `json:"channel_id"`
			Opaque    string `json:"opaque_user_id"`
			User      string `json:"user_id"`
			Extension string `json:"extension_id"`
			Stage     string `json:"allowed_stage"`
		}
		if err := json.Unmarshal(plain, &got); err != nil {
			t.Fatal(err)
		}
		want := []string{role, channel, opaque, user, extension, "production"}
		for i := range want {
			want[i] = strings.ToValidUTF8(want[i], "\ufffd")
		}
		read := []string{got.Role, got.Channel, got.Opaque, got.User, got.Extension, got.Stage}
		if diff := cmp.Diff(want, read, cmp.Transformer("merged", mergeReplacements)); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
	})
}

// mergeReplacements makes one of a run of replacement characters: how many
// stand for a run of invalid bytes is not the point.
func mergeReplacements(text string) string {
	for strings.Contains(text, "\ufffd\ufffd") {
		text = strings.ReplaceAll(text, "\ufffd\ufffd", "\ufffd")
	}
	return text
}

func TestWhoMaySend(t *testing.T) {
	for role, want := range map[string]int{"viewer": 0, "broadcaster": 1, "backend": 1} {
		token, err := sandbox.IssueToken(sandbox.Grant{Role: role, OpaqueID: "A1"}, []byte("s"), now)
		if err != nil {
			t.Fatal(err)
		}
		permissions := claims(t, token, "s", now)["pubsub_perms"].(map[string]any)
		if got := permissions["send"].([]any); len(got) != want {
			t.Errorf("%s may send to %v", role, got)
		}
	}
}
