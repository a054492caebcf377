package op

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/types"
)

// Agg is one aggregate call.
type Agg struct {
	Fn *fn.Func
	// Args are input columns; empty for count(*).
	Args     []int
	Distinct bool
	// Filter is a bool input column, or -1: only rows where it is true count.
	Filter int
	// OrderBy (columns of the input) is the order in which order-dependent aggregates see the rows.
	OrderBy []SortKey
	// Type is the result type; the zero Type stands for Fn.Ret.
	Type types.Type
}

// HashAggConfig configures HashAgg.
type HashAggConfig struct {
	In   []types.Type
	Keys []int
	Aggs []Agg
	// AppendOnlyIn promises that the input has no negative diffs.
	AppendOnlyIn bool
	// Dist are the columns by which the input is distributed, a subset of Keys.
	Dist []int
}

// HashAgg maintains SELECT keys, aggs ... GROUP BY keys.
//
//	In:      one port, any changelog (diffs may be negative).
//	Out:     keys, agg results; at each barrier, for each group whose result changed, the old
//	         row with diff -1 and then the new row with diff +1, in the order in which the epoch
//	         first touched the groups. A group without rows has none; without keys there is one
//	         group, which always has a row. Without aggregates it is DISTINCT.
//	State:   one entry per live group, state table "groups", keyed by the group keys; for
//	         min and max over retractable input and ordered aggregates the multiset of inputs, state
//	         table "inputs"; for DISTINCT the values of a group, state tables "distinct0" and so on.
//	Memory:  the groups changed since the last checkpoint, plus a cache within its budget; in batch plans what
//	         Context.SpillOver allows (hash_agg_spill.go).
//	Barrier: emits the epoch's changes, hands dirty groups to the state table, forwards it. Groups below a watermark
//	         of a key column are forgotten; their rows stay with the consumers.
//	Errors:  those of aggregates, such as a sum out of range, through Context.RowError, for the group: NULL stands
//	         for the result. ErrNegativeMultiplicity if a group would fall below zero rows: the input
//	         retracted what it never inserted. Fatal to the job's region.
type HashAgg struct {
	base
	cfg  HashAggConfig
	tab  *groupTable
	aggs []aggregator
	sets []*distinctSet
	// argOf tells what feeds each aggregate.
	feeds []aggFeed

	inputs exec.StateTable
	marks  marks

	// touched are the groups changed in this epoch, in order; res holds the results before it of those that
	// are shown, in the same order, and, while the barrier is handled, new results of some after that.
	touched     []uint32
	shownBefore int // rows of res
	res         *vec.Chunk

	keyV   []*vec.Vector
	outc   *vec.Chunk
	piece  *vec.Chunk
	fresh  []uint32
	oEnts  []uint32
	oRows  []int32
	oDiffs []int64
	gone   []uint32
	opened bool

	// spills: groups may go to partitions, see hash_agg_spill.go. spill is where they do, depth how often these rows did before.
	spills bool
	spill  *aggSpill
	depth  int
}

// aggFeed says which rows an aggregate is fed with.
type aggFeed struct {
	args   []int
	filter int
	set    *distinctSet // nil if not DISTINCT
	setNo  int          // which filter of the set

	batch aggBatch // buffers for filtered rows
}

// NewHashAgg checks the configuration. An aggregate that is not supported is 0A000.
func NewHashAgg(cfg HashAggConfig) (*HashAgg, error) {
	a, err := newHashAgg(cfg, 0)
	if err == nil {
		a.spills = len(cfg.Keys) > 0 && a.Fixed()
	}
	return a, err
}

