// Code generated from the table of operations; DO NOT EDIT.
// go test ./services/internal/operation -run TestGenerated -update

package desired

// servicePaths returns the paths below the base path that lead to a service. Those of the state
// service, and all that no service has, go to the fallback service.
func servicePaths(service string) []string {
	return map[string][]string{
		Voting:       {"/vote", "/vote_logs", "/vote_modifier", "/vote_config", "/vote_history", "/votes", "/devices", "/poll", "/polls", "/receipt", "/pictures"},
		Accumulation: {"/accumulate"},
		Ranking:      {"/rank", "/rank_config", "/rank_moderation"},
		Sandbox:      {"/authtoken"},
	}[service]
}
