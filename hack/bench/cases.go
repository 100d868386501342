package main

// benchCase is one line of the table: a load and the share of the ceiling's
// throughput that the program is meant to reach under it.
type benchCase struct {
	name        string
	label       string
	connections int
	target      float64
	load        func(*inputs) workload
	// fill is sent once before anything is measured; nil: nothing.
	fill func(*inputs) workload
}

// inputs are what the loads are made of.
type inputs struct {
	viewers      []string // credentials of the voters
	broadcasters []string // credentials of the owners of a thousand channels
}

func cases() []benchCase {
	return []benchCase{
		{name: "hot-64", label: "POST /vote, one hot poll", connections: 64, target: 0.80, load: votesIn("hot-64", 1)},
		{name: "hot-256", label: "POST /vote, one hot poll", connections: 256, target: 0.90, load: votesIn("hot-256", 1)},
		{name: "polls", label: "POST /vote, 1,000 polls", connections: 256, target: 0.60, load: votesIn("many", 1_000)},
		{name: "read", label: "GET /vote, hot poll", connections: 256, target: 0.90, fill: votesIn("read", 1),
			load: func(in *inputs) workload { return &reads{poll: pollID("read", 0), credentials: in.viewers} }},
		{name: "accumulate", label: "POST /accumulate, one buffer", connections: 256, target: 0.75,
			load: func(in *inputs) workload { return &submissions{buffer: "hot", credentials: in.viewers} }},
		{name: "state", label: "PATCH /channel_state, 1,000 channels", connections: 256, target: 0.40,
			load: func(in *inputs) workload { return newPatches(in.broadcasters, 256) }},
	}
}

func votesIn(prefix string, polls int) func(*inputs) workload {
	return func(in *inputs) workload { return newVotes(prefix, polls, in.viewers) }
}

func newInputs(voters int) (*inputs, error) {
	viewers, err := signAll(voters, viewer)
	if err != nil {
		return nil, err
	}
	broadcasters, err := signAll(1_000, broadcaster)
	return &inputs{viewers: viewers, broadcasters: broadcasters}, err
}
