package tenant

import (
	"errors"
	"math"
)

// Limits bound what an extension may do in one environment. The zero Limits are
// not usable; every registered extension has its own with the defaults filled in.
type Limits struct {
	// IdentityRate is how often one identity of the extension may ask.
	IdentityRate Rate
	// ExtensionRate is how often all its identities together may ask.
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
	// MessageRate is how often something may be said to one channel, and as often
	// to the whole extension: 10 a second and 100 at once by default.
	MessageRate Rate
}

// Rate is a token bucket. The zero Rate does not limit.
type Rate struct {
	// PerSecond is how many requests a second are allowed in the long run.
	PerSecond float64
	// Burst is how many are allowed at once, at least 1.
	Burst int
}

// Limited reports whether the rate limits anything.
func (r Rate) Limited() bool { return r.PerSecond > 0 }

func defaultLimits() Limits {
	return Limits{
		DocumentBytes:          64 << 10,
		BodyBytes:              256 << 10,
		AdminMapBytes:          4 << 20,
		AccumulationEntryBytes: 64 << 10,
		MessageRate:            Rate{PerSecond: 10, Burst: 100},
	}
}

// What the stores and the memory of a replica are made for.
const (
	maxStoredBytes = 1 << 20
	maxBodyBytes   = 64 << 20
)

// limitsBlock is the file's "limits". What it leaves out stays as it was.
type limitsBlock struct {
	IdentityRate           *rateBlock `json:"identityRate"`
	ExtensionRate          *rateBlock `json:"extensionRate"`
	DocumentBytes          *int       `json:"documentBytes"`
	BodyBytes              *int       `json:"bodyBytes"`
	AdminMapBytes          *int       `json:"adminMapBytes"`
	AccumulationEntryBytes *int       `json:"accumulationEntryBytes"`
	MessageRate            *rateBlock `json:"messageRate"`
}

// rateBlock is a rate in the file: perSecond 0 turns the limit off, a burst left
// out is one second's worth.
type rateBlock struct {
	PerSecond float64 `json:"perSecond"`
	Burst     *int    `json:"burst"`
}

// over returns base with what the block sets laid over it.
func (b limitsBlock) over(base Limits, report reportFunc) Limits {
	b.IdentityRate.set(&base.IdentityRate, report.at("identityRate"))
	b.ExtensionRate.set(&base.ExtensionRate, report.at("extensionRate"))
	b.MessageRate.set(&base.MessageRate, report.at("messageRate"))
	setBytes(&base.DocumentBytes, b.DocumentBytes, maxStoredBytes, report.at("documentBytes"))
	setBytes(&base.BodyBytes, b.BodyBytes, maxBodyBytes, report.at("bodyBytes"))
	setBytes(&base.AdminMapBytes, b.AdminMapBytes, maxBodyBytes, report.at("adminMapBytes"))
	setBytes(&base.AccumulationEntryBytes, b.AccumulationEntryBytes, maxStoredBytes, report.at("accumulationEntryBytes"))
	return base
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

func (b *rateBlock) set(rate *Rate, report reportFunc) {
	if b == nil {
		return
	}
	parsed, err := b.rate()
	if err != nil {
		report("", "%v", err)
	}
	*rate = parsed
}

func (b *rateBlock) rate() (Rate, error) {
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
