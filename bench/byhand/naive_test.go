package byhand

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/weirdb/weir/connector/nexmark"
	"github.com/weirdb/weir/sql/types"
)

// clock is the time of q12 in tests.
var clock = time.Date(2026, 2, 3, 4, 5, 16, 0, time.UTC)

// format gives a timestamp as text.
func format(t int64, layout string) string {
	return time.UnixMicro(t + 946_684_800*second).UTC().Format(layout)
}

func average(sum, n int64) types.Datum {
	avg, err := types.NewDecimal(sum, 0).Div(types.NewDecimal(n, 0))
	if err != nil {
		panic(err)
	}
	return types.DDec(avg)
}

func euros(price int64) types.Decimal {
	d, err := types.ParseDecimal("0.908")
	if err == nil {
		d, err = d.Mul(types.NewDecimal(price, 0))
	}
	if err != nil {
		panic(err)
	}
	return d
}

// winner is the highest bid of an auction while it was open, the first of equal ones; nil if there is none.
func winner(a []types.Datum, bids [][]types.Datum) (best []types.Datum) {
	for _, b := range bids {
		if b[0].I == a[0].I && b[5].I >= a[5].I && b[5].I <= a[6].I &&
			(best == nil || b[2].I > best[2].I || b[2].I == best[2].I && b[5].I < best[5].I) {
			best = b
		}
	}
	return best
}

// different counts the values of column col in those bids that are in one of the classes of price.
func different(bids [][]types.Datum, col int, class func(price int64) bool) types.Datum {
	seen := map[int64]bool{}
	n := int64(0)
	for _, b := range bids {
		if class(b[2].I) && !seen[b[col].I] {
			seen[b[col].I] = true
			n++
		}
	}
	return types.DInt(n)
}

// priceClasses are all prices and the three classes of q15 to q17.
var priceClasses = []func(int64) bool{
	func(int64) bool { return true },
	func(p int64) bool { return p < 10000 },
	func(p int64) bool { return p >= 10000 && p < 1000000 },
	func(p int64) bool { return p >= 1000000 },
}

// report gives the twelve numbers of q15 and q16.
func report(bids [][]types.Datum) (row []types.Datum) {
	for _, class := range priceClasses {
		n := int64(0)
		for _, b := range bids {
			if class(b[2].I) {
				n++
			}
		}
		row = append(row, types.DInt(n))
	}
	for _, col := range []int{nexmark.BidBidder, nexmark.BidAuction} {
		for _, class := range priceClasses {
			row = append(row, different(bids, col, class))
		}
	}
	return row
}

// groups calls f with the rows of each key.
func groups(rows [][]types.Datum, key func([]types.Datum) string, f func(rows [][]types.Datum)) {
	byKey := map[string][][]types.Datum{}
	for _, r := range rows {
		byKey[key(r)] = append(byKey[key(r)], r)
	}
	for _, rs := range byKey {
		f(rs)
	}
}

var channelPattern = regexp.MustCompile(`(&|^)channel_id=([^&]*)`)

