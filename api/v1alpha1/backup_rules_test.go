package v1alpha1_test

import "strings"

// backupRules are the rules of the schemas of Backups and ScheduledBackups.
func backupRules() []rule {
	claim := spec{"claimName": "backups"}
	bucket := func(s spec) spec { return spec{"where": spec{"s3": s}} }
	folder := func(name string) spec { return spec{"where": spec{"claimName": "backups", "folder": name}} }
	const onePlace = "backups are in one place"
	return []rule{
		{"Backup", "place", bucket(spec{"url": "s3://bucket"}), spec{"where": spec{}}, onePlace},
		{"Backup", "one place", spec{"where": claim}, spec{"where": spec{"claimName": "backups", "s3": spec{"url": "s3://bucket"}}}, onePlace},
		{"Backup", "url", bucket(spec{"url": "s3://bucket/a/b"}), bucket(spec{"url": "https://bucket.example"}), "url is s3://BUCKET"},
		{"Backup", "endpoint", bucket(spec{"url": "s3://b", "endpoint": "https://storage.example:9000"}),
			bucket(spec{"url": "s3://b", "endpoint": "storage.example"}), "endpoint is https://HOST"},
		{"Backup", "folder", folder("a/b-1.2"), folder("../other"), "folder is a relative path"},
		{"Backup", "absolute folder", folder("production"), folder("/production"), "folder is a relative path"},
		{"Backup", "deadline", spec{"pod": spec{"deadlineHours": 1}}, spec{"pod": spec{"deadlineHours": 0}}, "greater than or equal to 1"},
		{"ScheduledBackup", "schedule with its place", nil, spec{"where": nil}, "schedule and where belong together"},
		{"ScheduledBackup", "place with its schedule", nil, spec{"schedule": nil}, "schedule and where belong together"},
		{"ScheduledBackup", "verify alone", spec{"schedule": nil, "where": nil, "verify": spec{"schedule": "@weekly"}},
			spec{"schedule": nil, "where": nil}, "has schedule and where, or verify"},
		{"ScheduledBackup", "drill of a place", spec{"drill": spec{"schedule": "@weekly"}},
			spec{"schedule": nil, "where": nil, "verify": spec{"schedule": "@weekly"}, "drill": spec{"schedule": "@weekly"}}, "a drill restores what is in where"},
		{"ScheduledBackup", "time zone", spec{"timeZone": "Europe/Berlin"}, spec{"schedule": "TZ=Europe/Berlin 0 0 * * *"}, "the time zone is in timeZone"},
		{"ScheduledBackup", "keep", spec{"keep": 1}, spec{"keep": 0}, "greater than or equal to 1"},
		{"Backend", "promise of backups", spec{"backupMaxAgeHours": 26}, spec{"backupMaxAgeHours": 0}, "greater than or equal to 1"},
	}
}

// longNames are the names that the Jobs of each kind have no room for.
func longNames() map[string]string {
	return map[string]string{"Backup": strings.Repeat("a", 51), "ScheduledBackup": strings.Repeat("a", 46)}
}
