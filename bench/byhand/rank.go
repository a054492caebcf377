package byhand

import (
	"github.com/weirdb/weir/connector/nexmark"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// q9: each auction with its highest bid while it was open; of equal bids the earliest, of those the first.
func q9(h *history) *Result {
	type auction struct {
		item, description, extra                             string
		initial, reserve, from, to, seller, category, bidder int64
		price, at                                            int64 // of the bid; price is -1 without one
		bidExtra                                             string
	}
	auctions := map[int64]*auction{}
	var ids []int64
	h.scan(nexmark.Auction, func(c *vec.Chunk) {
		ints := func(col int) []int64 { return c.Cols[col].Int }
		strs := func(col int) []string { return c.Cols[col].Str }
		block := make([]auction, c.Len())
		for i, id := range ints(nexmark.AuctionID) {
			block[i] = auction{
				item: strs(nexmark.AuctionItemName)[i], description: strs(nexmark.AuctionDescription)[i],
				extra:   strs(nexmark.AuctionExtra)[i],
				initial: ints(nexmark.AuctionInitialBid)[i], reserve: ints(nexmark.AuctionReserve)[i],
				from: ints(nexmark.AuctionDateTime)[i], to: ints(nexmark.AuctionExpires)[i],
				seller: ints(nexmark.AuctionSeller)[i], category: ints(nexmark.AuctionCategory)[i], price: -1,
			}
			auctions[id] = &block[i]
			ids = append(ids, id)
		}
	}, nexmark.AuctionID, nexmark.AuctionItemName, nexmark.AuctionDescription, nexmark.AuctionInitialBid,
		nexmark.AuctionReserve, nexmark.AuctionDateTime, nexmark.AuctionExpires, nexmark.AuctionSeller,
		nexmark.AuctionCategory, nexmark.AuctionExtra)
	h.scan(nexmark.Bid, func(c *vec.Chunk) {
		prices, times := c.Cols[nexmark.BidPrice].Int, c.Cols[nexmark.BidDateTime].Int
		for i, id := range c.Cols[nexmark.BidAuction].Int {
			a := auctions[id]
			if a == nil || times[i] < a.from || times[i] > a.to {
				continue
			}
			if prices[i] > a.price || prices[i] == a.price && times[i] < a.at {
				a.price, a.at = prices[i], times[i]
				a.bidder, a.bidExtra = c.Cols[nexmark.BidBidder].Int[i], c.Cols[nexmark.BidExtra].Str[i]
			}
		}
	}, nexmark.BidAuction, nexmark.BidBidder, nexmark.BidPrice, nexmark.BidDateTime, nexmark.BidExtra)
	r := h.output(append(nexmark.Columns(nexmark.Auction),
		col("auction", types.Int8), col("bidder", types.Int8), col("price", types.Int8),
		col("bid_date_time", types.Timestamp), col("bid_extra", types.Text))...)
	out := r.Rows.Cols
	for _, id := range ids {
		a := auctions[id]
		if a.price < 0 {
			continue
		}
		r.key(Key{id})
		out[0].AppendInt(id)
		out[1].AppendStr(a.item)
		out[2].AppendStr(a.description)
		for i, n := range []int64{a.initial, a.reserve, a.from, a.to, a.seller, a.category} {
			out[3+i].AppendInt(n)
		}
		out[9].AppendStr(a.extra)
		for i, n := range []int64{id, a.bidder, a.price, a.at} {
			out[10+i].AppendInt(n)
		}
		out[14].AppendStr(a.bidExtra)
		r.Rows.PushDiff(1)
	}
	return r.done()
}

// q17: for each auction and day the number of bids, also by three classes of price, and the least, the greatest, the
// average and the total price.
func q17(h *history) *Result {
	type key struct{ auction, day int64 }
	type stats struct {
		n        [3]int64 // by class
		min, max int64
		sum      int64
	}
	groups := map[key]*stats{}
	h.scan(nexmark.Bid, func(c *vec.Chunk) {
		prices, times := c.Cols[nexmark.BidPrice].Int, c.Cols[nexmark.BidDateTime].Int
		for i, auction := range c.Cols[nexmark.BidAuction].Int {
			k, price := key{auction, windowOf(times[i], day)}, prices[i]
			g := groups[k]
			if g == nil {
				g = &stats{min: price, max: price}
				groups[k] = g
			}
			switch {
			case price < 10_000:
				g.n[0]++
			case price < 1_000_000:
				g.n[1]++
			default:
				g.n[2]++
			}
			g.min, g.max, g.sum = min(g.min, price), max(g.max, price), g.sum+price
		}
	}, nexmark.BidAuction, nexmark.BidPrice, nexmark.BidDateTime)
	r := h.output(col("auction", types.Int8), col("day", types.Text), col("total_bids", types.Int8),
		col("rank1_bids", types.Int8), col("rank2_bids", types.Int8), col("rank3_bids", types.Int8),
		col("min_price", types.Int8), col("max_price", types.Int8), col("avg_price", types.Numeric), col("sum_price", types.Numeric))
	names := map[int64]string{}
	out := r.Rows.Cols
	for k, g := range groups {
		name, ok := names[k.day]
		if !ok {
			name = timeOf(k.day).Format("2006-01-02")
			names[k.day] = name
		}
		total := g.n[0] + g.n[1] + g.n[2]
		sum := types.NewDecimal(g.sum, 0)
		avg, err := sum.Div(types.NewDecimal(total, 0))
		if err != nil {
			h.err = err
		}
		r.key(Key{k.auction, k.day})
		out[0].AppendInt(k.auction)
		out[1].AppendStr(name)
		for i, n := range []int64{total, g.n[0], g.n[1], g.n[2], g.min, g.max} {
			out[2+i].AppendInt(n)
		}
		out[8].AppendDatum(types.DDec(avg))
		out[9].AppendDatum(types.DDec(sum))
		r.Rows.PushDiff(1)
	}
	return r.done()
}

// q18: the last bid of each bidder for each auction; the first of those that are of the same time.
func q18(h *history) *Result {
	type key struct{ auction, bidder int64 }
	type bid struct {
		price, time         int64
		channel, url, extra string
	}
	bids := map[key]*bid{}
	h.scan(nexmark.Bid, func(c *vec.Chunk) {
		prices, times := c.Cols[nexmark.BidPrice].Int, c.Cols[nexmark.BidDateTime].Int
		for i, auction := range c.Cols[nexmark.BidAuction].Int {
			k := key{auction, c.Cols[nexmark.BidBidder].Int[i]}
			b := bids[k]
			if b == nil {
				b = &bid{}
				bids[k] = b
			} else if times[i] <= b.time {
				continue
			}
			*b = bid{
				prices[i], times[i],
				c.Cols[nexmark.BidChannel].Str[i], c.Cols[nexmark.BidURL].Str[i], c.Cols[nexmark.BidExtra].Str[i],
			}
		}
	}, nexmark.BidAuction, nexmark.BidBidder, nexmark.BidPrice, nexmark.BidChannel, nexmark.BidURL, nexmark.BidDateTime,
		nexmark.BidExtra)
	r := h.output(nexmark.Columns(nexmark.Bid)...)
	out := r.Rows.Cols
	for k, b := range bids {
		r.key(Key{k.auction, k.bidder})
		for i, n := range []int64{k.auction, k.bidder, b.price} {
			out[i].AppendInt(n)
		}
		out[3].AppendStr(b.channel)
		out[4].AppendStr(b.url)
		out[5].AppendInt(b.time)
		out[6].AppendStr(b.extra)
		r.Rows.PushDiff(1)
	}
	return r.done()
}
