package byhand

import (
	"slices"

	"github.com/weirdb/weir/connector/nexmark"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// q5: the auctions with the most bids in windows of 10 seconds that begin every 2 seconds. Bids are
// counted in panes of 2 seconds; a window is five panes.
func q5(h *history) *Result {
	const slide, panesPerWindow = 2 * second, 5
	panes := map[int64]map[int64]int64{} // pane, auction: number of bids
	var pane map[int64]int64
	at := int64(-1)
	h.scan(nexmark.Bid, func(c *vec.Chunk) {
		times := c.Cols[nexmark.BidDateTime].Int
		for i, auction := range c.Cols[nexmark.BidAuction].Int {
			if w := windowOf(times[i], slide); w != at {
				at = w
				if pane = panes[w]; pane == nil {
					pane = map[int64]int64{}
					panes[w] = pane
				}
			}
			pane[auction]++
		}
	}, nexmark.BidAuction, nexmark.BidDateTime)
	r := h.output(col("auction", types.Int8), col("num", types.Int8))
	counts := map[int64]int64{}
	done := map[int64]bool{}
	for first := range panes {
		for back := range int64(panesPerWindow) {
			start := first - back*slide
			if done[start] {
				continue
			}
			done[start] = true
			clear(counts)
			most := int64(0)
			for p := range int64(panesPerWindow) {
				for auction, n := range panes[start+p*slide] {
					counts[auction] += n
					most = max(most, counts[auction])
				}
			}
			for auction, n := range counts {
				if n == most {
					r.key(Key{start, auction})
					r.Rows.AppendRow([]types.Datum{types.DInt(auction), types.DInt(n)}, 1)
				}
			}
		}
	}
	return r.done()
}

// q7: the highest bids of each window of 10 seconds, which includes the bids at its end that are as
// high.
func q7(h *history) *Result {
	const size = 10 * second
	type bid struct {
		number, auction, price, bidder, time int64
		extra                                string
	}
	type window struct {
		most  int64 // of the bids before the end
		bids  []bid // those before the end that are as high as most
		atEnd []bid // all at the end
	}
	windows := map[int64]*window{}
	get := func(start int64) *window {
		w := windows[start]
		if w == nil {
			w = &window{most: -1}
			windows[start] = w
		}
		return w
	}
	var w *window
	at, before := int64(-1), int64(0)
	h.scan(nexmark.Bid, func(c *vec.Chunk) {
		times := c.Cols[nexmark.BidDateTime].Int
		for i, price := range c.Cols[nexmark.BidPrice].Int {
			start := windowOf(times[i], size)
			if start != at {
				at, w = start, get(start)
			}
			if price < w.most && times[i] != start {
				continue
			}
			b := bid{
				before + int64(i),
				c.Cols[nexmark.BidAuction].Int[i], price, c.Cols[nexmark.BidBidder].Int[i], times[i],
				c.Cols[nexmark.BidExtra].Str[i],
			}
			if price > w.most {
				w.most, w.bids = price, w.bids[:0]
			}
			if price == w.most {
				w.bids = append(w.bids, b)
			}
			if times[i] == start {
				last := get(start - size)
				last.atEnd = append(last.atEnd, b)
			}
		}
		before += int64(c.Len())
	}, nexmark.BidAuction, nexmark.BidPrice, nexmark.BidBidder, nexmark.BidDateTime, nexmark.BidExtra)
	r := h.output(col("auction", types.Int8), col("price", types.Int8), col("bidder", types.Int8),
		col("date_time", types.Timestamp), col("extra", types.Text))
	emit := func(start int64, b bid) {
		r.key(Key{start, b.number})
		r.Rows.AppendRow([]types.Datum{
			types.DInt(b.auction), types.DInt(b.price), types.DInt(b.bidder), types.DInt(b.time), types.DStr(b.extra),
		}, 1)
	}
	for start, w := range windows {
		for _, b := range w.bids {
			emit(start, b)
		}
		for _, b := range w.atEnd {
			if b.price == w.most {
				emit(start, b)
			}
		}
	}
	return r.done()
}

// q11: for each bidder the sessions, which end when there is no bid for 10 seconds, and their numbers of bids.
func q11(h *history) *Result {
	const gap = 10 * second
	bidders := map[int64]*sessions{}
	h.scan(nexmark.Bid, func(c *vec.Chunk) {
		times := c.Cols[nexmark.BidDateTime].Int
		for i, bidder := range c.Cols[nexmark.BidBidder].Int {
			s := bidders[bidder]
			if s == nil {
				s = &sessions{}
				bidders[bidder] = s
			}
			s.add(times[i], gap)
		}
	}, nexmark.BidBidder, nexmark.BidDateTime)
	r := h.output(col("bidder", types.Int8), col("bid_count", types.Int8), col("starttime", types.Timestamp), col("endtime", types.Timestamp))
	for bidder, s := range bidders {
		for _, x := range *s {
			r.key(Key{bidder, x.first})
			r.Rows.Cols[0].AppendInt(bidder)
			r.Rows.Cols[1].AppendInt(x.n)
			r.Rows.Cols[2].AppendInt(x.first)
			r.Rows.Cols[3].AppendInt(x.last + gap)
			r.Rows.PushDiff(1)
		}
	}
	return r.done()
}

// sessions are in order, each at least the gap behind the one before.
type sessions []struct{ first, last, n int64 }

func (s *sessions) add(t, gap int64) {
	x := *s
	i := len(x)
	for i > 0 && x[i-1].first > t {
		i--
	}
	switch {
	case i > 0 && t-x[i-1].last < gap:
		i--
		x[i].last = max(x[i].last, t)
		x[i].n++
	case i < len(x) && x[i].first-t < gap:
		x[i].first = t
		x[i].n++
	default:
		x = slices.Insert(x, i, struct{ first, last, n int64 }{t, t, 1})
	}
	if i+1 < len(x) && x[i+1].first-x[i].last < gap {
		x[i].last, x[i].n = x[i+1].last, x[i].n+x[i+1].n
		x = slices.Delete(x, i+1, i+2)
	}
	*s = x
}

// q12: for each bidder the bids in windows of 10 seconds of the clock.
func q12(h *history) *Result {
	const size = 10 * second
	type key struct{ bidder, window int64 }
	counts := map[key]int64{}
	h.scan(nexmark.Bid, func(c *vec.Chunk) {
		w := windowOf(h.now().Sub(timeOf(0)).Microseconds(), size)
		for _, bidder := range c.Cols[nexmark.BidBidder].Int {
			counts[key{bidder, w}]++
		}
	}, nexmark.BidBidder)
	r := h.output(col("bidder", types.Int8), col("bid_count", types.Int8), col("starttime", types.Timestamptz), col("endtime", types.Timestamptz))
	for k, n := range counts {
		r.key(Key{k.bidder, k.window})
		r.Rows.AppendRow([]types.Datum{types.DInt(k.bidder), types.DInt(n), types.DInt(k.window), types.DInt(k.window + size)}, 1)
	}
	return r.done()
}
