package extension

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/acclaim-dev/acclaim/api/v1alpha1"
)

// memory holds, by namespace, the statuses that were written and that the cache
// may not have seen yet. A namespace with many Extensions is reconciled again the
// moment it was, and would otherwise write, and announce, the last ones twice.
// The zero memory is empty.
type memory struct {
	mu         sync.Mutex
	namespaces map[string]statuses
}

// statuses are what the Extensions of one namespace were given.
type statuses map[types.UID]written

type written struct {
	status   v1alpha1.ExtensionStatus
	version  string   // of the object that has it
	outdated []string // versions before
}

// then returns what is known when an Extension was written over a version that
// was in the cache.
func (w written) then(e *v1alpha1.Extension, cached string) written {
	return written{
		status:   *e.Status.DeepCopy(),
		version:  e.ResourceVersion,
		outdated: slices.Concat(w.outdated, []string{w.version, cached}),
	}
}

// of returns the statuses of a namespace.
func (m *memory) of(namespace string) statuses {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.namespaces[namespace]
}

// keep replaces the statuses of a namespace.
func (m *memory) keep(namespace string, s statuses) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.namespaces == nil {
		m.namespaces = map[string]statuses{}
	}
	m.namespaces[namespace] = s
	if len(s) == 0 {
		delete(m.namespaces, namespace)
	}
}

// recall gives an Extension from the cache the status that it was given since,
// and reports whether there was one.
func (s statuses) recall(e *v1alpha1.Extension) bool {
	w := s[e.UID]
	if !slices.Contains(w.outdated, e.ResourceVersion) {
		return false
	}
	w.status.DeepCopyInto(&e.Status)
	return true
}
