package sql

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	queries "github.com/weirdb/weir/bench/tpch"
)

// TestTPCH keeps the 22 queries of TPC-H as views while all tables but nation and region take inserts, updates and deletes: after every
// transaction each is what PostgreSQL answers, or without WEIR_PG the query from scratch. With WEIR_SOAK it is scale factor 0.01 (0.1 if
// WEIR_TPCH_SCALE says so) and 200 transactions.
func TestTPCH(t *testing.T) {
	x := &tpch{t: t, r: rand.New(rand.NewSource(22)), scale: "0.001", queries: queries.Queries()}
	transactions := 8
	if os.Getenv("WEIR_SOAK") != "" {
		x.scale, transactions = "0.01", 200
	}
	if s := os.Getenv("WEIR_TPCH_SCALE"); s != "" {
		x.scale = s
	}
	x.w = start(t, setup{parallelism: 2})
	x.c = connect(t, x.w.url(), nil)
	defer func() { closeConn(x.c) }()
	if base := os.Getenv("WEIR_PG"); base != "" {
		x.pg = connect(t, pgDatabase(t, base, "weir_tpch"), nil)
		defer closeConn(x.pg)
	}
	// Half of the views are there before the data.
	x.tables()
	for q := 0; q < len(x.queries); q += 2 {
		x.exec(x.c, fmt.Sprintf("CREATE MATERIALIZED VIEW q%d AS %s", q+1, x.queries[q]))
	}
	x.fill()
	for q := 1; q < len(x.queries); q += 2 {
		x.exec(x.c, fmt.Sprintf("CREATE MATERIALIZED VIEW q%d AS %s", q+1, x.queries[q]))
	}
	x.check("filled", true)
	for i := range transactions {
		x.transaction()
		if i == transactions/2 {
			closeConn(x.c)
			x.w.crash()
			x.c = connect(t, x.w.url(), nil)
		}
		x.check(fmt.Sprintf("transaction %d", i+1), i == transactions-1)
		if t.Failed() {
			return
		}
	}
}

type tpch struct {
	t     *testing.T
	w     *weir
	c, pg *pgx.Conn
	r     *rand.Rand
	scale string
	// queries are the 22, views have their numbers.
	queries []string
	// orders, customers, parts and suppliers count what there is; orders also what is added.
	orders, customers, parts, suppliers int
}

func (x *tpch) exec(c *pgx.Conn, q string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if _, err := c.PgConn().Exec(ctx, q).ReadAll(); err != nil {
		x.t.Fatalf("%s: %v", q, err)
	}
}

func (x *tpch) both(q string) {
	x.t.Helper()
	x.exec(x.c, q)
	if x.pg != nil {
		x.exec(x.pg, q)
	}
}

