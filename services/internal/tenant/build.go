package tenant

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// reportFunc reports what is wrong with a field of an entry.
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

// builder makes a registry of the entries of a file and gathers what is wrong
// with them.
type builder struct {
	registry *Registry
	problems []error
	// production holds who has each production secret, sandbox all the secrets of
	// the sandbox: they are compared when all entries are known.
	production map[string]*Extension
	sandbox    []sandboxSecret
}

type sandboxSecret struct {
	value  string
	report reportFunc
}

func newBuilder() *builder {
	return &builder{
		registry: &Registry{
			byClientID: map[string]*Extension{},
			byAppID:    map[string]*Extension{},
			origins:    map[Environment]origins{Production: {}, Sandbox: {}},
		},
		production: map[string]*Extension{},
	}
}

// reporter returns the report for the entry at index i.
func (b *builder) reporter(i int, clientID string) reportFunc {
	entry := fmt.Sprintf("extensions[%d]", i)
	if clientID != "" {
		entry += fmt.Sprintf(" %q", clientID)
	}
	return func(field, format string, args ...any) {
		b.problems = append(b.problems, fmt.Errorf("%s: %s: %s", entry, field, fmt.Sprintf(format, args...)))
	}
}

// build returns the registry, or all that is wrong with its entries.
func (b *builder) build() (*Registry, error) {
	for _, secret := range b.sandbox {
		if owner, shared := b.production[secret.value]; shared {
			secret.report("", "is also a production secret of %q", owner.ClientID)
		}
	}
	if len(b.problems) > 0 {
		return nil, errors.Join(b.problems...)
	}
	return b.registry, nil
}

// add adds the entry at index i.
func (b *builder) add(i int, raw json.RawMessage) {
	var block extensionBlock
	err := unmarshalStrict(raw, &block)
	report := b.reporter(i, block.ClientID)
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
	}
	b.checkNames(extension, report)
	b.addSettings(extension, block, report)
	b.registry.extensions = append(b.registry.extensions, extension)
}

// idPattern keeps ids apart from what surrounds them: the space of the
// Authorization header, the colons of event names, the slashes of origins.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

const idProblem = "must be 1 to 128 letters, digits, dots, hyphens or underscores"

// checkNames checks the ids and roles of an extension and enters it under its ids.
func (b *builder) checkNames(extension *Extension, report reportFunc) {
	b.claim(b.registry.byClientID, extension.ClientID, extension, report.at("clientID"))
	for i, appID := range extension.AppIDs {
		b.claim(b.registry.byAppID, appID, extension, report.at(fmt.Sprintf("appIDs[%d]", i)))
	}
	if i := slices.Index(extension.AdminUserIDs, ""); i >= 0 {
		report(fmt.Sprintf("adminUserIDs[%d]", i), "is empty")
	}
	if role := extension.ExternalRole; role != "" && role != "backend" {
		report("externalRole", `is %q, should be empty or "backend"`, role)
	}
}

// claim enters an extension under an id, unless another one has it.
func (b *builder) claim(index map[string]*Extension, id string, extension *Extension, report reportFunc) {
	if !idPattern.MatchString(id) {
		report("", idProblem)
		return
	}
	if holder, taken := b.registry.Resolve(id); taken && (holder != extension || index[id] != nil) {
		report("", "%q is already an id of extension %q", id, holder.ClientID)
		return
	}
	index[id] = extension
}

// addSettings gives an extension what it has for each environment.
func (b *builder) addSettings(extension *Extension, block extensionBlock, report reportFunc) {
	if len(block.Secrets)+len(block.Sandbox.Secrets) == 0 {
		report("secrets", "is empty")
	}
	production := settings{origins: newOrigins(defaultOrigins(extension.ClientID)), limits: defaultLimits()}
	production = block.production().over(production, block.OwnerUserID, report)
	for _, secret := range production.secrets {
		b.production[string(secret.Value)] = extension
	}
	sandbox := block.Sandbox.over(production, block.OwnerUserID, report.at("sandbox"))
	for i, secret := range block.Sandbox.Secrets {
		if decoded, err := secret.decode(); err == nil {
			field := fmt.Sprintf("sandbox.secrets[%d]", i)
			b.sandbox = append(b.sandbox, sandboxSecret{string(decoded.Value), report.at(field)})
		}
	}

	extension.settings = map[Environment]settings{Production: production, Sandbox: sandbox}
	b.registry.origins[Production].add(production.origins)
	b.registry.origins[Sandbox].add(sandbox.origins)
}
