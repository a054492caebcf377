package op

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/types"
)

// WindowConfig configures Window.
type WindowConfig struct {
	In          []types.Type
	PartitionBy []int
	OrderBy     []SortKey
	// RowKey identifies a row and orders those that are equal in OrderBy; nil: rows are a multiset, ordered by all
	// columns, and nothing is kept in a state table.
	RowKey []int
	Calls  []WindowCall
	// Dist are the columns by which the input is distributed, a subset of PartitionBy.
	Dist []int
}

// WindowCall is one call of a window function, or of an aggregate as one.
type WindowCall struct {
	Fn *fn.Func
	// Args are input columns; those with a constant in Consts are -1.
	Args   []int
	Consts []types.Datum
	// Filter is a bool input column, or -1: only rows where it is true are aggregated.
	Filter int
	Frame  Frame
	// Type is the result type.
	Type types.Type
}

// Window adds the results of window functions to its rows. All calls are over the same partitions and order.
//
//	In:      one port, any changelog.
//	Out:     the input columns and the results; at each barrier, first the old rows with diff -1, then the new
//	         ones, of all rows that came, went or changed in any column: partition by partition in the order of their
//	         first change, and in each in its order.
//	State:   all rows, state table "rows", keyed by partition and row key. The order and the results are made
//	         again when a partition is first touched after a restart.
//	Memory:  the partitions changed since the last checkpoint, plus a cache within its budget.
//	Barrier: emits the epoch's changes, hands dirty rows to the state table, forwards it.
//	Errors:  those of the calls, through Context.RowError, for the row: NULL stands for the result.
//	         ErrNegativeMultiplicity if a row is retracted that is not there.
//
// How the results follow a change:
//
//  1. A partition is an orderTree of its rows by order columns and row key. Changes are kept until the barrier, sorted,
//     netted and applied to the tree.
//  2. Each call knows which rows around a change its result may differ for (window_reach.go): a few rows, groups or values,
//     or all up to an end of the partition; in that case it often knows that nothing differs any more beyond the first
//     row that is as it was.
//  3. The results of these rows are worked out from the tree, in logarithmic time or less, and compared with the ones
//     that are kept beside the row; what is the same is not emitted.
//
// When much of a partition has changed, all of it is worked out in one pass.
type Window struct {
	base
	cfg   WindowConfig
	order []SortKey // OrderBy and then what makes the order total
	calls []*winCall
	aggs  []*winAgg
	// sums has the states of aggregates, see winAgg.
	sums *groupTable
	loc  *time.Location

	parts *rowStore
	idx   *keyIndex
	recs  paged[winPart]
	cold  bool
	hand  uint32

	// rows has the input columns and then the results.
	rows   *rowStore
	flags  paged[uint8]
	partOf paged[uint32]
	ident  []int
	st     exec.StateTable
	dirty  []uint32
	stuck  bool
	// graves are rows that left in this epoch and are yet to be emitted.
	graves  []uint32
	touched []uint32

	// The partition that is being worked out.
	cur     *winPart
	changes []winChange
	changed []uint32 // rows whose results changed, with their old results in before, in this order
	before  *vec.Chunk
	peers   [2]int

	// What is to be emitted, over all partitions.
	dels, ins []outRow

	// fails are the results of rows in memory that failed, with their errors; they are NULL. failure is why the one
	// that was just worked out did. loading: what fails did so before.
	fails   map[winResult]error
	failure error
	loading bool

	keyV    []*vec.Vector
	hashes  []uint64
	ents    []uint32
	keyBuf  *vec.Chunk
	rowBuf  *vec.Chunk
	distV   []*vec.Vector
	identV  []*vec.Vector
	keys    stateKeys
	val     []byte
	outc    *vec.Chunk
	nDist   []int
	scratch []uint32
}

// winPart is a partition.
type winPart struct {
	tree    orderTree
	pending []winPending
	dirty   int // dirty rows
	touched bool
	ref     bool
}

// winPending is a change that has come in this epoch.
type winPending struct {
	row uint32
	no  uint32 // in the order of arrival
	d   int64
}

