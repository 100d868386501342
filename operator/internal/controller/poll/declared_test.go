package poll

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// A Poll that hides nothing is declared as it was before it could, so that its hash stays.
func TestDeclaredVisibility(t *testing.T) {
	for declared, want := range map[v1alpha1.ResultsVisibility]string{
		"": "", v1alpha1.ResultsAlways: "", v1alpha1.ResultsAfterVote: `"resultsVisibility":"afterVote"`,
		v1alpha1.ResultsAfterClose: `"resultsVisibility":"afterClose"`, v1alpha1.ResultsStaff: `"resultsVisibility":"staff"`,
	} {
		p := &v1alpha1.Poll{Spec: v1alpha1.PollSpec{ResultsVisibility: declared}}
		config, err := declaredConfig(p)
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		for _, later := range []string{"resultsVisibility", "showCount", "loggedInOnly", "strict", "publicResults", "verifiable", "deviceVoting"} {
			if want == "" && strings.Contains(string(encoded), later) {
				t.Errorf("%q: %s is in %s", declared, later, encoded)
			}
		}
		if !strings.Contains(string(encoded), want) {
			t.Errorf("%q: %s lacks %s", declared, encoded, want)
		}
	}
	p := &v1alpha1.Poll{Spec: v1alpha1.PollSpec{ShowCount: true, LoggedInOnly: true, PollSettings: contract.PollSettings{PublicResults: true, Verifiable: true, DeviceVoting: true, WeightedVotes: true, Entries: contract.EntriesNever, MinVoters: 60, KeepDays: 7, NoReceipts: true}}}
	if config, err := declaredConfig(p); err != nil || !config.ShowCount || !config.LoggedInOnly || !config.PublicResults || !config.Verifiable || !config.DeviceVoting || !config.WeightedVotes || config.PollSettings != p.Spec.PollSettings {
		t.Errorf("%+v, %v", config, err)
	}
}
