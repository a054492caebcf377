package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/server/syscat"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// A materialized view cannot refuse a change of what it reads. So a unique index on one is verified where PostgreSQL would find a
// violation: when it is made, and at REFRESH MATERIALIZED VIEW. Nothing is planned on the strength of it.

// verifyUnique fails with 23505 if rows of a view are equal in the columns of a unique index.
func (s *session) verifyUnique(ctx context.Context, t *tx, parent *catalog.Relation, name string, def *catalog.IndexDef) error {
	var cols, nums, conds, labels []string
	for i, c := range def.Columns {
		e, label := quoteIdent(c.Column), c.Column
		if c.Expr != "" {
			e, label = "("+c.Expr+")", c.Expr
		}
		cols, nums, labels = append(cols, e), append(nums, fmt.Sprint(i+1)), append(labels, label)
		if !def.NullsNotDistinct {
			conds = append(conds, e+" IS NOT NULL")
		}
	}
	if def.Where != "" {
		conds = append(conds, "("+def.Where+")")
	}
	if len(conds) == 0 {
		conds = []string{"true"}
	}
	text := fmt.Sprintf("SELECT %s FROM %s.%s WHERE %s GROUP BY %s HAVING count(*) > 1 LIMIT 1", strings.Join(cols, ", "),
		quoteIdent(parent.Schema), quoteIdent(parent.Name), strings.Join(conds, " AND "), strings.Join(nums, ", "))
	row, ts, err := s.firstRow(ctx, t, text)
	if err != nil || row == nil {
		return err
	}
	vals := make([]string, len(row))
	for i, v := range row {
		vals[i] = "null"
		if v.Valid {
			vals[i] = string(types.AppendText(nil, ts[i], v, s.typeEnv()))
		}
	}
	dup := sqlerr.Newf(sqlerr.UniqueViolation, "could not create unique index \"%s\"", name).
		WithDetail("Key (%s)=(%s) is duplicated.", strings.Join(labels, ", "), strings.Join(vals, ", "))
	dup.Schema, dup.Table, dup.Constraint = parent.Schema, parent.Name, name
	return dup
}

// firstRow runs a query that the server made and gives its first row, nil if there is none.
func (s *session) firstRow(ctx context.Context, t *tx, text string) (row []types.Datum, ts []types.Type, err error) {
	stmts, err := parse.Parse(text)
	if err != nil {
		return nil, nil, fmt.Errorf("query of the server %q: %w", text, err)
	}
	p := &prepared{s: s, ast: stmts[0].AST, text: text, source: text}
	if err := p.plan(t); err != nil {
		return nil, nil, err
	}
	ts = columnTypes(p)
	e := &execution{p: p, collect: func(_ []string, c *vec.Chunk) error {
		for i := 0; i < c.Len() && row == nil; i++ {
			row = make([]types.Datum, len(ts))
			for k := range row {
				row[k] = c.Cols[k].Datum(i)
			}
		}
		return nil
	}}
	_, err = s.query(ctx, t, e)
	return row, ts, err
}

// shown writes an expression of a relation as PostgreSQL's catalogs show it, "" if that is not known.
func (s *session) shown(cat *catalog.Catalog, rel *catalog.Relation, text string, want types.Type, pretty bool) string {
	e, err := parse.ParseExpr(text)
	if err != nil {
		return ""
	}
	pl := planner.New(planner.Config{
		Catalog: syscat.WithSystem(cat), Registry: s.b.Registry, ParseQuery: parse.ParseQuery, ParseExpr: parse.ParseExpr, Env: &types.Env{},
		SearchPath: s.vars.searchPath(s.user()), QuoteIdent: quoteIdent,
	})
	out, ok := pl.Shown(e, rel, want, pretty)
	if !ok {
		return ""
	}
	return out
}

// refreshUnique verifies the unique indexes of a view that is refreshed.
func (s *session) refreshUnique(ctx context.Context, t *tx, rel *catalog.Relation) error {
	for _, ix := range t.catalog().Sorted() {
		if ix.Kind == catalog.Index && ix.Parent == rel.ID && ix.Index.Unique {
			if err := s.verifyUnique(ctx, t, rel, ix.Name, ix.Index); err != nil {
				return err
			}
		}
	}
	return nil
}