// newHashAgg is NewHashAgg with some words in the record of a group, before those of the aggregates, that the
// caller uses as it likes. They are not saved.
func newHashAgg(cfg HashAggConfig, extra int) (*HashAgg, error) {
	n := len(cfg.In)
	if err := errors.Join(checkCols("HashAgg.Keys", cfg.Keys, n), checkCols("HashAgg.Dist", cfg.Dist, n)); err != nil {
		return nil, err
	}
	a := &HashAgg{cfg: cfg}
	keyTypes := pickTypes(cfg.In, cfg.Keys)
	dist, err := distPositions("HashAgg", cfg.Dist, cfg.Keys)
	if err != nil {
		return nil, err
	}
	a.schema = append(a.schema, keyTypes...)
	words := extra
	for i, g := range cfg.Aggs {
		if err := errors.Join(checkCols("HashAgg.Args", g.Args, n), checkAggFilter(g.Filter, cfg.In)); err != nil {
			return nil, err
		}
		if g.Type == (types.Type{}) {
			g.Type = g.Fn.Ret
		}
		feed := aggFeed{args: g.Args, filter: g.Filter}
		for _, k := range g.OrderBy {
			if err := checkCols("HashAgg.OrderBy", []int{k.Col}, n); err != nil {
				return nil, err
			}
		}
		if g.Distinct && len(g.Args) > 0 && !distinctIsNoop(g.Fn.Name) {
			feed.set, feed.setNo = a.distinctSetFor(g)
		} else if len(g.OrderBy) > 0 && isOrdered(g.Fn.Name) {
			// Ordered aggregates get the order columns after their arguments.
			feed.args = append(append([]int{}, g.Args...), sortCols(g.OrderBy)...)
		}
		a.feeds = append(a.feeds, feed)
		agg, w, err := newAggregator(g, i, pickTypes(cfg.In, feed.args), cfg.AppendOnlyIn, wordOwner+words)
		if err != nil {
			return nil, err
		}
		words += w
		a.aggs = append(a.aggs, agg)
		a.schema = append(a.schema, g.Type)
	}
	a.tab = newGroupTable(keyTypes, dist, words, aggOwner{a})
	for _, agg := range a.aggs {
		agg.attach(a.tab)
	}
	for _, s := range a.sets {
		s.init(keyTypes, dist, cfg.In)
	}
	a.res = vec.NewChunk(a.schema[len(keyTypes):], 0)
	a.outc = vec.NewChunk(a.schema, 0)
	a.piece = vec.NewChunk(a.schema, 0)
	return a, nil
}

func sortCols(keys []SortKey) []int {
	cols := make([]int, len(keys))
	for i, k := range keys {
		cols[i] = k.Col
	}
	return cols
}

// distinctIsNoop: these give the same with and without DISTINCT.
func distinctIsNoop(name string) bool {
	switch name {
	case "min", "max", "bool_and", "bool_or", "every", "bit_and", "bit_or":
		return true
	}
	return false
}

func checkAggFilter(f int, in []types.Type) error {
	if f >= len(in) || f >= 0 && in[f].Phys() != types.PhysBool {
		return fmt.Errorf("HashAgg.Filter: column %d is no bool column", f)
	}
	return nil
}

// distPositions translates distribution columns into positions within keys.
func distPositions(what string, dist, keys []int) ([]int, error) {
	out := make([]int, len(dist))
next:
	for i, d := range dist {
		for k, c := range keys {
			if c == d {
				out[i] = k
				continue next
			}
		}
		return nil, fmt.Errorf("%s: distribution column %d is not a key", what, d)
	}
	return out, nil
}

// Open opens the state tables.
func (a *HashAgg) Open(ctx *exec.Context, out exec.Output) error {
	if err := a.base.Open(ctx, out); err != nil {
		return err
	}
	a.tab.open(a.state("groups"))
	a.tab.rowError = ctx.RowError
	a.tab.env = textEnv(ctx.Env)
	for _, agg := range a.aggs {
		if m, ok := agg.(multisetAgg); ok {
			if a.inputs == nil {
				a.inputs = a.state("inputs")
			}
			m.openInputs(a.inputs)
		}
	}
	for i, s := range a.sets {
		s.tab.open(a.state(fmt.Sprintf("distinct%d", i)))
	}
	return nil
}

