package main

import (
	"slices"
	"time"
)

// defenceCase shows that a defence is needed: without it, an attack succeeds.
type defenceCase struct {
	name string
	// off takes the defence out of a test build, together with others that would hide
	// that it is missing.
	off []sourceEdit
	// attack is the row that must fail, and shows a part of one of its problems.
	attack, shows string
	// buildUp is the time that the attack takes more, until what it leaves behind is enough.
	buildUp time.Duration
}

// sourceEdit replaces a text that a file of the program has once.
type sourceEdit struct{ file, from, to string }

// Edits that several defences need.
const (
	resourcesFile = "services/internal/app/resources.go"
	quotaFile     = "services/internal/live/quota.go"
	budgetsFile   = "services/internal/httpapi/budgets.go"
	bodyFile      = "services/internal/httpapi/body.go"
	sandboxFile   = "services/internal/httpapi/sandbox.go"
	limitsFile    = "services/internal/tenant/limits.go"
	credentials   = "services/internal/httpapi/credential.go"
)

func defenceCases() []defenceCase {
	addresses := sourceEdit{resourcesFile, "l.perAddress = min(max(l.connections/8, 1), maxPerAddress)", "l.perAddress = 1 << 40"}
	all := sourceEdit{resourcesFile, "memory/connectionBytes)", "memory/connectionBytes) + 1<<20"}
	identity := sourceEdit{quotaFile, "identitySubscribers = 8", "identitySubscribers = 1 << 30"}
	quotas := []sourceEdit{
		{limitsFile, "IdentityStreams:        quota.Quota{Amount: 1_000", "IdentityStreams: quota.Quota{Amount: 1 << 30"},
		{limitsFile, "IdentityBytes:          quota.Quota{Amount: 64 << 20", "IdentityBytes: quota.Quota{Amount: 1 << 40"},
	}
	return []defenceCase{
		{"connections of an address", []sourceEdit{addresses}, "idle-connections", "victims", 0},
		{"connections in all", []sourceEdit{addresses, all}, "idle-connections", "descriptors in use", 0},
		{"the end of a subscriber is noticed", []sourceEdit{addresses, identity,
			{"services/internal/httpapi/events.go", "_, _ = conn.Read(make([]byte, 1))", "<-make(chan struct{})"}}, "subscriber-flood", "descriptors open", 0},
		{"topics that an identity names", []sourceEdit{identity, {quotaFile, "identitySources          = 128", "identitySources = 1 << 30"},
			{resourcesFile, "memory / sourceBytes", "1 << 30"}}, "topic-flood", "attack: ", 0},
		{"long answers at a time", []sourceEdit{{budgetsFile, "maxPages       = 32", "maxPages = 1 << 30"},
			{budgetsFile, "extensionPages = 16", "extensionPages = 1 << 30"}, {budgetsFile, "identityPages  = 4", "identityPages = 1 << 30"}},
			"slow-readers", "take", 0},
		{"bodies are read as they arrive", []sourceEdit{addresses, {bodyFile, "publicBodyBytes = 32 << 10", "publicBodyBytes = 256 << 10"},
			{bodyFile, "size := min(max(2*old, firstBodyBytes), most)", "size := most"},
			{bodyFile, "if err := b.leases.forBuffer(size).Take(int64(size)); err != nil {", "if err := b.leases.forBuffer(size).Take(0); err != nil {"}}, "h2-announced-bodies", "take", 0},
		{"one spelling of a credential", []sourceEdit{
			{credentials, "credentialDigest [sha256.Size]byte", "credentialDigest string\n\nconst _ = sha256.Size"},
			{credentials, "credentialDigest(sha256.Sum256([]byte(header)))", "credentialDigest([]byte(header))"},
			{credentials, "if len(header) > maxCredential {", "if len(header) > 1<<20 {"},
			{credentials, "\t\t\treturn false\n", ""},
			{credentials, "jwt.WithStrictDecoding(),", ""}}, "credential-spellings", "live heap", 0},
		{"tokens of the sandbox", []sourceEdit{{sandboxFile, "PerSecond: 50, Burst: 2_000", "PerSecond: 1e9, Burst: 1 << 30"},
			{sandboxFile, "PerSecond: 2_000, Burst: 20_000", "PerSecond: 1e9, Burst: 1 << 30"}}, "sandbox-tokens", "take", 0},
		{"bytes that an identity stores", quotas, "invented-buffers", "stored", 10 * time.Second},
		{"patches are charged for what they allocate, and wait for each other", []sourceEdit{
			{"services/internal/document/value.go", "*budget -= objectWeight + min(len(value), 1)*membersWeight + max(len(value)-8, 0)*memberWeight; *budget < 0", "false"},
			{"services/internal/document/evaluation.go", "max(1, runtime.GOMAXPROCS(0)/4)", "runtime.GOMAXPROCS(0) << 10"}},
			"patch-bombs", "take", 0},
		{"other connections go first", []sourceEdit{{"services/internal/app/connections.go", "turnBytes = 256", "turnBytes = 1 << 40"},
			{"services/internal/httpapi/resets.go", "turn: make(chan struct{}, 1)", "turn: make(chan struct{}, 1<<10)"}}, "h2-resets", "take", 0},
		{"states in memory", slices.Concat(quotas, []sourceEdit{{resourcesFile, "min(memory*2/5/residentDomains, maxResident)", "1 << 40"}}),
			"invented-buffers", "resident", 40 * time.Second},
	}
}
