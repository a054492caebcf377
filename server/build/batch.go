package build

import (
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/batch"
	"github.com/weirdb/weir/planner/plan"
)

// BatchLeaves opens the leaves of batch plans on a snapshot.
type BatchLeaves interface {
	Scan(n *plan.Scan) (batch.Leaf, error)
	Source(n *plan.SourceScan) (batch.Leaf, error)
}

// Batch builds the tree of a batch plan without parameters.
func Batch(n plan.Node, leaves BatchLeaves, env *exec.Env) (*batch.Node, error) {
	switch n := n.(type) {
	case *plan.Scan:
		l, err := leaves.Scan(n)
		return &batch.Node{Leaf: l}, err
	case *plan.SourceScan:
		l, err := leaves.Source(n)
		return &batch.Node{Leaf: l}, err
	}
	o, err := operator(n, env, true)
	if err != nil {
		return nil, err
	}
	out := &batch.Node{Op: o}
	_, out.BuildLast = n.(*plan.HashJoin)
	for _, in := range n.Inputs() {
		c, err := Batch(in, leaves, env)
		if err != nil {
			return nil, err
		}
		out.In = append(out.In, c)
	}
	return out, nil
}
