package mongostore

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/acclaim-dev/acclaim/services/internal/engine/stream"
)

// snapshotRecord is the head of a whole snapshot: it is written after its parts.
// Later ones have greater ids, as far as the clocks of their writers agree; where
// they do not, a stream keeps an older snapshot and replays more.
type snapshotRecord struct {
	ID     bson.ObjectID `bson:"_id"`
	Stream string        `bson:"stream"`
	Seq    int64         `bson:"seq"`
	At     int64         `bson:"at"`
	Sum    []byte        `bson:"sum"`
	Format int64         `bson:"format"`
	Parts  int64         `bson:"parts"`
	Digest []byte        `bson:"digest"` // SHA-256 of the state
}

type partRecord struct {
	Key      string        `bson:"_id"`
	Stream   string        `bson:"stream"`
	Snapshot bson.ObjectID `bson:"snapshot"`
	State    []byte        `bson:"state"`
}

// partBytes keeps records well below the limit of a document, 16 MiB.
const partBytes = 8 << 20

func partKey(id bson.ObjectID, n int) string { return numberedKey(id.Hex(), uint64(n)) }

// SaveSnapshot implements [stream.Store].
func (s *Store) SaveSnapshot(ctx context.Context, name string, snapshot stream.Snapshot) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	digest := sha256.Sum256(snapshot.State)
	record := snapshotRecord{
		ID:     bson.NewObjectID(),
		Stream: name,
		Seq:    int64(snapshot.Head.Seq),
		At:     snapshot.Head.At,
		Sum:    snapshot.Head.Sum[:],
		Format: int64(snapshot.Format),
		Digest: digest[:],
	}
	for part := range slices.Chunk(snapshot.State, partBytes) {
		_, err := s.parts.InsertOne(ctx, partRecord{partKey(record.ID, int(record.Parts)), name, record.ID, part})
		if err != nil && !mongo.IsDuplicateKeyError(err) { // a duplicate is this insert, retried
			return writeError(err)
		}
		record.Parts++
	}
	if _, err := s.snapshots.InsertOne(ctx, record); err != nil && !mongo.IsDuplicateKeyError(err) {
		return writeError(err)
	}
	return s.deleteOlderSnapshots(ctx, name, record.ID)
}

// deleteOlderSnapshots deletes the snapshots of a stream before an id, and the
// parts of unfinished ones.
func (s *Store) deleteOlderSnapshots(ctx context.Context, name string, id bson.ObjectID) error {
	older := bson.D{{Key: "$lt", Value: id}}
	_, err := s.snapshots.DeleteMany(ctx, bson.D{{Key: "stream", Value: name}, {Key: "_id", Value: older}})
	if err != nil {
		return err
	}
	_, err = s.parts.DeleteMany(ctx, bson.D{{Key: "stream", Value: name}, {Key: "snapshot", Value: older}})
	return err
}

// DeleteSnapshot implements [stream.Store].
func (s *Store) DeleteSnapshot(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, c := range []*mongo.Collection{s.snapshots, s.parts} {
		if _, err := c.DeleteMany(ctx, bson.D{{Key: "stream", Value: name}}); err != nil {
			return writeError(err)
		}
	}
	return nil
}

// LoadSnapshot implements [stream.Store].
func (s *Store) LoadSnapshot(ctx context.Context, name string) (stream.Snapshot, bool, error) {
	cursor, err := s.snapshots.Find(ctx, bson.D{{Key: "stream", Value: name}},
		options.Find().SetSort(bson.D{{Key: "_id", Value: -1}}))
	if err != nil {
		return stream.Snapshot{}, false, unavailableError(err)
	}
	var records []snapshotRecord
	if err := cursor.All(ctx, &records); err != nil {
		return stream.Snapshot{}, false, readFailure(err)
	}
	for _, record := range records {
		snapshot, whole, err := s.loadSnapshot(ctx, record)
		if whole || err != nil {
			return snapshot, whole, err
		}
	}
	return stream.Snapshot{}, false, nil
}

// loadSnapshot reads a snapshot. It is not whole while another one replaces it.
func (s *Store) loadSnapshot(ctx context.Context, r snapshotRecord) (snapshot stream.Snapshot, whole bool, err error) {
	snapshot.Head = stream.Head{Seq: uint64(r.Seq), At: r.At}
	snapshot.Format = uint32(r.Format)
	if copy(snapshot.Head.Sum[:], r.Sum) != len(r.Sum) {
		return snapshot, false, fmt.Errorf("%w: snapshot %s of %s", stream.ErrDamaged, r.ID.Hex(), r.Stream)
	}
	for n := range int(r.Parts) {
		var part partRecord
		found, err := s.readOne(ctx, s.parts, s.filterByID(partKey(r.ID, n), streamField, r.Stream), &part)
		if !found {
			return snapshot, false, err
		}
		snapshot.State = append(snapshot.State, part.State...)
	}
	digest := sha256.Sum256(snapshot.State)
	return snapshot, slices.Equal(digest[:], r.Digest), nil
}