// winChange is a net change of a partition.
type winChange struct {
	kind changeKind
	row  uint32 // the new row, or the one that went
	old  uint32 // replaced: the old row, else none
	at   int    // its place in the new tree, or where it would be
	// pf and pe are where its group of peers begins and ends.
	pf, pe int
}

type changeKind uint8

const (
	rowCame changeKind = iota
	rowWent
	rowReplaced
)

// outRow is a row to be emitted; before is where its old results are, or -1: with the row.
type outRow struct {
	row    uint32
	before int
}

// Flags of rows, besides rowDirty and rowStored.
const (
	rowHead    uint8 = 64  // begins a group of peers
	rowFresh   uint8 = 128 // came or was replaced in this epoch: its results are no news
	rowChanged uint8 = 32  // its old results are in Window.before
)

// NewWindow checks the configuration. A function that is not supported is 0A000.
func NewWindow(cfg WindowConfig) (*Window, error) {
	n := len(cfg.In)
	err := errors.Join(checkCols("Window.PartitionBy", cfg.PartitionBy, n), checkCols("Window.RowKey", cfg.RowKey, n),
		checkCols("Window.OrderBy", sortCols(cfg.OrderBy), n))
	if err != nil {
		return nil, err
	}
	w := &Window{cfg: cfg, loc: time.UTC}
	if w.nDist, err = distPositions("Window", cfg.Dist, cfg.PartitionBy); err != nil {
		return nil, err
	}
	w.schema = append(w.schema, cfg.In...)
	words := 0
	for i, c := range cfg.Calls {
		if err := errors.Join(checkCallCols(c, n), checkAggFilter(c.Filter, cfg.In)); err != nil {
			return nil, err
		}
		if err := w.checkFrame(c.Frame); err != nil {
			return nil, err
		}
		w.schema = append(w.schema, c.Type)
		call := &winCall{w: w, no: i, cfg: c, col: n + i}
		if c.Fn.Kind == fn.Aggregate {
			if call.agg, err = newWinAgg(w, i, c, wordOwner+words); err != nil {
				return nil, err
			}
			words += call.agg.words
			w.aggs = append(w.aggs, call.agg)
		}
		call.plan()
		w.calls = append(w.calls, call)
	}
	w.ident = cfg.RowKey
	if w.ident == nil {
		for i := range n {
			w.ident = append(w.ident, i)
		}
	}
	w.order = append(w.order, cfg.OrderBy...)
	for _, c := range w.ident {
		if !slices.ContainsFunc(cfg.OrderBy, func(k SortKey) bool { return k.Col == c }) && !slices.Contains(cfg.PartitionBy, c) {
			w.order = append(w.order, SortKey{Col: c})
		}
	}
	w.parts = newRowStore(pickTypes(cfg.In, cfg.PartitionBy))
	w.idx = newKeyIndex(w.parts, len(cfg.PartitionBy))
	w.rows = newRowStore(w.schema)
	w.sums = newGroupTable(nil, nil, words, nil)
	for _, a := range w.aggs {
		if a.agg != nil {
			a.agg.attach(w.sums)
		}
	}
	w.newSum() // entry 0
	w.keyBuf = vec.NewChunk(w.parts.types(), 0)
	w.rowBuf = vec.NewChunk(cfg.In, 0)
	w.before = vec.NewChunk(w.schema[n:], 0)
	w.outc = vec.NewChunk(w.schema, 0)
	return w, nil
}

func checkCallCols(c WindowCall, n int) error {
	for i, k := range c.Args {
		if k == -1 && i < len(c.Consts) {
			continue
		}
		if err := checkCols("Window.Args", []int{k}, n); err != nil {
			return err
		}
	}
	return nil
}

// Open opens the state table.
func (w *Window) Open(ctx *exec.Context, out exec.Output) error {
	if err := w.base.Open(ctx, out); err != nil {
		return err
	}
	if w.st = w.state("rows"); w.st != nil && w.cfg.RowKey == nil {
		return errors.New("Window: a stream's rows need a key")
	}
	w.cold = w.st != nil && !w.st.Empty()
	w.sums.rowError = func(f exec.RowFailure) error {
		w.failure = f.Err
		return nil
	}
	if ctx.Env != nil && ctx.Env.Location != nil {
		w.loc = ctx.Env.Location
	}
	return nil
}

