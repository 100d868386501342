package pairing

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// A refresh token is "r1." and, joined by dots, its channel in base64url, the id of its game
// and a secret.
const refreshPrefix = "r1"

func refreshToken(channel, game, secret string) string {
	return strings.Join([]string{refreshPrefix, base64.RawURLEncoding.EncodeToString([]byte(channel)), game, secret}, ".")
}

func parseRefresh(token string) (channel, game string, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 4 || parts[0] != refreshPrefix {
		return "", "", false
	}
	decoded, err := base64.RawURLEncoding.DecodeString(parts[1])
	return string(decoded), parts[2], err == nil
}

// IssueRefresh returns what a game is worth that authenticates with a token.
func (s *Service) IssueRefresh(ctx context.Context, c Channel, by Request, now time.Time) (g Grant, err error) {
	game, secret := newSecret(), newSecret()
	err = edit(ctx, s, c.document(), func(r *channelRecord) error {
		r.expire(now.UnixMilli())
		g = r.addGame(c, gameRecord{ID: game, Role: by.role(), Server: by.Server, Key: by.Key}, secret, now)
		return nil
	})
	return g, err
}

// addGame adds a game and its first refresh token.
func (r *channelRecord) addGame(c Channel, game gameRecord, secret string, now time.Time) Grant {
	token := refreshToken(c.ID, game.ID, secret)
	game.Created, game.Used, game.Tokens = now.UnixMilli(), now.UnixMilli(), []tokenRecord{c.newToken(token, now)}
	r.Games = append(r.Games[max(len(r.Games)-contract.MaxPairedGames+1, 0):], game)
	return r.grant(c, game, token)
}

func (r *channelRecord) grant(c Channel, game gameRecord, token string) Grant {
	return Grant{Channel: c.ID, Server: game.Server, Key: game.Key, Family: channelFamily(r.Epoch), Game: game.ID, Refresh: token}
}

func (c Channel) newToken(token string, now time.Time) tokenRecord {
	return tokenRecord{Hash: c.hash(token), Expires: now.Add(contract.RefreshLifetime).UnixMilli()}
}

// UseRefresh returns what a refresh token is worth, and its successor. The token itself works
// until [contract.RefreshOverlap] after the first use of a successor, so that an answer that is lost does not lock
// the game out. A token that is used after that minute was copied: the game ends, and all its
// tokens. It ends also with its key; keys are as in UsePIN.
func (s *Service) UseRefresh(ctx context.Context, o Owner, token string, keys []string, now time.Time) (g Grant, err error) {
	channel, id, ok := parseRefresh(token)
	if !ok || channel == "" {
		return g, errRefresh()
	}
	c, hash, secret := Channel{o, channel}, o.hash(token), newSecret()
	refused := false
	err = edit(ctx, s, c.document(), func(r *channelRecord) error {
		r.expire(now.UnixMilli())
		at := slices.IndexFunc(r.Games, func(game gameRecord) bool { return game.ID == id })
		if refused = false; at < 0 {
			return errRefresh()
		}
		game := r.Games[at]
		if slices.Contains(game.Spent, hash) {
			refused = true
			r.end(id, now)
			return nil
		}
		if game.Key, ok = keyInForce(game.Key, keys); !ok || !game.use(hash, now) {
			return errRefresh()
		}
		next := refreshToken(channel, id, secret)
		game.Tokens = append(game.Tokens, c.newToken(next, now))
		r.Games = append(slices.Delete(r.Games, at, at+1), game) // the least recently used goes first
		g = r.grant(c, game, next)
		return nil
	})
	if err == nil && refused {
		return Grant{}, errRefresh()
	}
	return g, err
}

// use marks a token as the one that the game goes on from. It returns false where the token is
// none of the game's.
func (g *gameRecord) use(hash string, now time.Time) bool {
	used := slices.IndexFunc(g.Tokens, func(t tokenRecord) bool { return t.Hash == hash })
	if used < 0 {
		return false
	}
	for i := range used {
		g.Tokens[i].Expires = min(g.Tokens[i].Expires, now.Add(contract.RefreshOverlap).UnixMilli())
		g.Tokens[i].Replaced = true
	}
	if len(g.Tokens) >= maxSuccessors {
		drop := 0
		if used == 0 { // whose answers have been lost
			drop = 1
		}
		g.Tokens = slices.Delete(g.Tokens, drop, drop+1)
	}
	g.Used = now.UnixMilli()
	return true
}
