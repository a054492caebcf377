package op

import (
	"math"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// winCall is one call at work.
type winCall struct {
	w   *Window
	no  int
	cfg WindowCall
	col int // of the results in Window.rows
	agg *winAgg
	fn  winFunc

	// before and after say which rows around a change may get other results.
	before, after reach

	// rangeOf is the first row of the group whose frame is lo to hi-1 or, if rangeErr is not nil, cannot be told; -1: none.
	rangeOf, lo, hi int
	rangeErr        error
	// ntile's arguments in the current partition.
	tiles, tilesFrom int
}

// winFunc is a window function.
type winFunc uint8

const (
	winAggregate winFunc = iota
	winRowNumber
	winRank
	winDenseRank
	winPercentRank
	winCumeDist
	winNtile
	winLag
	winLead
	winFirst
	winLast
	winNth
)

var winFuncs = map[string]winFunc{
	"row_number": winRowNumber, "rank": winRank, "dense_rank": winDenseRank, "percent_rank": winPercentRank, "cume_dist": winCumeDist,
	"ntile": winNtile, "lag": winLag, "lead": winLead, "first_value": winFirst, "last_value": winLast, "nth_value": winNth,
}

// arg gives argument i for a row.
func (c *winCall) arg(i int, row uint32) types.Datum {
	if k := c.cfg.Args[i]; k >= 0 {
		return c.w.rows.datum(k, row)
	}
	return c.cfg.Consts[i]
}

// constArg gives argument i if it is a constant.
func (c *winCall) constArg(i int) (types.Datum, bool) {
	if c.cfg.Args[i] >= 0 {
		return types.Null, false
	}
	return c.cfg.Consts[i], true
}

// begin forgets what is known of the partition before.
func (c *winCall) begin() {
	c.rangeOf, c.tiles = -1, -1
	if c.agg != nil {
		c.agg.valid = false
	}
}

// value works out the result for row number at.
func (c *winCall) value(at int, row uint32) (types.Datum, error) {
	t := &c.w.cur.tree
	n := t.len()
	switch c.fn {
	case winAggregate:
		r, err := c.ranges(at, row)
		if err != nil {
			return c.w.failed(err)
		}
		return c.agg.value(t, r)
	case winRowNumber:
		return types.DInt(int64(at) + 1), nil
	case winRank:
		first, _ := c.w.group(at)
		return types.DInt(int64(first) + 1), nil
	case winDenseRank:
		if len(c.w.cfg.OrderBy) == 0 {
			return types.DInt(1), nil
		}
		return types.DInt(int64(c.w.groupNo(at)) + 1), nil
	case winPercentRank:
		if n <= 1 {
			return types.DFloat(0), nil
		}
		first, _ := c.w.group(at)
		return types.DFloat(float64(first) / float64(n-1)), nil
	case winCumeDist:
		_, end := c.w.group(at)
		return types.DFloat(float64(end) / float64(n)), nil
	case winNtile:
		return c.ntile(at)
	case winLag, winLead:
		return c.shifted(at, row)
	}
	return c.framed(at, row)
}

// shifted is lag and lead.
func (c *winCall) shifted(at int, row uint32) (types.Datum, error) {
	by := int64(1)
	if len(c.cfg.Args) > 1 {
		d := c.arg(1, row)
		if !d.Valid {
			return types.Null, nil
		}
		by = d.I
	}
	if c.fn == winLag {
		by = -by
	}
	t := &c.w.cur.tree
	if k := int64(at) + by; k >= 0 && k < int64(t.len()) {
		return c.arg(0, t.row(t.at(int(k)))), nil
	}
	if len(c.cfg.Args) > 2 {
		return c.arg(2, row), nil
	}
	return types.Null, nil
}

// framed is first_value, last_value and nth_value.
func (c *winCall) framed(at int, row uint32) (types.Datum, error) {
	nth := 1
	if c.fn == winNth {
		d := c.arg(1, row)
		if !d.Valid {
			return types.Null, nil
		}
		if d.I <= 0 {
			return c.w.failed(sqlerr.Newf(sqlerr.InvalidNthValueArgument, "argument of nth_value must be greater than zero"))
		}
		nth = int(min(d.I, math.MaxInt32))
	}
	r, err := c.ranges(at, row)
	if err != nil {
		return c.w.failed(err)
	}
	k := -1
	if c.fn == winLast {
		for _, x := range r {
			if x[0] < x[1] {
				k = x[1] - 1
			}
		}
	} else {
		for _, x := range r {
			if size := max(x[1]-x[0], 0); nth <= size {
				k = x[0] + nth - 1
				break
			} else {
				nth -= size
			}
		}
	}
	if k < 0 {
		return types.Null, nil
	}
	t := &c.w.cur.tree
	return c.arg(0, t.row(t.at(k))), nil
}

// winResult is the result of a call for a row.
type winResult struct {
	row  uint32
	call int
}

// failed notes that a result cannot be worked out; it is NULL if the work may go on.
func (w *Window) failed(err error) (types.Datum, error) {
	w.failure = err
	return types.Null, nil
}

// settle compares whether a result failed with whether it did before, and reports the difference. same: there is none.
func (w *Window) settle(c *winCall, row uint32) (same bool, err error) {
	key, now := winResult{row, c.no}, w.failure
	w.failure = nil
	before := w.fails[key]
	if now == nil && before == nil {
		return true, nil
	}
	if before != nil && now != nil && before.Error() == now.Error() {
		return true, nil
	}
	if before != nil {
		delete(w.fails, key)
		if err := w.report(key, before, -1); err != nil {
			return false, err
		}
	}
	if now == nil {
		return false, nil
	}
	if w.fails == nil {
		w.fails = map[winResult]error{}
	}
	w.fails[key] = now
	if w.loading {
		return false, nil
	}
	return false, w.report(key, now, 1)
}

func (w *Window) report(r winResult, err error, diff int64) error {
	w.rowBuf.Reset()
	for k, v := range w.rowBuf.Cols {
		w.rows.gather(k, []uint32{r.row}, v)
	}
	return w.base.failed(exec.RowFailure{Err: err, Site: r.call, Cols: w.rowBuf.Cols, Diff: diff})
}

// forgive reports that results of a row that goes do not fail any more.
func (w *Window) forgive(row uint32) error {
	if len(w.fails) == 0 {
		return nil
	}
	for _, c := range w.calls {
		key := winResult{row, c.no}
		if err := w.fails[key]; err != nil {
			delete(w.fails, key)
			if err := w.report(key, err, -1); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget forgets results of a row that leaves the memory.
func (w *Window) forget(row uint32) {
	if len(w.fails) == 0 {
		return
	}
	for _, c := range w.calls {
		delete(w.fails, winResult{row, c.no})
	}
}

// ntile's number of buckets is that of the first row where it is not NULL; rows before that have none.
func (c *winCall) ntile(at int) (types.Datum, error) {
	t := &c.w.cur.tree
	if c.tiles < 0 {
		c.tiles, c.tilesFrom = 0, t.len()
		for i := range t.len() {
			d := c.arg(0, t.row(t.at(i)))
			if !d.Valid {
				continue
			}
			c.tiles, c.tilesFrom = int(max(d.I, 0)), i
			break
		}
	}
	if at < c.tilesFrom {
		return types.Null, nil
	}
	if c.tiles == 0 {
		return c.w.failed(sqlerr.Newf(sqlerr.InvalidNtileArgument, "argument of ntile must be greater than zero"))
	}
	n, i := t.len(), at-c.tilesFrom
	small, more := n/c.tiles, n%c.tiles
	switch {
	case small == 0:
		return types.DInt(int64(i) + 1), nil
	case i < more*(small+1):
		return types.DInt(int64(i/(small+1)) + 1), nil
	}
	return types.DInt(int64((i-more*(small+1))/small+more) + 1), nil
}

// tileStart is where bucket j begins among n rows.
func tileStart(j, n, tiles int) int { return j*(n/tiles) + min(j, n%tiles) }
