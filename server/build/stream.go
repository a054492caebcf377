package build

import (
	"fmt"
	"slices"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/exec/op"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// Wrap puts operators between a leaf of an actor and its consumer; nil: none are needed.
type Wrap func(actor int, leaf *flow.Node) (*flow.Node, error)

// Leaves knows how to attach to other relations.
type Leaves interface {
	// Table attaches to a table or materialized view; cols are ordinals of its columns.
	Table(rel *catalog.Relation, cols []int, parallel int) (flow.Input, Wrap)
	// Lookup attaches to a table or materialized view whose rows are looked up: only barriers count. Versions opens them.
	Lookup(rel *catalog.Relation, parallel int) flow.Input
	Versions(rel *catalog.Relation) func(storage.Epoch) (*storage.Version, error)
	// Shared attaches to a table or materialized view that a join reads by key: its changes come, and go through what the
	// leaf has, if anything. hash are the columns that distribute them.
	Shared(rel *catalog.Relation, cols, hash []int, drive bool, parallel int) (flow.Input, SharedLeaf)
	// Source attaches to a source; the row id is the column after its last one.
	Source(rel *catalog.Relation, cols []int, parallel int) (flow.Input, Wrap, error)
	// SourceParallel is how many actors can read a source.
	SourceParallel(rel *catalog.Relation) (int, error)
}

// SharedLeaf is how a join begins with a side that a relation keeps.
type SharedLeaf struct {
	Start op.SharedStart
	// Wrap is as for a leaf, and gives also what op.SharedSide.Seen is; nil: no operators are needed.
	Wrap func(actor int, leaf *flow.Node) (*flow.Node, func() ([]byte, bool), error)
}

// Stream builds the job of a stream plan.
type Stream struct {
	Leaves Leaves
	// Writer gives the place where actor number i of the last fragment puts a view's rows. Before,
	// Prepare is told the number of actors.
	Prepare func(actors int)
	Writer  func(i int) op.Arrangement
	// Sink takes the rows of a sink.
	Sink        exec.Sink
	SinkColumns []exec.Column
	// MaxRecursion bounds the iterations of a recursive query for one epoch.
	MaxRecursion int

	// LeafCount is, after Build, the number of leaves with a Wrap in each fragment.
	LeafCount map[int]int
}

// Build adds the plan's fragments to j.
func (b *Stream) Build(j *flow.Job, p *plan.Stream) error {
	b.LeafCount = map[int]int{}
	for i, pf := range p.Fragments {
		f, err := b.fragment(j, p, pf)
		if err != nil {
			return fmt.Errorf("fragment %d: %w", pf.ID, err)
		}
		if i == len(p.Fragments)-1 && b.Prepare != nil {
			b.Prepare(f.Parallel)
		}
		j.Fragments = append(j.Fragments, f)
	}
	return nil
}

// fragmentBuilder collects the inputs of one fragment; the tree itself is built once for each actor.
type fragmentBuilder struct {
	b *Stream
	f *flow.Fragment
	j *flow.Job
	p *plan.Stream
	// inputs and wraps by leaf node.
	inputs map[plan.Node][]int
	wraps  []Wrap
	shared map[*plan.TableScan]SharedLeaf
	// seen is what shared leaves of the actor that is being built have seen.
	seen  map[*plan.TableScan]func() ([]byte, bool)
	used  map[plan.Node]int
	names map[string]int
}

func (b *Stream) fragment(j *flow.Job, p *plan.Stream, pf *plan.Fragment) (*flow.Fragment, error) {
	f := &flow.Fragment{ID: pf.ID, Parallel: pf.Parallel, Types: pf.Root.Properties().Types()}
	fb := &fragmentBuilder{b: b, f: f, j: j, p: p, inputs: map[plan.Node][]int{}, shared: map[*plan.TableScan]SharedLeaf{}}
	if err := fb.parallel(pf.Root); err != nil {
		return nil, err
	}
	if err := fb.collect(pf, pf.Root); err != nil {
		return nil, err
	}
	if h, ok := pf.Root.(*plan.LoopHead); ok {
		f.Loop = &flow.Loop{Types: h.In.Properties().Types(), Tail: fragmentIndex(p, h.Feedback), MaxRounds: b.MaxRecursion}
	}
	f.Root = func(i int) (*flow.Node, error) {
		// The builder's own state must not be shared by actors that start at the same time.
		mine := *fb
		mine.used, mine.names, mine.seen = map[plan.Node]int{}, map[string]int{}, map[*plan.TableScan]func() ([]byte, bool){}
		return mine.node(pf.Root, i)
	}
	return f, nil
}

// parallel fits the number of actors to a source that is read by peers.
func (fb *fragmentBuilder) parallel(n plan.Node) error {
	if s, ok := n.(*plan.SourceScan); ok && fb.f.Parallel > 1 {
		k, err := fb.b.Leaves.SourceParallel(s.Rel)
		if err != nil {
			return err
		}
		fb.f.Parallel = k
	}
	for _, in := range n.Inputs() {
		if err := fb.parallel(in); err != nil {
			return err
		}
	}
	return nil
}

// collect makes an input of the fragment for each leaf; a leaf that several nodes read is several
// inputs.
func (fb *fragmentBuilder) collect(pf *plan.Fragment, n plan.Node) error {
	add := func(in flow.Input, w Wrap) {
		fb.inputs[n] = append(fb.inputs[n], len(fb.f.Inputs))
		fb.f.Inputs = append(fb.f.Inputs, in)
		fb.wraps = append(fb.wraps, w)
		if w != nil {
			fb.b.LeafCount[fb.f.ID]++
		}
	}
	switch n := n.(type) {
	case *plan.TableScan:
		if s := n.Shared; s != nil {
			in, leaf := fb.b.Leaves.Shared(n.Rel, n.Cols, s.Hash, s.Drive, fb.f.Parallel)
			fb.shared[n] = leaf
			var w Wrap
			if leaf.Wrap != nil {
				w = func(int, *flow.Node) (*flow.Node, error) { return nil, nil } // see node
			}
			add(in, w)
			break
		}
		in, w := fb.b.Leaves.Table(n.Rel, n.Cols, fb.f.Parallel)
		add(in, w)
	case *plan.LookupScan:
		add(fb.b.Leaves.Lookup(n.Rel, fb.f.Parallel), nil)
		fb.j.Lookups = append(fb.j.Lookups, flow.JobID(n.Rel.Job()))
	case *plan.ProcTime:
		fb.j.Timed = true
	case *plan.SourceScan:
		cols := n.Cols
		if n.RowID {
			cols = append(append([]int(nil), cols...), width(n.Rel))
		}
		in, w, err := fb.b.Leaves.Source(n.Rel, cols, fb.f.Parallel)
		if err != nil {
			return err
		}
		add(in, w)
	case *plan.Receive:
		in, err := fb.receive(pf, n)
		if err != nil {
			return err
		}
		add(in, nil)
	}
	for _, in := range n.Inputs() {
		if err := fb.collect(pf, in); err != nil {
			return err
		}
	}
	return nil
}

// width is the number of columns that a source's connector gives.
func width(r *catalog.Relation) int {
	n := 0
	for _, c := range r.Columns {
		if !c.Hidden {
			n++
		}
	}
	return n
}

func (fb *fragmentBuilder) receive(pf *plan.Fragment, n *plan.Receive) (flow.Input, error) {
	for _, f := range fb.p.Fragments {
		if f.ID != n.From {
			continue
		}
		for _, s := range f.Sends {
			// There may be several, for references to one recursive query, or one part of a query.
			if s.To != pf.ID || s.Feedback || s.Dist.Kind != n.Dist.Kind || !slices.Equal(s.Dist.Cols, n.Dist.Cols) {
				continue
			}
			d := flow.Dist{Kind: flow.ToSingle}
			switch s.Dist.Kind {
			case plan.Hash:
				d = flow.Dist{Kind: flow.ToHash, Cols: s.Dist.Cols}
			case plan.Broadcast:
				d.Kind = flow.ToAll
			}
			return flow.Input{Job: fb.j.ID, Fragment: fragmentIndex(fb.p, n.From), Dist: d, Loop: n.Loop}, nil
		}
	}
	return flow.Input{}, fmt.Errorf("fragment %d sends nothing to fragment %d", n.From, pf.ID)
}

func fragmentIndex(p *plan.Stream, id int) int {
	for i, f := range p.Fragments {
		if f.ID == id {
			return i
		}
	}
	return -1
}

// node builds the tree of actor i.
func (fb *fragmentBuilder) node(n plan.Node, i int) (*flow.Node, error) {
	if ins := fb.inputs[n]; ins != nil {
		k := ins[fb.used[n]%len(ins)]
		fb.used[n]++
		leaf := &flow.Node{Input: k}
		if scan, ok := n.(*plan.TableScan); ok && fb.shared[scan].Wrap != nil {
			wrapped, seen, err := fb.shared[scan].Wrap(i, leaf)
			if err != nil {
				return nil, err
			}
			fb.seen[scan] = seen
			fb.rename(wrapped)
			return wrapped, nil
		}
		if w := fb.wraps[k]; w != nil {
			wrapped, err := w(i, leaf)
			if err != nil {
				return nil, err
			}
			fb.rename(wrapped)
			return wrapped, nil
		}
		return leaf, nil
	}
	out := &flow.Node{Name: fb.name(n)}
	for _, in := range n.Inputs() {
		c, err := fb.node(in, i)
		if err != nil {
			return nil, err
		}
		out.In = append(out.In, c)
	}
	var err error
	switch n := n.(type) {
	case *plan.HashJoin:
		cfg := hashJoin(n)
		if cfg.LeftShared, err = fb.sharedSide(n.LeftShared); err == nil {
			cfg.RightShared, err = fb.sharedSide(n.RightShared)
		}
		if err == nil {
			out.Op, err = op.NewHashJoin(cfg)
		}
		for k, sh := range []*op.SharedSide{cfg.LeftShared, cfg.RightShared} {
			if sh != nil && sh.Start != op.SharedNone {
				unseen(out.In[k])
			}
		}
	case *plan.Materialize:
		out.Op, err = op.NewMaterialize(op.MaterializeConfig{
			In: n.In.Properties().Types(), Key: sortKeys(n.Key), Target: fb.b.Writer(i),
			AppendOnlyIn: n.In.Properties().AppendOnly,
		})
	case *plan.Watermark:
		out.Op, err = op.NewWatermark(watermark(n, i, fb.f.Parallel))
	case *plan.WindowClose:
		out.Op, err = op.NewWindowClose(op.WindowCloseConfig{
			In: n.In.Properties().Types(), Col: n.Col, Dist: n.InDist,
			Own: func(v byte) bool { return flow.Owner(v, fb.f.Parallel) == i },
		})
	case *plan.LoopHead:
		cfg := op.LoopHeadConfig{In: n.In.Properties().Types(), All: n.All, Ordinal: n.Ordinal, Vnode: fb.vnode(i)}
		out.Op, err = op.NewLoopHead(cfg)
	case *plan.Lookup:
		cfg := op.LookupConfig{
			Kind: joinKind(n.Kind), Left: n.In.Properties().Types(), Right: n.R.Types(), Keys: n.Keys,
			Unique: len(n.Keys) == len(n.R.Rel.Key), Residual: n.Residual, Output: n.Output, VersionAt: fb.b.Leaves.Versions(n.R.Rel),
		}
		for i := range n.Keys {
			k := n.R.Rel.Key[i]
			cfg.KeyOrder = append(cfg.KeyOrder, vec.SortKey{Col: i, Desc: k.Desc, NullsFirst: k.NullsFirst})
		}
		out.Op, err = op.NewLookup(cfg)
	case *plan.TemporalFilter:
		cfg := op.TemporalFilterConfig{
			In: n.In.Properties().Types(), Value: n.Value, Bound: n.Bound, Upper: n.Upper, Inclusive: n.Inclusive, Slack: n.Slack,
			RowKey: n.RowKey, AppendOnlyIn: n.AppendOnlyIn, Vnode: fb.vnode(i),
		}
		out.Op, err = op.NewTemporalFilter(cfg)
	case *plan.Sink:
		var w exec.SinkWriter
		if w, err = fb.b.Sink.Open(fb.j.Context(), fb.b.SinkColumns); err != nil {
			return nil, err
		}
		out.Op, err = op.NewSink(op.SinkConfig{In: n.In.Properties().Types(), Visible: n.Visible, Writer: w})
	default:
		out.Op, err = operator(n, fb.j.Env, false)
	}
	return out, err
}

// unseen marks the operators of a side whose first rows do not go through them.
func unseen(n *flow.Node) {
	n.Unseen = true
	for _, in := range n.In {
		unseen(in)
	}
}

// sharedSide configures a side of a join that a relation keeps; nil for one that the join keeps.
func (fb *fragmentBuilder) sharedSide(sh *plan.Shared) (*op.SharedSide, error) {
	if sh == nil {
		return nil, nil
	}
	out := &op.SharedSide{
		Cols: sh.Scan.Cols, Unique: sh.Unique, VersionAt: fb.b.Leaves.Versions(sh.Scan.Rel), Start: fb.shared[sh.Scan].Start,
		Seen: fb.seen[sh.Scan],
	}
	for _, c := range sh.Scan.Rel.Columns {
		out.Relation = append(out.Relation, c.Type)
	}
	for i, k := range sh.Keys {
		of := sh.Scan.Rel.Key[i]
		out.Key = append(out.Key, vec.SortKey{Col: k, Desc: of.Desc, NullsFirst: of.NullsFirst})
	}
	for _, n := range sh.Steps {
		o, err := operator(n, fb.j.Env, false)
		if err != nil {
			return nil, err
		}
		out.Steps = append(out.Steps, o)
	}
	return out, nil
}

// vnode is one of those that actor i owns.
func (fb *fragmentBuilder) vnode(i int) (v byte) {
	for flow.Owner(v, fb.f.Parallel) != i {
		v++
	}
	return v
}

// name identifies an operator within its fragment: its kind and its number among those of the kind.
func (fb *fragmentBuilder) name(n plan.Node) string {
	kind := fmt.Sprintf("%T", n)
	kind = kind[len("*plan."):]
	fb.names[kind]++
	return fmt.Sprintf("%s%d", kind, fb.names[kind])
}

func (fb *fragmentBuilder) rename(n *flow.Node) {
	if n.Op == nil {
		return
	}
	fb.names[n.Name]++
	n.Name = fmt.Sprintf("%s%d", n.Name, fb.names[n.Name])
	for _, in := range n.In {
		fb.rename(in)
	}
}

// Narrow keeps the first columns of a node's output.
func Narrow(in *flow.Node, ts []types.Type, cols int) (*flow.Node, error) {
	var es []scalar.Expr
	for i := range cols {
		es = append(es, &scalar.Column{Node: scalar.Node{T: ts[i], Pos: -1}, Index: i})
	}
	p, err := op.NewProject(op.ProjectConfig{In: ts, Exprs: es})
	if err != nil {
		return nil, err
	}
	return &flow.Node{Op: p, Name: "narrow", In: []*flow.Node{in}}, nil
}

// StateNames gives the names under which the nodes of a plan keep their state: "fragment/operator". Leaves have none.
func StateNames(p *plan.Stream) map[plan.Node]string {
	out := map[plan.Node]string{}
	for _, f := range p.Fragments {
		fb := &fragmentBuilder{names: map[string]int{}}
		var node func(n plan.Node)
		node = func(n plan.Node) {
			switch n.(type) {
			case *plan.TableScan, *plan.SourceScan, *plan.Receive:
				return
			}
			out[n] = fmt.Sprintf("%d/%s", f.ID, fb.name(n))
			for _, in := range n.Inputs() {
				node(in)
			}
		}
		node(f.Root)
	}
	return out
}
