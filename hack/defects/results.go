package main

// resultDefects are defects of votes that voters can check.
func resultDefects() []defectCase {
	const publishFolder, resultLogFolder = "services/internal/feed/publish", "services/resultlog"
	return []defectCase{
		{"a store that was rolled back goes on with the log that it lacks", []codeEdit{
			{publishFolder, "Publisher.hasTree", "return tree.N == 0, nil", "return true, nil"},
		}, publishFolder, "TestNewLogsInPlaceOfForks"},
		{"a process goes on with a log that does not continue what it signed", []codeEdit{
			{publishFolder, "Publisher.hasTree", "return log.Since == tree, nil", "return true, nil"},
		}, publishFolder, "TestRestoreUnderRunningProcesses"},
		{"a process replaces a mark that it has not seen", []codeEdit{
			{"services/internal/process/cli", "fileMark.Replace", "err == nil && !bytes.Equal(now.Checkpoint, old.Checkpoint)", "false && !bytes.Equal(now.Checkpoint, old.Checkpoint)"},
		}, "services/internal/process/cli", "TestFileMark"},
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
			{votingFolder, "Service.keepsList", "!l.Final || s.clock.Now().Sub(time.UnixMilli(l.At)) < l.Rules().Keep", "false"},
		}, votingFolder, "TestListsAreNotTruncated"},
		{"the rules of a list change under votes", []codeEdit{
			{votingFolder, "State.checkPromises", "config.listRules() != now.listRules()", "false"},
		}, votingFolder, "TestRulesOfAListAreFixed"},
		{"a poll without receipts tells voters the places of their votes", []codeEdit{
			{votingFolder, "Listed.told", "l.Index == 0", "false"},
		}, votingFolder, "TestNoReceipts"},
		{"a list becomes public whose voter was erased while it was small", []codeEdit{
			{votingFolder, "List.IsSmall", "l.ErasedSmall", "false"},
		}, votingFolder, "TestErasedWhileSmall"},
		{"entries that are never public are public after the close", []codeEdit{
			{publishFolder, "withholds", "rules.Entries == contract.EntriesNever", "false"},
		}, publishFolder, "TestWithheldEntries"},
	}
}