// Chunk adds rows to their groups.
func (a *HashAgg) Chunk(_ int, c *vec.Chunk) error {
	if a.spill != nil {
		var err error
		if c, err = a.divide(c); err != nil {
			return err
		}
	}
	n := c.Len()
	if n == 0 {
		return nil
	}
	a.keyV = pick(c, a.cfg.Keys, a.keyV)
	ents, err := a.tab.lookup(a.keyV, n)
	if err != nil {
		return err
	}
	if err := a.touch(ents); err != nil {
		return err
	}
	// The counts. One pass, since nearly every query needs them.
	pages, w := a.tab.words.pages, a.tab.words.w
	if c.Diffs == nil {
		for _, e := range ents {
			pages[e>>pageBits][int(e&pageMask)*w]++
		}
	} else {
		for i, e := range ents {
			pages[e>>pageBits][int(e&pageMask)*w] += c.Diffs[i]
		}
	}
	for _, s := range a.sets {
		if err := s.prepare(c, a.keyV, ents); err != nil {
			return err
		}
	}
	for i, agg := range a.aggs {
		if cs, ok := agg.(*countStar); ok && cs.shared && a.feeds[i].filter < 0 {
			continue
		}
		b := a.feed(&a.feeds[i], c, ents)
		if b.n == 0 {
			continue
		}
		if err := agg.add(b); err != nil {
			return err
		}
	}
	return a.account()
}

// touch notes the groups that this epoch has not touched before, with the results that are shown.
func (a *HashAgg) touch(ents []uint32) error {
	a.fresh = a.fresh[:0]
	pages, w := a.tab.words.pages, a.tab.words.w
	for _, e := range ents {
		f := &pages[e>>pageBits][int(e&pageMask)*w+wordFlags]
		if *f&flagTouched == 0 {
			*f |= flagTouched | flagRef
			a.touched = append(a.touched, e)
			if *f&flagShown != 0 {
				a.fresh = append(a.fresh, e)
			}
		}
	}
	if len(a.fresh) == 0 {
		return nil
	}
	a.shownBefore += len(a.fresh)
	for i, agg := range a.aggs {
		if err := a.results(i, agg, a.fresh, -1); err != nil {
			return err
		}
	}
	return nil
}

// results appends the results of aggregate i for some groups to res; diff says whether those that fail did so until now
// (-1), or do from now on (1).
func (a *HashAgg) results(i int, agg aggregator, ents []uint32, diff int64) error {
	dst := a.res.Cols[i]
	a.tab.site, a.tab.of, a.tab.from, a.tab.diff = i, ents, dst.Len(), diff
	err := agg.results(ents, dst)
	a.tab.of = nil
	return err
}

// feed makes the batch for one aggregate.
func (a *HashAgg) feed(f *aggFeed, c *vec.Chunk, ents []uint32) *aggBatch {
	b := &f.batch
	if f.set != nil {
		return &f.set.batches[f.setNo]
	}
	if f.filter < 0 {
		b.n, b.ents, b.diffs = c.Len(), ents, c.Diffs
		b.args = pick(c, f.args, b.args)
		return b
	}
	v := c.Cols[f.filter]
	b.rows = b.rows[:0]
	for i, x := range v.Bool[:c.Len()] {
		if x && !v.Nulls.Get(i) {
			b.rows = append(b.rows, int32(i))
		}
	}
	b.compact(c, f.args, ents)
	return b
}

