package tenant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// registryFile is the registry file as written.
type registryFile struct {
	Extensions *[]json.RawMessage `json:"extensions"`
}

// extensionBlock is one entry of the file. What stands at its top level is for
// production.
type extensionBlock struct {
	ClientID       string                            `json:"clientID"`
	AppIDs         []string                          `json:"appIDs"`
	OwnerUserID    string                            `json:"ownerUserID"`
	AdminUserIDs   []string                          `json:"adminUserIDs"`
	ExternalRole   string                            `json:"externalRole"`
	Moderators     string                            `json:"moderators"`
	SignIn         *contract.RegisteredSignIn        `json:"signIn"`
	ViewerIssuers  []contract.RegisteredViewerIssuer `json:"viewerIssuers"`
	GlobalPolls    string                            `json:"globalPolls"`
	ViewersGlobal  *bool                             `json:"viewersCreateGlobal"`
	AllowedOrigins []string                          `json:"allowedOrigins"`
	Limits         limitsBlock                       `json:"limits"`
	Retention      retentionBlock                    `json:"retention"`
	Secrets        []secretBlock                     `json:"secrets"`
	Sinks          []sinkBlock                       `json:"sinks"`
	Sandbox        environmentBlock                  `json:"sandbox"`
}

// productionBlock is not embedded, for the fields' names in decoding errors.
func (b extensionBlock) productionBlock() environmentBlock {
	return environmentBlock{AllowedOrigins: b.AllowedOrigins, Limits: b.Limits, Retention: b.Retention, Secrets: b.Secrets, Sinks: b.Sinks}
}

// environmentBlock is the part of an entry for one environment. In the sandbox,
// allowed origins, limits and retention left out are those of production; secrets
// and sinks never are.
type environmentBlock struct {
	AllowedOrigins []string       `json:"allowedOrigins"`
	Limits         limitsBlock    `json:"limits"`
	Retention      retentionBlock `json:"retention"`
	Secrets        []secretBlock  `json:"secrets"`
	Sinks          []sinkBlock    `json:"sinks"`
}

type secretBlock struct {
	Value      string `json:"value"`
	ActiveFrom string `json:"activeFrom"`
}

// Parse returns the registry that a file holds. Its error joins all that is
// wrong with the file, each line naming the entry and the field.
func Parse(data []byte) (*Registry, error) {
	plain, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, err
	}
	var f registryFile
	if err := unmarshalStrict(plain, &f); err != nil {
		return nil, err
	}
	if f.Extensions == nil {
		return nil, errors.New("extensions: is missing")
	}
	b := newBuilder()
	for i, raw := range *f.Extensions {
		b.addExtension(i, raw)
	}
	return b.buildRegistry()
}

// unmarshalStrict decodes JSON into v and refuses unknown fields. Its errors do
// not repeat values.
func unmarshalStrict(data []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(v)
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		got, _, _ := strings.Cut(wrong.Value, " ")
		return fmt.Errorf("%s: is of type %s, should be %s", writtenField(wrong.Field), got, wrong.Type.Kind())
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// writtenField returns the path of a field as a file has it: without the names of types that others
// embed, which begin with a capital letter as no field does.
func writtenField(path string) string {
	names := slices.DeleteFunc(strings.Split(path, "."), func(name string) bool { return name != "" && name[0] >= 'A' && name[0] <= 'Z' })
	return strings.Join(names, ".")
}