func (w *Window) isHead(r uint32) bool { return *w.flags.at(r)&rowHead != 0 }

// newSum gives an entry of aggregates.
func (w *Window) newSum() uint32 {
	e := w.sums.store.alloc()
	w.sums.words.ensure(w.sums.store.n)
	for _, a := range w.aggs {
		a.clear(e)
	}
	return e
}

func (w *Window) dropSum(e uint32) {
	for _, a := range w.aggs {
		a.clear(e)
	}
	w.sums.store.release(e)
}

// newRow stores row i of c, without results.
func (w *Window) newRow(c *vec.Chunk, i int, part uint32) uint32 {
	r := w.rows.alloc()
	w.flags.ensure(w.rows.n)
	w.partOf.ensure(w.rows.n)
	for k, v := range c.Cols {
		w.rows.put(k, r, v, i)
	}
	for k := len(c.Cols); k < len(w.schema); k++ {
		w.rows.setNull(&w.rows.cols[k], r)
	}
	*w.flags.at(r) = 0
	*w.partOf.at(r) = part
	return r
}

// Chunk keeps the changes for the barrier.
func (w *Window) Chunk(_ int, c *vec.Chunk) error {
	n := c.Len()
	if n == 0 {
		return nil
	}
	w.keyV = pick(c, w.cfg.PartitionBy, w.keyV)
	w.hashes = vec.HashRows(w.keyV, n, w.hashes)
	if cap(w.ents) < n {
		w.ents = make([]uint32, max(n, 64))
	}
	w.ents = w.ents[:n]
	w.idx.findOrAdd(w.keyV, w.hashes, w.ents)
	if len(w.idx.added) > 0 {
		w.recs.ensure(w.parts.n)
		if err := w.load(n); err != nil {
			return err
		}
	}
	for i, e := range w.ents {
		p := w.recs.at(e)
		if !p.touched {
			p.touched, p.ref = true, true
			w.touched = append(w.touched, e)
		}
		p.pending = append(p.pending, winPending{w.newRow(c, i, e), uint32(len(p.pending)), c.Diff(i)})
	}
	return w.account()
}

// compare is the total order of the rows of a partition.
func (w *Window) compare(a, b uint32) int {
	if c := w.rows.compare(a, b, w.order); c != 0 || w.cfg.RowKey != nil {
		return c
	}
	for k := range w.cfg.In {
		c := &w.rows.cols[k]
		if !inexactType(c.t) || c.isNull(a) || c.isNull(b) {
			continue
		}
		if r := compareTotal(c.t, w.rows.datum(k, a), w.rows.datum(k, b)); r != 0 {
			return r
		}
	}
	return 0
}

// peersOf orders rows by OrderBy alone.
func (w *Window) peersOf(a, b uint32) int { return w.rows.compare(a, b, w.cfg.OrderBy) }

// sameInput tells whether the input columns of two rows are the same to the last bit.
func (w *Window) sameInput(a, b uint32) bool {
	for k := range w.cfg.In {
		if !vec.SameDatum(w.cfg.In[k], w.rows.datum(k, a), w.rows.datum(k, b)) {
			return false
		}
	}
	return true
}

// net sorts the pending changes of p and leaves what they come to.
func (w *Window) net(p *winPart) error {
	w.changes = w.changes[:0]
	in := p.pending
	slices.SortFunc(in, func(a, b winPending) int {
		if c := w.compare(a.row, b.row); c != 0 {
			return c
		}
		return int(a.no) - int(b.no)
	})
	for len(in) > 0 {
		n := 1
		for n < len(in) && w.compare(in[0].row, in[n].row) == 0 {
			n++
		}
		var err error
		if w.cfg.RowKey != nil {
			err = w.netRow(p, in[:n])
		} else {
			err = w.netCopies(p, in[:n])
		}
		if err != nil {
			return err
		}
		in = in[n:]
	}
	p.pending = nil
	return nil
}

// find gives the first row of p that is not before r, and whether it is equal.
func (w *Window) find(p *winPart, r uint32) (place, uint32, bool) {
	at := p.tree.first(func(x uint32) bool { return w.compare(x, r) >= 0 })
	x := p.tree.row(at)
	return at, x, x != none && w.compare(x, r) == 0
}

