package mongostore

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Old versions of a document are kept until there are pruneEvery more than
// keepVersions.
const (
	keepVersions = 32
	pruneEvery   = 16
)

// pruneDue starts pruning those of the documents that have come to a version at
// which it is due.
func (s *Store) pruneDue(newest map[string]int64) {
	for key, version := range newest {
		if version%pruneEvery == 0 {
			s.pruning.start(func(ctx context.Context) { s.prune(ctx, key, uint64(version)) })
		}
	}
}

// prune deletes the versions of a document that are too old to matter, one by
// one. What is left by a failure goes with the next.
func (s *Store) prune(ctx context.Context, key string, newest uint64) {
	if newest < keepVersions {
		return
	}
	cursor, err := s.documents.Find(ctx, bson.D{
		{Key: "key", Value: key},
		{Key: "version", Value: bson.D{{Key: "$lte", Value: int64(newest - keepVersions)}}},
	}, options.Find().SetProjection(bson.D{{Key: "_id", Value: 1}}))
	if err != nil {
		return
	}
	var records []documentRecord
	if cursor.All(ctx, &records) != nil {
		return
	}
	for _, r := range records {
		if _, err := s.documents.DeleteOne(ctx, bson.D{{Key: "_id", Value: r.ID}}); err != nil {
			return
		}
	}
}
