package mongostore

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/services/internal/cluster/peer"
	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// memberRecord is a process that shares the database. Only that process writes it.
type memberRecord struct {
	ID      string   `bson:"_id"`
	Beat    int64    `bson:"beat"`
	Address string   `bson:"address"`
	Digest  []byte   `bson:"digest"`
	Serves  []string `bson:"serves"`

	Unreachable []string `bson:"unreachable"`
	Level       int      `bson:"level,omitempty"`
}

// WriteHeartbeat implements [peer.Membership].
func (s *Store) WriteHeartbeat(ctx context.Context, m peer.Member) error {
	record := memberRecord{m.ID, int64(m.Heartbeat), m.Address, m.Digest, m.Serves, m.Unreachable, int(m.Level)}
	_, err := s.members.ReplaceOne(ctx, bson.D{{Key: "_id", Value: m.ID}}, record, options.Replace().SetUpsert(true))
	if err != nil {
		return unavailableError(err) // whether it was stored or not, the next one replaces it
	}
	s.confirmed.Store(new(time.Now()))
	return nil
}

// Members implements [peer.Membership].
func (s *Store) Members(ctx context.Context) ([]peer.Member, error) {
	cursor, err := s.members.Find(ctx, bson.D{})
	if err != nil {
		return nil, unavailableError(err)
	}
	var records []memberRecord
	if err := cursor.All(ctx, &records); err != nil {
		return nil, readFailure(err)
	}
	members := make([]peer.Member, len(records))
	for i, r := range records {
		members[i] = peer.Member{ID: r.ID, Heartbeat: uint64(r.Beat), Address: r.Address, Digest: r.Digest, Serves: r.Serves, Unreachable: r.Unreachable, Level: stream.Level(r.Level)}
	}
	return members, nil
}

// Leave implements [peer.Membership].
func (s *Store) Leave(ctx context.Context, id string) error {
	_, err := s.members.DeleteOne(ctx, bson.D{{Key: "_id", Value: id}})
	return err
}
