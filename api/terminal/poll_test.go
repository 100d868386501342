package terminal_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/acclaim-dev/acclaim/api/client"
	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/api/terminal"
)

func TestDrawResults(t *testing.T) {
	votes := make([]int64, 32)
	votes[0], votes[2] = 1, 3
	lunch := client.Poll{Poll: contract.Poll{
		ID: "lunch", Prompt: "What is for \x1b[2Jlunch?", Options: []string{"Soup", "Süßes Risotto mit sehr vielen Pilzen", "Salad"}, Status: contract.Active,
	}}
	tied, chosen := make([]int64, 32), int64(2)
	tied[0], tied[2], tied[9] = 2, 2, 5
	ended, decided := lunch, lunch
	ended.Status, decided.Status, decided.Prompt, decided.TieBreak = contract.Expired, contract.Expired, "", &chosen
	for name, test := range map[string]struct {
		result terminal.PollResult
		width  int
		want   string
	}{
		"bars": {terminal.PollResult{lunch, client.Statistics{Count: 4, Specific: votes}}, 60, `
What is for ?[2Jlunch?  active  votes: 4
Soup                  1   25.0%  ███████
Süßes Risotto…        0    0.0%
Salad                 3   75.0%  █████████████████████`},
		"no terminal": {terminal.PollResult{lunch, client.Statistics{Count: 4, Specific: votes}}, 0, `
What is for ?[2Jlunch?  active  votes: 4
Soup                                        1   25.0%
Süßes Risotto mit sehr vielen Pilzen        0    0.0%
Salad                                       3   75.0%`},
		"no configuration": {terminal.PollResult{client.Poll{Poll: contract.Poll{ID: "x"}}, client.Statistics{Count: 4, Specific: votes}}, 0, `
x  active  votes: 4
0        1   25.0%
1        0    0.0%
2        3   75.0%`},
		"no votes": {terminal.PollResult{client.Poll{Poll: contract.Poll{ID: "x"}}, client.Statistics{Specific: make([]int64, 32)}}, 80, `
x  active  votes: 0`},
		"a tie of an active poll": {terminal.PollResult{lunch, client.Statistics{Count: 9, Specific: tied}}, 0, `
What is for ?[2Jlunch?  active  votes: 9
Soup                                        2   50.0%
Süßes Risotto mit sehr vielen Pilzen        0    0.0%
Salad                                       2   50.0%`},
		"a tie": {terminal.PollResult{ended, client.Statistics{Count: 9, Specific: tied}}, 0, `
What is for ?[2Jlunch?  expired  votes: 9
Soup                                        2   50.0%
Süßes Risotto mit sehr vielen Pilzen        0    0.0%
Salad                                       2   50.0%
tie: Soup, Salad`},
		"a tie that is decided": {terminal.PollResult{decided, client.Statistics{Count: 9, Specific: tied}}, 34, `
lunch  expired  votes: 9
Soup            2   50.0%  ████
Süßes R…        0    0.0%
Salad           2   50.0%  ████
tie: Soup, Salad
Salad wins by decision of the sta…`},
		"a leader alone": {terminal.PollResult{decided, client.Statistics{Count: 4, Specific: votes}}, 0, `
lunch  expired  votes: 4
Soup                                        1   25.0%
Süßes Risotto mit sehr vielen Pilzen        0    0.0%
Salad                                       3   75.0%`},
		"no votes at the end": {terminal.PollResult{ended, client.Statistics{Specific: make([]int64, 32)}}, 0, `
What is for ?[2Jlunch?  expired  votes: 0
Soup                                        0    0.0%
Süßes Risotto mit sehr vielen Pilzen        0    0.0%
Salad                                       0    0.0%`},
		"hidden": {terminal.PollResult{lunch, client.Statistics{Count: 4, Hidden: true}}, 80, `
What is for ?[2Jlunch?  active  votes: 4
the results are hidden`},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.result.Draw(test.width)
			if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n")+"\n", got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for line := range strings.Lines(got) {
				if test.width > 0 && len([]rune(line))-1 > test.width {
					t.Errorf("%d columns: %s", len([]rune(line))-1, line)
				}
			}
		})
	}
}
