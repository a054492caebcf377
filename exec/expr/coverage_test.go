package expr

import (
	"testing"

	"github.com/weirdb/weir/sql/fn"
)

// Every function, operator and cast of the registry has a kernel, and every kernel has an entry.
func TestKernelsMatchRegistry(t *testing.T) {
	ks := kernels()
	seen := map[string]bool{}
	for _, f := range fn.Default().All() {
		switch f.Kind {
		case fn.Scalar, fn.Operator, fn.Cast:
			seen[f.ID] = true
			if ks[f.ID] == nil {
				t.Errorf("%s has no kernel", f.ID)
			}
		}
	}
	for id := range ks {
		if !seen[id] {
			t.Errorf("the kernel %s has no entry in the registry", id)
		}
	}
}
