package syscat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/batch"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/build"
	"github.com/weirdb/weir/server/syscat"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// client runs queries on a catalog that has no rows but those of the system relations.
type client struct {
	cat  *catalog.Catalog
	path []string
	user string
}

// result is what a query gave.
type result struct {
	cols []planner.OutColumn
	rows [][]types.Datum
	tenv *types.Env
}

func (c *client) env() *syscat.Env {
	settings := []syscat.Setting{
		{Name: "server_version", Value: "15.0", Default: "15.0", Help: "Shows the server version.", Fixed: true},
		{Name: "server_version_num", Value: "150000", Default: "150000", Help: "Shows the server version as an integer.", Fixed: true},
		{Name: "search_path", Value: strings.Join(c.path, ", "), Default: "public", Help: "Sets the schema search order."},
		{Name: "work_mem", Value: "4MB", Default: "4MB", Help: "Sets a limit."},
	}
	return &syscat.Env{
		Now:     time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC),
		Catalog: c.cat, User: c.user, Database: "weir", SearchPath: c.path, PID: 7, TxID: 42,
		AllSettings: func() []syscat.Setting { return settings },
		Settings: func(name string) string {
			for _, s := range settings {
				if s.Name == name {
					return s.Value
				}
			}
			return ""
		},
		Size:        func(catalog.ID) int64 { return 8192 },
		Jobs:        c.jobs,
		Actors:      actors,
		Checkpoints: checkpoints,
	}
}

// jobs says of the shop's materialized view that it runs again, and of its sink that it is stalled; a view is being
// filled.
func (c *client) jobs() map[catalog.ID]syscat.Job {
	out := map[catalog.ID]syscat.Job{}
	since := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, r := range c.cat.Sorted() {
		switch r.Kind {
		case catalog.MatView:
			out[r.ID] = syscat.Job{
				State: "running", LastError: "division by zero", Attempts: 1, Restarts: 2, Since: since, Failover: "restart-region",
			}
		case catalog.Sink:
			out[r.ID] = syscat.Job{
				State: "stalled", LastError: "disk full", Attempts: 5, Restarts: 4, Since: since.Add(time.Hour), Failover: "restart-all",
			}
		}
	}
	out[90000] = syscat.Job{
		State: "backfilling", Since: since, Failover: "restart-region", Filled: 12345,
		New: &catalog.Relation{ID: 90000, Schema: "public", Name: "new_view", Owner: "app", Kind: catalog.MatView, Parallelism: 2},
	}
	return out
}

func actors() []syscat.Actor {
	return []syscat.Actor{
		{ID: 1, Job: 16405, JobName: "daily_revenue", Attempt: 3, State: "running", Passed: 17, WaitsFor: "input"},
		{ID: 2, Job: 16405, JobName: "daily_revenue", Fragment: 1, Index: 1, Attempt: 3, State: "running", Passed: 16, QueuedChunks: 4, QueuedBytes: 4096},
		{ID: 3, Job: 90000, JobName: "new_view", Attempt: 1, State: "created"},
	}
}

func checkpoints() []syscat.Checkpoint {
	start := time.Date(2026, 3, 4, 5, 6, 7, 500000, time.UTC)
	return []syscat.Checkpoint{
		{Epoch: 9, Kind: "checkpoint", State: "committed", Start: start, Duration: -1, Bytes: -1, Aligned: -1, Buffered: -1, Spilled: -1, Kept: "retained"},
		{
			Epoch: 17, Kind: "checkpoint", State: "committed", Start: start, Duration: 1500 * time.Microsecond, Bytes: 100, Aligned: 20, Buffered: 3,
			SlowestActor: "daily_revenue fragment 1 actor 2", Kept: "newest",
		},
		{
			Epoch: 18, Kind: "epoch", State: "in flight", Start: start, Duration: 12 * time.Second, Bytes: -1, Aligned: -1, Buffered: -1, Spilled: -1,
			WaitsFor: "daily_revenue fragment 1 actor 2",
		},
	}
}

