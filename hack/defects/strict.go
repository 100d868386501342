package main

func strictDefects() []defectCase {
	return []defectCase{
		{"a vote for no option counts in a strict poll", []codeEdit{
			{votingFolder, "Config.checkOption", "!isWithin(value, 0, int64(len(c.Options))-1)", "false"},
		}, votingFolder, "TestStrictVotes"},
		{"the question changes under the votes of a strict poll", []codeEdit{
			{votingFolder, "checkSameQuestion", "now.Prompt != next.Prompt", "false"},
		}, votingFolder, "TestQuestion"},
		{"a missing value becomes 0 on its way to the process that decides", []codeEdit{
			{votingFolder, "appendValue", "value == NoValue", "false && value == NoValue"},
		}, votingFolder, "TestNoValueIsForwarded"},
	}
}
