package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weirdb/weir/bench/tpch"
)

// PostgresConfig says what is measured beside PostgreSQL.
type PostgresConfig struct {
	// Works are the names of what is done; see PostgresWorks.
	Works []string
	// Rounds is how often each is done on each side, in turn; Slice is how long clients read or insert in a round.
	Rounds int
	Slice  time.Duration
	// Rows is how many are copied, and how many there are to be read at once.
	Rows int
	// ScaleFactor is that of TPC-H.
	ScaleFactor string
	// Bin is where the programs of PostgreSQL are, Dir where both sides have their data.
	Bin, Dir string
	// Command makes the process of a server of Weir, as in RestartConfig.
	Command func(ctx context.Context, dataDir string) *exec.Cmd
	// Progress is told what is being done.
	Progress func(string)
}

// PostgresResult is one piece of work on both sides: the median of what they did.
type PostgresResult struct {
	Work string `json:"work"`
	// Unit is that of the figures: of "/s" more is better, of "ms" less.
	Unit     string  `json:"unit"`
	Weir     float64 `json:"weir"`
	Postgres float64 `json:"postgres"`
	// Ratio is how many times as fast Weir is.
	Ratio float64 `json:"ratio"`
}

// contender is one of the two servers.
type contender struct {
	cfg  *PostgresConfig
	weir bool
	host string
	port string
	conn *pgx.Conn
	// copies counts the tables that were filled.
	copies int
}

// work is something that both can do. measure does it once.
type work struct {
	name, unit string
	setup      func(ctx context.Context, c *contender) error
	measure    func(ctx context.Context, c *contender) (float64, error)
}

// PostgresWorks lists what there is to do.
func PostgresWorks() []string { return []string{"read", "insert", "copy", "scan", "tpch"} }

func (cfg *PostgresConfig) works(name string) ([]work, error) {
	switch name {
	case "read":
		return []work{{"point reads of a view, prepared, 8 clients", "/s", setupRead, pgbench(8, "\\set k random(1, 100000)\nSELECT n, total FROM by_k WHERE k = :k;\n")}}, nil
	case "insert":
		return []work{{"durable inserts of a row, 16 clients", "/s", setupInsert, pgbench(16, "\\set a random(1, 1000000)\nINSERT INTO event VALUES (:client_id, :a, 'some text');\n")}}, nil
	case "copy":
		return cfg.copyWorks(), nil
	case "scan":
		return scanWorks(), nil
	case "tpch":
		return tpchWorks(), nil
	}
	return nil, fmt.Errorf("no work %q; there are %s", name, strings.Join(PostgresWorks(), ", "))
}

// Postgres does the works on both servers in turn, and reports each when it is done. Of TPC-H it reports each query, whose answers must
// be equal, and last the geometric mean of the ratios.
func Postgres(ctx context.Context, cfg PostgresConfig, report func(PostgresResult)) (err error) {
	sides, stop, err := cfg.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	for _, name := range cfg.Works {
		works, err := cfg.works(name)
		if err != nil {
			return err
		}
		var logs float64
		for _, w := range works {
			cfg.Progress(w.name)
			r, err := cfg.compare(ctx, w, sides)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			report(r)
			logs += math.Log(r.Ratio)
		}
		if name == "tpch" {
			report(PostgresResult{Work: "TPC-H, geometric mean", Ratio: math.Exp(logs / float64(len(works)))})
		}
	}
	return nil
}

// compare does one piece of work.
func (cfg *PostgresConfig) compare(ctx context.Context, w work, sides []*contender) (PostgresResult, error) {
	r := PostgresResult{Work: w.name, Unit: w.unit}
	figures := make([][]float64, len(sides))
	for round := range cfg.Rounds {
		for i, c := range sides {
			if round == 0 && w.setup != nil {
				if err := w.setup(ctx, c); err != nil {
					return r, fmt.Errorf("%s: %w", c.name(), err)
				}
			}
			f, err := w.measure(ctx, c)
			if err != nil {
				return r, fmt.Errorf("%s: %w", c.name(), err)
			}
			figures[i] = append(figures[i], f)
		}
	}
	for i := range figures {
		slices.Sort(figures[i])
	}
	r.Weir, r.Postgres = figures[0][cfg.Rounds/2], figures[1][cfg.Rounds/2]
	r.Ratio = r.Weir / r.Postgres
	if w.unit == "ms" {
		r.Ratio = r.Postgres / r.Weir
	}
	return r, nil
}

