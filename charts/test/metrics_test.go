package test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What alerts and the dashboard ask for is what the programs have.
func TestMetricsExist(t *testing.T) {
	metric := regexp.MustCompile(`acclaim_[a-z_]+`)
	var sources strings.Builder
	for _, folder := range []string{"../../services/internal/telemetry", "../../operator/internal/controller/poll"} {
		paths, err := filepath.Glob(folder + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			sources.Write(content)
		}
	}
	asked := 0
	for _, file := range []string{"files/dashboard.json", "templates/monitoring.yaml"} {
		content, err := os.ReadFile(filepath.Join(chart, file))
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(file) == ".json" && !json.Valid(content) {
			t.Errorf("%s is not JSON", file)
		}
		names := metric.FindAllString(string(content), -1)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			asked++
			for _, suffix := range []string{"_bucket", "_count"} {
				name = strings.TrimSuffix(name, suffix)
			}
			// The names of streams' metrics are put together.
			if !strings.Contains(sources.String(), `"`+name+`"`) && !strings.Contains(sources.String(), `"`+strings.TrimPrefix(name, "acclaim_stream_")+`"`) {
				t.Errorf("%s asks for %s, which there is not", file, name)
			}
		}
	}
	if asked == 0 {
		t.Error("nothing is asked for")
	}
}