// Barrier emits the changes of the epoch and hands over dirty state.
func (a *HashAgg) Barrier(bar exec.Barrier) error {
	if !a.opened {
		a.opened = true
		if len(a.cfg.Keys) == 0 && len(a.cfg.Aggs) > 0 {
			ents, err := a.tab.lookup(nil, 1)
			if err != nil {
				return err
			}
			if a.tab.rec(ents[0])[wordFlags]&flagShown == 0 {
				if err := a.touch(ents[:1]); err != nil {
					return err
				}
			}
		}
	}
	if err := a.flush(); err != nil {
		return err
	}
	if a.spill != nil {
		if err := a.rest(bar); err != nil {
			return err
		}
		return a.out.Barrier(bar)
	}
	if err := a.save(bar); err != nil {
		return err
	}
	for i, k := range a.cfg.Keys {
		if w, ok := a.marks.get(k); ok {
			if err := a.sweep(bar, i, w); err != nil {
				return err
			}
			if err := a.out.Watermark(exec.Watermark{Col: i, Value: w}); err != nil {
				return err
			}
		}
	}
	return a.out.Barrier(bar)
}

// Watermark keeps the watermark until the barrier.
func (a *HashAgg) Watermark(_ int, w exec.Watermark) error {
	a.marks.set(w)
	return nil
}