func (x *tpch) count(table string) int {
	x.t.Helper()
	var n int
	if err := x.c.QueryRow(context.Background(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		x.t.Fatal(err)
	}
	return n
}

// tables makes the tables, empty.
func (x *tpch) tables() {
	for _, t := range queries.Tables() {
		x.both("CREATE TABLE " + t.Name + " (" + t.Columns + ")")
	}
	if x.pg != nil {
		x.exec(x.pg, queries.Indexes)
	}
}

// fill copies the generated rows.
func (x *tpch) fill() {
	for _, t := range queries.Tables() {
		for _, st := range queries.FillStatements(t.Name, x.scale) {
			x.exec(x.c, st)
		}
		if x.pg != nil {
			var b bytes.Buffer
			ctx := context.Background()
			if _, err := x.c.PgConn().CopyTo(ctx, &b, "COPY "+t.Name+" TO STDOUT"); err != nil {
				x.t.Fatal(err)
			}
			if _, err := x.pg.PgConn().CopyFrom(ctx, &b, "COPY "+t.Name+" FROM STDIN"); err != nil {
				x.t.Fatal(err)
			}
		}
	}
	if x.pg != nil {
		x.exec(x.pg, "ANALYZE")
	}
	x.orders, x.customers, x.parts, x.suppliers = x.count("orders"), x.count("customer"), x.count("part"), x.count("supplier")
}

func (x *tpch) pick(ss ...string) string { return ss[x.r.Intn(len(ss))] }

// orderKey is the key of one of the orders, from the first to the newest; it may be gone.
func (x *tpch) orderKey() int { o := x.r.Intn(x.orders); return o/8*32 + o%8 + 1 }

func (x *tpch) day(from string, days int) string {
	return fmt.Sprintf("date '%s' + %d", from, x.r.Intn(days))
}

// line is a new line of an order. Its values are those that queries look at.
func (x *tpch) line(order, no int) string {
	part := 1 + x.r.Intn(x.parts)
	ship := x.day("1993-06-01", 1400)
	return fmt.Sprintf("(%d, %d, (SELECT min(ps_suppkey) FROM partsupp WHERE ps_partkey = %d), %d, %d, %d.%02d, 0.%02d, 0.%02d, '%s', '%s', %s, %s + %d, %s + %d, '%s', '%s', 'new')",
		order, part, part, no, 1+x.r.Intn(50), 900+x.r.Intn(90000), x.r.Intn(100), x.r.Intn(11), x.r.Intn(9), x.pick("R", "A", "N"), x.pick("O", "F"),
		ship, ship, x.r.Intn(40), ship, 1+x.r.Intn(60), x.pick("DELIVER IN PERSON", "NONE"), x.pick("MAIL", "SHIP", "AIR", "REG AIR", "TRUCK"))
}

// transaction changes a few rows of some tables.
func (x *tpch) transaction() {
	qs := []string{"BEGIN"}
	for range 1 + x.r.Intn(5) {
		switch x.r.Intn(14) {
		case 0, 1, 2:
			key := x.orders/8*32 + x.orders%8 + 1
			x.orders++
			qs = append(qs, fmt.Sprintf("INSERT INTO orders VALUES (%d, %d, '%s', %d.%02d, %s, '%s', 'Clerk#000000001', 0, '%s')", key, 1+x.r.Intn(x.customers),
				x.pick("F", "O", "P"), 1000+x.r.Intn(500000), x.r.Intn(100), x.day("1993-06-01", 1300), x.pick("1-URGENT", "2-HIGH", "5-LOW"), x.pick("a special one, requests included", "none")))
			for no := range 1 + x.r.Intn(7) {
				qs = append(qs, "INSERT INTO lineitem VALUES "+x.line(key, no+1))
			}
		case 3, 4:
			key := x.orderKey()
			qs = append(qs, fmt.Sprintf("DELETE FROM orders WHERE o_orderkey = %d", key), fmt.Sprintf("DELETE FROM lineitem WHERE l_orderkey = %d", key))
		case 5:
			qs = append(qs, fmt.Sprintf("DELETE FROM lineitem WHERE l_orderkey = %d AND l_linenumber > %d", x.orderKey(), 1+x.r.Intn(3)))
		case 6:
			qs = append(qs, fmt.Sprintf("UPDATE lineitem SET l_quantity = %d, l_discount = 0.%02d, l_receiptdate = l_receiptdate + %d WHERE l_orderkey BETWEEN %d AND %d + 20",
				1+x.r.Intn(60), x.r.Intn(11), x.r.Intn(60)-30, x.orderKey(), x.orderKey()))
		case 7:
			qs = append(qs, fmt.Sprintf("UPDATE lineitem SET l_shipdate = %s, l_returnflag = '%s', l_partkey = %d WHERE l_orderkey = %d", x.day("1994-01-01", 900), x.pick("R", "N"), 1+x.r.Intn(x.parts), x.orderKey()))
		case 8:
			qs = append(qs, fmt.Sprintf("UPDATE orders SET o_orderdate = %s, o_custkey = %d, o_orderstatus = '%s', o_comment = '%s' WHERE o_orderkey = %d", x.day("1993-07-01", 900), 1+x.r.Intn(x.customers),
				x.pick("F", "O"), x.pick("special requests", "x"), x.orderKey()))
		case 9:
			qs = append(qs, fmt.Sprintf("UPDATE customer SET c_mktsegment = '%s', c_nationkey = %d, c_acctbal = %d.5, c_phone = '%s-1' WHERE c_custkey = %d", x.pick("BUILDING", "MACHINERY"), x.r.Intn(25),
				x.r.Intn(9000)-500, x.pick("13", "31", "44"), 1+x.r.Intn(x.customers)))
		case 10:
			qs = append(qs, fmt.Sprintf("UPDATE part SET p_name = '%s', p_brand = '%s', p_size = %s, p_type = '%s', p_container = '%s' WHERE p_partkey = %d", x.pick("forest green", "dark green", "red"),
				x.pick("Brand#12", "Brand#23", "Brand#34", "Brand#45"), x.pick("15", "3", "9", "49"), x.pick("ECONOMY ANODIZED STEEL", "PROMO PLATED BRASS", "MEDIUM POLISHED TIN"), x.pick("MED BOX", "SM CASE", "LG BOX"), 1+x.r.Intn(x.parts)))
		case 11:
			qs = append(qs, fmt.Sprintf("UPDATE supplier SET s_nationkey = %s, s_comment = '%s', s_acctbal = %d WHERE s_suppkey = %d", x.pick("3", "6", "7", "20", "12"), x.pick("Customer Complaints", "fine"), x.r.Intn(9000), 1+x.r.Intn(x.suppliers)))
		case 12:
			qs = append(qs, fmt.Sprintf("UPDATE partsupp SET ps_supplycost = %d.25, ps_availqty = %d WHERE ps_partkey = %d", 1+x.r.Intn(900), x.r.Intn(9999), 1+x.r.Intn(x.parts)))
		case 13:
			k := 1 + x.r.Intn(x.customers)
			qs = append(qs, fmt.Sprintf("DELETE FROM orders WHERE o_custkey = %d", k), fmt.Sprintf("DELETE FROM lineitem WHERE NOT EXISTS (SELECT 1 FROM orders WHERE o_orderkey = l_orderkey)"))
		}
	}
	x.both(strings.Join(append(qs, "COMMIT"), "; "))
}

// check compares the views, and the ad hoc queries too, with PostgreSQL, or the views with the queries.
func (x *tpch) check(when string, adhoc bool) {
	x.t.Helper()
	filled := 0
	for i, q := range x.queries {
		view := x.read(x.c, fmt.Sprintf("SELECT * FROM q%d", i+1))
		var want []string
		if x.pg != nil {
			want = x.read(x.pg, q)
			if adhoc {
				if d := difference(want, x.read(x.c, q)); d != "" {
					x.t.Errorf("%s: q%d differs (+) from PostgreSQL:\n%s", when, i+1, d)
				}
			}
		} else {
			want = x.read(x.c, q)
		}
		if d := difference(want, view); d != "" {
			x.t.Errorf("%s: view q%d differs (+):\n%s", when, i+1, d)
		}
		if len(want) > 1 || len(want) == 1 && want[0] != "NULL" {
			filled++
		}
	}
	if adhoc {
		x.t.Logf("%s: %d of %d queries have rows", when, filled, len(x.queries))
	}
}

func (x *tpch) read(c *pgx.Conn, q string) []string {
	x.t.Helper()
	out, err := rows(c, q)
	if err != nil {
		x.t.Fatalf("%s: %v", q, err)
	}
	return out
}
