package gamelink_test

import (
	"fmt"
	"strings"
	"testing"
)

// A game learns of a member that it misspelt where it asks for that. Shipped games do not ask, and
// their members without an effect stay without one.
func TestStrictRequests(t *testing.T) {
	w := newWorld(t)
	g, _ := w.paired()
	for _, refused := range []struct{ request, member string }{
		{`"action":"create","params":{"target":"poll"},"data":{"poll_id":"p","promt":"?","options":["a"]}`, "data.promt"},
		{`"action":"create","params":{"target":"poll"},"data":{"poll_id":"p","prompt":"?","options":["a"],"config":{"endIn":5}}`, "data.config.endIn"},
		{`"action":"set","params":{"target":"gatewayActions"},"data":{"actions":[{"id":"a"},{"id":"b","cost":1}]}`, "data.actions.cost"},
		{`"action":"set","params":{"target":"gatewayActionState"},"data":{"id":"a","delta_inventory":{"by":1}}`, "data.delta_inventory.by"},
		{`"action":"get","params":{"target":"poll","stric":true},"data":{"poll_id":"p"}`, "params.stric"},
		{`"action":"get","params":{"target":"poll"},"date":{},"data":{"poll_id":"p"}`, "date"},
	} {
		g.refusedText(refused.request, 400, "Unknown member: "+refused.member)
	}
	g.refused("get", "poll", `{"poll_id":"p"}`, 404, "") // none of them had an effect
	g.refusedText(`"action":"get","params":{"target":"poll","x":1},"data":{"poll_id":"p","y":1}`, 400, "Unknown member: params.x")
	g.must("create", "poll", `{"poll_id":"p","promt":"?","prompt":"?","options":["a"],"config":{"endIn":5},"user_data":{"any":{"thing":1}}}`)
	g.must("set", "state", `{"state_id":"channel","state":{"any":{"thing":1}},"more":null}`)
}

// refusedText sends the members of a strict request, and expects a refusal.
func (g *game) refusedText(members string, number int, detail string) {
	g.Helper()
	g.next++
	params := fmt.Sprintf(`"params":{"request_id":%d,`, g.next)
	if !strings.Contains(members, `"strict"`) {
		params += `"strict":true,`
	}
	if err := g.write("{" + strings.Replace(members, `"params":{`, params, 1) + "}"); err != nil {
		g.Fatal(err)
	}
	if m := g.answer(g.next); len(m.Errors) != 1 || m.Errors[0].Number != number || m.Errors[0].Detail != detail {
		g.Errorf("%s: %+v", members, m)
	}
}
