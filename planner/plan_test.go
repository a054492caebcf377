package planner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/planner/sqltext"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// db is a catalog that DDL in test files fills.
type db struct {
	cat *catalog.Catalog
	// pg, if not nil, is asked instead of the planner.
	pg *pgconn.PgConn
}

func newDB() *db { return &db{cat: catalog.New()} }

func (d *db) planner() *planner.Planner {
	now := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	env := &exec.Env{Location: time.UTC, Now: now, User: "weir", Database: "weir"}
	return planner.New(planner.Config{
		Catalog: d.cat, SearchPath: []string{"public"}, Registry: fn.Default(),
		ParseQuery: parse.ParseQuery, ParseExpr: parse.ParseExpr, Env: &types.Env{},
		Eval: func(e scalar.Expr) (types.Datum, error) { return expr.FoldConst(e, env) },
	})
}

// ddl runs CREATE statements.
func (d *db) ddl(text string) error {
	stmts, err := parse.Parse(text)
	if err != nil {
		return err
	}
	for _, s := range stmts {
		if err := d.create(s.AST); err != nil {
			return err
		}
	}
	return nil
}

func (d *db) put(r *catalog.Relation) {
	r.ID = d.cat.NextID
	d.cat.NextID++
	r.Schema = "public"
	r.SearchPath = []string{"public"}
	d.cat.Put(r)
}

func (d *db) create(st ast.Statement) error {
	switch st := st.(type) {
	case *ast.CreateTable:
		r := &catalog.Relation{Name: last(st.Name), Kind: catalog.Table, AppendOnly: st.AppendOnly}
		if err := columns(r, st.Columns, st.Constraints); err != nil {
			return err
		}
		watermark(r, st.Watermark)
		d.put(r)
	case *ast.CreateSource:
		r := &catalog.Relation{Name: last(st.Name), Kind: catalog.Source, Splits: 1}
		for _, o := range st.Options {
			if o.Name == "splits" {
				fmt.Sscan(o.Value, &r.Splits)
			}
		}
		if err := columns(r, st.Columns, nil); err != nil {
			return err
		}
		// What a connector promises is written as a key here.
		for _, u := range r.Uniques {
			r.SourceKeys = append(r.SourceKeys, u.Columns)
		}
		r.Key, r.PrimaryKey, r.Uniques = nil, "", nil
		r.Columns = r.Columns[:len(st.Columns)]
		watermark(r, st.Watermark)
		d.put(r)
	case *ast.CreateView:
		p := d.planner()
		b, err := p.Bind(st.Query, nil)
		if err != nil {
			return err
		}
		r := &catalog.Relation{Name: last(st.Name), Kind: catalog.View, Query: st.QueryText}
		for i, c := range b.Columns {
			name := c.Name
			if i < len(st.Columns) {
				name = st.Columns[i]
			}
			r.Columns = append(r.Columns, catalog.Column{Name: name, Type: c.Type})
		}
		if st.Materialized {
			r.Kind = catalog.MatView
			s, err := p.Stream(b, planner.StreamOptions{Parallelism: 1})
			if err != nil {
				return err
			}
			r.AppendOnly, r.Watermarks = s.AppendOnly, s.Watermarks
			for _, c := range s.Columns[len(r.Columns):] {
				r.Columns = append(r.Columns, catalog.Column{Name: c.Name, Type: c.Type, Hidden: true})
			}
			for _, k := range s.Key {
				r.Key = append(r.Key, catalog.SortColumn{Col: k.Col})
			}
		}
		d.put(r)
	case *ast.CreateIndex:
		parent := d.cat.Relation("public", last(st.Table))
		r := &catalog.Relation{Name: st.Name, Kind: catalog.Index, Parent: parent.ID, Index: &catalog.IndexDef{}, Columns: parent.Columns}
		for i, c := range st.Columns {
			name := strings.TrimSpace(st.Texts[i])
			r.Index.Columns = append(r.Index.Columns, catalog.IndexColumn{Column: name, Desc: c.Desc})
			r.Key = append(r.Key, catalog.SortColumn{Col: parent.ColumnIndex(name), Desc: c.Desc})
		}
		r.Key = append(r.Key, parent.Key...)
		d.put(r)
	default:
		return fmt.Errorf("test DDL: %T", st)
	}
	return nil
}

