package tenant

import (
	"errors"
	"math"
	"time"

	"github.com/acclaim-dev/acclaim/services/internal/quota"
)

// Limits bound what an extension may do in one environment. The zero Limits are
// not usable; every registered extension has its own with the defaults filled in.
type Limits struct {
	// TokenLife limits how long a token may still be valid; 30 days by default.
	TokenLife time.Duration
	// IdentityRate limits the requests of one identity of the extension.
	IdentityRate Rate
	// ExtensionRate limits the requests of all its identities together.
	ExtensionRate Rate
	// DocumentBytes is the largest state or configuration document, after the
	// write; 64 KiB by default.
	DocumentBytes int
	// BodyBytes is the largest request body; 256 KiB by default.
	BodyBytes int
	// AdminMapBytes is the largest body of an extension-viewer state map; 4 MiB
	// by default.
	AdminMapBytes int
	// AccumulationEntryBytes is the largest accumulated object; 64 KiB by default.
	AccumulationEntryBytes int
	// MessageRate limits the messages to one channel and, separately, to the whole
	// extension: 10 a second and 100 at once by default.
	MessageRate Rate

	// The quotas below limit viewers, and in the sandbox all callers.

	// IdentityStreams and ExtensionStreams limit the polls, buffers and questions that
	// viewers bring into being: 1,000 an hour for one identity and 100,000 a day for all of
	// the extension by default.
	IdentityStreams, ExtensionStreams quota.Quota
	// IdentityBytes and ExtensionBytes limit what viewers send to be stored: 64 MiB a day for
	// one identity and 64 GiB a day for all of the extension by default.
	IdentityBytes, ExtensionBytes quota.Quota
	// ExtensionDocuments limits the documents of state that viewers bring into being: a million
	// a day for all of the extension by default.
	ExtensionDocuments quota.Quota
	// IdentityWhispers limits the messages that one identity sends to itself: 1,000 an hour
	// by default.
	IdentityWhispers quota.Quota
}

// Rate is a token bucket. The zero Rate does not limit.
type Rate struct {
	// PerSecond limits the requests a second in the long run.
	PerSecond float64
	// Burst limits the requests at once; it is at least 1.
	Burst int
}

// Limited reports whether the rate limits anything.
func (r Rate) Limited() bool { return r.PerSecond > 0 }

func defaultLimits() Limits {
	return Limits{
		TokenLife:              720 * time.Hour,
		DocumentBytes:          64 << 10,
		BodyBytes:              256 << 10,
		AdminMapBytes:          4 << 20,
		AccumulationEntryBytes: 64 << 10,
		MessageRate:            Rate{PerSecond: 10, Burst: 100},
		IdentityStreams:        quota.Quota{Amount: 1_000, Period: time.Hour},
		ExtensionStreams:       quota.Quota{Amount: 100_000, Period: 24 * time.Hour},
		IdentityBytes:          quota.Quota{Amount: 64 << 20, Period: 24 * time.Hour},
		ExtensionBytes:         quota.Quota{Amount: 64 << 30, Period: 24 * time.Hour},
		ExtensionDocuments:     quota.Quota{Amount: 1_000_000, Period: 24 * time.Hour},
		IdentityWhispers:       quota.Quota{Amount: 1_000, Period: time.Hour},
	}
}

// The largest limits that the stores and the memory of a replica are sized for.
const (
	maxTokenHours  = 87600 // 10 years
	maxStoredBytes = 1 << 20
	maxBodyBytes   = 64 << 20
	maxQuota       = 1 << 40
)

// limitsBlock is the file's "limits". What it leaves out stays as it was.
type limitsBlock struct {
	TokenHours             *int       `json:"tokenHours"`
	IdentityRate           *rateBlock `json:"identityRate"`
	ExtensionRate          *rateBlock `json:"extensionRate"`
	DocumentBytes          *int       `json:"documentBytes"`
	BodyBytes              *int       `json:"bodyBytes"`
	AdminMapBytes          *int       `json:"adminMapBytes"`
	AccumulationEntryBytes *int       `json:"accumulationEntryBytes"`
	MessageRate            *rateBlock `json:"messageRate"`

	IdentityStreamsPerHour   *int64 `json:"identityStreamsPerHour"`
	ExtensionStreamsPerDay   *int64 `json:"extensionStreamsPerDay"`
	IdentityBytesPerDay      *int64 `json:"identityBytesPerDay"`
	ExtensionBytesPerDay     *int64 `json:"extensionBytesPerDay"`
	ExtensionDocumentsPerDay *int64 `json:"extensionDocumentsPerDay"`
	IdentityWhispersPerHour  *int64 `json:"identityWhispersPerHour"`
}

