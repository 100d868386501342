package main

const (
	operatorFolder = "operator/internal"
	censusFolder   = operatorFolder + "/census"
	holderFolder   = operatorFolder + "/holder"
	watchdogFolder = operatorFolder + "/watchdog"
)

// operatorDefects are those of the operator that tests without an API server find.
func operatorDefects() []defectCase {
	return []defectCase{
		{"the trouble of one team hides that of another", []codeEdit{
			{censusFolder, "Census.Collect", "o.(client.Object).GetNamespace()", `""`},
		}, censusFolder, "TestCensus"},
		{"the deletion of a copied object hangs", []codeEdit{
			{holderFolder, "Instance.meetForeign", "absent && !o.GetDeletionTimestamp().IsZero()", "false"},
		}, holderFolder, "TestAbsentHolder"},
		{"an object of an operator that does not exist says nothing", []codeEdit{
			{holderFolder, "Instance.meetForeign", "i.reportAbsent(ctx, c, o)", "error(nil)"},
		}, holderFolder, "TestAbsentHolder"},
		{"Ready stays true without an operator", []codeEdit{
			{watchdogFolder, "Watchdog.Run", "w.Now().Sub(renewed) <= w.MaxAge", "true"},
		}, watchdogFolder, "TestRun"},
		{"a process that never reached its database has no metric of that", []codeEdit{
			{appFolder, "openDatabase", "d.away.Store(true)", "d.away.Store(false)"},
		}, "services", "TestDatabaseIsLate"},
	}
}
