package main

// benchCase is one line of the table: a load and the share of the ceiling's
// throughput that the program is meant to reach under it.
type benchCase struct {
	name        string
	label       string
	connections int
	target      float64
	load        func(*loadInputs) workload
	// bare also measures a bare net/http handler.
	bare bool
	// fill is sent once before anything is measured; nil: nothing.
	fill func(*loadInputs) workload
}

// loadInputs hold the credentials and streams that loads use.
type loadInputs struct {
	viewers      []string // credentials of the voters
	broadcasters []string // credentials of the owners of a thousand channels
	backend      string   // credential
}

func cases() []benchCase {
	return []benchCase{
		{name: "hot-64", label: "POST /vote, one hot poll", connections: 64, target: 0.80, bare: true, load: votesIn("hot-64", 1)},
		{name: "hot-256", label: "POST /vote, one hot poll", connections: 256, target: 0.90, bare: true, load: votesIn("hot-256", 1)},
		{name: "polls", label: "POST /vote, 1,000 polls", connections: 256, target: 0.60, bare: true, load: votesIn("many", 1_000)},
		{name: "votes", label: "POST /votes, 1,000 votes each", connections: 4, target: 0.30,
			load: namedVotesIn("together", 1)},
		{name: "votes-3", label: "POST /votes, 1,000 votes each, three polls", connections: 6, target: 0.30, load: namedVotesIn("three", 3)},
		{name: "read", label: "GET /vote, hot poll", connections: 256, target: 0.90, fill: votesIn("read", 1),
			load: func(in *loadInputs) workload { return &reads{poll: pollID("read", 0), credentials: in.viewers} }},
		{name: "accumulate", label: "POST /accumulate, one buffer", connections: 256, target: 0.75,
			load: func(in *loadInputs) workload { return &submissions{buffer: "hot", credentials: in.viewers} }},
		{name: "state", label: "PATCH /channel_state, 1,000 channels", connections: 256, target: 0.40, bare: true,
			load: func(in *loadInputs) workload { return newPatches(in.broadcasters, 256) }},
	}
}

func votesIn(prefix string, polls int) func(*loadInputs) workload {
	return func(in *loadInputs) workload { return newVotes(prefix, polls, in.viewers) }
}

func namedVotesIn(prefix string, polls int) func(*loadInputs) workload {
	return func(in *loadInputs) workload { return newNamedVotes(prefix, polls, in.backend, len(in.viewers)) }
}

func newInputs(voters int) (*loadInputs, error) {
	viewers, err := signAll(voters, viewerCredential)
	if err != nil {
		return nil, err
	}
	broadcasters, err := signAll(1_000, broadcasterCredential)
	if err != nil {
		return nil, err
	}
	backend, err := newCredential("backend", channel, "")
	return &loadInputs{viewers: viewers, broadcasters: broadcasters, backend: backend}, err
}
