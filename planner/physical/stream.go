package physical

import (
	"cmp"
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/catalog"
)

// Terminal says how a stream plan ends.
type Terminal struct {
	// Sink: the changes go to a sink; else they are materialized under Key.
	Sink bool
	// Ordered: the sink has one writer, to whom the changes of a row come in order.
	Ordered bool
	// Key is the stream key; nil for a sink that needs none.
	Key []logical.ColID
	// Order are positions in the output that the order of the materialized rows begins with, before Key.
	Order []plan.SortKey
	// OnClose: rows come when they are final.
	OnClose bool
}

// Stream makes the plan of a job: the columns out, then the key columns that are not among
// them, hidden.
func Stream(c Config, n logical.Node, out []logical.ColID, names []string, end Terminal) (p *plan.Stream, err error) {
	defer catch(&err)
	b := &builder{Config: c, stream: true, rels: map[catalog.ID]*catalog.Relation{}}
	need := logical.SetOf(out...)
	need.AddSet(logical.SetOf(end.Key...))
	x := b.node(n, need)
	all := slices.Clone(out)
	hidden := 0
	allNames := slices.Clone(names)
	for _, k := range end.Key {
		if !slices.Contains(all, k) {
			all = append(all, k)
			hidden++
			allNames = append(allNames, hiddenName(b.Meta.Info(k).Name, allNames))
		}
	}
	x = b.named(x, all, allNames)
	pr := x.node.Properties()
	for i := len(out); i < len(all); i++ {
		pr.Cols[i].Hidden = true
	}
	key := []int{}
	for _, k := range end.Key {
		key = append(key, slices.Index(all, k))
	}
	slices.SortFunc(key, cmp.Compare)
	pr.HasKey, pr.Key = end.Key != nil, key
	deriveWatermarks(x.node)
	if end.OnClose {
		tick(x.node)
		if x, pr, err = onClose(x, key); err != nil {
			return nil, err
		}
	}
	var root plan.Node
	if end.Sink {
		s := &plan.Sink{Props: *pr, In: x.node, Ordered: end.Ordered}
		for i := range out {
			s.Visible = append(s.Visible, i)
		}
		root = s
	} else {
		m := &plan.Materialize{Props: *pr, In: x.node, InDist: key, Key: slices.Clone(end.Order)}
		for _, k := range key {
			if !slices.ContainsFunc(end.Order, func(o plan.SortKey) bool { return o.Col == k }) {
				m.Key = append(m.Key, plan.SortKey{Col: k})
			}
		}
		root = m
	}
	p = &plan.Stream{Columns: pr.Cols, AppendOnly: pr.AppendOnly, Watermarks: pr.Watermarks, Relations: b.relations(), Taken: b.taken}
	if m, ok := root.(*plan.Materialize); ok {
		p.Key = m.Key
	}
	p.Fragments = distribute(root, max(c.Parallelism, 1))
	return p, nil
}

// hiddenName gives a key column a name that no other column has.
func hiddenName(name string, taken []string) string {
	if !slices.Contains(taken, name) && name != "" {
		return name
	}
	for i := 1; ; i++ {
		n := name + "_" + itoa(i)
		if !slices.Contains(taken, n) {
			return n
		}
	}
}

func itoa(i int) string {
	if i < 10 {
		return string(rune('0' + i))
	}
	return itoa(i/10) + itoa(i%10)
}