// bind plans a query.
func (c *client) bind(sql string) (*planner.Bound, *plan.Batch, *syscat.Env, *types.Env, error) {
	env := c.env()
	tenv := &types.Env{Names: env}
	q, err := parse.ParseQuery(sql)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	p := planner.New(planner.Config{
		Catalog: syscat.WithSystem(c.cat), SearchPath: c.path, Registry: syscat.Registry(),
		ParseQuery: parse.ParseQuery, ParseExpr: parse.ParseExpr, Env: tenv,
	})
	b, err := p.Bind(q, nil)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	pl, err := p.Batch(b)
	return b, pl, env, tenv, err
}

func (c *client) query(sql string) (*result, error) {
	b, pl, env, tenv, err := c.bind(sql)
	if err != nil {
		return nil, err
	}
	r := &result{cols: b.Columns, tenv: tenv}
	xenv := &exec.Env{
		Location: time.UTC, User: c.user, Database: "weir", SearchPath: c.path, Names: env, Objects: env,
	}
	root, err := build.Batch(pl.Root, leaves{env}, xenv)
	if err != nil {
		return nil, err
	}
	ctx := &exec.Context{
		Ctx: context.Background(), Env: xenv, ChunkSize: vec.ChunkSize, RowError: func(f exec.RowFailure) error { return f.Err },
	}
	err = batch.Run(ctx, root, func(ch *vec.Chunk) error {
		for i := range ch.Len() {
			row := make([]types.Datum, len(r.cols))
			for k := range row {
				row[k] = ch.Cols[k].Datum(i)
			}
			r.rows = append(r.rows, row)
		}
		return nil
	})
	return r, err
}

// leaves reads system relations; all others are empty.
type leaves struct{ env *syscat.Env }

func (l leaves) Scan(n *plan.Scan) (batch.Leaf, error) {
	return batch.LeafFunc(func(_ *exec.Context, out func(*vec.Chunk) error) error {
		if n.Rel.Kind != catalog.System {
			return nil
		}
		rows, err := syscat.Rows(l.env, n.Rel)
		if err != nil {
			return err
		}
		ts := make([]types.Type, len(n.Rel.Columns))
		for i, c := range n.Rel.Columns {
			ts[i] = c.Type
		}
		c := vec.NewChunk(ts, vec.ChunkSize)
		var view vec.Chunk
		for i, row := range rows {
			c.AppendRow(row, 1)
			if c.Len() == vec.ChunkSize || i == len(rows)-1 {
				view.View(c, n.Cols)
				if err := out(&view); err != nil {
					return err
				}
				c.Reset()
			}
		}
		return nil
	}), nil
}

func (l leaves) Source(*plan.SourceScan) (batch.Leaf, error) {
	return batch.LeafFunc(func(*exec.Context, func(*vec.Chunk) error) error { return nil }), nil
}