// netRow nets the changes of one row by key: at most one of them, or the row in the tree, is left.
func (w *Window) netRow(p *winPart, in []winPending) error {
	_, old, ok := w.find(p, in[0].row)
	if !ok {
		old = none
	}
	total, last := int64(0), -1
	if ok {
		total = 1
	}
	for i, c := range in {
		total += c.d
		if c.d > 0 {
			last = i
		}
	}
	if total < 0 {
		return w.negative(in[0].row)
	}
	kept := none
	if total > 0 && last >= 0 {
		kept = in[w.survivor(old, in, last)].row
		if old != none && w.sameInput(old, kept) {
			kept = none // nothing new
		}
	}
	switch {
	case total == 0 && old != none:
		w.changes = append(w.changes, winChange{kind: rowWent, row: old, old: none})
	case kept != none && old != none:
		w.changes = append(w.changes, winChange{kind: rowReplaced, row: kept, old: old})
	case kept != none:
		w.changes = append(w.changes, winChange{kind: rowCame, row: kept, old: none})
	}
	for _, c := range in {
		if c.row != kept {
			w.rows.release(c.row)
		}
	}
	return nil
}

// survivor tells which of the rows with one key is there in the end: the last one that came and was not taken back.
func (w *Window) survivor(old uint32, in []winPending, last int) int {
	if len(in) <= 2 {
		return last
	}
	for i := last; i >= 0; i-- {
		if in[i].d <= 0 {
			continue
		}
		n := int64(0)
		if old != none && w.sameInput(old, in[i].row) {
			n++
		}
		for _, c := range in {
			if w.sameInput(c.row, in[i].row) {
				n += c.d
			}
		}
		if n > 0 {
			return i
		}
	}
	return last
}

func (w *Window) negative(row uint32) error {
	w.rowBuf.Reset()
	for k, v := range w.rowBuf.Cols {
		w.rows.gather(k, []uint32{row}, v)
	}
	return fmt.Errorf("window: row (%s): %w", vec.FormatRow(w.rowBuf, 0), ErrNegativeMultiplicity)
}

// netCopies nets the changes of equal rows without a key.
func (w *Window) netCopies(p *winPart, in []winPending) error {
	at, _, ok := w.find(p, in[0].row)
	total := int64(0)
	for _, c := range in {
		total += c.d
	}
	var gone []uint32
	for ok && total < 0 {
		x := p.tree.row(at)
		if x == none || w.compare(x, in[0].row) != 0 {
			break
		}
		gone = append(gone, x)
		total++
		if at.at+1 < p.tree.len() {
			at.next()
		} else {
			break
		}
	}
	if total < 0 {
		return w.negative(in[0].row)
	}
	for _, x := range gone {
		w.changes = append(w.changes, winChange{kind: rowWent, row: x, old: none})
	}
	used := 0
	for ; total > 0; total-- {
		r := none
		if used < len(in) {
			r = in[used].row
			used++
		} else {
			r = w.copyRow(in[0].row)
		}
		w.changes = append(w.changes, winChange{kind: rowCame, row: r, old: none})
	}
	for _, c := range in[used:] {
		w.rows.release(c.row)
	}
	return nil
}

func (w *Window) copyRow(r uint32) uint32 {
	w.rowBuf.Reset()
	for k, v := range w.rowBuf.Cols {
		w.rows.gather(k, []uint32{r}, v)
	}
	return w.newRow(w.rowBuf, 0, *w.partOf.at(r))
}

func (w *Window) markDirty(p *winPart, r uint32) {
	if w.st == nil {
		return
	}
	if f := w.flags.at(r); *f&rowDirty == 0 {
		*f |= rowDirty
		w.dirty = append(w.dirty, r)
		p.dirty++
	}
}

