package sql

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	queries "github.com/weirdb/weir/bench/nexmark"
)

// nexmarkTables are the tables of the benchmark; a bid has a number besides, to be a key.
var nexmarkTables = []struct{ name, columns string }{
	{"person", `id bigint PRIMARY KEY, name text, email_address text, credit_card text, city text, state text, date_time timestamp, extra text`},
	{"auction", `id bigint PRIMARY KEY, item_name text, description text, initial_bid bigint, reserve bigint, date_time timestamp, expires timestamp, seller bigint, category bigint, extra text`},
	{"bid", `auction bigint, bidder bigint, price bigint, channel text, url text, date_time timestamp, extra text, n bigint PRIMARY KEY`},
}

// nexmark is a server with the tables of the benchmark.
type nexmark struct {
	t     *testing.T
	w     *weir
	c, pg *pgx.Conn
	r     *rand.Rand
	// events is how many the tables are filled with; the generator makes an event each millisecond, so that no two bids have one time.
	events int
	// bids, auctions and people count what there has been.
	bids, auctions, people int
	seed                   maphash.Seed
}

func startNexmark(t *testing.T, s setup, events int) *nexmark {
	x := &nexmark{t: t, w: start(t, s), r: rand.New(rand.NewSource(11)), events: events, seed: maphash.MakeSeed()}
	x.c = connect(t, x.w.url(), nil)
	return x
}

func (x *nexmark) exec(c *pgx.Conn, q string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if _, err := c.PgConn().Exec(ctx, q).ReadAll(); err != nil {
		x.t.Fatalf("%s: %v", q, err)
	}
}

func (x *nexmark) both(q string) {
	x.t.Helper()
	x.exec(x.c, q)
	if x.pg != nil {
		x.exec(x.pg, q)
	}
}

// tables makes the tables, empty, and what queries need besides.
func (x *nexmark) tables(option string) {
	for _, t := range nexmarkTables {
		x.exec(x.c, "CREATE TABLE "+t.name+" ("+t.columns+")"+option)
		if x.pg != nil {
			x.exec(x.pg, "CREATE TABLE "+t.name+" ("+t.columns+")")
		}
	}
	for _, q := range queries.Names() {
		for _, st := range queries.Setup(q) {
			x.exec(x.c, st)
			if x.pg != nil && !strings.Contains(st, "weir.") {
				x.exec(x.pg, st)
			}
		}
	}
}

// fill copies the generated events.
func (x *nexmark) fill() {
	for _, t := range nexmarkTables {
		x.exec(x.c, fmt.Sprintf("CREATE SOURCE s_%s WITH (connector = 'nexmark', table = '%s', events = '%d', seed = '3', event_rate = '1000', active_people = '60', in_flight_auctions = '20')",
			t.name, t.name, x.events))
		columns := "*"
		if t.name == "bid" {
			columns += ", row_number() OVER (ORDER BY date_time)"
		}
		x.exec(x.c, "INSERT INTO "+t.name+" SELECT "+columns+" FROM s_"+t.name)
		x.exec(x.c, "DROP SOURCE s_"+t.name)
		if x.pg != nil {
			var b bytes.Buffer
			ctx := context.Background()
			if _, err := x.c.PgConn().CopyTo(ctx, &b, "COPY "+t.name+" TO STDOUT"); err != nil {
				x.t.Fatal(err)
			}
			if _, err := x.pg.PgConn().CopyFrom(ctx, &b, "COPY "+t.name+" FROM STDIN"); err != nil {
				x.t.Fatal(err)
			}
		}
	}
	if x.pg != nil {
		x.exec(x.pg, "CREATE INDEX ON bid (auction); ANALYZE")
	}
	x.bids, x.auctions, x.people = x.count("bid"), x.count("auction"), x.count("person")
}

func (x *nexmark) count(table string) int {
	x.t.Helper()
	var n int
	if err := x.c.QueryRow(context.Background(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		x.t.Fatal(err)
	}
	return n
}

// sum describes the rows of a query, in any order.
func (x *nexmark) sum(c *pgx.Conn, q string) (n int, sum uint64) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	rr := c.PgConn().Exec(ctx, q)
	var row []byte
	for rr.NextResult() {
		r := rr.ResultReader()
		for r.NextRow() {
			row = row[:0]
			for i, v := range r.Values() {
				row = append(append(row, normal(r.FieldDescriptions()[i].DataTypeOID, v)...), '|')
			}
			n++
			sum += maphash.Bytes(x.seed, row)
		}
	}
	if err := rr.Close(); err != nil {
		x.t.Fatalf("%s: %v", q, err)
	}
	return n, sum
}

