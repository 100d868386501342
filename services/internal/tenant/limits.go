package tenant

import (
	"errors"
	"math"
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/limit"
)

// Limits bound what an extension may do in one environment. The zero Limits are
// not usable; every registered extension has its own with the defaults filled in.
type Limits struct {
	// TokenLife limits how long a token may still be valid.
	TokenLife time.Duration
	// IdentityRate limits the requests of one identity of the extension.
	IdentityRate limit.Rate
	// ExtensionRate limits the requests of all its identities together.
	ExtensionRate limit.Rate
	// DocumentBytes is the largest state or configuration document, after the write.
	DocumentBytes int
	// BodyBytes is the largest request body.
	BodyBytes int
	// AdminMapBytes is the largest body of an extension-viewer state map.
	AdminMapBytes int
	// AccumulationEntryBytes is the largest accumulated object.
	AccumulationEntryBytes int
	// MessageRate limits the messages to one channel and, separately, to the whole
	// extension.
	MessageRate limit.Rate

	// The quotas below limit viewers, and in the sandbox all callers.

	// IdentityStreams and ExtensionStreams limit the polls, buffers and questions that
	// viewers bring into being: one identity's in an hour, and all of the extension's in a day.
	IdentityStreams, ExtensionStreams limit.Rate
	// IdentityBytes and ExtensionBytes limit what viewers send to be stored in a day.
	IdentityBytes, ExtensionBytes limit.Rate
	// ExtensionDocuments limits the documents of state that viewers bring into being in a day.
	ExtensionDocuments limit.Rate
	// IdentityWhispers limits the messages that one identity sends to itself in an hour.
	IdentityWhispers limit.Rate
}

// DefaultLimits returns the limits of an extension whose registry sets none.
func DefaultLimits() Limits {
	return Limits{
		TokenLife:              contract.DefaultTokenHours * time.Hour,
		DocumentBytes:          contract.DefaultDocumentBytes,
		BodyBytes:              contract.DefaultBodyBytes,
		AdminMapBytes:          contract.DefaultAdminMapBytes,
		AccumulationEntryBytes: contract.DefaultEntryBytes,
		MessageRate:            limit.Rate{PerSecond: contract.DefaultMessagesPerSecond, Burst: contract.DefaultMessagesAtOnce},
		IdentityStreams:        limit.Per(contract.DefaultIdentityStreams, time.Hour),
		ExtensionStreams:       limit.Per(contract.DefaultExtensionStreams, day),
		IdentityBytes:          limit.Per(contract.DefaultIdentityBytes, day),
		ExtensionBytes:         limit.Per(contract.DefaultExtensionBytes, day),
		ExtensionDocuments:     limit.Per(contract.DefaultExtensionDocuments, day),
		IdentityWhispers:       limit.Per(contract.DefaultIdentityWhispers, time.Hour),
	}
}

const day = 24 * time.Hour

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
		if *hours < 1 || *hours > contract.MaxTokenHours {
			report.at("tokenHours")("", "must be between 1 and %d", contract.MaxTokenHours)
		}
		base.TokenLife = time.Duration(min(max(*hours, 1), contract.MaxTokenHours)) * time.Hour
	}
	b.IdentityRate.setRate(&base.IdentityRate, report.at("identityRate"))
	b.ExtensionRate.setRate(&base.ExtensionRate, report.at("extensionRate"))
	b.MessageRate.setRate(&base.MessageRate, report.at("messageRate"))
	setQuota(&base.IdentityStreams, b.IdentityStreamsPerHour, time.Hour, report.at("identityStreamsPerHour"))
	setQuota(&base.ExtensionStreams, b.ExtensionStreamsPerDay, day, report.at("extensionStreamsPerDay"))
	setQuota(&base.IdentityBytes, b.IdentityBytesPerDay, day, report.at("identityBytesPerDay"))
	setQuota(&base.ExtensionBytes, b.ExtensionBytesPerDay, day, report.at("extensionBytesPerDay"))
	setQuota(&base.ExtensionDocuments, b.ExtensionDocumentsPerDay, day, report.at("extensionDocumentsPerDay"))
	setQuota(&base.IdentityWhispers, b.IdentityWhispersPerHour, time.Hour, report.at("identityWhispersPerHour"))
	setBytes(&base.DocumentBytes, b.DocumentBytes, contract.MaxStoredBytes, report.at("documentBytes"))
	setBytes(&base.BodyBytes, b.BodyBytes, contract.MaxBodyBytes, report.at("bodyBytes"))
	setBytes(&base.AdminMapBytes, b.AdminMapBytes, contract.MaxBodyBytes, report.at("adminMapBytes"))
	setBytes(&base.AccumulationEntryBytes, b.AccumulationEntryBytes, contract.MaxStoredBytes, report.at("accumulationEntryBytes"))
	return base
}

// setQuota sets a quota to an amount in a period; 0 turns it off.
func setQuota(r *limit.Rate, amount *int64, period time.Duration, report reportFunc) {
	if amount == nil {
		return
	}
	if *amount < 0 || *amount > contract.MaxQuota {
		report("", "must be between 0 and %d", int64(contract.MaxQuota))
	}
	*r = limit.Per(*amount, period)
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

func (b *rateBlock) setRate(rate *limit.Rate, report reportFunc) {
	if b == nil {
		return
	}
	parsed, err := b.parseRate()
	if err != nil {
		report("", "%v", err)
	}
	*rate = parsed
}

func (b *rateBlock) parseRate() (limit.Rate, error) {
	if b.PerSecond < 0 || b.PerSecond > math.MaxInt32 {
		return limit.Rate{}, errors.New("perSecond must not be negative or above 2147483647")
	}
	if b.Burst == nil {
		return limit.Rate{PerSecond: b.PerSecond, Burst: max(1, int64(math.Ceil(b.PerSecond)))}, nil
	}
	if *b.Burst < 1 {
		return limit.Rate{}, errors.New("burst must be at least 1")
	}
	return limit.Rate{PerSecond: b.PerSecond, Burst: int64(*b.Burst)}, nil
}
