package tenant

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// reportFunc reports a problem with a field of an entry.
type reportFunc func(field, format string, args ...any)

// at returns a report whose fields are below the given one.
func (r reportFunc) at(parent string) reportFunc {
	return func(field, format string, args ...any) {
		if field != "" {
			field = "." + field
		}
		r(parent+field, format, args...)
	}
}

// registryBuilder makes a registry of the entries of a file and gathers their problems.
type registryBuilder struct {
	registry *Registry
	problems []error
	// keys are those of all extensions, in the order of the file: they are compared when
	// all entries are known.
	keys []declaredKey
}

// declaredKey is a key of an extension, which the registry has to tell from all others.
type declaredKey struct {
	environment Environment
	extension   *Extension
	value       string
	report      reportFunc
	field       string // with its entry
}

func newBuilder() *registryBuilder {
	return &registryBuilder{
		registry: &Registry{
			byClientID: map[string]*Extension{},
			byAppID:    map[string]*Extension{},
			origins:    map[Environment]originSet{Production: {}, Sandbox: {}},
		},
	}
}

// reporterFor returns the report for the entry at index i.
func (b *registryBuilder) reporterFor(i int, clientID string) reportFunc {
	entry := fmt.Sprintf("extensions[%d]", i)
	if clientID != "" {
		entry += fmt.Sprintf(" %q", clientID)
	}
	return func(field, format string, args ...any) {
		b.problems = append(b.problems, fmt.Errorf("%s: %s: %s", entry, field, fmt.Sprintf(format, args...)))
	}
}

// buildRegistry returns the registry, or all that is wrong with its entries.
func (b *registryBuilder) buildRegistry() (*Registry, error) {
	b.compareKeys()
	if len(b.problems) > 0 {
		return nil, errors.Join(b.problems...)
	}
	return b.registry, nil
}

// compareKeys refuses keys that verify tokens of two extensions, which would cross, or of
// both environments. It notes which ones are short or published.
func (b *registryBuilder) compareKeys() {
	type place struct {
		environment Environment
		value       string
	}
	holders := map[place]*Extension{}
	for _, k := range b.keys {
		if _, taken := holders[place{k.environment, k.value}]; !taken {
			holders[place{k.environment, k.value}] = k.extension
		}
	}
	for _, k := range b.keys {
		if k.environment == Sandbox {
			if holder, shared := holders[place{Production, k.value}]; shared {
				k.report("", "is also a production secret of %q", holder.ClientID)
			}
		}
		if holder := holders[place{k.environment, k.value}]; holder != k.extension {
			k.report("", "is also a %s secret of %q", k.environment, holder.ClientID)
		}
		switch {
		case strings.HasPrefix(k.value, contract.SampleKeyPrefix):
			b.registry.sampleKeys = append(b.registry.sampleKeys, k.field)
		case len(k.value) < shortKeyBytes:
			b.registry.shortKeys = append(b.registry.shortKeys, k.field)
		}
	}
}

// addExtension adds the entry at index i.
func (b *registryBuilder) addExtension(i int, raw json.RawMessage) {
	var block extensionBlock
	err := unmarshalStrict(raw, &block)
	report := b.reporterFor(i, block.ClientID)
	if err != nil {
		b.problems = append(b.problems, fmt.Errorf("extensions[%d] %q: %w", i, block.ClientID, err))
		return
	}
	extension := &Extension{
		ClientID:     block.ClientID,
		AppIDs:       block.AppIDs,
		OwnerUserID:  block.OwnerUserID,
		AdminUserIDs: block.AdminUserIDs,
		ExternalRole: block.ExternalRole,

		ModeratorsAreStaff:  block.Moderators == "staff",
		GlobalPolls:         cmp.Or(block.GlobalPolls, "admin"),
		ViewersCreateGlobal: block.ViewersGlobal == nil || *block.ViewersGlobal,
	}
	extension.SignIn = checkSignIn(block.SignIn, report.at("signIn"))
	extension.ViewerIssuers = block.ViewerIssuers
	checkViewerIssuers(block.ViewerIssuers, report)
	b.checkNames(extension, report)
	if !slices.Contains([]string{"", "viewers", "staff"}, block.Moderators) {
		report("moderators", `is %q, should be "viewers" or "staff"`, block.Moderators)
	}
	b.addSettings(extension, block, report)
	b.registry.extensions = append(b.registry.extensions, extension)
}

