package op

import (
	"encoding/binary"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// aggregator is the state of one aggregate call for all groups. What fits is kept in the words of
// the group's record from off on; the rest in pages of the aggregator's own.
type aggregator interface {
	// attach is called once, before anything else.
	attach(tab *groupTable)
	// add applies a batch.
	add(b *aggBatch) error
	// results appends the present result of each group to dst.
	results(ents []uint32, dst *vec.Vector) error
	// reset clears what is not in the words of e.
	reset(e uint32)
	encode(e uint32, dst []byte) []byte
	decode(e uint32, b []byte) (rest []byte, err error)
	// bytes estimates the memory outside the words.
	bytes() int
}

// multisetAgg is an aggregator that keeps its inputs, in a state table of their own.
type multisetAgg interface {
	openInputs(st exec.StateTable)
	// load reads the inputs of e; key is the group's state key.
	load(e uint32, key []byte) error
	// save writes the inputs of e that have changed.
	save(e uint32, key []byte)
}

// aggBatch is what an aggregate is fed with: n rows with their groups, multiplicities (nil: all
// +1) and arguments.
type aggBatch struct {
	n     int
	ents  []uint32
	diffs []int64
	args  []*vec.Vector

	// buffers of batches that are not simply a chunk
	rows    []int32
	own     []uint32
	diffBuf []int64
	argBuf  []*vec.Vector
}

// compact fills the batch with the rows b.rows of c.
func (b *aggBatch) compact(c *vec.Chunk, args []int, ents []uint32) {
	b.n = len(b.rows)
	b.own = b.own[:0]
	for _, r := range b.rows {
		b.own = append(b.own, ents[r])
	}
	b.ents, b.diffs = b.own, nil
	if c.Diffs != nil {
		b.diffBuf = b.diffBuf[:0]
		for _, r := range b.rows {
			b.diffBuf = append(b.diffBuf, c.Diffs[r])
		}
		b.diffs = b.diffBuf
	}
	b.args = b.args[:0]
	for i, k := range args {
		if len(b.argBuf) <= i {
			b.argBuf = append(b.argBuf, vec.NewVector(c.Cols[k].Type, 0))
		}
		b.argBuf[i].Reset()
		b.argBuf[i].AppendSel(c.Cols[k], b.rows)
		b.args = append(b.args, b.argBuf[i])
	}
}

func (b *aggBatch) diff(i int) int64 {
	if b.diffs == nil {
		return 1
	}
	return b.diffs[i]
}

// newAggregator makes the aggregator of call number no, whose words begin at off, and tells how
// many words it needs.
func newAggregator(g Agg, no int, args []types.Type, appendOnly bool, off int) (aggregator, int, error) {
	w := wordAgg{off: off}
	name := g.Fn.Name
	if len(args) == 0 {
		if name == "count" {
			if g.Filter < 0 {
				return &countStar{shared: true}, 0, nil
			}
			return &countStar{wordAgg: w}, 1, nil
		}
		return nil, 0, unsupported(g)
	}
	t := args[0]
	if g.Fn.Direct >= 0 {
		return withinGroup(g, no, args)
	}
	switch name {
	case "count":
		return &countArg{w}, 1, nil
	case "sum", "avg":
		avg := name == "avg"
		switch {
		case t.Kind == types.Int2 || t.Kind == types.Int4:
			return &sumInt{wordAgg: w, avg: avg}, 2, nil
		case t.Kind == types.Int8 && !avg && g.Type.Kind == types.Int8:
			// The planner's sum of partial results, which fits as the whole does.
			return &sumInt{wordAgg: w}, 2, nil
		case t.Kind == types.Int8:
			return &sumInt{wordAgg: w, wide: true, avg: avg}, 3, nil
		case t.Phys() == types.PhysFloat:
			return &sumFloat{avg: avg, single: t.Kind == types.Float4 && !avg}, 0, nil
		case t.Kind == types.Numeric:
			return &sumNumeric{avg: avg}, 0, nil
		case t.Kind == types.Interval:
			return &sumInterval{wordAgg: w, avg: avg}, 4, nil
		}
	case "min", "max":
		return newMinMax(name == "max", t, no, appendOnly, w)
	case "bool_and", "every", "bool_or":
		return &boolAgg{wordAgg: w, or: name == "bool_or"}, 2, nil
	case "bit_and", "bit_or", "bit_xor":
		return &bitAgg{name: name}, 0, nil
	case "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop":
		return newVariance(name, t)
	case "corr", "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2",
		"regr_slope", "regr_sxx", "regr_sxy", "regr_syy":
		return &regr{name: name}, 0, nil
	}
	if isOrdered(name) {
		return newOrdered(g, no, args, appendOnly)
	}
	return nil, 0, unsupported(g)
}

// isOrdered tells whether the order of the inputs shows in the result.
func isOrdered(name string) bool {
	switch name {
	case "string_agg", "array_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg", "json_rows_agg":
		return true
	}
	return isPick(name)
}

// isPick tells whether the result is a value of one input, chosen by an order.
func isPick(name string) bool {
	switch name {
	case "min_by", "arg_min", "max_by", "arg_max", "first_value", "last_value", "any_value":
		return true
	}
	return false
}

func unsupported(g Agg) error {
	return sqlerr.Newf(sqlerr.FeatureNotSupported, "aggregate function %s is not supported yet", g.Fn.ID)
}

// wordAgg is an aggregator that lives in the words of the groups only.
type wordAgg struct {
	tab *groupTable
	off int
}

func (w *wordAgg) attach(tab *groupTable) { w.tab = tab }
func (w *wordAgg) reset(uint32)           {}
func (w *wordAgg) bytes() int             { return 0 }

func (w *wordAgg) encodeWords(e uint32, n int, dst []byte) []byte {
	for _, x := range w.tab.rec(e)[w.off : w.off+n] {
		dst = binary.AppendVarint(dst, x)
	}
	return dst
}

func (w *wordAgg) decodeWords(e uint32, n int, b []byte) ([]byte, error) {
	rec := w.tab.rec(e)
	for i := range n {
		var err error
		if rec[w.off+i], b, err = takeVarint(b); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// countStar is count(*): with shared the group's own row count, else (FILTER) a word.
type countStar struct {
	wordAgg
	shared bool
}

func (a *countStar) words() int {
	if a.shared {
		return 0
	}
	return 1
}

func (a *countStar) add(b *aggBatch) error {
	if a.shared {
		return nil
	}
	for i, e := range b.ents {
		a.tab.rec(e)[a.off] += b.diff(i)
	}
	return nil
}

func (a *countStar) results(ents []uint32, dst *vec.Vector) error {
	off := a.off
	if a.shared {
		off = wordCount
	}
	for _, e := range ents {
		dst.Int = append(dst.Int, a.tab.rec(e)[off])
	}
	return nil
}

func (a *countStar) encode(e uint32, dst []byte) []byte { return a.encodeWords(e, a.words(), dst) }
func (a *countStar) decode(e uint32, b []byte) ([]byte, error) {
	return a.decodeWords(e, a.words(), b)
}

// countArg is count(x).
type countArg struct{ wordAgg }

func (a *countArg) add(b *aggBatch) error {
	v := b.args[0]
	nulls := v.HasNulls()
	for i, e := range b.ents {
		if !nulls || !v.Nulls.Get(i) {
			a.tab.rec(e)[a.off] += b.diff(i)
		}
	}
	return nil
}

func (a *countArg) results(ents []uint32, dst *vec.Vector) error {
	for _, e := range ents {
		dst.Int = append(dst.Int, a.tab.rec(e)[a.off])
	}
	return nil
}

func (a *countArg) encode(e uint32, dst []byte) []byte        { return a.encodeWords(e, 1, dst) }
func (a *countArg) decode(e uint32, b []byte) ([]byte, error) { return a.decodeWords(e, 1, b) }

// boolAgg is bool_and and bool_or: the counts of true and of false.
type boolAgg struct {
	wordAgg
	or bool
}

func (a *boolAgg) add(b *aggBatch) error {
	v := b.args[0]
	for i, e := range b.ents {
		if v.Nulls.Get(i) {
			continue
		}
		at := a.off
		if !v.Bool[i] {
			at++
		}
		a.tab.rec(e)[at] += b.diff(i)
	}
	return nil
}

func (a *boolAgg) results(ents []uint32, dst *vec.Vector) error {
	for _, e := range ents {
		rec := a.tab.rec(e)
		yes, no := rec[a.off], rec[a.off+1]
		switch {
		case yes == 0 && no == 0:
			dst.AppendNull()
		case a.or:
			dst.AppendBool(yes > 0)
		default:
			dst.AppendBool(no == 0)
		}
	}
	return nil
}

func (a *boolAgg) encode(e uint32, dst []byte) []byte        { return a.encodeWords(e, 2, dst) }
func (a *boolAgg) decode(e uint32, b []byte) ([]byte, error) { return a.decodeWords(e, 2, b) }
