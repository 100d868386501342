package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

const (
	bucketScheme = "s3://"
	// partSize is the size of the parts of an upload in bytes: what is held in memory. An
	// object has 10,000 parts at most, so an export 160 GB.
	partSize = 16 << 20
)

// bucket is a [Storage] in an S3-compatible object storage. A backup is complete when it
// has its checksums, which are written last and removed first.
type bucket struct {
	client *minio.Client
	name   string
	prefix string // of all keys, empty or with a slash at its end
}

// openBucket returns the storage at BUCKET/PREFIX. Endpoint, region and credentials are
// those of the environment variables that the tools of AWS read: AWS_ENDPOINT_URL_S3 or
// AWS_ENDPOINT_URL, AWS_REGION or AWS_DEFAULT_REGION, and those of [newCredentials].
func openBucket(location string) (*bucket, error) {
	name, prefix, _ := strings.Cut(location, "/")
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	endpoint, err := url.Parse(cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com"))
	if err != nil {
		return nil, fmt.Errorf("the endpoint of the object storage: %w", err)
	}
	if endpoint.Host == "" || endpoint.Scheme != "https" && endpoint.Scheme != "http" || strings.Trim(endpoint.Path, "/") != "" {
		return nil, fmt.Errorf("the endpoint of the object storage is %q, not https://HOST", endpoint.Redacted())
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Secure: endpoint.Scheme == "https",
		Region: cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
		Creds:  newCredentials(),
	})
	if err != nil {
		return nil, fmt.Errorf("the object storage at %s: %w", endpoint.Host, err)
	}
	return &bucket{client: client, name: name, prefix: prefix}, nil
}

// String implements [Storage].
func (b *bucket) String() string { return bucketScheme + b.name + "/" + b.prefix }

func (b *bucket) key(name, file string) string { return b.prefix + name + "/" + file }

// List implements [Storage].
func (b *bucket) List(ctx context.Context) ([]string, error) {
	files, err := b.listFiles(ctx, "")
	if err != nil {
		return nil, err
	}
	var names []string
	for name, files := range files {
		if slices.Contains(files, sumsFile) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// listFiles returns the files of backups, complete or not, by the backups' names. With a name
// it returns those of that backup.
func (b *bucket) listFiles(ctx context.Context, name string) (map[string][]string, error) {
	prefix := b.prefix
	if name != "" {
		prefix = b.key(name, "")
	}
	files := map[string][]string{}
	for object := range b.client.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if object.Err != nil {
			return nil, b.describe(object.Err)
		}
		if name, file, ok := strings.Cut(strings.TrimPrefix(object.Key, b.prefix), "/"); ok && isName(name) {
			files[name] = append(files[name], file)
		}
	}
	return files, context.Cause(ctx)
}

// describe adds the storage to an error, which is [fs.ErrNotExist] where it says so.
func (b *bucket) describe(err error) error {
	if err == nil {
		return nil
	}
	if code := minio.ToErrorResponse(err).Code; code == minio.NoSuchKey {
		err = errors.Join(fs.ErrNotExist, err)
	}
	return fmt.Errorf("%s: %w", b, err)
}

// Begin implements [Storage].
func (b *bucket) Begin(ctx context.Context, name string) (Draft, error) {
	files, err := b.listFiles(ctx, name)
	if err == nil && len(files) > 0 {
		err = fmt.Errorf("%s%s: %w", b, name, fs.ErrExist)
	}
	return bucketDraft{b, name}, err
}

// Open implements [Storage].
func (b *bucket) Open(ctx context.Context, name, file string) (io.ReadCloser, error) {
	object, err := b.client.GetObject(ctx, b.name, b.key(name, file), minio.GetObjectOptions{})
	if err == nil {
		_, err = object.Stat() // the first request
	}
	if err != nil {
		return nil, fmt.Errorf("%s of the backup %s: %w", file, name, b.describe(err))
	}
	return object, nil
}

// Remove implements [Storage].
func (b *bucket) Remove(ctx context.Context, name string) error {
	files, err := b.listFiles(ctx, name)
	if err != nil {
		return err
	}
	return b.removeFiles(ctx, name, files[name])
}

// removeFiles removes files of a backup, after the checksums. To remove what is not there is
// no error.
func (b *bucket) removeFiles(ctx context.Context, name string, files []string) error {
	for _, file := range append([]string{sumsFile}, files...) {
		if err := b.client.RemoveObject(ctx, b.name, b.key(name, file), minio.RemoveObjectOptions{}); err != nil {
			return b.describe(err)
		}
	}
	return nil
}

// RemoveUnfinished implements [Storage]: it removes uploads that were not finished, too.
func (b *bucket) RemoveUnfinished(ctx context.Context, before time.Time) error {
	files, err := b.listFiles(ctx, "")
	if err != nil {
		return err
	}
	for name, files := range files {
		if isAbandoned(name, before) && !slices.Contains(files, sumsFile) {
			if err := b.removeFiles(ctx, name, files); err != nil {
				return err
			}
		}
	}
	for upload := range b.client.ListIncompleteUploads(ctx, b.name, b.prefix, true) {
		name, _, _ := strings.Cut(strings.TrimPrefix(upload.Key, b.prefix), "/")
		if upload.Err == nil && isAbandoned(name, before) {
			upload.Err = b.client.RemoveIncompleteUpload(ctx, b.name, upload.Key)
		}
		if upload.Err != nil {
			return b.describe(upload.Err)
		}
	}
	return context.Cause(ctx)
}

// bucketDraft is a [Draft] in a bucket.
type bucketDraft struct {
	bucket *bucket
	name   string
}

// WriteFile implements [Draft].
func (d bucketDraft) WriteFile(ctx context.Context, file string, write func(io.Writer) error) error {
	content, writer := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := write(writer)
		_ = writer.CloseWithError(err) // never fails
		written <- err
	}()
	_, err := d.bucket.client.PutObject(ctx, d.bucket.name, d.bucket.key(d.name, file), content, -1, minio.PutObjectOptions{
		PartSize:             partSize,
		DisableContentSha256: true, // each part has a checksum, the file has one in SHA256SUMS
	})
	err = d.bucket.describe(err)
	_ = content.CloseWithError(cmp.Or(err, io.ErrClosedPipe)) // ends the writer; never fails
	return cmp.Or(<-written, err)
}

// Complete implements [Draft].
func (d bucketDraft) Complete(ctx context.Context, sums []byte) error {
	return d.WriteFile(ctx, sumsFile, func(w io.Writer) error {
		_, err := w.Write(sums)
		return err
	})
}

// Discard implements [Draft].
func (d bucketDraft) Discard(ctx context.Context) error { return d.bucket.Remove(ctx, d.name) }
