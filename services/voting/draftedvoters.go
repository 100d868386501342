package voting

import "hash/maphash"

// draftedVoters are the numbers of the voters in the commands of one fork. A map of Go takes twice the
// time, most of it to grow: a fork lives for one chunk.
type draftedVoters struct {
	seed   maphash.Seed
	index  slotIndex // finds voters
	voters []draftedVoter
}

type draftedVoter struct {
	id     string
	hash   uint64
	number int64
}

func (d *draftedVoters) find(id string) (number int64, known bool) {
	if len(d.voters) == 0 {
		return 0, false
	}
	hash, mask := maphash.String(d.seed, id), uint64(len(d.index)-1)
	for slot := hash & mask; d.index[slot] != 0; slot = (slot + 1) & mask {
		if v := &d.voters[d.index[slot]-1]; v.hash == hash && v.id == id {
			return v.number, true
		}
	}
	return 0, false
}

// add notes the number of a voter. One who is known already has the same.
func (d *draftedVoters) add(id string, number int64) {
	if _, known := d.find(id); known {
		return
	}
	if 4*(len(d.voters)+1) > 3*len(d.index) {
		d.grow()
	}
	hash := maphash.String(d.seed, id)
	d.voters = append(d.voters, draftedVoter{id, hash, number})
	d.index.link(uint32(len(d.voters)), hash)
}

func (d *draftedVoters) grow() {
	if len(d.voters) == 0 {
		d.seed = maphash.MakeSeed()
	}
	d.index = make(slotIndex, max(16, 4*len(d.index)))
	for i, v := range d.voters {
		d.index.link(uint32(i+1), v.hash)
	}
}
