package byhand

import (
	"github.com/weirdb/weir/connector/nexmark"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// q3: persons in three states and their auctions in category 10.
func q3(h *history) *Result {
	type person struct{ name, city, state string }
	people := map[int64]person{}
	h.scan(nexmark.Person, func(c *vec.Chunk) {
		for i, s := range c.Cols[nexmark.PersonState].Str {
			if s == "OR" || s == "ID" || s == "CA" {
				people[c.Cols[nexmark.PersonID].Int[i]] =
					person{c.Cols[nexmark.PersonName].Str[i], c.Cols[nexmark.PersonCity].Str[i], s}
			}
		}
	}, nexmark.PersonID, nexmark.PersonName, nexmark.PersonCity, nexmark.PersonState)
	r := h.output(col("name", types.Text), col("city", types.Text), col("state", types.Text), col("id", types.Int8))
	out := r.Rows
	h.scan(nexmark.Auction, func(c *vec.Chunk) {
		for i, category := range c.Cols[nexmark.AuctionCategory].Int {
			if category != 10 {
				continue
			}
			if p, ok := people[c.Cols[nexmark.AuctionSeller].Int[i]]; ok {
				r.key(Key{c.Cols[nexmark.AuctionID].Int[i]})
				out.Cols[0].AppendStr(p.name)
				out.Cols[1].AppendStr(p.city)
				out.Cols[2].AppendStr(p.state)
				out.Cols[3].AppendInt(c.Cols[nexmark.AuctionID].Int[i])
				out.PushDiff(1)
			}
		}
	}, nexmark.AuctionID, nexmark.AuctionSeller, nexmark.AuctionCategory)
	return r.done()
}

// q4: the average of the highest bid of each auction, by category.
func q4(h *history) *Result {
	type auction struct{ from, to, category, final int64 }
	auctions := map[int64]*auction{}
	h.scan(nexmark.Auction, func(c *vec.Chunk) {
		for i, id := range c.Cols[nexmark.AuctionID].Int {
			auctions[id] = &auction{
				from: c.Cols[nexmark.AuctionDateTime].Int[i], to: c.Cols[nexmark.AuctionExpires].Int[i],
				category: c.Cols[nexmark.AuctionCategory].Int[i], final: -1,
			}
		}
	}, nexmark.AuctionID, nexmark.AuctionDateTime, nexmark.AuctionExpires, nexmark.AuctionCategory)
	h.scan(nexmark.Bid, func(c *vec.Chunk) {
		prices, times := c.Cols[nexmark.BidPrice].Int, c.Cols[nexmark.BidDateTime].Int
		for i, id := range c.Cols[nexmark.BidAuction].Int {
			if a := auctions[id]; a != nil && a.from <= times[i] && times[i] <= a.to {
				a.final = max(a.final, prices[i])
			}
		}
	}, nexmark.BidAuction, nexmark.BidPrice, nexmark.BidDateTime)
	type average struct{ sum, n int64 }
	categories := map[int64]average{}
	for _, a := range auctions {
		if a.final >= 0 {
			avg := categories[a.category]
			categories[a.category] = average{avg.sum + a.final, avg.n + 1}
		}
	}
	r := h.output(col("category", types.Int8), col("avg_final", types.Numeric))
	for category, avg := range categories {
		q, err := types.NewDecimal(avg.sum, 0).Div(types.NewDecimal(avg.n, 0))
		if err != nil {
			h.err = err
		}
		r.key(Key{category})
		r.Rows.AppendRow([]types.Datum{types.DInt(category), types.DDec(q)}, 1)
	}
	return r.done()
}

// q8: persons with an auction in the window of 10 seconds in which they appeared.
func q8(h *history) *Result {
	const size = 10 * second
	type key struct{ id, window int64 }
	sellers := map[key]struct{}{}
	h.scan(nexmark.Auction, func(c *vec.Chunk) {
		last := key{-1, -1}
		times := c.Cols[nexmark.AuctionDateTime].Int
		for i, seller := range c.Cols[nexmark.AuctionSeller].Int {
			if k := (key{seller, windowOf(times[i], size)}); k != last {
				sellers[k] = struct{}{}
				last = k
			}
		}
	}, nexmark.AuctionSeller, nexmark.AuctionDateTime)
	r := h.output(col("id", types.Int8), col("name", types.Text), col("starttime", types.Timestamp))
	out := r.Rows
	h.scan(nexmark.Person, func(c *vec.Chunk) {
		for i, id := range c.Cols[nexmark.PersonID].Int {
			w := windowOf(c.Cols[nexmark.PersonDateTime].Int[i], size)
			if _, ok := sellers[key{id, w}]; ok {
				r.key(Key{w, id})
				out.Cols[0].AppendInt(id)
				out.Cols[1].AppendStr(c.Cols[nexmark.PersonName].Str[i])
				out.Cols[2].AppendInt(w)
				out.PushDiff(1)
			}
		}
	}, nexmark.PersonID, nexmark.PersonName, nexmark.PersonDateTime)
	return r.done()
}

// q20: bids with their auctions, if those are in category 10.
func q20(h *history) *Result {
	type auction struct {
		item, description, extra                     string
		initial, reserve, from, to, seller, category int64
	}
	auctions := map[int64]*auction{}
	h.scan(nexmark.Auction, func(c *vec.Chunk) {
		ints := func(col int) []int64 { return c.Cols[col].Int }
		strs := func(col int) []string { return c.Cols[col].Str }
		for i, category := range ints(nexmark.AuctionCategory) {
			if category == 10 {
				auctions[ints(nexmark.AuctionID)[i]] = &auction{
					strs(nexmark.AuctionItemName)[i], strs(nexmark.AuctionDescription)[i], strs(nexmark.AuctionExtra)[i],
					ints(nexmark.AuctionInitialBid)[i], ints(nexmark.AuctionReserve)[i], ints(nexmark.AuctionDateTime)[i],
					ints(nexmark.AuctionExpires)[i], ints(nexmark.AuctionSeller)[i], category,
				}
			}
		}
	}, nexmark.AuctionID, nexmark.AuctionItemName, nexmark.AuctionDescription, nexmark.AuctionInitialBid, nexmark.AuctionReserve,
		nexmark.AuctionDateTime, nexmark.AuctionExpires, nexmark.AuctionSeller, nexmark.AuctionCategory, nexmark.AuctionExtra)
	r := h.output(append(append([]exec.Column{}, nexmark.Columns(nexmark.Bid)[:nexmark.BidURL+1]...),
		col("bid_date_time", types.Timestamp), col("bid_extra", types.Text), col("item_name", types.Text), col("description", types.Text),
		col("initial_bid", types.Int8), col("reserve", types.Int8), col("auction_date_time", types.Timestamp), col("expires", types.Timestamp),
		col("seller", types.Int8), col("category", types.Int8), col("auction_extra", types.Text))...)
	return h.picked(r, func(c *vec.Chunk, i int, out []*vec.Vector) bool {
		id := c.Cols[nexmark.BidAuction].Int[i]
		a := auctions[id]
		if a == nil {
			return false
		}
		out[0].AppendInt(id)
		out[1].AppendInt(c.Cols[nexmark.BidBidder].Int[i])
		out[2].AppendInt(c.Cols[nexmark.BidPrice].Int[i])
		out[3].AppendStr(c.Cols[nexmark.BidChannel].Str[i])
		out[4].AppendStr(c.Cols[nexmark.BidURL].Str[i])
		out[5].AppendInt(c.Cols[nexmark.BidDateTime].Int[i])
		out[6].AppendStr(c.Cols[nexmark.BidExtra].Str[i])
		out[7].AppendStr(a.item)
		out[8].AppendStr(a.description)
		out[9].AppendInt(a.initial)
		out[10].AppendInt(a.reserve)
		out[11].AppendInt(a.from)
		out[12].AppendInt(a.to)
		out[13].AppendInt(a.seller)
		out[14].AppendInt(a.category)
		out[15].AppendStr(a.extra)
		return true
	}, nexmark.BidAuction, nexmark.BidBidder, nexmark.BidPrice, nexmark.BidChannel, nexmark.BidURL, nexmark.BidDateTime, nexmark.BidExtra)
}