// watermark gives r a watermark of 5 seconds.
func watermark(r *catalog.Relation, w *ast.Watermark) {
	if w != nil {
		r.Watermark = &catalog.Watermark{Col: r.ColumnIndex(w.Column), Delay: 5e6}
	}
}

func last(n ast.Name) string { return n.Parts[len(n.Parts)-1] }

func columns(r *catalog.Relation, cols []ast.ColumnDef, cons []ast.TableConstraint) error {
	var pk []int
	unique := func(cols []int, primary bool) {
		name := r.Name
		for _, c := range cols {
			name += "_" + r.Columns[c].Name
		}
		name += "_key"
		if primary {
			name = r.Name + "_pkey"
			pk = cols
			r.PrimaryKey = name
		}
		r.Uniques = append(r.Uniques, catalog.Unique{Name: name, Columns: cols, Primary: primary})
	}
	for i, c := range cols {
		t, _, err := planner.New(planner.Config{Catalog: catalog.New()}).Type(c.Type)
		if err != nil {
			return err
		}
		col := catalog.Column{Name: c.Name, Type: t}
		r.Columns = append(r.Columns, col)
		for _, k := range c.Constraints {
			switch k.Kind {
			case ast.ConNotNull:
				r.Columns[i].NotNull = true
			case ast.ConDefault:
				r.Columns[i].Default = k.ExprText
			case ast.ConGenerated:
				r.Columns[i].Default, r.Columns[i].Generated = k.ExprText, true
			case ast.ConIdentity:
				r.Columns[i].Identity = "by default"
				if k.Always {
					r.Columns[i].Identity = "always"
				}
			case ast.ConPrimaryKey:
				r.Columns[i].NotNull = true
				unique([]int{i}, true)
			case ast.ConUnique:
				unique([]int{i}, false)
			case ast.ConCheck:
				r.Checks = append(r.Checks, catalog.Check{Name: r.Name + "_" + c.Name + "_check", Expr: k.ExprText})
			}
		}
	}
	for _, k := range cons {
		var ords []int
		for _, n := range k.Columns {
			ords = append(ords, r.ColumnIndex(n))
		}
		switch k.Kind {
		case ast.ConPrimaryKey:
			for _, o := range ords {
				r.Columns[o].NotNull = true
			}
			unique(ords, true)
		case ast.ConUnique:
			unique(ords, false)
		case ast.ConCheck:
			r.Checks = append(r.Checks, catalog.Check{Name: r.Name + "_check", Expr: k.ExprText})
		}
	}
	if pk == nil {
		r.Columns = append(r.Columns, catalog.Column{Name: "_row_id", Type: types.T(types.Int8), Hidden: true, NotNull: true})
		pk = []int{len(r.Columns) - 1}
	}
	for _, c := range pk {
		r.Key = append(r.Key, catalog.SortColumn{Col: c})
	}
	return nil
}

func errText(err error, sql string) string {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return "ERROR (no SQLSTATE): " + err.Error() + "\n"
	}
	s := fmt.Sprintf("ERROR %s: %s\n", e.Code, e.Message)
	if e.Pos >= 0 && e.Pos <= len(sql) {
		rest := sql[e.Pos:]
		if i := strings.IndexByte(rest, '\n'); i >= 0 {
			rest = rest[:i]
		}
		if len(rest) > 30 {
			rest = rest[:30]
		}
		s += "AT: " + rest + "\n"
	}
	if e.Detail != "" {
		s += "DETAIL: " + e.Detail + "\n"
	}
	if e.Hint != "" {
		s += "HINT: " + e.Hint + "\n"
	}
	return s
}

