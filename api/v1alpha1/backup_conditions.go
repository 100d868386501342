package v1alpha1

// Reasons of Ready of a Backup; ReasonBackendNotFound, ReasonNameTaken and
// ReasonObjectRefused are others.
const (
	// ReasonBackupRunning: the Job of the backup has not ended.
	ReasonBackupRunning = "BackupRunning"
	// ReasonBackupCompleted: the backup is whole and durable.
	ReasonBackupCompleted = "BackupCompleted"
	// ReasonBackupFailed: the Job has failed; the message is the program's last line.
	ReasonBackupFailed = "BackupFailed"
)

// Reasons of Ready of a ScheduledBackup; ReasonBackendNotFound, ReasonNameTaken and
// ReasonObjectRefused are others.
const (
	// ReasonScheduled: the CronJobs are as declared.
	ReasonScheduled = "Scheduled"
	// ReasonScheduleSuspended: it is suspended, as declared. Ready is true.
	ReasonScheduleSuspended = "ScheduleSuspended"
)

// Reasons of Degraded of a ScheduledBackup, which is no part of Ready: tools that wait for
// what they apply must not fail for a backup of yesterday. ReasonHealthy is another.
const (
	// ReasonLastBackupFailed, ReasonLastVerificationFailed and ReasonLastDrillFailed: the
	// last Job has failed; the next one tries again.
	ReasonLastBackupFailed       = "LastBackupFailed"
	ReasonLastVerificationFailed = "LastVerificationFailed"
	ReasonLastDrillFailed        = "LastDrillFailed"
)
