// Health says what Argo CD and Flux make of objects, by the engines that those use.
//
// It reads {"lua": script, "cel": {"current": ..., "failed": ..., "inProgress": ...}, "objects": [...]} and writes one
// {"argocd": {"status": ..., "message": ...}, "flux": ...} an object.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type request struct {
	Lua     string                            `json:"lua"`
	CEL     *kustomize.HealthCheckExpressions `json:"cel"`
	Objects []json.RawMessage                 `json:"objects"`
}

type health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

type answer struct {
	ArgoCD health `json:"argocd"`
	Flux   string `json:"flux"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var asked request
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		return err
	}
	evaluator, err := cel.NewStatusEvaluator(asked.CEL)
	if err != nil {
		return err
	}
	answers := make([]answer, 0, len(asked.Objects))
	for _, raw := range asked.Objects {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw); err != nil {
			return err
		}
		flux := string(status.UnknownStatus)
		// Where an expression fails, Flux says Unknown and looks again.
		if result, err := evaluator.Evaluate(context.Background(), object); err == nil {
			flux = string(result.Status)
		}
		argocd, err := evaluate(asked.Lua, object.Object)
		if err != nil {
			return err
		}
		answers = append(answers, answer{ArgoCD: argocd, Flux: flux})
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

// evaluate runs a health check with the libraries that Argo CD gives it: no strings, no files.
func evaluate(script string, object map[string]any) (health, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	libraries := []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}}
	for _, library := range libraries {
		call := lua.P{Fn: state.NewFunction(library.open), NRet: 0, Protect: true}
		if err := state.CallByParam(call, lua.LString(library.name)); err != nil {
			return health{}, err
		}
	}
	state.SetGlobal("obj", toLua(state, object))
	if err := state.DoString(script); err != nil {
		return health{}, err
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return health{}, fmt.Errorf("the script returned no table")
	}
	text := func(field string) string {
		if value, ok := result.RawGetString(field).(lua.LString); ok {
			return string(value)
		}
		return ""
	}
	return health{Status: text("status"), Message: text("message")}, nil
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	case string:
		return lua.LString(value)
	case []any:
		table := state.CreateTable(len(value), 0)
		for _, item := range value {
			table.Append(toLua(state, item))
		}
		return table
	case map[string]any:
		table := state.CreateTable(0, len(value))
		for key, item := range value {
			table.RawSetString(key, toLua(state, item))
		}
		return table
	default:
		return lua.LNil
	}
}