// naiveRest is naive for the queries from q6 on that it does not have itself.
func naiveRest(name string, auctions, bids [][]types.Datum) (out [][]types.Datum) {
	byDay := func(b []types.Datum) string { return format(b[5].I, "2006-01-02") }
	switch name {
	case "q6":
		type sale struct{ seller, at, id, price int64 }
		var sales []sale
		for _, a := range auctions {
			if b := winner(a, bids); b != nil {
				sales = append(sales, sale{a[nexmark.AuctionSeller].I, b[5].I, a[0].I, b[2].I})
			}
		}
		slices.SortFunc(sales, func(a, b sale) int {
			return cmp.Or(cmp.Compare(a.seller, b.seller), cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id))
		})
		for i, s := range sales {
			sum, n := int64(0), int64(0)
			for j := max(i-10, 0); j <= i; j++ {
				if sales[j].seller == s.seller {
					sum += sales[j].price
					n++
				}
			}
			out = append(out, []types.Datum{types.DInt(s.seller), average(sum, n)})
		}
	case "q10":
		for _, b := range bids {
			out = append(out, []types.Datum{b[0], b[1], b[2], b[5], b[6], types.DStr(format(b[5].I, "2006-01-02")), types.DStr(format(b[5].I, "15:04"))})
		}
	case "q11":
		groups(bids, func(b []types.Datum) string { return fmt.Sprint(b[1].I) }, func(rows [][]types.Datum) {
			var times []int64
			for _, b := range rows {
				times = append(times, b[5].I)
			}
			slices.Sort(times)
			for from := 0; from < len(times); {
				to := from + 1
				for to < len(times) && times[to]-times[to-1] < 10*second {
					to++
				}
				out = append(out, []types.Datum{rows[0][1], types.DInt(int64(to - from)), types.DInt(times[from]), types.DInt(times[to-1] + 10*second)})
				from = to
			}
		})
	case "q12":
		start := clock.Truncate(10 * time.Second).Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).Microseconds()
		groups(bids, func(b []types.Datum) string { return fmt.Sprint(b[1].I) }, func(rows [][]types.Datum) {
			out = append(out, []types.Datum{rows[0][1], types.DInt(int64(len(rows))), types.DInt(start), types.DInt(start + 10*second)})
		})
	case "q13":
		for _, b := range bids {
			out = append(out, []types.Datum{b[0], b[1], b[2], b[5], types.DStr(fmt.Sprint(b[0].I % 10000))})
		}
	case "q14":
		for _, b := range bids {
			price := euros(b[2].I)
			if price.Cmp(types.NewDecimal(1000000, 0)) <= 0 || price.Cmp(types.NewDecimal(50000000, 0)) >= 0 {
				continue
			}
			kind := "otherTime"
			switch hour := time.UnixMicro(b[5].I + 946_684_800*second).UTC().Hour(); {
			case hour >= 8 && hour <= 18:
				kind = "dayTime"
			case hour <= 6 || hour >= 20:
				kind = "nightTime"
			}
			out = append(out, []types.Datum{b[0], b[1], types.DDec(price), types.DStr(kind), b[5], b[6], types.DInt(int64(len(b[6].S) - len(strings.ReplaceAll(b[6].S, "c", ""))))})
		}
	case "q15":
		groups(bids, byDay, func(rows [][]types.Datum) {
			out = append(out, append([]types.Datum{types.DStr(byDay(rows[0]))}, report(rows)...))
		})
	case "q16":
		groups(bids, func(b []types.Datum) string { return b[3].S + byDay(b) }, func(rows [][]types.Datum) {
			last := ""
			for _, b := range rows {
				last = max(last, format(b[5].I, "15:04"))
			}
			out = append(out, append([]types.Datum{rows[0][3], types.DStr(byDay(rows[0])), types.DStr(last)}, report(rows)...))
		})
	case "q19":
		groups(bids, func(b []types.Datum) string { return fmt.Sprint(b[0].I) }, func(rows [][]types.Datum) {
			slices.SortStableFunc(rows, func(a, b []types.Datum) int { return cmp.Or(cmp.Compare(b[2].I, a[2].I), cmp.Compare(a[5].I, b[5].I)) })
			for i, b := range rows[:min(len(rows), 10)] {
				out = append(out, append(slices.Clone(b), types.DInt(int64(i)+1)))
			}
		})
	case "q20":
		for _, b := range bids {
			for _, a := range auctions {
				if a[0].I == b[0].I && a[nexmark.AuctionCategory].I == 10 {
					out = append(out, append(slices.Clone(b), a[1:]...))
				}
			}
		}
	case "q21":
		for _, b := range bids {
			id, known := map[string]string{"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}[strings.ToLower(b[3].S)]
			if m := channelPattern.FindStringSubmatch(b[4].S); m != nil && !known {
				id, known = m[2], true
			}
			if known {
				out = append(out, []types.Datum{b[0], b[1], b[2], b[3], types.DStr(id)})
			}
		}
	case "q22":
		for _, b := range bids {
			parts := append(strings.Split(b[4].S, "/"), "", "", "", "", "", "")
			out = append(out, []types.Datum{b[0], b[1], b[2], b[3], types.DStr(parts[3]), types.DStr(parts[4]), types.DStr(parts[5])})
		}
	}
	return out
}
