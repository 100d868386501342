package voting

import (
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
)

// model is the contract said again without any care for cost: it keeps every
// stored vote and computes all from nothing whenever it is asked.
type model struct {
	config    *Config
	stored    []modelVote
	accepted  []modelVote // since the last reset
	last      map[string]int64
	cast      map[string]int64 // the version of the configuration
	modifiers map[string]int64
	touched   bool
	logged    []LogRecord // but for At
	deleted   int64       // the latest version that was deleted since the state was last restored
}

type modelVote struct {
	id    string
	value int64
	at    int64
}

func newModel() *model {
	return &model{last: map[string]int64{}, cast: map[string]int64{}, modifiers: map[string]int64{}}
}

func (m *model) rules() Config {
	if m.config == nil {
		return DefaultConfig()
	}
	return *m.config
}

func (m *model) id(v Voter) string {
	if m.rules().UserIDVoting || v.OpaqueID == "" {
		return v.UserID
	}
	return v.OpaqueID
}

// do runs a command and returns the reason of its refusal.
func (m *model) do(at int64, command Command) string {
	switch c := command.(type) {
	case *voteCommand:
		return m.vote(at, c)
	case modifyCommand:
		sum := new(big.Int).Add(big.NewInt(m.modifiers[c.user]), big.NewInt(c.add))
		if c.user == "" || sum.CmpAbs(big.NewInt(1<<53)) > 0 {
			return "Invalid body"
		}
		m.modifiers[c.user] += c.add
		m.touched = true
	case configureCommand: // its own checks are not the model's
		if reason := m.checkQuestion(c); reason != "" {
			return reason
		}
		if !m.stores(at, c) {
			break
		}
		if c.config.EndsAt < 0 {
			c.config.EndsAt = at / 1000
		}
		c.config.Version = max(at, m.deleted+1)
		if m.config != nil {
			c.config.Version = max(at, m.config.Version+1)
			c.config.QuestionChanged = m.config.QuestionChanged
			if m.otherQuestion(c) != "" {
				c.config.QuestionChanged = c.config.Version
			}
		}
		m.config, m.touched = &c.config, true
	case resetCommand:
		m.deleted = max(m.deleted, m.rules().Version)
		*m = model{last: map[string]int64{}, cast: map[string]int64{}, modifiers: map[string]int64{}, logged: m.logged, deleted: m.deleted}
	}
	return ""
}

func (m *model) checkQuestion(c configureCommand) string {
	switch {
	case m.config == nil, c.keepVotes, len(m.stored) == 0, !m.config.Strict && !c.config.Strict:
		return ""
	}
	return m.otherQuestion(c)
}

func (m *model) otherQuestion(c configureCommand) string {
	switch {
	case m.config.Prompt != c.config.Prompt:
		return errPromptChanges.Reason
	case !strings.HasPrefix(strings.Join(append(c.config.Options, ""), "|"), strings.Join(append(m.config.Options, ""), "|")):
		return errOptionsChanges.Reason
	}
	return ""
}

// stores reports whether a command that is accepted leaves an entry.
func (m *model) stores(at int64, command Command) bool {
	switch c := command.(type) {
	case configureCommand:
		if c.config.EndsAt < 0 {
			c.config.EndsAt = at / 1000
		}
		if m.config == nil {
			return true
		}
		c.config.Version, c.config.QuestionChanged = m.config.Version, m.config.QuestionChanged
		return !reflect.DeepEqual(*m.config, c.config)
	case resetCommand:
		return m.touched
	}
	return true
}

func (m *model) vote(at int64, c *voteCommand) string {
	rules, id := m.rules(), m.id(c.voter)
	now := at / 1000
	switch {
	case c.value < -128 || c.value > 128:
		return "Value out of bounds"
	case c.times < 1 || c.times > 30 || c.times > rules.TotalVotesPerUser:
		return "Count out of bounds"
	case rules.Disabled, now < rules.StartsAt, rules.EndsAt != 0 && now >= rules.EndsAt:
		return "poll is closed"
	case rules.Strict && len(rules.Options) > 0 && (c.value < 0 || c.value >= int64(len(rules.Options))):
		return "value names no option of the poll"
	case rules.LoggedInOnly && c.voter.UserID == "" && !strings.HasPrefix(c.voter.OpaqueID, "U"):
		return "only logged-in viewers may vote"
	case id == "":
		return "unacceptable vote"
	}
	var others, own []modelVote
	for _, v := range m.stored {
		if v.id == id {
			own = append(own, v)
		} else {
			others = append(others, v)
		}
	}
	if rules.TotalVotesPerUser == 1 {
		own = nil
	}
	options := map[int64]int64{}
	for range c.times {
		own = append(own, modelVote{id, c.value, at})
	}
	for _, v := range own {
		options[v.value]++
	}
	if rules.TotalVotesPerUser > 1 &&
		(int64(len(own)) > rules.TotalVotesPerUser ||
			options[c.value] > rules.VotesPerOption ||
			int64(len(options)) > rules.DistinctOptionsPerUser) {
		return "unacceptable vote"
	}
	m.stored = append(others, own...)
	m.last[id], m.cast[id], m.touched = c.value, rules.Version, true
	for range c.times {
		m.accepted = append(m.accepted, modelVote{id, c.value, at})
		m.logged = append(m.logged, LogRecord{Identifier: c.voter.UserID, Opaque: c.voter.OpaqueID, Value: c.value, Timestamp: at / 1000})
	}
	return ""
}