// applyChanges brings the net changes into the tree; bulk tells that all results are to be worked out again.
func (w *Window) applyChanges(p *winPart) (bulk bool) {
	for i := range w.changes {
		c := &w.changes[i]
		switch c.kind {
		case rowWent:
			w.bury(p, c.row)
		case rowReplaced:
			*w.flags.at(c.row) |= *w.flags.at(c.old)&rowStored | rowFresh
			w.undirty(p, c.old)
			w.graves = append(w.graves, c.old)
			w.markDirty(p, c.row)
		default:
			*w.flags.at(c.row) |= rowFresh
			w.markDirty(p, c.row)
		}
	}
	if p.tree.len() == 0 || len(w.changes) > 8+p.tree.len()/8 {
		w.rebuild(p)
		return true
	}
	for i := range w.changes {
		c := &w.changes[i]
		switch c.kind {
		case rowWent:
			at, _, _ := w.find(p, c.row)
			for p.tree.row(at) != c.row { // copies
				at.next()
			}
			w.setHead(at.leaf, c.row, false)
			p.tree.remove(w, at)
			w.fixHead(p, at.at)
		case rowReplaced:
			at, _, _ := w.find(p, c.row)
			at.leaf.rows[at.i] = c.row
			*w.flags.at(c.row) |= *w.flags.at(c.old) & rowHead
			at.leaf.changed(0, 0)
		default:
			at := p.tree.first(func(x uint32) bool { return w.compare(x, c.row) > 0 })
			p.tree.insert(at, c.row)
			leaf := p.tree.at(at.at).leaf
			w.fixHead(p, at.at)
			w.fixHead(p, at.at+1)
			p.tree.split(w, leaf)
		}
	}
	for i := range w.changes {
		c := &w.changes[i]
		c.at = p.tree.first(func(x uint32) bool { return w.compare(x, c.row) >= 0 }).at
		for c.kind != rowWent && p.tree.row(p.tree.at(c.at)) != c.row { // copies
			c.at++
		}
		c.pf = p.tree.first(func(x uint32) bool { return w.peersOf(x, c.row) >= 0 }).at
		c.pe = p.tree.first(func(x uint32) bool { return w.peersOf(x, c.row) > 0 }).at
	}
	return false
}

func (w *Window) setHead(leaf *treeNode, row uint32, head bool) {
	f := w.flags.at(row)
	switch {
	case head && *f&rowHead == 0:
		*f |= rowHead
		leaf.changed(0, 1)
	case !head && *f&rowHead != 0:
		*f &^= rowHead
		leaf.changed(0, -1)
	}
}

// fixHead says of row number i whether it is a head.
func (w *Window) fixHead(p *winPart, i int) {
	if i >= p.tree.len() {
		return
	}
	at := p.tree.at(i)
	row := at.leaf.rows[at.i]
	w.setHead(at.leaf, row, i == 0 || w.peersOf(p.tree.row(p.tree.at(i-1)), row) != 0)
}

// rebuild makes the tree anew from its rows and the changes, both in order.
func (w *Window) rebuild(p *winPart) {
	rows := make([]uint32, 0, p.tree.len()+len(w.changes))
	k := 0
	came := func(before uint32) {
		for ; k < len(w.changes); k++ {
			c := &w.changes[k]
			if before != none && w.compare(c.row, before) >= 0 {
				return
			}
			if c.kind == rowCame {
				rows = append(rows, c.row)
			}
		}
	}
	p.tree.each(0, p.tree.len(), func(piece []uint32, _ int) {
		for _, r := range piece {
			came(r)
			// Changes of this very row; copies of it that go are listed one by one.
			if k < len(w.changes) {
				switch c := &w.changes[k]; {
				case c.kind == rowWent && c.row == r:
					k++
					continue
				case c.kind == rowReplaced && c.old == r:
					k++
					rows = append(rows, c.row)
					continue
				}
			}
			rows = append(rows, r)
		}
	})
	came(none)
	w.buildTree(p, rows)
}

// buildTree makes the tree of rows in order.
func (w *Window) buildTree(p *winPart, rows []uint32) {
	for i, r := range rows {
		f := w.flags.at(r)
		if *f &^= rowHead; i == 0 || w.peersOf(rows[i-1], r) != 0 {
			*f |= rowHead
		}
	}
	p.tree.build(w, rows)
}

// undirty forgets that r is to be written.
func (w *Window) undirty(p *winPart, r uint32) {
	if f := w.flags.at(r); *f&rowDirty != 0 {
		*f &^= rowDirty
		p.dirty--
	}
}

