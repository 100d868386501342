package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// votes is single-vote mode: every voter votes in one poll after another, each
// time with its own value, and comes round to the first poll again after the last.
type votes struct {
	polls       []string // ids
	credentials []string // of the voters
	// every is the interval of checked polls: 5 checks every fifth, 0 all.
	every int
}

// statistics is the part of section 2.2 that a count can be checked with.
type statistics struct {
	Count int64 `json:"count"`
	Sum   int64 `json:"sum"`
}

func votedValue(voter int) int64 { return int64(voter % 32) }

func newVotes(prefix string, polls int, credentials []string) *votes {
	v := &votes{polls: make([]string, polls), credentials: credentials}
	for i := range v.polls {
		v.polls[i] = pollID(prefix, i)
	}
	return v
}

func pollID(prefix string, i int) string { return prefix + "-" + strconv.Itoa(i) }

func (v *votes) request(buf []byte, _ int, n int64) []byte {
	voter, poll := v.at(n)
	var body [32]byte
	vote := append(strconv.AppendInt(append(body[:0], `{"value":`...), votedValue(voter), 10), '}')
	return appendRequest(buf, "POST", "vote?id="+v.polls[poll], v.credentials[voter], vote)
}

// at returns who votes in which poll with request n.
func (v *votes) at(n int64) (voter, poll int) {
	voters := int64(len(v.credentials))
	voter, pass := int(n%voters), int(n/voters)
	return voter, (voter + pass) % len(v.polls)
}

func (v *votes) checked(poll int) bool { return poll%max(1, v.every) == 0 }

// verify expects each pair of voter and poll to count once and each request to
// be in a log once.
func (v *votes) verify(ctx context.Context, server *client, n int64) error {
	var got, want statistics
	var logged, sent int64
	for i, poll := range v.polls {
		if !v.checked(i) {
			continue
		}
		var s statistics
		if err := server.get(ctx, "vote?id="+poll, decodeInto(&s)); err != nil {
			return err
		}
		got.Count, got.Sum = got.Count+s.Count, got.Sum+s.Sum
		if err := server.get(ctx, "vote_logs?id="+poll, countResult(&logged)); err != nil {
			return err
		}
	}
	pairs := int64(len(v.credentials)) * int64(len(v.polls))
	for i := range n {
		voter, poll := v.at(i)
		if !v.checked(poll) {
			continue
		}
		sent++
		if i < pairs {
			want.Count, want.Sum = want.Count+1, want.Sum+votedValue(voter)
		}
	}
	if got != want || logged != sent {
		return fmt.Errorf("%d votes acknowledged, %d in the logs; statistics are %+v, want %+v", sent, logged, got, want)
	}
	return nil
}

// countResult adds the number of records in a vote log to total as they arrive.
func countResult(total *int64) func(*json.Decoder) error {
	return func(in *json.Decoder) error {
		for depth := 0; in.More() || depth > 0; {
			token, err := in.Token()
			if err != nil {
				return err
			}
			switch token {
			case json.Delim('{'), json.Delim('['):
				depth++
			case json.Delim('}'), json.Delim(']'):
				depth--
			case "timestamp":
				*total++
			}
		}
		return nil
	}
}

// votesTogether is the number of votes in a request of namedVotes.
const votesTogether = 1_000

// namedVotes submits the votes of many viewers at once, as a backend does, to one poll after
// another: of the same viewers again after the last.
type namedVotes struct {
	polls      []string
	credential string
	voters     int
}

// newNamedVotes returns votes in so many polls.
func newNamedVotes(prefix string, polls int, credential string, voters int) *namedVotes {
	v := &namedVotes{polls: make([]string, polls), credential: credential, voters: voters}
	for i := range v.polls {
		v.polls[i] = pollID(prefix, i)
	}
	return v
}

func (v *namedVotes) request(buf []byte, _ int, n int64) []byte {
	body := []byte(`{"votes":[`)
	for i := range votesTogether {
		if i > 0 {
			body = append(body, ',')
		}
		voter := v.voterAt(n*votesTogether + int64(i))
		body = append(strconv.AppendInt(append(body, `{"opaque_user_id":"U`...), int64(voter), 10), `","value":`...)
		body = append(strconv.AppendInt(body, votedValue(voter), 10), '}')
	}
	return appendRequest(buf, "POST", "votes?id="+v.polls[v.pollAt(n)], v.credential, append(body, "]}"...))
}

func (v *namedVotes) voterAt(n int64) int { return int(n % int64(v.voters)) }

func (v *namedVotes) pollAt(n int64) int { return int(n % int64(len(v.polls))) }

// verify expects each voter to count once in each poll.
func (v *namedVotes) verify(ctx context.Context, server *client, n int64) error {
	for i, want := range v.expected(n) {
		var got statistics
		if err := server.get(ctx, "vote?id="+v.polls[i], decodeInto(&got)); err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("statistics of %s are %+v, want %+v", v.polls[i], got, want)
		}
	}
	return nil
}

// expected returns the statistics of the polls after the first n requests.
func (v *namedVotes) expected(n int64) []statistics {
	all := make([]statistics, len(v.polls))
	voted := make([]bool, len(v.polls)*v.voters)
	for request := range n {
		poll := v.pollAt(request)
		for i := range int64(votesTogether) {
			voter := v.voterAt(request*votesTogether + i)
			if counted := &voted[poll*v.voters+voter]; !*counted {
				*counted = true
				all[poll].Count, all[poll].Sum = all[poll].Count+1, all[poll].Sum+votedValue(voter)
			}
		}
	}
	return all
}

// reads asks for the statistics of one poll, as one voter after another.
type reads struct {
	poll        string
	credentials []string
}

func (r *reads) request(buf []byte, _ int, n int64) []byte {
	return appendRequest(buf, "GET", "vote?id="+r.poll, r.credentials[n%int64(len(r.credentials))], nil)
}

// verify expects that reading changed nothing.
func (r *reads) verify(ctx context.Context, server *client, _ int64) error {
	var got, want statistics
	for voter := range r.credentials {
		want.Count, want.Sum = want.Count+1, want.Sum+votedValue(voter)
	}
	if err := server.get(ctx, "vote?id="+r.poll, decodeInto(&got)); err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("statistics are %+v, want %+v", got, want)
	}
	return nil
}
