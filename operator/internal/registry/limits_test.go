package registry_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
	"github.com/acclaim-dev/acclaim/operator/internal/registry"
)

// boundedLimits returns the limits in the registry of an Extension of another namespace
// than the Backend's.
func boundedLimits(t *testing.T, own, most *v1alpha1.Limits) *v1alpha1.Limits {
	t.Helper()
	e := named("quiz", 0, func(s *v1alpha1.ExtensionSpec) { s.Keys, s.Limits = []v1alpha1.Key{key("old")}, own })
	e.Namespace = "team"
	r := registry.Render(registry.Input{
		Extensions: []v1alpha1.Extension{e}, Secrets: map[string]registry.SecretContents{"team": secrets()},
		Host: "home", Guests: &v1alpha1.AllowedNamespaces{Limits: most},
	})
	var file struct {
		Extensions []struct{ Limits *v1alpha1.Limits }
	}
	if err := yaml.Unmarshal(r.Files[registry.Production], &file); err != nil || len(file.Extensions) != 1 {
		t.Fatalf("the file %s: %v", r.Files[registry.Production], err)
	}
	return file.Extensions[0].Limits
}

func TestBoundLimits(t *testing.T) {
	bytes := func(n int64) *v1alpha1.Limits { return &v1alpha1.Limits{ExtensionBytesPerDay: &n} }
	rate := func(perSecond int32, burst ...int32) *v1alpha1.Limits {
		r := &v1alpha1.Rate{PerSecond: perSecond}
		for _, b := range burst {
			r.Burst = &b
		}
		return &v1alpha1.Limits{ExtensionRate: r}
	}
	for name, test := range map[string]struct{ own, most, want *v1alpha1.Limits }{
		"neither":                       {nil, nil, nil},
		"no bound":                      {bytes(7), nil, bytes(7)},
		"an empty bound":                {bytes(7), &v1alpha1.Limits{}, bytes(7)},
		"not set":                       {nil, bytes(5), bytes(5)},
		"another is set":                {&v1alpha1.Limits{BodyBytes: new(int32(1))}, bytes(5), &v1alpha1.Limits{BodyBytes: new(int32(1)), ExtensionBytesPerDay: new(int64(5))}},
		"less":                          {bytes(3), bytes(5), bytes(3)},
		"the same":                      {bytes(5), bytes(5), bytes(5)},
		"more":                          {bytes(7), bytes(5), bytes(5)},
		"none, which is 0":              {bytes(0), bytes(5), bytes(5)},
		"a bound of 0":                  {bytes(7), bytes(0), bytes(7)},
		"a bound of 0 and not set":      {nil, bytes(0), bytes(0)},
		"a rate, less":                  {rate(3), rate(5), rate(3, 3)},
		"a rate, more":                  {rate(7), rate(5), rate(5, 5)},
		"a rate, none":                  {rate(0), rate(5), rate(5)},
		"a rate, not set":               {nil, rate(5, 9), rate(5, 9)},
		"a bound of 0 on a rate":        {rate(7, 8), rate(0), rate(7, 8)},
		"a burst, less":                 {rate(7, 1), rate(5, 9), rate(5, 1)},
		"a burst, more":                 {rate(3, 99), rate(5, 9), rate(3, 9)},
		"a burst, by default the rate":  {rate(3), rate(5, 2), rate(3, 2)},
		"a burst over that of no burst": {rate(3, 99), rate(5), rate(3, 5)},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, boundedLimits(t, test.own, test.most)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Every limit there is has its bound, also one that comes later.
func TestBoundLimitsIsComplete(t *testing.T) {
	own, most := &v1alpha1.Limits{}, &v1alpha1.Limits{}
	for limits, n := range map[*v1alpha1.Limits]int64{own: 9, most: 5} {
		fields := reflect.ValueOf(limits).Elem()
		for i := range fields.NumField() {
			field := reflect.New(fields.Field(i).Type().Elem())
			if rate, ok := reflect.TypeAssert[*v1alpha1.Rate](field); ok {
				rate.PerSecond, rate.Burst = int32(n), new(int32(n))
			} else {
				field.Elem().SetInt(n)
			}
			fields.Field(i).Set(field)
		}
	}
	if diff := cmp.Diff(most, boundedLimits(t, own, most)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
