package live

import (
	"context"

	"github.com/acclaim-dev/acclaim/services/state"
)

// stateDocument looks at the state of a channel or of an extension.
type stateDocument struct {
	documents Documents
	caller    state.Caller
	scope     state.Scope
	name      string // of the event
	audience  audience

	begun   bool
	version uint64 // that the audience knows
}

func (d *stateDocument) end() {}

func (d *stateDocument) look(ctx context.Context) (news, error) {
	found, err := d.documents.Read(ctx, d.caller, d.scope)
	if err != nil {
		return news{}, err
	}
	now, n := found[0], news{head: found[0].Version}
	if d.begun && now.Version != d.version {
		n.events = []*event{newEvent(d.audience, "", d.name, now.Body)}
	}
	d.begun, d.version = true, now.Version
	return n, nil
}
