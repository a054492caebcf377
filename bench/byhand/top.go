package byhand

import (
	"cmp"
	"slices"

	"github.com/weirdb/weir/connector/nexmark"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// q6: for each closed auction the average of its highest bid and those of the ten auctions of the same seller before it, in the order of
// their highest bids.
func q6(h *history) *Result {
	type auction struct{ id, from, to, seller, price, at int64 } // price is -1 without a bid
	auctions := map[int64]*auction{}
	h.scan(nexmark.Auction, func(c *vec.Chunk) {
		ints := func(col int) []int64 { return c.Cols[col].Int }
		block := make([]auction, c.Len())
		for i, id := range ints(nexmark.AuctionID) {
			block[i] = auction{
				id: id, from: ints(nexmark.AuctionDateTime)[i], to: ints(nexmark.AuctionExpires)[i], seller: ints(nexmark.AuctionSeller)[i], price: -1,
			}
			auctions[id] = &block[i]
		}
	}, nexmark.AuctionID, nexmark.AuctionDateTime, nexmark.AuctionExpires, nexmark.AuctionSeller)
	h.scan(nexmark.Bid, func(c *vec.Chunk) {
		prices, times := c.Cols[nexmark.BidPrice].Int, c.Cols[nexmark.BidDateTime].Int
		for i, id := range c.Cols[nexmark.BidAuction].Int {
			a := auctions[id]
			if a == nil || times[i] < a.from || times[i] > a.to {
				continue
			}
			if prices[i] > a.price || prices[i] == a.price && times[i] < a.at {
				a.price, a.at = prices[i], times[i]
			}
		}
	}, nexmark.BidAuction, nexmark.BidPrice, nexmark.BidDateTime)
	sellers := map[int64][]*auction{}
	for _, a := range auctions {
		if a.price >= 0 {
			sellers[a.seller] = append(sellers[a.seller], a)
		}
	}
	r := h.output(col("seller", types.Int8), col("avg_final", types.Numeric))
	const preceding = 10
	for seller, sold := range sellers {
		slices.SortFunc(sold, func(a, b *auction) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
		sum := int64(0)
		for i, a := range sold {
			sum += a.price
			if i > preceding {
				sum -= sold[i-preceding-1].price
			}
			avg, err := types.NewDecimal(sum, 0).Div(types.NewDecimal(int64(min(i, preceding)+1), 0))
			if err != nil {
				h.err = err
			}
			r.key(Key{a.id})
			r.Rows.Cols[0].AppendInt(seller)
			r.Rows.Cols[1].AppendDatum(types.DDec(avg))
			r.Rows.PushDiff(1)
		}
	}
	return r.done()
}

// q19: the ten highest bids of each auction, of equal ones the earliest.
func q19(h *history) *Result {
	const most = 10
	type bid struct {
		bidder, price, time int64
		channel, url, extra string
	}
	auctions := map[int64]*[]bid{} // best first
	h.scan(nexmark.Bid, func(c *vec.Chunk) {
		prices, times := c.Cols[nexmark.BidPrice].Int, c.Cols[nexmark.BidDateTime].Int
		for i, auction := range c.Cols[nexmark.BidAuction].Int {
			top := auctions[auction]
			if top == nil {
				b := make([]bid, 0, most)
				top = &b
				auctions[auction] = top
			}
			at := len(*top)
			for at > 0 && ((*top)[at-1].price < prices[i] || (*top)[at-1].price == prices[i] && (*top)[at-1].time > times[i]) {
				at--
			}
			if at == most {
				continue
			}
			if len(*top) == most {
				*top = (*top)[:most-1]
			}
			*top = slices.Insert(*top, at, bid{
				c.Cols[nexmark.BidBidder].Int[i], prices[i], c.Cols[nexmark.BidDateTime].Int[i],
				c.Cols[nexmark.BidChannel].Str[i], c.Cols[nexmark.BidURL].Str[i], c.Cols[nexmark.BidExtra].Str[i],
			})
		}
	}, nexmark.BidAuction, nexmark.BidBidder, nexmark.BidPrice, nexmark.BidChannel, nexmark.BidURL, nexmark.BidDateTime,
		nexmark.BidExtra)
	r := h.output(append(nexmark.Columns(nexmark.Bid), col("rank_number", types.Int8))...)
	out := r.Rows.Cols
	for auction, top := range auctions {
		for rank, b := range *top {
			r.key(Key{auction, int64(rank)})
			for i, n := range []int64{auction, b.bidder, b.price} {
				out[i].AppendInt(n)
			}
			out[3].AppendStr(b.channel)
			out[4].AppendStr(b.url)
			out[5].AppendInt(b.time)
			out[6].AppendStr(b.extra)
			out[7].AppendInt(int64(rank) + 1)
			r.Rows.PushDiff(1)
		}
	}
	return r.done()
}
