package byhand

import (
	"strconv"
	"strings"

	"github.com/weirdb/weir/connector/nexmark"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// picked makes the result of a query that passes some bids on: row writes what it makes of bid i of c to out, but for the diff,
// and says whether there is something.
func (h *history) picked(r *Result, row func(c *vec.Chunk, i int, out []*vec.Vector) bool, cols ...int) *Result {
	out := r.Rows
	return h.passed(r, func(emit func(*vec.Chunk)) {
		before := int64(0)
		h.scan(nexmark.Bid, func(c *vec.Chunk) {
			out.Reset()
			r.bids = r.bids[:0]
			n := 0
			for i := range c.Len() {
				if row(c, i, out.Cols) {
					n++
					if r.keep {
						r.bids = append(r.bids, before+int64(i))
					}
				}
			}
			before += int64(c.Len())
			out.SetLen(n)
			emit(out)
		}, cols...)
	})
}

// q10: all bids with their day and minute as text. With Options.File they are lines of a file.
func q10(h *history) *Result {
	r := h.output(col("auction", types.Int8), col("bidder", types.Int8), col("price", types.Int8), col("date_time", types.Timestamp),
		col("extra", types.Text), col("dt", types.Text), col("hm", types.Text))
	return h.passed(r, func(emit func(*vec.Chunk)) {
		dt, hm := vec.NewVector(types.T(types.Text), vec.ChunkSize), vec.NewVector(types.T(types.Text), vec.ChunkSize)
		out := &vec.Chunk{Cols: make([]*vec.Vector, 7)}
		at, dayText, minuteText := int64(-1), "", ""
		h.scan(nexmark.Bid, func(c *vec.Chunk) {
			dt.Resize(c.Len())
			hm.Resize(c.Len())
			for i, t := range c.Cols[nexmark.BidDateTime].Int {
				if m := windowOf(t, minute); m != at {
					at = m
					when := timeOf(m)
					dayText, minuteText = when.Format("2006-01-02"), when.Format("15:04")
				}
				dt.Str[i], hm.Str[i] = dayText, minuteText
			}
			out.Cols = append(out.Cols[:0], c.Cols[nexmark.BidAuction], c.Cols[nexmark.BidBidder], c.Cols[nexmark.BidPrice],
				c.Cols[nexmark.BidDateTime], c.Cols[nexmark.BidExtra], dt, hm)
			out.SetLen(c.Len())
			emit(out)
		}, nexmark.BidAuction, nexmark.BidBidder, nexmark.BidPrice, nexmark.BidDateTime, nexmark.BidExtra)
	})
}

// sideRows is how many rows the side input of q13 has: the numbers from 0 on, each with its text.
const sideRows = 10_000

// q13: bids with what the side input says about their auction.
func q13(h *history) *Result {
	side := make(map[int64]string, sideRows)
	for i := range int64(sideRows) {
		side[i] = strconv.FormatInt(i, 10)
	}
	r := h.output(col("auction", types.Int8), col("bidder", types.Int8), col("price", types.Int8), col("date_time", types.Timestamp),
		col("value", types.Text))
	return h.picked(r, func(c *vec.Chunk, i int, out []*vec.Vector) bool {
		auction := c.Cols[nexmark.BidAuction].Int[i]
		value, ok := side[auction%sideRows]
		if !ok {
			return false
		}
		out[0].AppendInt(auction)
		out[1].AppendInt(c.Cols[nexmark.BidBidder].Int[i])
		out[2].AppendInt(c.Cols[nexmark.BidPrice].Int[i])
		out[3].AppendInt(c.Cols[nexmark.BidDateTime].Int[i])
		out[4].AppendStr(value)
		return true
	}, nexmark.BidAuction, nexmark.BidBidder, nexmark.BidPrice, nexmark.BidDateTime)
}

// q14: bids of the middle in euros, with the time of day and the number of c's in extra.
func q14(h *history) *Result {
	r := h.output(col("auction", types.Int8), col("bidder", types.Int8), col("price", types.Numeric), col("bid_time_type", types.Text),
		col("date_time", types.Timestamp), col("extra", types.Text), col("c_counts", types.Int8))
	return h.picked(r, func(c *vec.Chunk, i int, out []*vec.Vector) bool {
		milli := 908 * c.Cols[nexmark.BidPrice].Int[i]
		if milli <= 1_000_000_000 || milli >= 50_000_000_000 {
			return false
		}
		t := c.Cols[nexmark.BidDateTime].Int[i]
		extra := c.Cols[nexmark.BidExtra].Str[i]
		out[0].AppendInt(c.Cols[nexmark.BidAuction].Int[i])
		out[1].AppendInt(c.Cols[nexmark.BidBidder].Int[i])
		out[2].AppendDatum(types.DDec(types.NewDecimal(milli, 3)))
		switch hour := (t - windowOf(t, day)) / (60 * minute); {
		case hour >= 8 && hour <= 18:
			out[3].AppendStr("dayTime")
		case hour <= 6 || hour >= 20:
			out[3].AppendStr("nightTime")
		default:
			out[3].AppendStr("otherTime")
		}
		out[4].AppendInt(t)
		out[5].AppendStr(extra)
		out[6].AppendInt(int64(strings.Count(extra, "c")))
		return true
	}, nexmark.BidAuction, nexmark.BidBidder, nexmark.BidPrice, nexmark.BidDateTime, nexmark.BidExtra)
}

// channelID finds what stands behind channel_id= in a URL, at its beginning or behind an &.
func channelID(url string) (string, bool) {
	const name = "channel_id="
	for from := 0; ; {
		at := strings.Index(url[from:], name)
		if at < 0 {
			return "", false
		}
		at += from
		from = at + len(name)
		if at == 0 || url[at-1] == '&' {
			id, _, _ := strings.Cut(url[from:], "&")
			return id, true
		}
	}
}

// q21: bids with the number of their channel.
func q21(h *history) *Result {
	r := h.output(col("auction", types.Int8), col("bidder", types.Int8), col("price", types.Int8), col("channel", types.Text),
		col("channel_id", types.Text))
	return h.picked(r, func(c *vec.Chunk, i int, out []*vec.Vector) bool {
		channel := c.Cols[nexmark.BidChannel].Str[i]
		var id string
		switch strings.ToLower(channel) {
		case "apple":
			id = "0"
		case "google":
			id = "1"
		case "facebook":
			id = "2"
		case "baidu":
			id = "3"
		default:
			var ok bool
			if id, ok = channelID(c.Cols[nexmark.BidURL].Str[i]); !ok {
				return false
			}
		}
		out[0].AppendInt(c.Cols[nexmark.BidAuction].Int[i])
		out[1].AppendInt(c.Cols[nexmark.BidBidder].Int[i])
		out[2].AppendInt(c.Cols[nexmark.BidPrice].Int[i])
		out[3].AppendStr(channel)
		out[4].AppendStr(id)
		return true
	}, nexmark.BidAuction, nexmark.BidBidder, nexmark.BidPrice, nexmark.BidChannel, nexmark.BidURL)
}

// q22: bids with the fourth to sixth part of their URL.
func q22(h *history) *Result {
	r := h.output(col("auction", types.Int8), col("bidder", types.Int8), col("price", types.Int8), col("channel", types.Text),
		col("dir1", types.Text), col("dir2", types.Text), col("dir3", types.Text))
	return h.passed(r, func(emit func(*vec.Chunk)) {
		var dirs [3]*vec.Vector
		for k := range dirs {
			dirs[k] = vec.NewVector(types.T(types.Text), vec.ChunkSize)
		}
		out := &vec.Chunk{Cols: make([]*vec.Vector, 7)}
		h.scan(nexmark.Bid, func(c *vec.Chunk) {
			for _, d := range dirs {
				d.Resize(c.Len())
			}
			for i, rest := range c.Cols[nexmark.BidURL].Str {
				var part string
				for k := range 6 {
					part, rest, _ = strings.Cut(rest, "/")
					if k >= 3 {
						dirs[k-3].Str[i] = part
					}
				}
			}
			out.Cols = append(out.Cols[:0], c.Cols[nexmark.BidAuction], c.Cols[nexmark.BidBidder], c.Cols[nexmark.BidPrice],
				c.Cols[nexmark.BidChannel], dirs[0], dirs[1], dirs[2])
			out.SetLen(c.Len())
			emit(out)
		}, nexmark.BidAuction, nexmark.BidBidder, nexmark.BidPrice, nexmark.BidChannel, nexmark.BidURL)
	})
}
