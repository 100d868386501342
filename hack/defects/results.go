package main

// resultDefects are defects of votes that voters can check.
func resultDefects() []defectCase {
	const publishFolder, resultLogFolder = "services/internal/feed/publish", "services/resultlog"
	return []defectCase{
		{"a store that was rolled back goes on with the log that it lacks", []codeEdit{
			{publishFolder, "Publisher.mayContinue", "tree.N > log.Tree.N", "false && tree.N > log.Tree.N"},
		}, publishFolder, "TestNewLogsInPlaceOfForks"},
		{"a poll that was restored from an older copy is signed", []codeEdit{
			{resultLogFolder, "Record.checkNext", "after.N < before.N", "false"},
		}, publishFolder, "TestContradictionsAreRefused"},
		{"a list that does not continue the signed one is signed", []codeEdit{
			{resultLogFolder, "Record.checkNext", "tlog.CheckTree(proof, after.N, after.Hash, before.N, before.Hash) != nil", "false"},
		}, publishFolder, "TestContradictionsAreRefused"},
		{"votes count after the close of a list", []codeEdit{
			{votingFolder, "publicList.isClosed", "l != nil && l.status == verifiable.TreeClosed", "false"},
		}, votingFolder, "TestListRules"},
		{"a voter gets a new number with each vote", []codeEdit{
			{votingFolder, "State.nextNumberOf", "return number", "return s.list.next + 0*number"},
		}, votingFolder, "TestListIsRecounted"},
		{"retention removes the entries of a list", []codeEdit{
			{votingFolder, "Service.keepsList", "!l.Final || s.clock.Now().Sub(time.UnixMilli(l.At)) < keepListFor", "false"},
		}, votingFolder, "TestListsAreNotTruncated"},
	}
}
