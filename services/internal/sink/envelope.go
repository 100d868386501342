package sink

import (
	"encoding/json"
	"strings"
)

// envelope is an event as it is sent.
type envelope struct {
	Event   string          `json:"event"`
	Data    json.RawMessage `json:"data"`
	Target  string          `json:"target,omitempty"`
	Channel string          `json:"channel,omitempty"`
}

// encode writes JSON without escapes that only a page needs.
func encode(v any) []byte {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err) // strings and compact JSON
	}
	return []byte(strings.TrimSuffix(text.String(), "\n"))
}
