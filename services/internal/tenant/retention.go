package tenant

import (
	"time"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// Retention limits how long an extension's data is kept in one environment. Zero keeps
// the data without limit and is the default.
type Retention struct {
	// Logs is the age after which accepted votes leave the logs of polls. Statistics
	// stay. It is also the age after which the log of viewers that share their user id
	// forgets who does so no more.
	Logs time.Duration
	// Buffers is the age after which entries leave accumulation buffers.
	Buffers time.Duration
	// Rankings is the age after which submitted answers leave the logs of
	// questions. The current answer of each viewer stays.
	Rankings time.Duration
	// Snapshots is the time after which the snapshot of an unused poll, buffer or
	// question is deleted.
	Snapshots time.Duration
}

// retentionBlock is the file's "retention". What it leaves out stays as it was.
type retentionBlock struct {
	Logs      *string `json:"logs"`
	Buffers   *string `json:"buffers"`
	Rankings  *string `json:"rankings"`
	Snapshots *string `json:"snapshots"`
}

// overrideRetention returns base with what the block sets laid over it.
func (b retentionBlock) overrideRetention(base Retention, report reportFunc) Retention {
	setAge(&base.Logs, b.Logs, report.at("logs"))
	setAge(&base.Buffers, b.Buffers, report.at("buffers"))
	setAge(&base.Rankings, b.Rankings, report.at("rankings"))
	setAge(&base.Snapshots, b.Snapshots, report.at("snapshots"))
	return base
}

// setAge sets an age to the value of a field: a duration, or "0" for no limit.
func setAge(age *time.Duration, value *string, report reportFunc) {
	if value == nil {
		return
	}
	parsed, err := time.ParseDuration(*value)
	if err != nil || parsed != 0 && (parsed < contract.MinRetentionHours*time.Hour || parsed > contract.MaxRetentionHours*time.Hour) {
		report("", `must be a duration from %dh to %dh, such as "720h", or "0" to keep everything`, contract.MinRetentionHours, contract.MaxRetentionHours)
		return
	}
	*age = parsed
}