// TestPlans runs the files in testdata: ddl fills the catalog; bind shows the plan as bound, unnest without
// subqueries, opt after all rules, batch and stream what is executed, columns the
// result columns and parameters. With emit a stream is EMIT ON WINDOW CLOSE, with views it takes the rows of materialized views
// for equal parts of the query, with indexes joins may read these.
func TestPlans(t *testing.T) {
	dsn := os.Getenv("WEIR_PG_DSN")
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		d := newDB()
		if dsn != "" {
			// What the files of analysis say is PostgreSQL's answer.
			if !strings.Contains(path, "analysis") {
				return
			}
			pg, err := pgconn.Connect(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer pg.Close(t.Context())
			if _, err := pg.Exec(t.Context(), "DROP SCHEMA public CASCADE; CREATE SCHEMA public").ReadAll(); err != nil {
				t.Fatal(err)
			}
			d.pg = pg
		}
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			if d.pg != nil && !td.HasArg("weir") {
				if td.Cmd == "ddl" {
					if err := d.ddl(td.Input); err != nil {
						t.Fatal(err)
					}
				}
				return d.askPostgres(td)
			}
			out, err := d.run(td)
			if err != nil {
				return errText(err, td.Input)
			}
			return out
		})
	})
}

func (d *db) run(td *datadriven.TestData) (string, error) {
	if td.Cmd == "ddl" {
		if err := d.ddl(td.Input); err != nil {
			return "", err
		}
		return "ok\n", nil
	}
	stmts, err := parse.Parse(td.Input)
	if err != nil {
		return "", err
	}
	p := d.planner()
	var out strings.Builder
	for _, s := range stmts {
		b, err := p.Bind(s.AST, nil)
		if err != nil {
			return "", err
		}
		switch td.Cmd {
		case "bind", "unnest", "opt":
			text, err := p.Stage(b, td.Cmd)
			if err != nil {
				return "", err
			}
			out.WriteString(text)
		case "batch":
			x, err := p.Batch(b)
			if err != nil {
				return "", err
			}
			out.WriteString(x.Explain())
		case "dml":
			x, err := p.DML(b)
			if err != nil {
				return "", err
			}
			out.WriteString(x.Explain())
			out.WriteString(dmlText(b, x))
		case "stream", "sink":
			o := planner.StreamOptions{Parallelism: 1, Sink: td.Cmd == "sink"}
			for _, a := range td.CmdArgs {
				switch a.Key {
				case "parallelism":
					fmt.Sscan(a.Vals[0], &o.Parallelism)
				case "emit":
					o.OnClose = true
				case "share":
					o.Share = plan.ShareAll
				case "cheap":
					o.Share = plan.ShareCheap
				case "common":
					o.Common = true
				case "indexes":
					for _, r := range d.cat.Sorted() {
						if r.Kind == catalog.Index {
							o.Indexes = append(o.Indexes, r.ID)
						}
					}
				case "views":
					if o.Views, err = d.kept(p); err != nil {
						return "", err
					}
				}
			}
			x, err := p.Stream(b, o)
			if err != nil {
				return "", err
			}
			out.WriteString(x.Explain())
			var hidden []string
			for _, c := range x.Columns {
				if c.Hidden {
					hidden = append(hidden, c.Name)
				}
			}
			if len(hidden) > 0 {
				fmt.Fprintf(&out, "hidden: %s\n", strings.Join(hidden, ", "))
			}
		case "columns":
			for _, c := range b.Columns {
				fmt.Fprintf(&out, "%s %s", c.Name, c.Type)
				if c.Rel != nil {
					fmt.Fprintf(&out, " (%s.%s)", c.Rel.Name, c.Rel.Columns[c.Ord].Name)
				}
				out.WriteString("\n")
			}
			for i, t := range b.ParamTypes {
				fmt.Fprintf(&out, "$%d %s\n", i+1, t)
			}
		default:
			return "", fmt.Errorf("unknown command %s", td.Cmd)
		}
	}
	return out.String(), nil
}