// start starts both servers, Weir first.
func (cfg *PostgresConfig) start(ctx context.Context) (_ []*contender, stop func() error, err error) {
	var stops []func() error
	stop = func() (err error) {
		for _, s := range slices.Backward(stops) {
			err = errors.Join(err, s())
		}
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, stop())
		}
	}()
	server := &restartRun{cfg: RestartConfig{Command: cfg.Command}}
	if server.dir, err = os.MkdirTemp(cfg.Dir, "weir-bench-"); err != nil {
		return nil, nil, err
	}
	stops = append(stops, func() error { return os.RemoveAll(server.dir) }, server.kill)
	if err := server.serve(ctx); err != nil {
		return nil, nil, err
	}
	pg, err := startCluster(ctx, cfg.Bin, cfg.Dir)
	if err != nil {
		return nil, nil, err
	}
	stops = append(stops, pg.stop)
	w := &contender{cfg: cfg, weir: true}
	if w.host, w.port, err = net.SplitHostPort(server.addr); err != nil {
		return nil, nil, err
	}
	sides := []*contender{w, {cfg: cfg, host: "127.0.0.1", port: fmt.Sprint(pg.port)}}
	for _, c := range sides {
		if c.conn, err = pgx.Connect(ctx, c.url()); err != nil {
			return nil, nil, err
		}
		stops = append(stops, func() error { return c.conn.Close(context.Background()) })
	}
	return sides, stop, nil
}

func (c *contender) name() string {
	if c.weir {
		return "Weir"
	}
	return "PostgreSQL"
}

func (c *contender) database() string {
	if c.weir {
		return "weir"
	}
	return "postgres"
}

func (c *contender) url() string {
	return fmt.Sprintf("postgres://weir@%s/%s?sslmode=disable", net.JoinHostPort(c.host, c.port), c.database())
}

// exec runs statements, those of a string in one transaction.
func (c *contender) exec(ctx context.Context, statements ...string) error {
	for _, st := range statements {
		if _, err := c.conn.PgConn().Exec(ctx, st).ReadAll(); err != nil {
			return fmt.Errorf("%s: %w", st, err)
		}
	}
	return nil
}

// settle waits until nothing of what was written is left to do, as far as the server knows how.
func (c *contender) settle(ctx context.Context) error {
	if c.weir {
		return c.exec(ctx, "ANALYZE", "CHECKPOINT")
	}
	return c.exec(ctx, "VACUUM ANALYZE", "CHECKPOINT")
}

// pgbench gives a measure: transactions per second of PostgreSQL's own load generator, with statements prepared.
func pgbench(clients int, script string) func(context.Context, *contender) (float64, error) {
	return func(ctx context.Context, c *contender) (tps float64, err error) {
		f, err := os.CreateTemp(c.cfg.Dir, "weir-bench-*.sql")
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
		if _, err := f.WriteString(script); err != nil {
			return 0, err
		}
		if err := f.Close(); err != nil {
			return 0, err
		}
		cmd := exec.CommandContext(ctx, filepath.Join(c.cfg.Bin, "pgbench"), "-n", "-M", "prepared", "-c", fmt.Sprint(clients), "-j", "2",
			"-T", fmt.Sprint(max(1, int(c.cfg.Slice.Seconds()))), "-f", f.Name(), "-h", c.host, "-p", c.port, "-U", "weir", c.database())
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			return 0, fmt.Errorf("pgbench: %w: %s", err, said.Bytes())
		}
		_, rest, ok := strings.Cut(string(out), "tps = ")
		if !ok {
			return 0, fmt.Errorf("pgbench said %q", out)
		}
		if _, err := fmt.Sscan(rest, &tps); err != nil {
			return 0, err
		}
		return tps, nil
	}
}

// setupRead makes a view of 100,000 groups, with an index in PostgreSQL, where a view has none of its own.
func setupRead(ctx context.Context, c *contender) error {
	err := c.exec(ctx, "CREATE TABLE sale (id int PRIMARY KEY, k int NOT NULL, amount bigint NOT NULL)",
		"INSERT INTO sale SELECT i, i % 100000 + 1, i FROM generate_series(1, 300000) AS g(i)",
		"CREATE MATERIALIZED VIEW by_k AS SELECT k, count(*) AS n, sum(amount) AS total FROM sale GROUP BY k")
	if err == nil && !c.weir {
		err = c.exec(ctx, "CREATE UNIQUE INDEX ON by_k (k)")
	}
	return errors.Join(err, c.settle(ctx))
}

func setupInsert(ctx context.Context, c *contender) error {
	return errors.Join(c.exec(ctx, "CREATE TABLE event (client int, amount int, note text)"), c.settle(ctx))
}

