// Package secrets reads Secrets without keeping those of the whole cluster in
// memory. What is watched of a Secret is its metadata; its contents are read
// when somebody asks for it and kept as long as the metadata is the same.
//
// Whoever uses it watches Secrets by their metadata alone: a watch with contents
// is what it is there to avoid.
package secrets

import (
	"context"

	lru "github.com/hashicorp/golang-lru/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kept is how many Secrets are kept. Beyond that, the one that was not asked for
// the longest is read again.
const kept = 1024

// Client is a client that reads Secrets so. It may be used by several goroutines
// at once.
type Client struct {
	client.Client
	live     client.Reader
	contents *lru.Cache[client.ObjectKey, *corev1.Secret]
}

// New returns a client that gets metadata and all that is not a Secret from
// cached and the contents of Secrets from live, which asks the API server.
func New(cached client.Client, live client.Reader) *Client {
	contents, err := lru.New[client.ObjectKey, *corev1.Secret](kept)
	if err != nil {
		panic(err) // the size is positive
	}
	return &Client{Client: cached, live: live, contents: contents}
}

// Get reads an object. A Secret that is new may not have been seen by the watch
// yet, so the API server has the last word on one that is not there.
func (c *Client) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	secret, ok := o.(*corev1.Secret)
	if !ok {
		return c.Client.Get(ctx, key, o, options...)
	}
	metadata := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}}
	seen := c.Client.Get(ctx, key, &metadata, options...)
	if client.IgnoreNotFound(seen) != nil {
		return seen
	}
	if known, ok := c.contents.Get(key); ok && seen == nil && known.ResourceVersion == metadata.ResourceVersion {
		known.DeepCopyInto(secret)
		return nil
	}
	if err := c.live.Get(ctx, key, secret, options...); err != nil {
		if apierrors.IsNotFound(err) {
			c.contents.Remove(key)
		}
		return err
	}
	c.contents.Add(key, secret.DeepCopy())
	return nil
}
