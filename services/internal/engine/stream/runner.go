package stream

import "context"

// Runner is an engine to a process that runs it, whatever the engine's domain. [Engine]
// describes the methods.
type Runner interface {
	Serve(ctx context.Context, request []byte, answer func(part []byte)) error
	Stats() Stats
	Close(ctx context.Context) error
}
