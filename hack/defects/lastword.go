package main

func lastWordDefects() []defectCase {
	return []defectCase{
		{"a resync event has an older id than the client of messages", []codeEdit{
			{liveFolder, "Subscriber.loadBacklog", "s.cursor.messages[i], s.before.messages[i] = from, from", "s.cursor.messages[i] = from"},
		}, liveFolder, "TestResyncIsNotOlderThanTheClient"},
		{"a resync event has an older id than the client of entries", []codeEdit{
			{liveFolder, "Subscriber.loadEntries", "s.cursor.chunks[i], s.before.chunks[i] = from, from", "s.cursor.chunks[i] = from"},
		}, liveFolder, "TestResyncIsNotOlderThanTheClient"},
		{"a poll is closed without a chunk that keeps later votes out", []codeEdit{
			{streamFolder, "chunkDraft.addMark", "d.marks && len(d.entries)+len(d.header.groups) == 0", "false"},
		}, votingFolder, "TestConclude"},
		{"the last update of a poll comes by the clock of the process that sends it", []codeEdit{
			{votingFolder, "Overview.Status", "status == contract.Expired", "false"},
		}, liveFolder, "TestLastUpdateComesWhenTheLogSaysSo"},
		{"the last delivery of a poll comes by the clock of the process that sends it", []codeEdit{
			{votingFolder, "Overview.Status", "status == contract.Expired", "false"},
		}, sinkFolder, "TestLastUpdateComesWhenTheLogSaysSo"},
		{"the final push of a match comes by the clock of its feed", []codeEdit{
			{gameFolder, "matchFeed.statusOf", "!f.polls[id].isFinal(m.Polls[id].Ends, m.Channels)", "false"},
		}, gameFolder, "TestFinalPushOfAMatch"},
		{"the final push of a poll comes by the clock of the process that sends it", []codeEdit{
			{gameFolder, "connection.readLogged", "c.readPoll(ctx, id, true)", "c.readPoll(ctx, id, false)"},
		}, gameFolder, "TestFinalPushOfAPoll"},
	}
}