// idPattern keeps ids apart from what surrounds them: the space of the
// Authorization header, the colons of event names, the slashes of origins.
var idPattern = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9._-]{1,%d}$`, contract.MaxRegistryID))

// CheckID returns what is wrong with a client or app id.
func CheckID(id string) error {
	if !idPattern.MatchString(id) {
		return fmt.Errorf("must be 1 to %d letters, digits, dots, hyphens or underscores", contract.MaxRegistryID)
	}
	return nil
}

// checkNames checks the ids and roles of an extension and enters it under its ids.
func (b *registryBuilder) checkNames(extension *Extension, report reportFunc) {
	b.claimID(b.registry.byClientID, extension.ClientID, extension, report.at("clientID"))
	for i, appID := range extension.AppIDs {
		b.claimID(b.registry.byAppID, appID, extension, report.at(fmt.Sprintf("appIDs[%d]", i)))
	}
	if i := slices.Index(extension.AdminUserIDs, ""); i >= 0 {
		report(fmt.Sprintf("adminUserIDs[%d]", i), "is empty")
	}
	if role := extension.ExternalRole; role != "" && role != "backend" {
		report("externalRole", `is %q, should be empty or "backend"`, role)
	}
	if !slices.Contains([]string{"broadcaster", "admin", "backend"}, extension.GlobalPolls) {
		report("globalPolls", `is %q, should be "broadcaster", "admin" or "backend"`, extension.GlobalPolls)
	}
}

// claimID enters an extension under an id, unless another one has it.
func (b *registryBuilder) claimID(index map[string]*Extension, id string, extension *Extension, report reportFunc) {
	if err := CheckID(id); err != nil {
		report("", "%v", err)
		return
	}
	if holder, taken := b.registry.Resolve(id); taken && (holder != extension || index[id] != nil) {
		report("", "%q is already an id of extension %q", id, holder.ClientID)
		return
	}
	index[id] = extension
}

// addSettings sets the settings of an extension for each environment.
func (b *registryBuilder) addSettings(extension *Extension, block extensionBlock, report reportFunc) {
	if len(block.Secrets)+len(block.Sandbox.Secrets) == 0 {
		report("secrets", "is empty")
	}
	production := settings{origins: newOrigins(defaultOrigins(extension.ClientID)), limits: DefaultLimits()}
	production = block.productionBlock().overrideSettings(production, block.OwnerUserID, report)
	b.addKeys(extension, Production, block.Secrets, "secrets", report)
	sandbox := block.Sandbox.overrideSettings(production, block.OwnerUserID, report.at("sandbox"))
	b.addKeys(extension, Sandbox, block.Sandbox.Secrets, "sandbox.secrets", report)

	checkExternal(extension, production.sinks, report)
	checkExternal(extension, sandbox.sinks, report.at("sandbox"))
	extension.settings = map[Environment]settings{Production: production, Sandbox: sandbox}
	b.registry.origins[Production].add(production.origins)
	b.registry.origins[Sandbox].add(sandbox.origins)
}

// addKeys notes the keys of an extension for an environment that could be decoded.
func (b *registryBuilder) addKeys(extension *Extension, environment Environment, blocks []secretBlock, parent string, report reportFunc) {
	for i, block := range blocks {
		if secret, err := block.decodeSecret(); err == nil {
			field := fmt.Sprintf("%s[%d]", parent, i)
			b.keys = append(b.keys, declaredKey{
				environment, extension, string(secret.Value), report.at(field), fmt.Sprintf("%s: %s", extension.ClientID, field),
			})
		}
	}
}

// checkExternal refuses receivers of pub/sub messages that could act as a backend: each
// message carries a token with the role "external".
func checkExternal(extension *Extension, sinks []Sink, report reportFunc) {
	for i, s := range sinks {
		if extension.ExternalRole != "" && s.PubSubURL != "" && s.PubSubURL != PubSubURL {
			report(fmt.Sprintf("sinks[%d].pubsub.url", i), "must be the platform's while externalRole is %q: its receiver gets tokens of that role", extension.ExternalRole)
		}
	}
}