// bury takes a row out of the state.
func (w *Window) bury(p *winPart, r uint32) {
	w.undirty(p, r)
	f := w.flags.at(r)
	if *f&rowStored != 0 {
		// At once: the partition may be evicted and read again before the next checkpoint.
		w.eachKey([]uint32{r}, func(_ int, key []byte) { w.st.Delete(key) })
		*f &^= rowStored
	}
	w.graves = append(w.graves, r)
}

// Barrier works out the partitions that the epoch touched, emits what has changed and hands over dirty rows.
func (w *Window) Barrier(bar exec.Barrier) error {
	w.dels, w.ins = w.dels[:0], w.ins[:0]
	for _, v := range w.before.Cols {
		v.Reset()
	}
	for _, e := range w.touched {
		p := w.recs.at(e)
		if err := w.update(p); err != nil {
			return err
		}
		p.touched = false
	}
	if err := errors.Join(w.send(w.dels, -1), w.send(w.ins, 1)); err != nil {
		return err
	}
	for _, r := range w.graves {
		if err := w.forgive(r); err != nil {
			return err
		}
		w.rows.release(r)
	}
	w.graves = w.graves[:0]
	if bar.Checkpoint && w.st != nil {
		w.checkpoint()
		w.stuck = false
	}
	var gone []uint32
	for _, e := range w.touched {
		if w.recs.at(e).tree.len() == 0 {
			gone = append(gone, e)
		}
	}
	w.touched = w.touched[:0]
	w.dropParts(gone)
	if bar.Checkpoint {
		w.restart()
	}
	if err := w.account(); err != nil {
		return err
	}
	return w.out.Barrier(bar)
}

// update brings p up to date and notes what is to be emitted.
func (w *Window) update(p *winPart) error {
	if err := w.net(p); err != nil {
		return err
	}
	if len(w.changes) == 0 {
		return nil
	}
	bulk := w.applyChanges(p)
	w.begin(p)
	var err error
	if bulk {
		err = w.all()
	} else {
		err = w.around()
	}
	if err != nil {
		return err
	}
	dels, ins := len(w.dels), len(w.ins)
	for _, c := range w.changes {
		switch c.kind {
		case rowWent:
			w.dels = append(w.dels, outRow{c.row, -1})
		case rowReplaced:
			w.dels = append(w.dels, outRow{c.old, -1})
			w.ins = append(w.ins, outRow{c.row, -1})
		default:
			w.ins = append(w.ins, outRow{c.row, -1})
		}
		*w.flags.at(c.row) &^= rowFresh
	}
	first := w.before.Cols[0].Len() - len(w.changed)
	for i, r := range w.changed {
		w.dels = append(w.dels, outRow{r, first + i})
		w.ins = append(w.ins, outRow{r, -1})
		*w.flags.at(r) &^= rowChanged
	}
	if len(w.changed) > 0 {
		byOrder := func(a, b outRow) int { return w.compare(a.row, b.row) }
		slices.SortStableFunc(w.dels[dels:], byOrder)
		slices.SortStableFunc(w.ins[ins:], byOrder)
	}
	w.cur = nil
	return nil
}

// begin prepares for working out rows of p.
func (w *Window) begin(p *winPart) {
	w.cur, w.changed = p, w.changed[:0]
	w.peers = [2]int{}
	for _, c := range w.calls {
		c.begin()
	}
}

// send emits rows.
func (w *Window) send(list []outRow, d int64) error {
	n := len(w.cfg.In)
	for len(list) > 0 {
		piece := list[:min(len(list), w.max)]
		list = list[len(piece):]
		w.outc.Reset()
		w.scratch = w.scratch[:0]
		old := false
		for _, o := range piece {
			w.scratch = append(w.scratch, o.row)
			old = old || o.before >= 0
		}
		for k := range w.rows.cols {
			if k < n || !old {
				w.rows.gather(k, w.scratch, w.outc.Cols[k])
				continue
			}
			v := w.outc.Cols[k]
			for _, o := range piece {
				if o.before >= 0 {
					v.AppendFrom(w.before.Cols[k-n], o.before)
				} else {
					w.rows.gather(k, []uint32{o.row}, v)
				}
			}
		}
		for range piece {
			w.outc.PushDiff(d)
		}
		if err := w.out.Chunk(w.outc); err != nil {
			return err
		}
	}
	return nil
}
