package testcluster

import (
	"os"
	"path/filepath"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
)

// healthOf returns what Argo CD makes of an object with the script in config/argocd.
func healthOf(root string, object map[string]any) (string, error) {
	script, err := os.ReadFile(filepath.Join(root, "config", "argocd", "health.lua"))
	if err != nil {
		return "", err
	}
	state := lua.NewState()
	defer state.Close()
	state.SetGlobal("obj", newLuaValue(state, object))
	if err := state.DoString(string(script)); err != nil {
		return "", err
	}
	return lua.LVAsString(state.GetField(state.Get(-1), "status")), nil
}

// newLuaValue returns a value of JSON for a script.
func newLuaValue(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, field := range v {
			table.RawSetString(key, newLuaValue(state, field))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, element := range v {
			table.Append(newLuaValue(state, element))
		}
		return table
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	}
	return lua.LNil
}

// argoHealth returns the health in Argo CD of what kstatus reports.
func argoHealth(status kstatus.Status) string {
	switch status {
	case kstatus.CurrentStatus:
		return "Healthy"
	case kstatus.FailedStatus:
		return "Degraded"
	}
	return "Progressing"
}
