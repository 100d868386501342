package voting

import (
	"math"
	"strconv"
	"sync"
)

// slots is the number of values counted one by one (section 2.2).
const slots = 32

// voteSums holds the sums from which the statistics are derived.
type voteSums struct {
	count, sum, squares wideInt
	specific            [slots]wideInt
}

// add counts a value the given number of times with the given weight; both may
// be negative to take back what was counted.
func (s *voteSums) add(value, times, weight int64) {
	s.count.addProduct(times, weight)
	s.sum.addProduct(times*value, weight)
	s.squares.addProduct(times*value*value, weight)
	if 0 <= value && value < slots {
		s.specific[value].addProduct(times, weight)
	}
}

// addBallot counts a ballot's options with the given weight.
func (s *voteSums) addBallot(b ballot, weight int64) {
	for _, o := range b.options {
		s.add(int64(o.value), int64(o.times), weight)
	}
}

// replace counts votes in place of those before, which are 0 times a value where there were none.
func (s *voteSums) replace(before, after optionVotes, weight int64) {
	if before.times > 0 {
		s.add(int64(before.value), int64(before.times), -weight)
	}
	s.add(int64(after.value), int64(after.times), weight)
}

// Statistics are the figures of one state of a poll (section 2.2). They never
// change, so any number of readers share them and their encoding.
type Statistics struct {
	tally voteSums
	decay Decay
	// hidden reports that the figures, but perhaps for count, are withheld.
	hidden bool

	encode sync.Once
	object []byte // what encodeObject returns
}

func newStatistics(t voteSums, d Decay) *Statistics { return &Statistics{tally: t, decay: d} }

// Equal reports whether two statistics say the same.
func (s *Statistics) Equal(o *Statistics) bool { return s.tally == o.tally && s.decay == o.decay }

// Empty reports whether nothing was ever voted.
func (s *Statistics) Empty() bool { return s.tally == voteSums{} && s.decay == Decay{} }

// Mean is the mean of the counted values, 0 when there are none.
func (s *Statistics) Mean() float64 {
	if s.tally.count == (wideInt{}) {
		return 0
	}
	return s.tally.sum.float() / s.tally.count.float()
}

// Stddev is the sample standard deviation, 0 for fewer than two values.
func (s *Statistics) Stddev() float64 {
	return sampleDeviation(s.tally.count, s.tally.sum, s.tally.squares)
}

// Decay is the decayed sum of the accepted votes.
func (s *Statistics) Decay() Decay { return s.decay }

// AppendJSON appends the statistics as section 2.2 has them. vote is the
// caller's latest known vote, nil when there is none. All but the vote is
// encoded once however many callers ask.
func (s *Statistics) AppendJSON(buf []byte, vote *int64) []byte {
	s.encode.Do(func() { s.object = s.encodeObject() })
	buf = append(buf, s.object...)
	if vote != nil {
		buf = append(buf, `,"vote":`...)
		buf = strconv.AppendInt(buf, *vote, 10)
	}
	return append(buf, '}')
}

// encodeObject returns the object without its closing brace.
func (s *Statistics) encodeObject() []byte {
	buf := make([]byte, 0, 384)
	buf = appendFloat(append(buf, `{"stddev":`...), s.Stddev())
	buf = appendFloat(append(buf, `,"mean":`...), s.Mean())
	buf = s.tally.sum.append(append(buf, `,"sum":`...))
	buf = append(buf, `,"specific":[`...)
	for i, n := range s.tally.specific {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = n.append(buf)
	}
	buf = s.tally.count.append(append(buf, `],"count":`...))
	buf = strconv.AppendInt(append(buf, `,"decay":{"last_nudged":`...), s.decay.LastNudged, 10)
	buf = appendFloat(append(buf, `,"val":`...), s.decay.Val)
	buf = appendFloat(append(buf, `,"current_scale":`...), s.decay.CurrentScale)
	buf = strconv.AppendInt(append(buf, `,"last_altered":`...), s.decay.LastAltered, 10)
	buf = append(buf, '}')
	if s.hidden {
		buf = append(buf, `,"hidden":true`...)
	}
	return buf
}

// appendFloat appends f in the shortest form that reads back the same. JSON and
// JavaScript accept its exponents.
func appendFloat(buf []byte, f float64) []byte {
	if size := math.Abs(f); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.AppendFloat(buf, f, 'e', -1, 64)
	}
	return strconv.AppendFloat(buf, f, 'f', -1, 64)
}

// Tally is the result for a caller: the poll's statistics and its own latest known
// vote, nil when there is none.
type Tally struct {
	*Statistics
	Vote *int64
	// Hidden reports that the caller may not see the statistics if it is a viewer,
	// ShowCount that it may see the count. ForViewer applies both.
	Hidden, ShowCount bool
	// Listed is the place of a vote that was just cast, nil of a poll without a list.
	Listed *Listed
	// Devices holds the number of devices that have voted, where that is asked for.
	Devices int
}

// AppendJSON appends the tally as section 2.2 has it.
func (t Tally) AppendJSON(buf []byte) []byte { return t.Statistics.AppendJSON(buf, t.Vote) }
