package byhand

import (
	"github.com/weirdb/weir/connector/nexmark"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// class gives the class of a price: below ten thousand, below a million, above.
func class(price int64) int {
	switch {
	case price < 10_000:
		return 0
	case price < 1_000_000:
		return 1
	default:
		return 2
	}
}

// classes counts different ids, all and by class.
type classes struct {
	seen map[int64]uint8 // id: a bit for each class
	all  int64
	n    [3]int64
}

func (s *classes) add(id int64, class int) {
	had := s.seen[id]
	if had&(1<<class) != 0 {
		return
	}
	s.seen[id] = had | 1<<class
	s.n[class]++
	if had == 0 {
		s.all++
	}
}

// statistics are the numbers of q15 and q16.
type statistics struct {
	bids              [3]int64
	bidders, auctions classes
	minute            int64 // the last of a day
}

func newStatistics() *statistics {
	return &statistics{bidders: classes{seen: map[int64]uint8{}}, auctions: classes{seen: map[int64]uint8{}}}
}

func (s *statistics) add(auction, bidder, price int64) {
	k := class(price)
	s.bids[k]++
	s.bidders.add(bidder, k)
	s.auctions.add(auction, k)
}

func (s *statistics) append(out []*vec.Vector) {
	out[0].AppendInt(s.bids[0] + s.bids[1] + s.bids[2])
	out[4].AppendInt(s.bidders.all)
	out[8].AppendInt(s.auctions.all)
	for k := range 3 {
		out[1+k].AppendInt(s.bids[k])
		out[5+k].AppendInt(s.bidders.n[k])
		out[9+k].AppendInt(s.auctions.n[k])
	}
}

func statisticsColumns() []exec.Column {
	var cols []exec.Column
	for _, what := range []string{"bids", "bidders", "auctions"} {
		cols = append(cols, col("total_"+what, types.Int8), col("rank1_"+what, types.Int8), col("rank2_"+what, types.Int8),
			col("rank3_"+what, types.Int8))
	}
	return cols
}

// q15: for each day the number of bids, of bidders and of auctions, all and by class of price.
func q15(h *history) *Result {
	days := map[int64]*statistics{}
	var s *statistics
	at := int64(-1)
	h.scan(nexmark.Bid, func(c *vec.Chunk) {
		times, bidders, prices := c.Cols[nexmark.BidDateTime].Int, c.Cols[nexmark.BidBidder].Int, c.Cols[nexmark.BidPrice].Int
		for i, auction := range c.Cols[nexmark.BidAuction].Int {
			if d := windowOf(times[i], day); d != at {
				at = d
				if s = days[d]; s == nil {
					s = newStatistics()
					days[d] = s
				}
			}
			s.add(auction, bidders[i], prices[i])
		}
	}, nexmark.BidAuction, nexmark.BidBidder, nexmark.BidPrice, nexmark.BidDateTime)
	r := h.output(append([]exec.Column{col("day", types.Text)}, statisticsColumns()...)...)
	for d, s := range days {
		r.key(Key{d})
		r.Rows.Cols[0].AppendStr(timeOf(d).Format("2006-01-02"))
		s.append(r.Rows.Cols[1:])
		r.Rows.PushDiff(1)
	}
	return r.done()
}

// q16: the same for each channel and day, and the last minute.
func q16(h *history) *Result {
	type key struct {
		channel string
		day     int64
	}
	groups := map[key]*statistics{}
	h.scan(nexmark.Bid, func(c *vec.Chunk) {
		times, bidders, prices := c.Cols[nexmark.BidDateTime].Int, c.Cols[nexmark.BidBidder].Int, c.Cols[nexmark.BidPrice].Int
		channels := c.Cols[nexmark.BidChannel].Str
		for i, auction := range c.Cols[nexmark.BidAuction].Int {
			k := key{channels[i], windowOf(times[i], day)}
			s := groups[k]
			if s == nil {
				s = newStatistics()
				groups[k] = s
			}
			s.minute = max(s.minute, (times[i]-k.day)/minute)
			s.add(auction, bidders[i], prices[i])
		}
	}, nexmark.BidAuction, nexmark.BidBidder, nexmark.BidPrice, nexmark.BidChannel, nexmark.BidDateTime)
	r := h.output(append([]exec.Column{col("channel", types.Text), col("day", types.Text), col("minute", types.Text)},
		statisticsColumns()...)...)
	number := int64(0)
	days, minutes := map[int64]string{}, map[int64]string{}
	text := func(m map[int64]string, t int64, layout string) string {
		s, ok := m[t]
		if !ok {
			s = timeOf(t).Format(layout)
			m[t] = s
		}
		return s
	}
	for k, s := range groups {
		r.key(Key{k.day, number})
		number++
		r.Rows.Cols[0].AppendStr(k.channel)
		r.Rows.Cols[1].AppendStr(text(days, k.day, "2006-01-02"))
		r.Rows.Cols[2].AppendStr(text(minutes, s.minute*minute, "15:04"))
		s.append(r.Rows.Cols[3:])
		r.Rows.PushDiff(1)
	}
	return r.done()
}
