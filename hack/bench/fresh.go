package main

import (
	"context"
	"fmt"
	"strconv"
)

// freshVotes has each voter vote once in a poll, all in one poll and then all in the next.
type freshVotes struct {
	prefix      string   // of the polls' ids
	credentials []string // of the voters
}

func (v *freshVotes) request(buf []byte, _ int, n int64) []byte {
	voters := int64(len(v.credentials))
	voter := int(n % voters)
	var body [32]byte
	vote := append(strconv.AppendInt(append(body[:0], `{"value":`...), votedValue(voter), 10), '}')
	return appendRequest(buf, "POST", "vote?id="+pollID(v.prefix, int(n/voters)), v.credentials[voter], vote)
}

func (v *freshVotes) verify(ctx context.Context, server *client, n int64) error {
	return verifyPolls(ctx, server, v.prefix, n, int64(len(v.credentials)))
}

// freshBatchVoters is the number of voters of a poll in freshBatches.
const freshBatchVoters = 1_000_000

// freshBatches submits the votes of a thousand voters at once, of each voter once in a poll, and
// of the same voters again in the next.
type freshBatches struct {
	prefix     string // of the polls' ids
	credential string // of a backend
}

func (v *freshBatches) request(buf []byte, _ int, n int64) []byte {
	first := n * votesTogether
	body := []byte(`{"votes":[`)
	for i := range int64(votesTogether) {
		voter := int((first + i) % freshBatchVoters)
		if i > 0 {
			body = append(body, ',')
		}
		body = append(strconv.AppendInt(append(body, `{"opaque_user_id":"U`...), int64(voter), 10), `","value":`...)
		body = append(strconv.AppendInt(body, votedValue(voter), 10), '}')
	}
	return appendRequest(buf, "POST", "votes?id="+pollID(v.prefix, int(first/freshBatchVoters)), v.credential, append(body, "]}"...))
}

func (v *freshBatches) verify(ctx context.Context, server *client, n int64) error {
	return verifyPolls(ctx, server, v.prefix, n*votesTogether, freshBatchVoters)
}

// verifyPolls expects the first votes of polls that were filled one after the other, each
// voter's once.
func verifyPolls(ctx context.Context, server *client, prefix string, votes, voters int64) error {
	for poll := int64(0); poll*voters < votes; poll++ {
		var got, want statistics
		if err := server.get(ctx, "vote?id="+pollID(prefix, int(poll)), decodeInto(&got)); err != nil {
			return err
		}
		for voter := range min(voters, votes-poll*voters) {
			want.Count, want.Sum = want.Count+1, want.Sum+votedValue(int(voter))
		}
		if got != want {
			return fmt.Errorf("poll %d: statistics are %+v, want %+v", poll, got, want)
		}
	}
	return nil
}
