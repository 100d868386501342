package sinktest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// readEvents returns the events of a request and checks its signature or token.
func (s *Server) readEvents(r *http.Request, body []byte) []Event {
	if r.URL.Path == "/hook" {
		s.checkSignature(r.Header, body)
		return s.readEnvelopes(body)
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	_, err := jwt.Parse(token, func(*jwt.Token) (any, error) { return []byte(s.options.Key), nil }, jwt.WithExpirationRequired())
	if err != nil {
		s.t.Errorf("a publication's token: %v", err)
	}
	var p struct {
		Target  []string
		Channel string `json:"broadcaster_id"`
		Global  bool   `json:"is_global_broadcast"`
		Message string
	}
	if err := json.Unmarshal(body, &p); err != nil || len(p.Target) != 1 || p.Global != (p.Channel == "") || len(p.Message) > 5<<10 {
		s.t.Errorf("a publication of %d bytes: %+v, %v", len(body), p, err)
		return nil
	}
	message := []byte(p.Message)
	if !strings.HasPrefix(p.Message, "[") {
		message = append(append([]byte("["), message...), ']')
	}
	var all []json.RawMessage
	if err := json.Unmarshal(message, &all); err != nil {
		s.t.Errorf("a message is %q: %v", p.Message, err)
	}
	var events []Event
	for _, one := range all {
		for _, e := range s.readEnvelopes(one) {
			e.Target, e.Channel = p.Target[0], p.Channel
			events = append(events, e)
		}
	}
	return events
}

// readEnvelopes decodes one envelope.
func (s *Server) readEnvelopes(body []byte) []Event {
	var e struct {
		Event, Target, Channel string
		Data                   json.RawMessage
	}
	if err := json.Unmarshal(body, &e); err != nil {
		s.t.Errorf("an event is %q: %v", body, err)
	}
	name, ok := strings.CutPrefix(e.Event, s.options.Prefix)
	if !ok {
		s.t.Errorf("the name of an event is %q", e.Event)
	}
	return []Event{{Name: name, Target: e.Target, Channel: e.Channel, Data: e.Data}}
}

// checkSignature checks a signature of Standard Webhooks, whose time must be recent.
func (s *Server) checkSignature(header http.Header, body []byte) {
	unix := header.Get("webhook-timestamp")
	at, err := strconv.ParseInt(unix, 10, 64)
	if err != nil || time.Since(time.Unix(at, 0)).Abs() > time.Hour {
		s.t.Errorf("the time of a delivery is %q", unix)
		return
	}
	mac := hmac.New(sha256.New, []byte(s.options.Secret))
	mac.Write([]byte(header.Get("webhook-id") + "." + unix + "."))
	mac.Write(body)
	if got, want := header.Get("webhook-signature"), "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)); got != want {
		s.t.Errorf("the signature of %s is %q, want %q", body, got, want)
	}
}

// channelOf returns the channel of a publication from its token, because some moods
// do not read the body.
func channelOf(r *http.Request) string {
	claims := jwt.MapClaims{}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	_, _, err := jwt.NewParser().ParseUnverified(token, claims)
	channel, ok := claims["channel_id"].(string)
	if err != nil || !ok {
		return "unknown"
	}
	return channel
}
