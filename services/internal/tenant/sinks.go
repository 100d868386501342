package tenant

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// Sink is another system that receives an extension's events in one environment.
// Either WebhookURL or PubSubURL is set.
type Sink struct {
	// Name tells it apart from the extension's other sinks. Delivery positions are
	// stored under it.
	Name string
	// WebhookURL receives one event in each POST request.
	WebhookURL string
	// PubSubURL is the address at which the streaming platform accepts messages to
	// the viewers of an extension.
	PubSubURL string

	secrets []Secret // newest first
}

// String returns the name, and so keeps secrets and addresses out of logs.
func (s Sink) String() string { return s.Name }

// PubSubURL is the default address at which the streaming platform accepts
// messages.
const PubSubURL = "https://api.twitch.tv/helix/extensions/pubsub"

// ActiveSecrets returns the secrets that sign the requests of a webhook at the
// given time, the newest first.
func (s Sink) ActiveSecrets(now time.Time) []Secret {
	return slices.DeleteFunc(slices.Clone(s.secrets), func(secret Secret) bool { return secret.ActiveFrom.After(now) })
}

// Sinks returns the extension's sinks, in the order of the file.
func (e *Extension) Sinks(environment Environment) []Sink { return e.settings[environment].sinks }

// Sink returns the extension's sink of that name.
func (e *Extension) Sink(environment Environment, name string) (Sink, bool) {
	sinks := e.settings[environment].sinks
	i := slices.IndexFunc(sinks, func(s Sink) bool { return s.Name == name })
	if i < 0 {
		return Sink{}, false
	}
	return sinks[i], true
}

// sinkBlock is one of the file's "sinks".
type sinkBlock struct {
	Name    string        `json:"name"`
	Webhook *webhookBlock `json:"webhook"`
	PubSub  *pubSubBlock  `json:"pubsub"`
}

type webhookBlock struct {
	URL     string        `json:"url"`
	Secrets []secretBlock `json:"secrets"`
}

type pubSubBlock struct {
	URL string `json:"url"`
}

var sinkNamePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// decodeSinks returns the sinks of an extension with that owner.
func decodeSinks(blocks []sinkBlock, owner string, report reportFunc) []Sink {
	if len(blocks) > contract.MaxSinks {
		report("sinks", "has more than %d", contract.MaxSinks)
	}
	names := map[string]bool{}
	sinks := make([]Sink, 0, len(blocks))
	for i, block := range blocks {
		at := report.at(fmt.Sprintf("sinks[%d]", i))
		if len(block.Name) > contract.MaxSinkName || !sinkNamePattern.MatchString(block.Name) {
			at("name", "must be 1 to %d lower-case letters, digits or hyphens, without a hyphen at either end", contract.MaxSinkName)
		}
		if names[block.Name] {
			at("name", "is that of another sink, too")
		}
		names[block.Name] = true
		sinks = append(sinks, block.decodeSink(owner, at))
	}
	return sinks
}

func (b sinkBlock) decodeSink(owner string, report reportFunc) Sink {
	s := Sink{Name: b.Name}
	switch {
	case (b.Webhook == nil) == (b.PubSub == nil):
		report("", "must have either webhook or pubsub")
	case b.Webhook != nil:
		at := report.at("webhook")
		s.WebhookURL, s.secrets = b.Webhook.URL, decodeSecrets(b.Webhook.Secrets, at)
		checkSinkURL(s.WebhookURL, at)
		if len(b.Webhook.Secrets) == 0 {
			at("secrets", "is empty")
		}
	default:
		s.PubSubURL = b.PubSub.URL
		if s.PubSubURL == "" {
			s.PubSubURL = PubSubURL
		}
		checkSinkURL(s.PubSubURL, report.at("pubsub"))
		if owner == "" {
			report("pubsub", "needs the extension's ownerUserID, in whose name messages are sent")
		}
	}
	return s
}

// checkSinkURL does not repeat what was written: addresses of webhooks are often
// secret.
func checkSinkURL(text string, report reportFunc) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		report("url", "must be an http or https URL")
	case u.User != nil:
		report("url", "must not hold a user or a password: requests are signed")
	case u.Fragment != "":
		report("url", "must not have a fragment")
	}
}