// rateBlock is a rate in the file: perSecond 0 turns the limit off, a burst left
// out is one second's worth.
type rateBlock struct {
	PerSecond float64 `json:"perSecond"`
	Burst     *int    `json:"burst"`
}

// overrideLimits returns base with what the block sets laid over it.
func (b limitsBlock) overrideLimits(base Limits, report reportFunc) Limits {
	if hours := b.TokenHours; hours != nil {
		if *hours < 1 || *hours > maxTokenHours {
			report.at("tokenHours")("", "must be between 1 and %d", maxTokenHours)
		}
		base.TokenLife = time.Duration(min(max(*hours, 1), maxTokenHours)) * time.Hour
	}
	b.IdentityRate.setRate(&base.IdentityRate, report.at("identityRate"))
	b.ExtensionRate.setRate(&base.ExtensionRate, report.at("extensionRate"))
	b.MessageRate.setRate(&base.MessageRate, report.at("messageRate"))
	setQuota(&base.IdentityStreams, b.IdentityStreamsPerHour, report.at("identityStreamsPerHour"))
	setQuota(&base.ExtensionStreams, b.ExtensionStreamsPerDay, report.at("extensionStreamsPerDay"))
	setQuota(&base.IdentityBytes, b.IdentityBytesPerDay, report.at("identityBytesPerDay"))
	setQuota(&base.ExtensionBytes, b.ExtensionBytesPerDay, report.at("extensionBytesPerDay"))
	setQuota(&base.ExtensionDocuments, b.ExtensionDocumentsPerDay, report.at("extensionDocumentsPerDay"))
	setQuota(&base.IdentityWhispers, b.IdentityWhispersPerHour, report.at("identityWhispersPerHour"))
	setBytes(&base.DocumentBytes, b.DocumentBytes, maxStoredBytes, report.at("documentBytes"))
	setBytes(&base.BodyBytes, b.BodyBytes, maxBodyBytes, report.at("bodyBytes"))
	setBytes(&base.AdminMapBytes, b.AdminMapBytes, maxBodyBytes, report.at("adminMapBytes"))
	setBytes(&base.AccumulationEntryBytes, b.AccumulationEntryBytes, maxStoredBytes, report.at("accumulationEntryBytes"))
	return base
}

// setQuota sets the amount of a quota; 0 turns it off.
func setQuota(q *quota.Quota, amount *int64, report reportFunc) {
	if amount == nil {
		return
	}
	if *amount < 0 || *amount > maxQuota {
		report("", "must be between 0 and %d", int64(maxQuota))
	}
	q.Amount = *amount
}

func setBytes(limit *int, value *int, most int, report reportFunc) {
	if value == nil {
		return
	}
	if *value < 1 || *value > most {
		report("", "must be between 1 and %d", most)
	}
	*limit = *value
}

func (b *rateBlock) setRate(rate *Rate, report reportFunc) {
	if b == nil {
		return
	}
	parsed, err := b.parseRate()
	if err != nil {
		report("", "%v", err)
	}
	*rate = parsed
}

func (b *rateBlock) parseRate() (Rate, error) {
	if b.PerSecond < 0 || b.PerSecond > math.MaxInt32 {
		return Rate{}, errors.New("perSecond must not be negative or above 2147483647")
	}
	if b.Burst == nil {
		return Rate{PerSecond: b.PerSecond, Burst: max(1, int(math.Ceil(b.PerSecond)))}, nil
	}
	if *b.Burst < 1 {
		return Rate{}, errors.New("burst must be at least 1")
	}
	return Rate{PerSecond: b.PerSecond, Burst: *b.Burst}, nil
}
