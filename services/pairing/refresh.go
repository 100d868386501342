package pairing

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"
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

// IssueRefresh returns what a game is worth that authenticates with a token of a role.
func (s *Service) IssueRefresh(ctx context.Context, c Channel, role string, now time.Time) (g Grant, err error) {
	game, secret := newSecret(), newSecret()
	err = edit(ctx, s, c.document(), func(r *channelRecord) error {
		r.expire(now.UnixMilli())
		g = r.addGame(c, game, role, secret, now)
		return nil
	})
	return g, err
}

// addGame adds a game and its first refresh token.
func (r *channelRecord) addGame(c Channel, game, role, secret string, now time.Time) Grant {
	token := refreshToken(c.ID, game, secret)
	r.Games = append(r.Games[max(len(r.Games)-maxGames+1, 0):], gameRecord{game, role, []tokenRecord{c.newToken(token, now)}})
	return Grant{Channel: c.ID, Role: role, Family: channelFamily(r.Epoch), Refresh: token}
}

func (c Channel) newToken(token string, now time.Time) tokenRecord {
	return tokenRecord{c.hash(token), now.Add(refreshLifetime).UnixMilli()}
}

// UseRefresh returns what a refresh token is worth, and its successor. The token itself works
// until a minute after the first use of a successor, so that an answer that is lost locks
// the game out.
func (s *Service) UseRefresh(ctx context.Context, o Owner, token string, now time.Time) (g Grant, err error) {
	channel, id, ok := parseRefresh(token)
	if !ok || channel == "" {
		return g, errRefresh()
	}
	c, hash, secret := Channel{o, channel}, o.hash(token), newSecret()
	err = edit(ctx, s, c.document(), func(r *channelRecord) error {
		r.expire(now.UnixMilli())
		at := slices.IndexFunc(r.Games, func(game gameRecord) bool { return game.ID == id })
		if at < 0 {
			return errRefresh()
		}
		game := r.Games[at]
		used := slices.IndexFunc(game.Tokens, func(t tokenRecord) bool { return t.Hash == hash })
		if used < 0 {
			return errRefresh()
		}
		for i := range used {
			game.Tokens[i].Expires = min(game.Tokens[i].Expires, now.Add(replacedFor).UnixMilli())
		}
		if len(game.Tokens) >= maxSuccessors {
			drop := 0
			if used == 0 { // whose answers have been lost
				drop = 1
			}
			game.Tokens = slices.Delete(game.Tokens, drop, drop+1)
		}
		next := refreshToken(channel, id, secret)
		game.Tokens = append(game.Tokens, c.newToken(next, now))
		r.Games = append(slices.Delete(r.Games, at, at+1), game) // the least recently used goes first
		g = Grant{Channel: channel, Role: game.Role, Family: channelFamily(r.Epoch), Refresh: next}
		return nil
	})
	return g, err
}
