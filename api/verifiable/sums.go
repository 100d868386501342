package verifiable

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"strconv"
)

// slotCount is the number of options with a count of their own.
const slotCount = 32

// Sums is the tally of ballots: the weighted number of votes, the sum of their values and of the
// squares, and the number of votes for each option.
type Sums struct {
	Count, Sum, Squares Int128
	Slots               [slotCount]Int128
}

var errSums = errors.New("the sums are out of bounds")

// addVotes adds votes for a value, each of a weight.
func (s *Sums) addVotes(weight uint64, value int16, times uint16) {
	n := Int128{0, weight}.multiply(uint64(times))
	size := uint64(max(value, -value))
	sum := n.multiply(size)
	s.Squares = s.Squares.plus(sum.multiply(size))
	if value < 0 {
		sum = sum.negated()
	}
	s.Count, s.Sum = s.Count.plus(n), s.Sum.plus(sum)
	if value >= 0 && value < slotCount {
		s.Slots[value] = s.Slots[value].plus(n)
	}
}

// plus adds two sums that [Sums.check] accepts. The result may be out of bounds.
func (s *Sums) plus(t *Sums) Sums {
	r := Sums{Count: s.Count.plus(t.Count), Sum: s.Sum.plus(t.Sum), Squares: s.Squares.plus(t.Squares)}
	for i := range r.Slots {
		r.Slots[i] = s.Slots[i].plus(t.Slots[i])
	}
	return r
}

// IsTied reports whether the option with a value leads, and another one has as many votes. In a poll
// with options only those count.
func (s *Sums) IsTied(value int64, options int) bool {
	slots := s.Slots[:]
	if options > 0 {
		slots = slots[:min(options, slotCount)]
	}
	if value < 0 || value >= int64(len(slots)) || slots[value] == (Int128{}) {
		return false
	}
	equal := 0
	for _, n := range slots {
		if slots[value].less(n) {
			return false
		}
		if n == slots[value] {
			equal++
		}
	}
	return equal > 1
}

// Check returns an error for sums that no ballots can have, or that could overflow.
func (s *Sums) Check() error { return s.check() }

func (s *Sums) check() error {
	if !s.Count.isBelow126() || !s.Sum.isBelow126() || !s.Squares.isBelow126() || s.Count.isNegative() || s.Squares.isNegative() {
		return errSums
	}
	// |sum| ≤ 128·count and squares ≤ 16384·count, without a product that could overflow.
	if s.Count.less(s.Sum.absolute().divideUp(7)) || s.Count.less(s.Squares.divideUp(14)) {
		return errSums
	}
	var total Int128
	for _, n := range s.Slots {
		if n.isNegative() || !n.isBelow126() {
			return errSums
		}
		if total = total.plus(n); s.Count.less(total) {
			return errSums
		}
	}
	return nil
}

// Append appends the encoding.
func (s *Sums) Append(buf []byte) []byte {
	buf = s.Squares.append(s.Sum.append(s.Count.append(buf)))
	var mask uint32
	for i, n := range s.Slots {
		if n != (Int128{}) {
			mask |= 1 << i
		}
	}
	buf = binary.BigEndian.AppendUint32(buf, mask)
	for _, n := range s.Slots {
		if n != (Int128{}) {
			buf = n.append(buf)
		}
	}
	return buf
}

// ParseSums decodes sums within their bounds.
func ParseSums(data []byte) (Sums, error) {
	d := decoder{rest: data}
	s := Sums{Count: d.i128(), Sum: d.i128(), Squares: d.i128()}
	mask := d.u32()
	for i := range s.Slots {
		if mask&(1<<i) == 0 {
			continue
		}
		if s.Slots[i] = d.i128(); s.Slots[i] == (Int128{}) {
			d.fail(errNumber)
		}
	}
	if err := d.end(); err != nil {
		return Sums{}, err
	}
	return s, s.check()
}

// sumsJSON is the form of sums in result.json.
type sumsJSON struct {
	Count   Int128            `json:"count"`
	Sum     Int128            `json:"sum"`
	Squares Int128            `json:"squares"`
	Slots   map[string]Int128 `json:"slots"` // without those that are 0
}

// MarshalJSON implements [json.Marshaler].
func (s Sums) MarshalJSON() ([]byte, error) {
	slots := map[string]Int128{}
	for i, n := range s.Slots {
		if n != (Int128{}) {
			slots[strconv.Itoa(i)] = n
		}
	}
	return json.Marshal(sumsJSON{s.Count, s.Sum, s.Squares, slots})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Sums) UnmarshalJSON(text []byte) error {
	var v sumsJSON
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	*s = Sums{Count: v.Count, Sum: v.Sum, Squares: v.Squares}
	for name, n := range v.Slots {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= slotCount || strconv.Itoa(i) != name {
			return errSums
		}
		s.Slots[i] = n
	}
	return s.check()
}
