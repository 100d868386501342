package registry

import (
	"cmp"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// boundLimits returns limits that do not exceed those of most. A limit that is not set
// is that of most.
func boundLimits(own, most *v1alpha1.Limits) *v1alpha1.Limits {
	if most == nil {
		return own
	}
	if own == nil {
		return most
	}
	return &v1alpha1.Limits{
		IdentityRate:             boundRate(own.IdentityRate, most.IdentityRate),
		ExtensionRate:            boundRate(own.ExtensionRate, most.ExtensionRate),
		MessageRate:              boundRate(own.MessageRate, most.MessageRate),
		DocumentBytes:            boundNumber(own.DocumentBytes, most.DocumentBytes),
		BodyBytes:                boundNumber(own.BodyBytes, most.BodyBytes),
		AdminMapBytes:            boundNumber(own.AdminMapBytes, most.AdminMapBytes),
		AccumulationEntryBytes:   boundNumber(own.AccumulationEntryBytes, most.AccumulationEntryBytes),
		TokenHours:               boundNumber(own.TokenHours, most.TokenHours),
		IdentityStreamsPerHour:   boundNumber(own.IdentityStreamsPerHour, most.IdentityStreamsPerHour),
		ExtensionStreamsPerDay:   boundNumber(own.ExtensionStreamsPerDay, most.ExtensionStreamsPerDay),
		IdentityBytesPerDay:      boundNumber(own.IdentityBytesPerDay, most.IdentityBytesPerDay),
		ExtensionBytesPerDay:     boundNumber(own.ExtensionBytesPerDay, most.ExtensionBytesPerDay),
		ExtensionDocumentsPerDay: boundNumber(own.ExtensionDocumentsPerDay, most.ExtensionDocumentsPerDay),
		IdentityWhispersPerHour:  boundNumber(own.IdentityWhispersPerHour, most.IdentityWhispersPerHour),
	}
}

// boundNumber returns the smaller of two limits; nil is not set, 0 is no limit.
func boundNumber[T int32 | int64](own, most *T) *T {
	switch {
	case most == nil || own != nil && *most == 0:
		return own
	case own == nil || *own == 0:
		return most
	}
	return new(min(*own, *most))
}

// boundRate is boundNumber for rates, whose burst is by default that of one second.
func boundRate(own, most *v1alpha1.Rate) *v1alpha1.Rate {
	switch {
	case most == nil || own != nil && most.PerSecond == 0:
		return own
	case own == nil || own.PerSecond == 0:
		return most
	}
	burst := func(r *v1alpha1.Rate) int32 { return *cmp.Or(r.Burst, &r.PerSecond) }
	return &v1alpha1.Rate{PerSecond: min(own.PerSecond, most.PerSecond), Burst: new(min(burst(own), burst(most)))}
}
