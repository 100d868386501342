package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
)

// pairings are the credentials of games that showed a PIN, which the channel confirmed.
type pairings struct {
	mu    sync.Mutex
	games []string
}

// overlays are overlay keys: those that are still there by their id, and those that were removed.
type overlays struct {
	mu            sync.Mutex
	kept, removed map[string]string // credentials
}

// usePairings has the first client pair a game, and the second make and remove overlay keys.
func (h *history) usePairings(c int, rng *rand.Rand) {
	switch c {
	case 0:
		h.pairGame()
	case 1:
		h.useOverlay(rng)
	}
}

// pairGame confirms a PIN through two programs at once. One of them pairs the game.
func (h *history) pairGame() {
	var shown struct{ Token, PIN string }
	if err := json.Unmarshal([]byte(h.must("POST", "/pin", "", "", fmt.Sprintf(`{"identifier":%q}`, sampleExtension))), &shown); err != nil {
		h.t.Error(err)
		return
	}
	statuses, blind := [2]int{}, [2]bool{}
	var both sync.WaitGroup
	for i := range statuses {
		both.Go(func() {
			var answer string
			statuses[i], answer, blind[i] = h.settle(nil, "POST", "/validate_pin", sign(h.t, "broadcaster", "B"), "", fmt.Sprintf(`{"pin":%q}`, shown.PIN))
			if statuses[i] != http.StatusOK && statuses[i] != http.StatusBadRequest {
				h.t.Errorf("confirm a PIN: %d %s", statuses[i], answer)
			}
		})
	}
	both.Wait()
	won := 0
	for _, status := range statuses {
		if status == http.StatusOK {
			won++
		}
	}
	if certain := !blind[0] && !blind[1]; won > 1 || won == 0 && certain {
		h.t.Errorf("a PIN that was confirmed twice paired %d games: %v", won, statuses)
	}
	h.pairs.mu.Lock()
	defer h.pairs.mu.Unlock()
	h.pairs.games = append(h.pairs.games, shown.Token)
}

// useOverlay makes a key and, three times in four, removes it.
func (h *history) useOverlay(rng *rand.Rand) {
	var key struct{ ID, Credential string }
	broadcaster := sign(h.t, "broadcaster", "B")
	if err := json.Unmarshal([]byte(h.must("POST", "/overlay_keys", broadcaster, "", `{"name":"screen"}`)), &key); err != nil {
		h.t.Error(err)
		return
	}
	keep := rng.IntN(4) == 0
	if !keep {
		status, answer, blind := h.settle(rng, "DELETE", "/overlay_keys?id="+url.QueryEscape(key.ID), broadcaster, "", "")
		if status != http.StatusOK && !(blind && status == http.StatusNotFound) {
			h.t.Errorf("remove an overlay key: %d %s", status, answer)
		}
	}
	h.overlays.mu.Lock()
	defer h.overlays.mu.Unlock()
	if h.overlays.kept == nil {
		h.overlays.kept, h.overlays.removed = map[string]string{}, map[string]string{}
	}
	if keep {
		h.overlays.kept[key.ID] = key.Credential
	} else {
		h.overlays.removed[key.ID] = key.Credential
	}
}

// checkPairings checks that each PIN has paired one game, that games and overlay keys have
// their rights, and that removed keys have none.
func (h *history) checkPairings(base string) {
	broadcaster := sign(h.t, "broadcaster", "B")
	var list struct{ Games []struct{ ID string } }
	h.read(base, "/gamelink/games", broadcaster, &list)
	// A program of an earlier version does not list a game that showed its PIN.
	if n := len(list.Games); n > len(h.pairs.games) || n < len(h.pairs.games) && !h.mixed {
		h.t.Errorf("%d games are paired, want %d", n, len(h.pairs.games))
	}
	for _, token := range h.pairs.games {
		h.read(base, "/channel_state", sampleExtension+" "+token, nil)
	}
	var keys struct{ Keys []struct{ ID string } }
	h.read(base, "/overlay_keys", broadcaster, &keys)
	for id, credential := range h.overlays.kept {
		if !slices.ContainsFunc(keys.Keys, func(k struct{ ID string }) bool { return k.ID == id }) {
			h.t.Errorf("overlay key %s is gone", id)
		}
		h.read(base, "/vote?id="+historyPoll, credential, nil)
	}
	for id, credential := range h.overlays.removed {
		if slices.ContainsFunc(keys.Keys, func(k struct{ ID string }) bool { return k.ID == id }) {
			h.t.Errorf("overlay key %s is there again", id)
		}
		if status, answer := sendOnce(h.t.Context(), base, "GET", "/vote?id="+historyPoll, credential, "", ""); status != http.StatusUnauthorized {
			h.t.Errorf("a removed overlay key is accepted: %d %s", status, answer)
		}
	}
}
