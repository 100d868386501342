package main

// maintenanceDefects are defects of what operators do to a running process.
func maintenanceDefects() []defectCase {
	return []defectCase{
		{"a process that starts does not know its maintenance", []codeEdit{
			{appFolder, "Process.listen", "httpapi.NewUnavailableMaintenance(starting)", "httpapi.Maintenance{}"},
		}, appFolder, "TestMaintenanceWhileStarting"},
		{"a process that stops does not know its maintenance", []codeEdit{
			{appFolder, "Process.Close", `httpapi.NewUnavailableMaintenance(errors.New("stopping"))`, "httpapi.Maintenance{}"},
		}, appFolder, "TestMaintenanceWhileStopping"},
		{"a checkpoint stays after a kill", []codeEdit{
			{pebbleFolder, "Store.removeLeftovers", "s.removeCheckpoint()", "error(nil)"},
		}, pebbleFolder, "TestKilledWithCheckpoint"},
		{"other users read a checkpoint", []codeEdit{
			{pebbleFolder, "Store.makeCheckpoint", "0o700", "0o755"},
		}, pebbleFolder, "TestCheckpointIsPrivateAndLinked"},
	}
}
