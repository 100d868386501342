package testcluster

import (
	"os"
	"path/filepath"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// argoHealth returns the health of an object in Argo CD: that of kstatus, which does not know that
// a Backend hibernates as its spec says.
func argoHealth(o *unstructured.Unstructured) string {
	suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend") // another type is none
	switch status := statusOf(o); {
	case status == kstatus.CurrentStatus:
		return "Healthy"
	case status == kstatus.FailedStatus && suspended && o.GetKind() == "Backend":
		return "Suspended"
	case status == kstatus.FailedStatus:
		return "Degraded"
	}
	return "Progressing"
}
