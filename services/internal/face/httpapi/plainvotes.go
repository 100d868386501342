package httpapi

import (
	"strings"

	"github.com/acclaim-dev/acclaim/api/contract"
	"github.com/acclaim-dev/acclaim/services/internal/engine/once"
	"github.com/acclaim-dev/acclaim/services/voting"
)

// plainVotes reads the body of POST /votes as clients write it, in one pass: the member votes
// alone, its elements with members that this API knows, short integers, and strings of ASCII
// without escapes. It is false for every other body, right or wrong, which the general decoder
// then judges. FuzzPlainVotes compares the two.
type plainVotes struct {
	text  string // of the body; ids are parts of it
	at    int
	scope func() *once.Scope // of the keys of votes
}

// readVotes returns the elements of the body.
func (p *plainVotes) readVotes() (votes []voting.Submission, ok bool) {
	if name, ok := p.readName('{'); !ok || name != "votes" || !p.skip('[') {
		return nil, false
	}
	for votes = makeSubmissions(len(p.text)); ; {
		vote, ok := p.readVote()
		if !ok || len(votes) == contract.MaxVotes {
			return nil, false
		}
		accepted, err := vote.complete(p.scope)
		if err != nil {
			return nil, false
		}
		votes = append(votes, accepted)
		if !p.skip(',') {
			break
		}
	}
	ok = p.skip(']') && p.skip('}')
	p.skipSpace()
	return votes, ok && p.at == len(p.text)
}

func (p *plainVotes) readVote() (vote writtenVote, ok bool) {
	vote = newWrittenVote()
	for opening := byte('{'); ; opening = ',' {
		name, named := p.readName(opening)
		if !named {
			return vote, false
		}
		switch name {
		case "user_id":
			vote.Voter.UserID, ok = p.readString()
		case "opaque_user_id":
			vote.Voter.OpaqueID, ok = p.readString()
		case "key":
			vote.key, ok = p.readString()
			vote.keyed = true
		case "value":
			vote.Value, ok = p.readInteger()
		case "count":
			vote.Count, ok = p.readInteger()
		default:
			return vote, false
		}
		if !ok {
			return vote, false
		}
		if p.peek() == '}' {
			p.at++
			return vote, true
		}
	}
}

// readName reads what opens an object or separates two members, and the name and colon after it.
func (p *plainVotes) readName(opening byte) (name string, ok bool) {
	if !p.skip(opening) {
		return "", false
	}
	name, ok = p.readString()
	return name, ok && p.skip(':')
}

func (p *plainVotes) readString() (text string, ok bool) {
	if !p.skip('"') {
		return "", false
	}
	for i := p.at; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '"':
			text, p.at = p.text[p.at:i], i+1
			return text, true
		case c < ' ' || c == '\\' || c >= 0x80:
			return "", false
		}
	}
	return "", false
}

// readInteger reads an integer of at most 9 digits.
func (p *plainVotes) readInteger() (n int64, ok bool) {
	p.skipSpace()
	negative := strings.HasPrefix(p.text[p.at:], "-")
	if negative {
		p.at++
	}
	first := p.at
	for p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9' {
		n = 10*n + int64(p.text[p.at]-'0')
		if p.at++; p.at-first > 9 {
			return 0, false
		}
	}
	digits := p.at - first
	if digits == 0 || digits > 1 && p.text[first] == '0' {
		return 0, false
	}
	if negative {
		n = -n
	}
	next := p.peek()
	return n, next == ',' || next == '}'
}

// skip skips a character after white space, and reports whether it was there.
func (p *plainVotes) skip(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.at++
	return true
}

// peek returns the next character that is no white space, 0 at the end.
func (p *plainVotes) peek() byte {
	if p.skipSpace(); p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *plainVotes) skipSpace() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\n' || p.text[p.at] == '\r' || p.text[p.at] == '\t') {
		p.at++
	}
}
