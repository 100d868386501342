package main

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// rightsGames is GameLink of an environment, with a connection of each caller.
type rightsGames struct {
	w           *rightsTries
	environment string
	games       map[string]*gameOfCaller // by name of the caller
	again       []*gameOfCaller
}

// gameOfCaller is a connection that a caller has tried to authenticate.
type gameOfCaller struct {
	*rightsGame
	caller, member string
	status         int // of authenticate, or of the upgrade where that failed
	// variant is why the credential is not in force, and want the status that says so.
	variant, want string
	asked         int
}

// refusedRequests is the number of requests that a connection sends that has not authenticated:
// the server closes it after 100.
const refusedRequests = 80

// checkGames tries all rows of GameLink.
func (w *rightsTries) checkGames() {
	w.Helper()
	for _, environment := range w.environments {
		w.plant(environment)
		f := &rightsGames{w: w, environment: environment, games: map[string]*gameOfCaller{}}
		for _, caller := range w.table.callersIn(environment) {
			f.games[caller.Name] = f.open(mainSide(environment).extension, w.current[environment], caller.Name)
		}
		for _, again := range w.table.Again {
			for caller := range w.again[environment][again.Name].headers {
				extension := mainSide(environment).extension
				if again.Name == "removedExtension" {
					extension = "gone"
				}
				g := f.open(extension, w.again[environment][again.Name], caller)
				g.variant = again.Name
				g.want, _, _ = strings.Cut(again.GameLink, " ")
				f.again = append(f.again, g)
			}
		}
		w.check(environment, f, w.table.rows("gamelink"))
		f.end()
	}
}

// open opens a connection and tries to authenticate it as a caller.
func (f *rightsGames) open(extension string, c *rightsCredentials, caller string) *gameOfCaller {
	f.w.Helper()
	member := `"jwt":"` + tokenOf(c.headers[caller]) + `"`
	switch {
	case caller == "pin" && c.pin != "":
		member = `"pin":"` + c.pin + `"`
	case caller == "serverPin" && c.serverPin != "":
		member = `"pin":"` + c.serverPin + `"`
	case caller == "refresh" && c.refresh != "":
		member = `"refresh":"` + c.refresh + `"`
	}
	g := &gameOfCaller{caller: caller, member: member}
	f.dial(extension, g)
	return g
}

func (f *rightsGames) dial(extension string, g *gameOfCaller) {
	f.w.Helper()
	game, status, err := f.w.tryDial(f.environment, extension)
	if err != nil {
		g.status = status
		return
	}
	g.rightsGame, g.asked, g.status = game, 0, http.StatusForbidden
	if g.caller != "none" {
		g.status = game.tryAuthenticate(g.member).status()
	}
}

func (f *rightsGames) end() {
	for _, g := range f.games {
		g.drop()
	}
	for _, g := range f.again {
		g.drop()
	}
}

func (g *gameOfCaller) drop() {
	if g.rightsGame != nil {
		g.end()
		g.rightsGame = nil
	}
}

func (f *rightsGames) changesNothing(row *rightsRow) bool {
	action, _, _ := strings.Cut(row.Op, " ")
	return slices.Contains([]string{"authenticate", "get", "subscribe", "unsubscribe"}, action)
}

// refused sends a request over the connections whose credential is not in force.
func (f *rightsGames) refused(row *rightsRow) {
	f.w.Helper()
	for _, g := range f.again {
		switch {
		case strconv.Itoa(g.status) != g.want:
			f.w.Errorf("authenticate as %s, %s: %d, want %s", g.caller, g.variant, g.status, g.want)
			g.want = strconv.Itoa(g.status) // it says so once
			g.drop()
		case g.rightsGame != nil:
			want := row.cells["none"]
			status, answer := f.send(g, row, false)
			if problem := row.compare(row.Sees, want, status, answer); problem != "" && row.Op != "authenticate" {
				f.w.Errorf("%s as %s, %s: %s", row.title(), g.caller, g.variant, problem)
			}
		}
	}
}

func (f *rightsGames) try(row *rightsRow, caller string) (problem string) {
	f.w.Helper()
	g := f.games[caller]
	if row.Op == "authenticate" && caller != "none" {
		return row.compare("", row.cells[caller], g.status, "")
	}
	status, answer := f.send(g, row, row.cells[caller] == "ok")
	return row.compare(row.Sees, row.cells[caller], status, answer)
}

// send sends a request. A connection that has not authenticated begins again in time.
func (f *rightsGames) send(g *gameOfCaller, row *rightsRow, ok bool) (status int, answer string) {
	f.w.Helper()
	if g.status != http.StatusOK && g.asked >= refusedRequests {
		g.end()
		f.dial(g.client, g)
	}
	g.asked++
	f.w.cells.Add(1)
	body := f.w.fill(f.environment, row.Body, ok)
	if body == "" {
		body = `{"client_id":"` + g.client + `"}`
	}
	action, target, _ := strings.Cut(row.Op, " ")
	a := g.ask(action, target, body)
	text := string(a.Data)
	for _, e := range a.Errors {
		text += e.Detail
	}
	return a.status(), text
}
