// Package secrets reads Secrets without keeping those of the whole cluster in
// memory. The watch is on the metadata of Secrets; the content of one is read
// when it is needed and kept as long as its metadata stays the same.
//
// Controllers that use it watch Secrets by their metadata alone: a watch with
// contents would keep all of them in memory.
package secrets

import (
	"context"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cacheSize is the number of Secrets whose contents are kept, least recently used
// out first.
const cacheSize = 1024

// Client reads the contents of Secrets on demand. It is safe for concurrent use.
type Client struct {
	client.Client
	live     client.Reader
	access   Access
	contents *lru.Cache[client.ObjectKey, *corev1.Secret]
}

// Access is the operator's access to Secrets.
type Access struct {
	// Sees reports whether the operator watches a namespace.
	Sees func(namespace string) bool
	// ByName is set where the operator may only get Secrets that its role names. It watches
	// none then, and each read asks the API server.
	ByName bool
}

// New returns a client that reads the contents of Secrets from live, which asks
// the API server, and their metadata and everything else from cached. Secrets in a
// namespace that the operator does not see are forbidden.
func New(cached client.Client, live client.Reader, access Access) *Client {
	contents, err := lru.New[client.ObjectKey, *corev1.Secret](cacheSize)
	if err != nil {
		panic(err) // the size is positive
	}
	return &Client{Client: cached, live: live, access: access, contents: contents}
}

// Get reads an object. The watch may not have delivered a new Secret yet, so a
// Secret that the cache does not have is looked up at the API server.
func (c *Client) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	secret, ok := o.(*corev1.Secret)
	if !ok {
		return c.Client.Get(ctx, key, o, options...)
	}
	if !c.access.Sees(key.Namespace) {
		return apierrors.NewForbidden(corev1.Resource("secrets"), key.Name, fmt.Errorf("the namespace %q is not watched", key.Namespace))
	}
	if c.access.ByName {
		return c.live.Get(ctx, key, secret, options...)
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

// IsUnreadable reports whether a Secret cannot be read for a reason that concerns only the
// objects that name it.
func IsUnreadable(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) }

// ReadAll returns the entries of the named Secrets of a namespace, by name.
// Secrets whose error is tolerated are left out.
func ReadAll(ctx context.Context, c client.Reader, namespace string, names []string, tolerated func(error) bool) (map[string]map[string][]byte, error) {
	contents := map[string]map[string][]byte{}
	for _, name := range names {
		if _, read := contents[name]; read {
			continue
		}
		var secret corev1.Secret
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &secret)
		switch {
		case err == nil:
			contents[name] = secret.Data
		case !tolerated(err):
			return nil, err
		}
	}
	return contents, nil
}
