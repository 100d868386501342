package main

// answerDefects are defects of what questions accept and show.
func answerDefects() []defectCase {
	return []defectCase{
		{"a snapshot shows the answers that wait for staff", []codeEdit{
			{rankingFolder, "answerBoard.entries", "s.group.standing == Held", "false"},
		}, rankingFolder, "TestHistoriesAgreeWithTheModel"},
		{"Cherokee letters of both cases are different ones", []codeEdit{
			{rankingFolder, "foldCase", "unicode.Is(unicode.Cherokee, r)", "false"},
		}, rankingFolder, "TestFoldingFollowsTheTables"},
		{"overlays read the answers that wait for staff", []codeEdit{
			{operations, "Service.ReadBoard", "standing != ranking.Visible", "false"},
		}, apiFolder, "TestHeldAnswersStayWithStaff"},
		{"viewers read the answers that wait for staff", []codeEdit{
			{operations, "rankingOperations", "AllowRoles(Broadcaster, Admin, Backend, Overlay)", "anyone()"},
			{operations, "Service.ReadBoard", "standing != ranking.Visible", "false"},
		}, apiFolder, "TestHeldAnswersStayWithStaff"},
		{"events show overlays the answers that wait for staff", []codeEdit{
			{eventFolder, "loadQuestion", "ranking.Visible", "ranking.Held"},
		}, apiFolder, "TestHeldAnswersStayWithStaff"},
	}
}