// kept gives all materialized views with their queries.
func (d *db) kept(p *planner.Planner) ([]planner.KeptView, error) {
	var out []planner.KeptView
	for _, r := range d.cat.Sorted() {
		if r.Kind != catalog.MatView {
			continue
		}
		q, err := parse.ParseQuery(r.Query)
		if err != nil {
			return nil, err
		}
		b, err := p.Bind(q, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, planner.KeptView{Rel: r, Query: b})
	}
	return out, nil
}

// dmlText shows the parts of a DML plan that EXPLAIN does not.
func dmlText(b *planner.Bound, d *plan.DML) string {
	var out strings.Builder
	name := func(c *scalar.Column) string { return fmt.Sprintf("%s@%d", c.Name, c.Index) }
	text := func(e scalar.Expr) string { return sqltext.Expr(e, name, nil) }
	if len(d.Auto) > 0 {
		fmt.Fprintf(&out, "auto: %v\n", d.Auto)
	}
	if c := d.Conflict; c != nil {
		for _, a := range c.Set {
			fmt.Fprintf(&out, "set %s = %s\n", d.Target.Columns[a.Col].Name, text(a.Expr))
		}
		if c.Where != nil {
			fmt.Fprintf(&out, "where %s\n", text(c.Where))
		}
	}
	for _, c := range d.Checks {
		fmt.Fprintf(&out, "check %s: %s\n", c.Name, text(c.Expr))
	}
	for _, g := range d.Generated {
		fmt.Fprintf(&out, "generated %s: %s\n", d.Target.Columns[g.Col].Name, text(g.Expr))
	}
	for i, e := range d.Returning {
		fmt.Fprintf(&out, "returning %s: %s\n", b.Columns[i].Name, text(e))
	}
	return out.String()
}

// askPostgres gives PostgreSQL's answer to a ddl or columns command.
func (d *db) askPostgres(td *datadriven.TestData) string {
	ctx := context.Background()
	fail := func(err error) string {
		var e *pgconn.PgError
		if !errors.As(err, &e) {
			return err.Error() + "\n"
		}
		w := sqlerr.New(sqlerr.Code(e.Code), sqlerr.NoPos, "%s", e.Message)
		w.Detail, w.Hint = e.Detail, e.Hint
		if e.Position > 0 {
			w.Pos = len(string([]rune(td.Input)[:e.Position-1]))
		}
		return errText(w, td.Input)
	}
	if td.Cmd == "ddl" {
		if _, err := d.pg.Exec(ctx, td.Input).ReadAll(); err != nil {
			return fail(err)
		}
		return "ok\n"
	}
	st, err := d.pg.Prepare(ctx, "", td.Input, nil)
	if err != nil {
		return fail(err)
	}
	var out strings.Builder
	for _, f := range st.Fields {
		t, _ := types.TypeByOID(f.DataTypeOID, f.TypeModifier)
		fmt.Fprintf(&out, "%s %s", f.Name, t)
		if f.TableOID != 0 && f.TableAttributeNumber > 0 {
			rows, err := d.pg.Exec(ctx, fmt.Sprintf("SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.oid = %d AND a.attnum = %d",
				f.TableOID, f.TableAttributeNumber)).ReadAll()
			if err != nil {
				return fail(err)
			}
			r := rows[0].Rows[0]
			fmt.Fprintf(&out, " (%s.%s)", r[0], r[1])
		}
		out.WriteString("\n")
	}
	for i, oid := range st.ParamOIDs {
		t, _ := types.TypeByOID(oid, -1)
		fmt.Fprintf(&out, "$%d %s\n", i+1, t)
	}
	return out.String()
}