// copyWorks fill a new table each time, one that is plain in PostgreSQL and has a view over it in Weir, and one with a key in both.
func (cfg *PostgresConfig) copyWorks() []work {
	var text bytes.Buffer
	for i := range cfg.Rows {
		fmt.Fprintf(&text, "%d\t%d\tname %d\t%d.25\t2026-01-%02d 12:00:00\n", i, i%100_000, i%1000, i%10_000, 1+i%28)
	}
	fill := func(key string, view bool) func(context.Context, *contender) (float64, error) {
		return func(ctx context.Context, c *contender) (float64, error) {
			c.copies++
			name := fmt.Sprintf("copied%d", c.copies)
			if err := c.exec(ctx, fmt.Sprintf("CREATE TABLE %s (id int%s, grp int, name text, price numeric(10,2), at timestamp)", name, key)); err != nil {
				return 0, err
			}
			if view && c.weir {
				if err := c.exec(ctx, fmt.Sprintf("CREATE MATERIALIZED VIEW v_%s AS SELECT grp, count(*) AS n, sum(price) AS total FROM %s GROUP BY grp", name, name)); err != nil {
					return 0, err
				}
			}
			begin := time.Now()
			if _, err := c.conn.PgConn().CopyFrom(ctx, bytes.NewReader(text.Bytes()), "COPY "+name+" FROM STDIN"); err != nil {
				return 0, err
			}
			rate := float64(cfg.Rows) / time.Since(begin).Seconds()
			if err := c.exec(ctx, "DROP TABLE "+name+" CASCADE"); err != nil {
				return 0, err
			}
			return rate, c.settle(ctx)
		}
	}
	return []work{
		{"COPY of rows, plain", "/s", nil, fill("", false)},
		{"COPY of rows, in Weir with a view over them", "/s", nil, fill("", true)},
		{"COPY of rows with a key", "/s", nil, fill(" PRIMARY KEY", false)},
	}
}

// scanWorks read all rows of a view.
func scanWorks() []work {
	setup := func(ctx context.Context, c *contender) error {
		return errors.Join(c.exec(ctx, "CREATE TABLE fact (id int PRIMARY KEY, grp int NOT NULL, price bigint NOT NULL)",
			fmt.Sprintf("INSERT INTO fact SELECT i, i %% 100000, i %% 1000 FROM generate_series(1, %d) AS g(i)", c.cfg.Rows),
			"CREATE MATERIALIZED VIEW facts AS SELECT id, grp, price * 2 AS price FROM fact"), c.settle(ctx))
	}
	return []work{
		{"aggregate of all rows of a view", "ms", setup, query("SELECT count(*), sum(price), max(grp) FROM facts WHERE price > 10")},
		{"the same in 100,000 groups, the ten largest", "ms", nil, query("SELECT grp, count(*), sum(price) FROM facts GROUP BY grp ORDER BY sum(price) DESC, grp LIMIT 10")},
	}
}

// query gives a measure: the time of a statement until all of its answer is there.
func query(text string) func(context.Context, *contender) (float64, error) {
	return func(ctx context.Context, c *contender) (float64, error) {
		begin := time.Now()
		err := c.exec(ctx, text)
		return float64(time.Since(begin).Microseconds()) / 1000, err
	}
}

// tpchWorks are the queries. Before the first one the rows are generated by Weir and copied to PostgreSQL.
func tpchWorks() []work {
	copies := map[string]*bytes.Buffer{}
	fill := func(ctx context.Context, c *contender) error {
		for _, t := range tpch.Tables() {
			if err := c.exec(ctx, "CREATE TABLE "+t.Name+" ("+t.Columns+")"); err != nil {
				return err
			}
			if c.weir {
				if err := c.exec(ctx, tpch.FillStatements(t.Name, c.cfg.ScaleFactor)...); err != nil {
					return err
				}
				copies[t.Name] = &bytes.Buffer{}
				if _, err := c.conn.PgConn().CopyTo(ctx, copies[t.Name], "COPY "+t.Name+" TO STDOUT"); err != nil {
					return err
				}
			} else if _, err := c.conn.PgConn().CopyFrom(ctx, io.Reader(copies[t.Name]), "COPY "+t.Name+" FROM STDIN"); err != nil {
				return err
			}
		}
		return errors.Join(c.exec(ctx, tpch.Indexes), c.settle(ctx))
	}
	var works []work
	for i, text := range tpch.Queries() {
		w := work{name: fmt.Sprintf("TPC-H q%d", i+1), unit: "ms"}
		if i == 0 {
			w.setup = fill
		}
		var answer []byte
		w.measure = func(ctx context.Context, c *contender) (float64, error) {
			begin := time.Now()
			var out bytes.Buffer
			if _, err := c.conn.PgConn().CopyTo(ctx, &out, "COPY ("+text+") TO STDOUT"); err != nil {
				return 0, err
			}
			ms := float64(time.Since(begin).Microseconds()) / 1000
			if answer == nil {
				answer = out.Bytes()
			}
			if !bytes.Equal(answer, out.Bytes()) {
				return 0, fmt.Errorf("another answer:\n%sand before:\n%s", out.Bytes(), answer)
			}
			return ms, nil
		}
		works = append(works, w)
	}
	return works
}