// same compares two queries.
func (x *nexmark) same(when, name string, a *pgx.Conn, qa string, b *pgx.Conn, qb string) (n int) {
	x.t.Helper()
	n, suma := x.sum(a, qa)
	m, sumb := x.sum(b, qb)
	if n == m && suma == sumb {
		return n
	}
	x.t.Errorf("%s: %s: %d rows, and %d", when, name, n, m)
	if n+m > 100_000 {
		return n
	}
	rowsa, err := rows(a, qa)
	if err != nil {
		x.t.Fatal(err)
	}
	rowsb, err := rows(b, qb)
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Errorf("%s: %s differs (+):\n%s", when, name, difference(rowsa, rowsb))
	return n
}

func nexmarkQuery(t *testing.T, name string) string {
	t.Helper()
	q, err := queries.Query(name)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// changing gives the text of a query for tables whose rows change: there the side input of q13 has to be joined as any table, which gives the
// same as long as the side input does not change.
func changing(q string) string {
	return strings.ReplaceAll(q, " FOR SYSTEM_TIME AS OF PROCTIME()", "")
}

// changingNames are the queries for tables whose rows change: q12 asks when rows have come, and wants rows that stay.
func changingNames() []string {
	return slices.DeleteFunc(queries.Names(), func(name string) bool { return name == "q12" })
}

// postgresQuery gives the text of a query for PostgreSQL, "" if its language is not the same. Weir says which of equal rows comes first, PostgreSQL must be
// told.
func postgresQuery(name, q string) string {
	switch name {
	case "q5", "q7", "q8", "q11":
		return ""
	case "q18":
		return strings.Replace(q, "ORDER BY date_time DESC)", "ORDER BY date_time DESC, n)", 1)
	case "q6", "q9":
		return strings.Replace(q, "b.date_time ASC)", "b.date_time ASC, b.n)", 1)
	case "q19":
		return strings.Replace(q, "date_time ASC)", "date_time ASC, n)", 1)
	}
	return changing(q)
}

// TestNexmarkAppendOnly: over append-only tables, filled before and after it is created, each view is equal to its query. With WEIR_SOAK there
// are a million events.
func TestNexmarkAppendOnly(t *testing.T) {
	s, events := setup{parallelism: 2}, 5_000
	if os.Getenv("WEIR_SOAK") != "" {
		s.onDisk, events = true, 1_000_000
	}
	x := startNexmark(t, s, events)
	defer func() { closeConn(x.c) }()
	x.tables(" APPEND ONLY")
	names := queries.Names()
	before := len(names) / 2
	if events > 100_000 {
		before = 0 // all of them at a time would be too much for the disk
	}
	for _, name := range names[:before] {
		x.exec(x.c, "CREATE MATERIALIZED VIEW "+name+" AS "+nexmarkQuery(t, name))
	}
	x.fill()
	for i, name := range names {
		q := nexmarkQuery(t, name)
		if i >= before {
			x.exec(x.c, "CREATE MATERIALIZED VIEW "+name+" AS "+q)
		}
		if n := x.same("filled", name, x.c, q, x.c, "SELECT * FROM "+name); n == 0 {
			t.Errorf("%s has no rows", name)
		}
		x.exec(x.c, "DROP MATERIALIZED VIEW "+name)
	}
}

// TestNexmarkChanges: while bids, auctions and persons come, change and go, each view stays equal to its query, and with WEIR_PG to what PostgreSQL answers.
func TestNexmarkChanges(t *testing.T) {
	events, transactions := 2_000, 8
	if os.Getenv("WEIR_SOAK") != "" {
		events, transactions = 50_000, 100
	}
	x := startNexmark(t, setup{parallelism: 2}, events)
	defer func() { closeConn(x.c) }()
	if base := os.Getenv("WEIR_PG"); base != "" {
		x.pg = connect(t, pgDatabase(t, base, "weir_nexmark"), nil)
		defer closeConn(x.pg)
	}
	x.tables("")
	for i, name := range changingNames() {
		if i%2 == 0 {
			x.exec(x.c, "CREATE MATERIALIZED VIEW "+name+" AS "+changing(nexmarkQuery(t, name)))
		}
	}
	x.fill()
	for i, name := range changingNames() {
		if i%2 == 1 {
			x.exec(x.c, "CREATE MATERIALIZED VIEW "+name+" AS "+changing(nexmarkQuery(t, name)))
		}
	}
	x.check("filled")
	for i := range transactions {
		x.transaction()
		if i == transactions/2 {
			closeConn(x.c)
			x.w.crash()
			x.c = connect(t, x.w.url(), nil)
		}
		x.check(fmt.Sprintf("transaction %d", i+1))
		if t.Failed() {
			return
		}
	}
}

func (x *nexmark) check(when string) {
	x.t.Helper()
	for _, name := range changingNames() {
		q := nexmarkQuery(x.t, name)
		n := x.same(when, name, x.c, changing(q), x.c, "SELECT * FROM "+name)
		if n == 0 {
			x.t.Errorf("%s: %s has no rows", when, name)
		}
		if pq := postgresQuery(name, q); x.pg != nil && pq != "" {
			x.same(when, name+" of PostgreSQL", x.pg, pq, x.c, "SELECT * FROM "+name)
		}
	}
}

// some gives the condition for a few rows whose key, which counts to n, begins at first.
func (x *nexmark) some(key string, first, n int) string {
	from, size := first+x.r.Intn(n), 1+x.r.Intn(max(n/50, 1))
	return fmt.Sprintf("%s BETWEEN %d AND %d", key, from, from+size)
}

func (x *nexmark) pick(ss ...string) string { return ss[x.r.Intn(len(ss))] }

// transaction changes some rows of each table.
func (x *nexmark) transaction() {
	const firstID = 1000
	bids := func() string { return x.some("n", 1, x.bids) }
	auctions := func() string { return x.some("id", firstID, x.auctions) }
	people := func() string { return x.some("id", firstID, x.people) }
	auction := func() int { return firstID + x.r.Intn(x.auctions) }
	qs := []string{"BEGIN"}
	for range 3 + x.r.Intn(8) {
		switch x.r.Intn(20) {
		case 0, 1:
			qs = append(qs, "DELETE FROM bid WHERE "+bids())
		case 2:
			qs = append(qs, fmt.Sprintf("UPDATE bid SET price = price %% %d + %d WHERE %s", 1+x.r.Intn(3_000_000), x.r.Intn(20_000), bids()))
		case 3:
			qs = append(qs, fmt.Sprintf("UPDATE bid SET auction = %d WHERE %s", auction(), bids()))
		case 4:
			qs = append(qs, fmt.Sprintf("UPDATE bid SET bidder = %d WHERE %s", firstID+x.r.Intn(x.people), bids()))
		case 5:
			qs = append(qs, fmt.Sprintf("UPDATE bid SET date_time = date_time + interval '%d ms' WHERE %s", x.r.Intn(60_000)-30_000, bids()))
		case 6:
			qs = append(qs, fmt.Sprintf("UPDATE bid SET date_time = date_time + interval '%d h' WHERE %s", x.r.Intn(40), bids()))
		case 7:
			qs = append(qs, fmt.Sprintf("UPDATE bid SET channel = '%s', url = '%s' WHERE %s", x.pick("Apple", "baidu", "channel-7", "channel-8"),
				x.pick("", "channel_id=5", "https://x.y/a/b/c/d?channel_id=6", "https://x.y/a/b&xchannel_id=6&channel_id=7&z=1", "//", "a/b/c/d/e/f"), bids()))
		case 8:
			qs = append(qs, "UPDATE bid SET price = price WHERE "+bids(), "UPDATE bid SET extra = extra || 'cc' WHERE "+bids())
		case 9, 10:
			qs = append(qs, fmt.Sprintf("INSERT INTO bid SELECT %d, bidder + %d, price + %d, channel, url, date_time + interval '%d ms', extra, n + %d FROM bid WHERE n BETWEEN %d AND %d",
				auction(), x.r.Intn(2), x.r.Intn(100), x.r.Intn(500), 1_000_000*(1+x.r.Intn(1_000_000)), x.bids/2, x.bids/2+x.r.Intn(60)))
		case 11:
			qs = append(qs, "DELETE FROM auction WHERE "+auctions())
		case 12:
			qs = append(qs, fmt.Sprintf("UPDATE auction SET category = %d, reserve = reserve + 1 WHERE %s", 10+x.r.Intn(5), auctions()))
		case 13:
			qs = append(qs, fmt.Sprintf("UPDATE auction SET expires = expires + interval '%d ms', seller = %d WHERE %s", x.r.Intn(9000)-3000, firstID+x.r.Intn(x.people), auctions()))
		case 14:
			qs = append(qs, fmt.Sprintf("UPDATE auction SET date_time = date_time - interval '%d ms', item_name = 'other' WHERE %s", x.r.Intn(15_000)-5000, auctions()))
		case 15:
			qs = append(qs, fmt.Sprintf("INSERT INTO auction SELECT id + 100000, item_name, description, initial_bid, reserve, date_time, expires, seller, category, extra FROM auction WHERE %s ON CONFLICT DO NOTHING", auctions()),
				fmt.Sprintf("UPDATE bid SET auction = auction + 100000 WHERE auction < 100000 AND %s", bids()))
		case 16:
			qs = append(qs, "DELETE FROM person WHERE "+people())
		case 17:
			qs = append(qs, fmt.Sprintf("UPDATE person SET state = '%s', city = 'Bend' WHERE %s", x.pick("OR", "ID", "CA", "WA"), people()))
		case 18:
			qs = append(qs, fmt.Sprintf("UPDATE person SET date_time = date_time + interval '%d ms', name = name || '!' WHERE %s", x.r.Intn(20_000)-10_000, people()))
		case 19:
			qs = append(qs, fmt.Sprintf("INSERT INTO person SELECT id + %d, name, email_address, credit_card, city, state, date_time, extra FROM person WHERE %s ON CONFLICT DO NOTHING", x.r.Intn(20), people()))
		}
	}
	x.both(strings.Join(append(qs, "COMMIT"), "; "))
}
