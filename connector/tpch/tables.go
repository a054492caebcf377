package tpch

import (
	"fmt"

	"github.com/weirdb/weir/connector/arena"
	"github.com/weirdb/weir/connector/generate"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// Salts tell the draws for different columns apart.
const (
	saltPool = iota + 1
	saltAddress
	saltNation
	saltPhone
	saltBalance
	saltComment
	saltName
	saltBrand
	saltType
	saltSize
	saltContainer
	saltAvail
	saltCost
	saltSegment
	saltCustomer
	saltDate
	saltPriority
	saltClerk
	saltLines
	saltPart
	saltSupplier
	saltQuantity
	saltDiscount
	saltTax
	saltShip
	saltCommit
	saltReceipt
	saltInstruct
	saltMode
	saltFlag
	// The tables are told apart by adding one of these.
	ofSupplier = 100 * iota
	ofPart
	ofPartsupp
	ofCustomer
	ofOrders
	ofLineitem
	ofNation
	ofRegion
)

// Days since 2000: orders are from firstDay to lastDay, and today decides what has been shipped.
const (
	firstDay = -2922 // 1992-01-01
	lastDay  = -517  // 1998-08-02
	today    = -1659 // 1995-06-17
)

func (g *generator) hash(salt int, row int64) uint64 { return generate.Hash(g.seed, uint64(salt), row) }

// between is a random number in [lo, hi].
func (g *generator) between(salt int, row, lo, hi int64) int64 {
	return lo + int64(g.hash(salt, row)%uint64(hi-lo+1))
}

func number(name string, f func(row int64) int64) col {
	return col{name, types.T(types.Int4), func(row int64, dst *vec.Vector, _ *arena.Strings) { dst.AppendInt(f(row)) }}
}

func wide(name string, f func(row int64) int64) col {
	c := number(name, f)
	c.typ = types.T(types.Int8)
	return c
}

func date(name string, f func(row int64) int64) col {
	c := number(name, f)
	c.typ = types.T(types.Date)
	return c
}

// cents is an amount with two digits behind the point.
func cents(name string, f func(row int64) int64) col {
	return col{name, types.T(types.Numeric), func(row int64, dst *vec.Vector, _ *arena.Strings) {
		dst.AppendDec(types.NewDecimal(f(row), 2))
	}}
}

// text appends parts that are strings of the program or of the pool.
func text(name string, f func(row int64) string) col {
	return col{name, types.T(types.Text), func(row int64, dst *vec.Vector, _ *arena.Strings) { dst.AppendStr(f(row)) }}
}

// made is a text that is put together for each row.
func made(name string, f func(row int64, buf []byte) []byte) col {
	return col{name, types.T(types.Text), func(row int64, dst *vec.Vector, texts *arena.Strings) {
		var buf [64]byte
		dst.AppendStr(texts.Copy(f(row, buf[:0])))
	}}
}

func numbered(name, what string, f func(row int64) int64) col {
	return made(name, func(row int64, b []byte) []byte { return fmt.Appendf(b, "%s#%09d", what, f(row)) })
}

// comment is a piece of the pool.
func (g *generator) comment(name string, table int, lo, hi int64) col {
	return text(name, func(row int64) string { return g.piece(table+saltComment, row, lo, hi) })
}

func (g *generator) piece(salt int, row, lo, hi int64) string {
	h := g.hash(salt, row)
	at := int64(h >> 8 % poolSize)
	return g.pool()[at : at+lo+int64(h&0xff)%(hi-lo+1)]
}

func (g *generator) address(name string, table int) col {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyz, ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return made(name, func(row int64, b []byte) []byte {
		n := g.between(table+saltAddress, row, 10, 40)
		for i := range n {
			b = append(b, letters[g.hash(table+saltAddress, row<<6|i)%uint64(len(letters))])
		}
		return b
	})
}

// phone begins with the country's number.
func (g *generator) phone(name string, table int) col {
	return made(name, func(row int64, b []byte) []byte {
		h := g.hash(table+saltPhone, row)
		return fmt.Appendf(b, "%d-%03d-%03d-%04d", 10+g.nationOf(table, row), 100+h%900, 100+h>>16%900, 1000+h>>32%9000)
	})
}

func (g *generator) nationOf(table int, row int64) int64 {
	return g.between(table+saltNation, row, 0, int64(len(nations))-1)
}

func (g *generator) balance(name string, table int) col {
	return cents(name, func(row int64) int64 { return g.between(table+saltBalance, row, -99_999, 999_999) })
}

func key(row int64) int64 { return row + 1 }

func (g *generator) region() *table {
	return &table{int64(len(regions)), []col{
		number("r_regionkey", func(row int64) int64 { return row }),
		text("r_name", func(row int64) string { return regions[row] }),
		g.comment("r_comment", ofRegion, 31, 115),
	}}
}

func (g *generator) nation() *table {
	return &table{int64(len(nations)), []col{
		number("n_nationkey", func(row int64) int64 { return row }),
		text("n_name", func(row int64) string { return nations[row].name }),
		number("n_regionkey", func(row int64) int64 { return nations[row].region }),
		g.comment("n_comment", ofNation, 31, 114),
	}}
}

func (g *generator) supplier() *table {
	return &table{g.suppliers, []col{
		number("s_suppkey", key),
		numbered("s_name", "Supplier", key),
		g.address("s_address", ofSupplier),
		number("s_nationkey", func(row int64) int64 { return g.nationOf(ofSupplier, row) }),
		g.phone("s_phone", ofSupplier),
		g.balance("s_acctbal", ofSupplier),
		made("s_comment", func(row int64, b []byte) []byte {
			b = append(b, g.piece(ofSupplier+saltComment, row, 25, 70)...)
			// One in 2000 has complaints, one in 2000 recommendations.
			switch g.hash(ofSupplier+saltFlag, row) % 2000 {
			case 0:
				b = append(b, " Customer slyly Complaints"...)
			case 1:
				b = append(b, " Customer slyly Recommends"...)
			}
			return b
		}),
	}}
}

// retail is the price of a part in cents.
func retail(part int64) int64 { return 90_000 + part/10%20_001 + 100*(part%1000) }

func (g *generator) part() *table {
	mfgr := func(row int64) int64 { return g.between(ofPart+saltBrand, row, 1, 5) }
	return &table{g.parts, []col{
		number("p_partkey", key),
		made("p_name", func(row int64, b []byte) []byte {
			h := g.hash(ofPart+saltName, row)
			for i := range 5 {
				if i > 0 {
					b = append(b, ' ')
				}
				b = append(b, colors[h%uint64(len(colors))]...)
				h /= uint64(len(colors))
			}
			return b
		}),
		made("p_mfgr", func(row int64, b []byte) []byte { return fmt.Appendf(b, "Manufacturer#%d", mfgr(row)) }),
		made("p_brand", func(row int64, b []byte) []byte {
			return fmt.Appendf(b, "Brand#%d%d", mfgr(row), 1+g.hash(ofPart+saltBrand, row)>>32%5)
		}),
		made("p_type", func(row int64, b []byte) []byte {
			h := g.hash(ofPart+saltType, row)
			return fmt.Appendf(b, "%s %s %s", types1[h%6], types2[h>>16%5], types3[h>>32%5])
		}),
		number("p_size", func(row int64) int64 { return g.between(ofPart+saltSize, row, 1, 50) }),
		made("p_container", func(row int64, b []byte) []byte {
			h := g.hash(ofPart+saltContainer, row)
			return fmt.Appendf(b, "%s %s", containers1[h%5], containers2[h>>16%8])
		}),
		cents("p_retailprice", func(row int64) int64 { return retail(row + 1) }),
		g.comment("p_comment", ofPart, 5, 22),
	}}
}

// supplierOf is the i-th of the four suppliers of a part. They are four also where there are few suppliers.
func (g *generator) supplierOf(part, i int64) int64 {
	s := g.suppliers
	step := s/4 + (part-1)/s%(s/4)
	if 3*step == s {
		step++
	}
	return (part+i*step)%s + 1
}

func (g *generator) partsupp() *table {
	return &table{4 * g.parts, []col{
		number("ps_partkey", func(row int64) int64 { return row/4 + 1 }),
		number("ps_suppkey", func(row int64) int64 { return g.supplierOf(row/4+1, row%4) }),
		number("ps_availqty", func(row int64) int64 { return g.between(ofPartsupp+saltAvail, row, 1, 9999) }),
		cents("ps_supplycost", func(row int64) int64 { return g.between(ofPartsupp+saltCost, row, 100, 100_000) }),
		g.comment("ps_comment", ofPartsupp, 49, 198),
	}}
}

func (g *generator) customer() *table {
	return &table{g.customers, []col{
		number("c_custkey", key),
		numbered("c_name", "Customer", key),
		g.address("c_address", ofCustomer),
		number("c_nationkey", func(row int64) int64 { return g.nationOf(ofCustomer, row) }),
		g.phone("c_phone", ofCustomer),
		g.balance("c_acctbal", ofCustomer),
		text("c_mktsegment", func(row int64) string { return segments[g.hash(ofCustomer+saltSegment, row)%5] }),
		g.comment("c_comment", ofCustomer, 29, 116),
	}}
}

// orderKey leaves out three quarters of the keys, as the definition wants it.
func orderKey(order int64) int64 { return order/8*32 + order%8 + 1 }

func (g *generator) orderDate(order int64) int64 {
	return g.between(ofOrders+saltDate, order, firstDay, lastDay)
}

// linesOf is a permutation of how many lines eight orders have.
func (g *generator) linesOf(group int64) [8]int64 {
	n := [8]int64{1, 2, 3, 4, 5, 6, 7, 4}
	h := g.hash(ofOrders+saltLines, group)
	for i := uint64(7); i > 0; i-- {
		j := h % (i + 1)
		h /= i + 1
		n[i], n[j] = n[j], n[i]
	}
	return n
}

// firstLine is the number of an order's first line among all lines, and how many it has.
func (g *generator) firstLine(order int64) (first, n int64) {
	lines := g.linesOf(order / 8)
	first = order / 8 * 32
	for i := range order % 8 {
		first += lines[i]
	}
	return first, lines[order%8]
}

// orderOf is the order of a line, and the line's number in it, from 0.
func (g *generator) orderOf(line int64) (order, no int64) {
	lines := g.linesOf(line / 32)
	order, no = line/32*8, line%32
	for i := 0; no >= lines[i]; i++ {
		no -= lines[i]
		order++
	}
	return order, no
}

func (g *generator) ordersTable() *table {
	return &table{g.orders, []col{
		wide("o_orderkey", orderKey),
		number("o_custkey", func(row int64) int64 {
			// A third of the customers have no orders.
			k := g.between(ofOrders+saltCustomer, row, 0, g.customers/3*2-1)
			return k/2*3 + k%2 + 1
		}),
		text("o_orderstatus", func(row int64) string {
			first, n := g.firstLine(row)
			open := int64(0)
			for l := first; l < first+n; l++ {
				if g.shipDate(l, row) > today {
					open++
				}
			}
			switch open {
			case 0:
				return "F"
			case n:
				return "O"
			}
			return "P"
		}),
		cents("o_totalprice", func(row int64) int64 {
			first, n := g.firstLine(row)
			total := int64(0)
			for l := first; l < first+n; l++ {
				// Rounded for each line, as the definition does.
				total += (g.extended(l)*(100-g.discount(l))/100*(100+g.tax(l)) + 50) / 100
			}
			return total
		}),
		date("o_orderdate", g.orderDate),
		text("o_orderpriority", func(row int64) string { return priorities[g.hash(ofOrders+saltPriority, row)%5] }),
		numbered("o_clerk", "Clerk", func(row int64) int64 { return g.between(ofOrders+saltClerk, row, 1, g.clerks) }),
		number("o_shippriority", func(int64) int64 { return 0 }),
		g.comment("o_comment", ofOrders, 19, 78),
	}}
}

func (g *generator) partOf(line int64) int64 { return g.between(ofLineitem+saltPart, line, 1, g.parts) }

func (g *generator) quantity(line int64) int64 {
	return g.between(ofLineitem+saltQuantity, line, 1, 50)
}

func (g *generator) extended(line int64) int64 { return g.quantity(line) * retail(g.partOf(line)) }

func (g *generator) discount(line int64) int64 {
	return g.between(ofLineitem+saltDiscount, line, 0, 10)
}

func (g *generator) tax(line int64) int64 { return g.between(ofLineitem+saltTax, line, 0, 8) }

func (g *generator) shipDate(line, order int64) int64 {
	return g.orderDate(order) + g.between(ofLineitem+saltShip, line, 1, 121)
}

func (g *generator) shipped(line int64) int64 {
	order, _ := g.orderOf(line)
	return g.shipDate(line, order)
}

func (g *generator) received(line int64) int64 {
	return g.shipped(line) + g.between(ofLineitem+saltReceipt, line, 1, 30)
}

func (g *generator) lineitem() *table {
	return &table{4 * g.orders, []col{
		wide("l_orderkey", func(row int64) int64 { o, _ := g.orderOf(row); return orderKey(o) }),
		number("l_partkey", g.partOf),
		number("l_suppkey", func(row int64) int64 {
			return g.supplierOf(g.partOf(row), g.between(ofLineitem+saltSupplier, row, 0, 3))
		}),
		number("l_linenumber", func(row int64) int64 { _, no := g.orderOf(row); return no + 1 }),
		cents("l_quantity", func(row int64) int64 { return 100 * g.quantity(row) }),
		cents("l_extendedprice", g.extended),
		cents("l_discount", g.discount),
		cents("l_tax", g.tax),
		text("l_returnflag", func(row int64) string {
			if g.received(row) > today {
				return "N"
			}
			return [2]string{"A", "R"}[g.hash(ofLineitem+saltFlag, row)%2]
		}),
		text("l_linestatus", func(row int64) string {
			if g.shipped(row) > today {
				return "O"
			}
			return "F"
		}),
		date("l_shipdate", g.shipped),
		date("l_commitdate", func(row int64) int64 {
			o, _ := g.orderOf(row)
			return g.orderDate(o) + g.between(ofLineitem+saltCommit, row, 30, 90)
		}),
		date("l_receiptdate", g.received),
		text("l_shipinstruct", func(row int64) string { return instructions[g.hash(ofLineitem+saltInstruct, row)%4] }),
		text("l_shipmode", func(row int64) string { return modes[g.hash(ofLineitem+saltMode, row)%7] }),
		g.comment("l_comment", ofLineitem, 10, 43),
	}}
}