// String shows a result with one row a line.
func (r *result) String() string {
	var b strings.Builder
	for i, c := range r.cols {
		if i > 0 {
			b.WriteString(" | ")
		}
		b.WriteString(c.Name + ":" + c.Type.Name())
	}
	b.WriteString("\n")
	for _, row := range r.rows {
		for i, d := range row {
			if i > 0 {
				b.WriteString(" | ")
			}
			switch text := types.Format(r.cols[i].Type, d, r.tenv); {
			case !d.Valid:
				b.WriteString("~")
			case text == "":
				b.WriteString("''")
			default:
				b.WriteString(strings.ReplaceAll(text, "\n", `\n`))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// describe shows an error as a client would.
func describe(err error) string {
	e := sqlerr.From(err)
	return fmt.Sprintf("ERROR %s: %s\n", e.Code, e.Message)
}

// shop is the catalog of a small shop, with an object of every kind.
func shop() *catalog.Catalog {
	c := catalog.New()
	c.Schemas["public"] = catalog.Schema{ID: 2200, Name: "public", Owner: "app"}
	c.Schemas["sales"] = catalog.Schema{ID: 16384, Name: "sales", Owner: "app"}
	col := func(name string, t types.Type, notNull bool, def string) catalog.Column {
		return catalog.Column{Name: name, Type: t, NotNull: notNull, Default: def}
	}
	typ := func(name string, mods ...string) types.Type {
		dims := 0
		if strings.HasSuffix(name, "[]") {
			name, dims = strings.TrimSuffix(name, "[]"), 1
		}
		t, err := types.FromName(name, mods, "", dims)
		if err != nil {
			panic(err)
		}
		return t
	}
	hidden := catalog.Column{Name: "_row_id", Type: typ("int8"), Hidden: true, NotNull: true, Serial: true}
	for _, r := range []*catalog.Relation{
		{
			ID: 16385, Name: "customers", Kind: catalog.Table, PrimaryKey: "customers_pkey",
			Columns: []catalog.Column{
				col("id", typ("int4"), true, ""), col("name", typ("text"), true, ""), col("email", typ("varchar", "200"), false, ""),
				col("active", typ("bool"), true, "true"), col("score", typ("float8"), false, ""), col("born", typ("date"), false, ""),
				col("uid", typ("uuid"), false, ""), col("avatar", typ("bytea"), false, ""),
			},
			Key:     []catalog.SortColumn{{Col: 0}},
			Uniques: []catalog.Unique{{Name: "customers_pkey", Columns: []int{0}, Primary: true}, {Name: "customers_email_key", Columns: []int{2}}},
			Comment: "people who buy", ColumnComments: map[string]string{"email": "login e-mail"},
		},
		{
			ID: 16390, Name: "orders", Kind: catalog.Table, PrimaryKey: "orders_pkey",
			Columns: []catalog.Column{
				col("id", typ("int8"), true, ""), col("customer_id", typ("int4"), false, ""),
				col("amount", typ("numeric", "12", "2"), true, "0"), col("status", typ("text"), false, "'new'"),
				col("tags", typ("text[]"), false, ""), col("meta", typ("jsonb"), false, ""),
				col("created_at", typ("timestamptz"), true, "now()"),
			},
			Key:     []catalog.SortColumn{{Col: 0}},
			Uniques: []catalog.Unique{{Name: "orders_pkey", Columns: []int{0}, Primary: true}},
			Checks:  []catalog.Check{{Name: "orders_amount_check", Expr: "amount >= 0"}},
			Comment: "all orders", ColumnComments: map[string]string{"amount": "gross amount"},
		},
		{
			ID: 16395, Name: "orders_status_created_idx", Kind: catalog.Index, Parent: 16390,
			Columns: []catalog.Column{
				col("id", typ("int8"), true, ""), col("status", typ("text"), false, ""), col("created_at", typ("timestamptz"), true, ""),
			},
			Index: &catalog.IndexDef{Columns: []catalog.IndexColumn{{Column: "status"}, {Column: "created_at", Desc: true, NullsFirst: true}}},
			Key:   []catalog.SortColumn{{Col: 1}, {Col: 2, Desc: true, NullsFirst: true}, {Col: 0}},
		},
		{
			ID: 16400, Name: "order_summary", Kind: catalog.View,
			Columns: []catalog.Column{
				col("customer_id", typ("int4"), false, ""), col("name", typ("text"), false, ""),
				col("n_orders", typ("int8"), false, ""), col("total", typ("numeric"), false, ""),
			},
			Query:      "SELECT c.id AS customer_id, c.name, count(o.id) AS n_orders, sum(o.amount) AS total FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id, c.name",
			SearchPath: []string{"public"}, DependsOn: []catalog.ID{16385, 16390},
		},
		{
			ID: 16405, Name: "daily_revenue", Kind: catalog.MatView,
			Columns: []catalog.Column{
				col("day", typ("timestamptz"), false, ""), col("status", typ("text"), false, ""),
				col("n", typ("int8"), false, ""), col("revenue", typ("numeric"), false, ""),
			},
			Query:      "SELECT date_trunc('day', created_at) AS day, status, count(*) AS n, sum(amount) AS revenue FROM orders GROUP BY 1, 2",
			SearchPath: []string{"public"}, DependsOn: []catalog.ID{16390}, Key: []catalog.SortColumn{{Col: 0}, {Col: 1}},
			Parallelism: 2,
		},
		{
			ID: 16410, Schema: "sales", Name: "regions", Kind: catalog.Table, PrimaryKey: "regions_pkey",
			Columns: []catalog.Column{
				{Name: "region_id", Type: typ("int4"), NotNull: true, Serial: true},
				col("code", typ("character", "2"), true, ""), col("title", typ("varchar", "50"), false, ""),
				col("parent_id", typ("int4"), false, ""),
			},
			Key: []catalog.SortColumn{{Col: 0}},
			Uniques: []catalog.Unique{
				{Name: "regions_pkey", Columns: []int{0}, Primary: true}, {Name: "regions_code_title_key", Columns: []int{1, 2}},
			},
		},
		{
			ID: 16415, Name: "notes", Kind: catalog.Table,
			Columns: []catalog.Column{
				{Name: "id", Type: typ("int8"), NotNull: true, Identity: "always"},
				col("Text", typ("text"), false, ""),
				{Name: "size", Type: typ("int4"), Default: `length("Text")`, Generated: true},
				hidden,
			},
			Key: []catalog.SortColumn{{Col: 3}},
		},
		{
			ID: 16420, Name: "clicks", Kind: catalog.Source, AppendOnly: true, Splits: 4, Format: "plain", Encode: "json",
			Columns: []catalog.Column{col("url", typ("text"), false, ""), col("at", typ("timestamp", "3"), false, "")},
			Options: []catalog.Option{{Name: "connector", Value: "file"}, {Name: "path", Value: "clicks"}, {Name: "secret_key", Value: "x"}},
		},
		{
			ID: 16425, Name: "out", Kind: catalog.Sink, Query: "SELECT * FROM daily_revenue",
			Columns: []catalog.Column{col("day", typ("timestamptz"), false, "")}, DependsOn: []catalog.ID{16405},
			Options: []catalog.Option{{Name: "connector", Value: "file"}},
		},
	} {
		if r.Schema == "" {
			r.Schema = "public"
		}
		r.Owner = "app"
		c.Put(r)
	}
	c.NextID = 16500
	c.Upgrade()
	return c
}

const regclass = types.Regclass

// argumentsFor makes some lists of arguments for a function.
func argumentsFor(f *fn.Func) [][]types.Datum {
	ints := []int64{0, 1, 16385, 1259, -1, 1 << 40}
	texts := []string{"", "orders", "nosuch.x", `"`, "a.b.c.d"}
	var out [][]types.Datum
	for i := range 6 {
		var args []types.Datum
		for _, t := range f.Args {
			switch {
			case t.Kind == types.Array:
				args = append(args, types.DStr(types.MakeArray(t.Elem, []types.Datum{{}})))
			case t.Phys() == types.PhysStr:
				args = append(args, types.DStr(texts[i%len(texts)]))
			default:
				args = append(args, types.DInt(ints[i%len(ints)]))
			}
		}
		out = append(out, args)
	}
	if !f.Strict {
		out = append(out, make([]types.Datum, len(f.Args)))
	}
	return out
}

// callFunc calls a function; errors that a user should see are none.
func callFunc(env *syscat.Env, f *fn.Func, args []types.Datum) error {
	var err error
	if f.Kind == fn.Table {
		_, err = env.CatalogRows(f, f.Args, args)
	} else {
		_, err = env.CallCatalog(f, f.Args, args)
	}
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return nil
	}
	return err
}