// sweep forgets the groups whose key column k is below w, when it is time.
func (a *HashAgg) sweep(bar exec.Barrier, k int, w int64) error {
	if a.tab.sweeper.due(bar, a.tab.st) {
		if err := a.tab.sweep(k, w); err != nil {
			return err
		}
		if _, err := deleteBelow(a.inputs, a.tab.keyTypes, k, w); err != nil {
			return err
		}
	}
	for _, s := range a.sets {
		if s.tab.sweeper.due(bar, s.tab.st) {
			if err := s.tab.sweep(k, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// save hands over dirty state at a checkpoint, and keeps within the budget.
func (a *HashAgg) save(bar exec.Barrier) error {
	if bar.Checkpoint {
		for _, s := range a.sets {
			s.tab.checkpoint()
		}
		a.tab.checkpoint()
		if b := a.budget(); b > 0 {
			b /= int64(1 + len(a.sets))
			a.tab.restart(b)
			for _, s := range a.sets {
				s.tab.restart(b)
			}
		}
	}
	return a.account()
}

// live tells whether a group has an output row.
func (a *HashAgg) live(rec []int64) bool {
	return rec[wordCount] > 0 || len(a.cfg.Keys) == 0 && len(a.cfg.Aggs) > 0
}

// flush emits what the epoch has changed, some groups at a time.
func (a *HashAgg) flush() error {
	old := 0 // place in res of the next shown group's old result
	base := a.shownBefore
	a.gone = a.gone[:0]
	for left := a.touched; len(left) > 0; {
		piece := left[:min(len(left), 4*a.max)]
		left = left[len(piece):]
		for i, agg := range a.aggs {
			a.res.Cols[i].Truncate(base)
			if err := a.results(i, agg, piece, 1); err != nil {
				return err
			}
		}
		a.oEnts, a.oRows, a.oDiffs = a.oEnts[:0], a.oRows[:0], a.oDiffs[:0]
		for i, e := range piece {
			rec := a.tab.rec(e)
			if rec[wordCount] < 0 {
				return fmt.Errorf("group %s: %w", a.describe(e), ErrNegativeMultiplicity)
			}
			shown, live := rec[wordFlags]&flagShown != 0, a.live(rec)
			rec[wordFlags] &^= flagTouched | flagShown
			if live {
				rec[wordFlags] |= flagShown
			}
			if !shown || !live || !a.unchanged(old, base+i) {
				if shown {
					a.oEnts, a.oRows, a.oDiffs = append(a.oEnts, e), append(a.oRows, int32(old)), append(a.oDiffs, -1)
				}
				if live {
					a.oEnts, a.oRows, a.oDiffs = append(a.oEnts, e), append(a.oRows, int32(base+i)), append(a.oDiffs, 1)
				}
			}
			if shown {
				old++
			}
			a.tab.dirtied(e)
			if !live && a.tab.st == nil {
				a.gone = append(a.gone, e)
			}
		}
		if err := a.send(); err != nil {
			return err
		}
	}
	a.res.Reset()
	a.touched, a.shownBefore = a.touched[:0], 0
	a.tab.drop(a.gone)
	for _, s := range a.sets {
		s.endEpoch()
	}
	return nil
}

func (a *HashAgg) unchanged(i, j int) bool {
	for _, v := range a.res.Cols {
		if !vec.SameAt(v, i, v, j) {
			return false
		}
	}
	return true
}

// send emits the listed rows of res.
func (a *HashAgg) send() error {
	nk := len(a.cfg.Keys)
	for lo := 0; lo < len(a.oEnts); lo += a.max {
		hi := min(lo+a.max, len(a.oEnts))
		c := a.outc
		c.Reset()
		for k := range nk {
			a.tab.store.gather(k, a.oEnts[lo:hi], c.Cols[k])
		}
		for k, v := range a.res.Cols {
			c.Cols[nk+k].AppendSel(v, a.oRows[lo:hi])
		}
		for _, d := range a.oDiffs[lo:hi] {
			c.PushDiff(d)
		}
		if err := a.out.Chunk(c); err != nil {
			return err
		}
	}
	return nil
}

func (a *HashAgg) describe(e uint32) string { return a.tab.describe(e, len(a.tab.keyTypes)) }

// account says what the groups hold, and evicts what is too much.
func (a *HashAgg) account() error {
	held, dirty := a.tab.held(), a.tab.dirtyBytes(len(a.touched))
	for _, s := range a.sets {
		held += s.tab.held()
		dirty += s.tab.dirtyBytes(len(s.touched))
	}
	if a.spill != nil {
		held += int(a.spill.spool.Held())
	}
	if a.overfull(int64(held)) {
		a.startSpill()
	}
	err := a.mem.Set(int64(held), int64(dirty))
	if b := a.budget(); b > 0 {
		share := b / int64(1+len(a.sets))
		a.tab.evict(share)
		for _, s := range a.sets {
			s.tab.evict(share)
		}
	}
	return err
}

// Close deletes the temporary file.
func (a *HashAgg) Close() {
	if a.spill != nil {
		// What is left of it goes with the next start.
		_ = a.spill.spool.Close()
	}
	a.base.Close()
}

// aggOwner encodes the aggregates of a group.
type aggOwner struct{ a *HashAgg }

func (o aggOwner) reset(e uint32) {
	for _, agg := range o.a.aggs {
		agg.reset(e)
	}
}

func (o aggOwner) exists(e uint32) bool { return o.a.live(o.a.tab.rec(e)) }

func (o aggOwner) encode(e uint32, dst []byte) []byte {
	dst = binary.AppendVarint(dst, o.a.tab.rec(e)[wordCount])
	for _, agg := range o.a.aggs {
		dst = agg.encode(e, dst)
	}
	return dst
}

func (o aggOwner) decode(e uint32, b []byte) error {
	var err error
	if o.a.tab.rec(e)[wordCount], b, err = takeVarint(b); err != nil {
		return err
	}
	for _, agg := range o.a.aggs {
		if b, err = agg.decode(e, b); err != nil {
			return err
		}
	}
	if len(b) != 0 {
		return vec.ErrCorruptRow
	}
	return nil
}

func (o aggOwner) loaded(e uint32, key []byte) error {
	for _, agg := range o.a.aggs {
		if m, ok := agg.(multisetAgg); ok {
			if err := m.load(e, key); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o aggOwner) saved(e uint32, key []byte) {
	for _, agg := range o.a.aggs {
		if m, ok := agg.(multisetAgg); ok {
			m.save(e, key)
		}
	}
}

func (o aggOwner) extraBytes() int {
	n := 0
	for _, agg := range o.a.aggs {
		n += agg.bytes()
	}
	return n
}

func takeVarint(b []byte) (int64, []byte, error) {
	x, n := binary.Varint(b)
	if n <= 0 {
		return 0, nil, vec.ErrCorruptRow
	}
	return x, b[n:], nil
}