// sums returns the number of counted values, their sum, the sum of their
// squares and how many there are of each.
func (m *model) sums() (n, sum, squares *big.Int, specific [32]*big.Int) {
	n, sum, squares = new(big.Int), new(big.Int), new(big.Int)
	for i := range specific {
		specific[i] = new(big.Int)
	}
	for _, v := range m.stored {
		weight := big.NewInt(max(0, 1+m.modifiers[v.id]))
		n.Add(n, weight)
		sum.Add(sum, new(big.Int).Mul(weight, big.NewInt(v.value)))
		squares.Add(squares, new(big.Int).Mul(weight, big.NewInt(v.value*v.value)))
		if v.value >= 0 && v.value < 32 {
			specific[v.value].Add(specific[v.value], weight)
		}
	}
	return n, sum, squares, specific
}

// check compares what the poll says to a voter with the model.
func (m *model) check(t *testing.T, got answer, v Voter) {
	t.Helper()
	n, sum, squares, specific := m.sums()
	if got.Count.String() != n.String() || got.Sum.String() != sum.String() {
		t.Errorf("count %s, sum %s, want %s, %s", got.Count, got.Sum, n, sum)
	}
	if len(got.Specific) != 32 {
		t.Fatalf("%d elements in specific", len(got.Specific))
	}
	for i, want := range specific {
		if got.Specific[i].String() != want.String() {
			t.Errorf("specific[%d] is %s, want %s", i, got.Specific[i], want)
		}
	}
	wantFloat(t, "mean", got.Mean.String(), quotient(sum, n))
	wantFloat(t, "stddev", got.Stddev.String(), exactDeviation(n, sum, squares))
	m.checkDecay(t, got)

	last, voted := m.last[m.id(v)]
	if voted != (got.Vote != nil) || voted && *got.Vote != last {
		t.Errorf("vote of %v is %v, want %d (%v)", v, got.Vote, last, voted)
	}
}

// checkDecay: decisions, "Voting".
func (m *model) checkDecay(t *testing.T, got answer) {
	t.Helper()
	var landmark, nudged int64
	for i, v := range m.accepted {
		if i == 0 || v.at-landmark > 40*halfLife { // the scale would pass 2^40
			landmark = v.at
		}
		nudged = v.at
	}
	var val, size, scale float64
	for _, v := range m.accepted {
		weight := math.Exp2(-float64(nudged-v.at) / halfLife)
		val += float64(v.value) * weight
		size += math.Abs(float64(v.value)) * weight
		scale = math.Exp2(float64(nudged-landmark) / halfLife)
	}
	d := got.Decay
	if d.LastNudged != nudged || d.LastAltered != landmark {
		t.Errorf("decay nudged at %d, altered at %d, want %d, %d", d.LastNudged, d.LastAltered, nudged, landmark)
	}
	if math.Abs(d.Val-val) > 1e-13*size {
		t.Errorf("decay val is %v, want %v", d.Val, val)
	}
	if math.Abs(d.CurrentScale-scale) > 1e-15*scale {
		t.Errorf("decay scale is %v, want %v", d.CurrentScale, scale)
	}
}

const precision = 512 // bits

func quotient(a, b *big.Int) *big.Float {
	if b.Sign() == 0 {
		return new(big.Float)
	}
	return new(big.Float).SetPrec(precision).Quo(bigFloat(a), bigFloat(b))
}

func bigFloat(n *big.Int) *big.Float { return new(big.Float).SetPrec(precision).SetInt(n) }

func exactDeviation(n, sum, squares *big.Int) *big.Float {
	if n.Cmp(big.NewInt(2)) < 0 {
		return new(big.Float)
	}
	spread := new(big.Int).Mul(n, squares)
	spread.Sub(spread, new(big.Int).Mul(sum, sum))
	pairs := new(big.Int).Mul(n, new(big.Int).Sub(n, big.NewInt(1)))
	return new(big.Float).Sqrt(quotient(spread, pairs))
}

// wantFloat allows for two units in the last place.
func wantFloat(t *testing.T, name, got string, want *big.Float) {
	t.Helper()
	f, _, err := big.ParseFloat(got, 10, precision, big.ToNearestEven)
	if err != nil {
		t.Errorf("%s is %q: %v", name, got, err)
		return
	}
	off := new(big.Float).Sub(f, want)
	allowed := new(big.Float).Mul(want, big.NewFloat(0x1p-51))
	if off.Abs(off).Cmp(allowed.Abs(allowed)) > 0 {
		t.Errorf("%s is %s, want %s", name, got, want.Text('g', 20))
	}
}
