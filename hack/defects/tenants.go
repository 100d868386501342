package main

// tenantDefects are defects by which one team or address stops or slows others.
func tenantDefects() []defectCase {
	const (
		scopeFolder     = "operator/internal/scope"
		secretsFolder   = "operator/internal/secrets"
		uninstallFolder = "operator/internal/uninstall"
	)
	return []defectCase{
		{"a namespace that is gone keeps the operator from all others", []codeEdit{
			{scopeFolder, "WatchedOf", "n.State == Watched", "true"},
		}, scopeFolder, "TestResolve"},
		{"a namespace that loses the operator's rights stays among the watched", []codeEdit{
			{scopeFolder, "Resolver.look", "rights[:min(1, len(rights))]", "nil"},
		}, scopeFolder, "TestResolveAgain"},
		{"an uninstalled operator keeps what it held in namespaces that it left", []codeEdit{
			{uninstallFolder, "Uninstaller.listHeld", "u.Client.List(ctx, list)", "u.Client.List(ctx, list, client.InNamespace(u.Namespace))"},
		}, uninstallFolder, "TestRun"},
		{"a Secret that may not be read keeps a Poll from being deleted", []codeEdit{
			{secretsFolder, "IsUnreadable", "apierrors.IsNotFound(err) || apierrors.IsForbidden(err)", "apierrors.IsNotFound(err)"},
		}, secretsFolder, "TestUnreadable"},
		{"an address displaces games that have not authenticated without an end", []codeEdit{
			{gameFolder, "Server.admit", "!s.strangers.isFull()", "true"},
		}, gameFolder, "TestDisplacementsOfAddress"},
	}
}
