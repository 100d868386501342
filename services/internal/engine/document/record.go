package document

import (
	"context"
	"encoding/json"

	"github.com/acclaim-dev/acclaim/services/internal/fault"
)

// ComputeRecord returns a change of a document whose body is a T in JSON: the zero T where the
// document was never written. change may run several times; its error refuses the edit.
func ComputeRecord[T any](change func(*T) error) Change {
	return Compute(func(body []byte) ([]byte, error) {
		record, err := decodeRecord[T](body)
		if err == nil {
			err = change(&record)
		}
		if err != nil {
			return nil, err
		}
		return json.Marshal(record)
	})
}

// ReadRecord returns a document as a T, the zero T where it was never written.
func ReadRecord[T any](ctx context.Context, s *Service, name string) (record T, err error) {
	found, err := s.Get(ctx, name)
	if err != nil || found[0].Version == 0 {
		return record, err
	}
	return decodeRecord[T](found[0].Body)
}

func decodeRecord[T any](body []byte) (record T, err error) {
	if err = json.Unmarshal(body, &record); err != nil {
		err = fault.Wrap(fault.Internal, err, "The stored document cannot be read")
	}
	return record, err
}
