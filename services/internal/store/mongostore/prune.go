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

// pruneDue starts pruning the documents whose new version makes it due.
func (s *Store) pruneDue(newest map[string]int64) {
	for key, version := range newest {
		if version%pruneEvery == 0 {
			s.pruning.start(func(ctx context.Context) { s.pruneVersions(ctx, key, uint64(version)) })
		}
	}
}

// pruneVersions deletes the old versions of a document one by one. The next run
// deletes what a failure leaves.
func (s *Store) pruneVersions(ctx context.Context, key string, newest uint64) {
	if newest < keepVersions {
		return
	}
	cursor, err := s.documents.Find(ctx, bson.D{
		{Key: "key", Value: key},
		{Key: "version", Value: bson.D{{Key: "$lte", Value: int64(newest - keepVersions)}}},
	}, options.Find().SetProjection(onlyField("version")))
	if err != nil {
		return
	}
	var records []documentRecord
	if cursor.All(ctx, &records) != nil {
		return
	}
	for _, r := range records {
		if _, err := s.documents.DeleteOne(ctx, s.versionFilter(key, uint64(r.Version))); err != nil {
			return
		}
	}
}
