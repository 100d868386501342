package tenant

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"
)

// settings are what an extension has for one environment.
type settings struct {
	secrets   []Secret // newest first
	origins   origins
	limits    Limits
	retention Retention
	sinks     []Sink
}

// over returns base with what the block sets laid over it. Secrets and sinks are
// never those of base.
func (b environmentBlock) over(base settings, owner string, report reportFunc) settings {
	base.secrets = decodeSecrets(b.Secrets, report)
	base.sinks = decodeSinks(b.Sinks, owner, report)
	base.limits = b.Limits.over(base.limits, report.at("limits"))
	base.retention = b.Retention.over(base.retention, report.at("retention"))
	for i, pattern := range b.AllowedOrigins {
		if err := checkOrigin(pattern); err != nil {
			report(fmt.Sprintf("allowedOrigins[%d]", i), "%v", err)
		}
	}
	if len(b.AllowedOrigins) > 0 {
		base.origins = newOrigins(b.AllowedOrigins)
	}
	return base
}

// decodeSecrets returns the secrets, the newest first.
func decodeSecrets(blocks []secretBlock, report reportFunc) []Secret {
	secrets := make([]Secret, 0, len(blocks))
	for i, block := range blocks {
		secret, err := block.decode()
		if err != nil {
			report(fmt.Sprintf("secrets[%d]", i), "%v", err)
			continue
		}
		secrets = append(secrets, secret)
	}
	slices.SortStableFunc(secrets, func(a, b Secret) int { return b.ActiveFrom.Compare(a.ActiveFrom) })
	return secrets
}

// decode returns the secret. Its errors never repeat what was written.
func (b secretBlock) decode() (Secret, error) {
	value, err := base64.StdEncoding.DecodeString(b.Value)
	if err != nil {
		return Secret{}, errors.New("is not base64")
	}
	if len(value) == 0 {
		return Secret{}, errors.New("is empty")
	}
	if b.ActiveFrom == "" {
		return Secret{Value: value}, nil
	}
	activeFrom, err := time.Parse(time.RFC3339, b.ActiveFrom)
	if err != nil {
		return Secret{}, errors.New("activeFrom is not an RFC 3339 time")
	}
	return Secret{Value: value, ActiveFrom: activeFrom}, nil
}
