package byhand

import (
	"errors"

	"github.com/weirdb/weir/connector/blackhole"
	"github.com/weirdb/weir/connector/nexmark"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// passed makes the result of a query that passes rows on, from a program that calls emit with them.
func (h *history) passed(r *Result, program func(emit func(*vec.Chunk))) *Result {
	r.Rows = nil
	if h.view {
		r.View = newView(r.Schema)
		program(func(c *vec.Chunk) { r.View.add(c, r.bids) })
		if r.Checksum.Rows = int64(r.View.Len()); h.checksum {
			r.Checksum = r.View.Checksum()
		}
		return r
	}
	var a blackhole.Adder
	if h.file != "" {
		w := newLineWriter(h.file)
		program(func(c *vec.Chunk) {
			a.Count(c)
			w.add(c)
		})
		h.err = errors.Join(h.err, w.close())
	} else if h.checksum {
		program(a.Add)
	} else {
		program(a.Count)
	}
	r.Checksum = a.Checksum
	return r
}

// q0: all bids as they are.
func q0(h *history) *Result {
	r := h.output(nexmark.Columns(nexmark.Bid)...)
	return h.passed(r, func(emit func(*vec.Chunk)) {
		h.scan(nexmark.Bid, emit, nexmark.BidAuction, nexmark.BidBidder, nexmark.BidPrice, nexmark.BidChannel,
			nexmark.BidURL, nexmark.BidDateTime, nexmark.BidExtra)
	})
}

// q1: prices in euros.
func q1(h *history) *Result {
	r := h.output(col("auction", types.Int8), col("bidder", types.Int8), col("price", types.Numeric),
		col("date_time", types.Timestamp), col("extra", types.Text))
	return h.passed(r, func(emit func(*vec.Chunk)) {
		euros := vec.NewVector(types.T(types.Numeric), vec.ChunkSize)
		out := &vec.Chunk{Cols: make([]*vec.Vector, 5)}
		h.scan(nexmark.Bid, func(c *vec.Chunk) {
			euros.Resize(c.Len())
			for i, p := range c.Cols[nexmark.BidPrice].Int {
				euros.Dec[i] = types.NewDecimal(908*p, 3)
			}
			out.Cols = append(out.Cols[:0], c.Cols[nexmark.BidAuction], c.Cols[nexmark.BidBidder], euros,
				c.Cols[nexmark.BidDateTime], c.Cols[nexmark.BidExtra])
			out.SetLen(c.Len())
			emit(out)
		}, nexmark.BidAuction, nexmark.BidBidder, nexmark.BidPrice, nexmark.BidDateTime, nexmark.BidExtra)
	})
}

// q2: the bids for some auctions.
func q2(h *history) *Result {
	r := h.output(col("auction", types.Int8), col("price", types.Int8))
	out := r.Rows
	return h.passed(r, func(emit func(*vec.Chunk)) {
		before := int64(0)
		h.scan(nexmark.Bid, func(c *vec.Chunk) {
			prices := c.Cols[nexmark.BidPrice].Int
			out.Reset()
			r.bids = r.bids[:0]
			for i, a := range c.Cols[nexmark.BidAuction].Int {
				if a%123 == 0 {
					out.Cols[0].AppendInt(a)
					out.Cols[1].AppendInt(prices[i])
					if r.keep {
						r.bids = append(r.bids, before+int64(i))
					}
				}
			}
			before += int64(c.Len())
			out.SetLen(len(out.Cols[0].Int))
			emit(out)
		}, nexmark.BidAuction, nexmark.BidPrice)
	})
}
