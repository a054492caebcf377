package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/server/syscat"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
)

// maintain runs VACUUM, ANALYZE, REINDEX and CLUSTER. Nothing is left to do for them: dead versions go in the background,
// the planner reads no statistics that somebody has to gather, and indexes are kept in order. What they say of names,
// privileges and transaction blocks is checked all the same.
func (s *session) maintain(ctx context.Context, t *tx, st *ast.Maintain) (pgwire.Result, error) {
	if st.What == "VACUUM" && t.explicit {
		return pgwire.Result{}, sqlerr.Newf(sqlerr.ActiveSQLTransaction, "VACUUM cannot run inside a transaction block")
	}
	if st.What == "REINDEX" && t.explicit && (st.Kind == "schema" || st.Kind == "database" || st.Kind == "system") {
		return pgwire.Result{}, sqlerr.Newf(sqlerr.ActiveSQLTransaction, "REINDEX %s cannot run inside a transaction block", strings.ToUpper(st.Kind))
	}
	d := &definer{ctx: ctx, s: s, t: t, cat: t.catalog()}
	switch st.Kind {
	case "schema":
		if !d.cat.HasSchema(st.Name) {
			return pgwire.Result{}, sqlerr.Newf(sqlerr.InvalidSchemaName, "schema %q does not exist", st.Name)
		}
	case "database", "system":
		if st.Name != Database && st.Name != s.user() {
			return pgwire.Result{}, sqlerr.Newf(sqlerr.FeatureNotSupported, "can only reindex the currently open database")
		}
	}
	for _, mt := range st.Tables {
		if st.Kind == "index" && d.constraintIndex(mt.Name) {
			continue
		}
		rel, err := d.relation(mt.Name)
		if err != nil {
			return pgwire.Result{}, err
		}
		switch {
		case st.Kind == "index":
			if rel.Kind != catalog.Index {
				return pgwire.Result{}, sqlerr.Newf(sqlerr.WrongObjectType, "%q is not an index", rel.Name)
			}
		case st.Kind == "table" || st.What == "CLUSTER":
			if rel.Kind != catalog.Table && rel.Kind != catalog.MatView && rel.Kind != catalog.System {
				return pgwire.Result{}, sqlerr.Newf(sqlerr.WrongObjectType, "%q is not a table or materialized view", rel.Name)
			}
		case rel.Kind != catalog.Table && rel.Kind != catalog.MatView && rel.Kind != catalog.System:
			verb := map[string]string{"VACUUM": "vacuum", "ANALYZE": "analyze"}[st.What]
			s.warn(sqlerr.SuccessfulCompletion, fmt.Sprintf("skipping %q --- cannot %s non-tables or special system tables", rel.Name, verb), "")
			continue
		}
		for _, c := range mt.Columns {
			if rel.ColumnIndex(c) < 0 {
				return pgwire.Result{}, sqlerr.Newf(sqlerr.UndefinedColumn, "column %q of relation %q does not exist", c, rel.Name)
			}
		}
		if rel.Kind == catalog.System {
			continue
		}
		if err := d.owner(kindWord(rel.Kind), rel.Name, rel.Owner); err != nil {
			if st.What != "VACUUM" && st.What != "ANALYZE" {
				return pgwire.Result{}, err
			}
			s.warn(sqlerr.SuccessfulCompletion, fmt.Sprintf("skipping %q --- only table or database owner can %s it", rel.Name, strings.ToLower(st.What)), "")
		}
	}
	return pgwire.Result{Tag: st.What}, nil
}

// constraintIndex tells whether a constraint's index has the name: it is part of its table.
func (d *definer) constraintIndex(n ast.Name) bool {
	schema, name, err := d.qualify(n, false)
	if err != nil {
		return false
	}
	for _, r := range d.cat.Relations {
		if r.Schema == schema && (r.PrimaryKey == name || slices.ContainsFunc(r.Uniques, func(u catalog.Unique) bool { return u.Name == name })) {
			return true
		}
	}
	return false
}

// relation finds a relation of any kind, those of the system too.
func (d *definer) relation(n ast.Name) (*catalog.Relation, error) {
	all := syscat.WithSystem(d.cat)
	if k := len(n.Parts); k > 1 && (n.Parts[k-2] == "pg_catalog" || n.Parts[k-2] == "information_schema") {
		if r := all.Relation(n.Parts[k-2], n.Parts[k-1]); r != nil {
			return r, nil
		}
	}
	schema, name, err := d.qualify(n, false)
	if err != nil {
		return nil, err
	}
	r := all.Relation(schema, name)
	if r == nil && len(n.Parts) == 1 {
		r = all.Relation("pg_catalog", name)
	}
	if r != nil {
		return r, nil
	}
	if len(n.Parts) > 1 && !d.cat.HasSchema(schema) {
		return nil, sqlerr.Newf(sqlerr.InvalidSchemaName, "schema %q does not exist", schema)
	}
	return nil, sqlerr.Newf(sqlerr.UndefinedTable, "relation %q does not exist", strings.Join(n.Parts, "."))
}

// commentSchema runs COMMENT ON SCHEMA.
func (d *definer) commentSchema(st *ast.Comment) error {
	name := st.Name.Parts[len(st.Name.Parts)-1]
	sc, ok := d.cat.Schemas[name]
	if !ok {
		return sqlerr.Newf(sqlerr.InvalidSchemaName, "schema %q does not exist", name)
	}
	if err := d.owner("schema", name, sc.Owner); err != nil {
		return err
	}
	return d.to().Change(d.ctx, func(c *catalog.Catalog) {
		sc := c.Schemas[name]
		sc.Comment = ""
		if st.Text != nil {
			sc.Comment = *st.Text
		}
		c.Schemas[name] = sc
	})
}
