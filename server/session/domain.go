package session

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

func (d *definer) createDomain(st *ast.CreateDomain) error {
	t, err := d.newType(st.Name, catalog.DomainType)
	if err != nil {
		return err
	}
	base, over, err := d.planner().Type(st.Type)
	if err != nil {
		return err
	}
	if base.Kind.IsPseudo() || base.Kind == types.Unknown || base.Kind == types.Record {
		return sqlerr.New(sqlerr.DatatypeMismatch, st.Type.Pos, "\"%s\" is not a valid base type for a domain", st.Type.Name.Parts[len(st.Type.Name.Parts)-1])
	}
	t.Base = base
	if over != nil {
		t.Over = over.ID
	}
	null, notNull := false, false
	for i := range st.Constraints {
		c := &st.Constraints[i]
		switch c.Kind {
		case ast.ConNotNull, ast.ConNull:
			if c.Kind == ast.ConNull && notNull || c.Kind == ast.ConNotNull && null {
				return sqlerr.New(sqlerr.SyntaxError, sqlerr.NoPos, "conflicting NULL/NOT NULL constraints")
			}
			null, notNull = c.Kind == ast.ConNull, c.Kind == ast.ConNotNull
			t.NotNull = notNull
		case ast.ConDefault:
			if t.Default != "" {
				return sqlerr.Newf(sqlerr.SyntaxError, "multiple default expressions")
			}
			if err := d.checkDomainDefault(t, c.Expr); err != nil {
				return err
			}
			t.Default = c.ExprText
		case ast.ConCheck:
			if err := d.addDomainCheck(t, c, false); err != nil {
				return err
			}
		case ast.ConUnique:
			return sqlerr.Newf(sqlerr.SyntaxError, "unique constraints not possible for domains")
		case ast.ConPrimaryKey:
			return sqlerr.Newf(sqlerr.SyntaxError, "primary key constraints not possible for domains")
		case ast.ConForeignKey:
			return sqlerr.Newf(sqlerr.SyntaxError, "foreign key constraints not possible for domains")
		default:
			return sqlerr.Newf(sqlerr.SyntaxError, "specifying GENERATED is not supported for domains")
		}
	}
	return d.to().Change(d.ctx, func(c *catalog.Catalog) { c.PutType(t) })
}

func (d *definer) checkDomainDefault(t *catalog.Type, e ast.Expr) error {
	_, err := d.planner().Expr(e, nil, t.Base, "DEFAULT expressions")
	return err
}

// addDomainCheck adds a CHECK constraint, with a name of its own if it has none.
func (d *definer) addDomainCheck(t *catalog.Type, c *ast.ColumnConstraint, notValid bool) error {
	taken := func(name string) bool {
		return slices.ContainsFunc(t.Checks, func(k catalog.Check) bool { return k.Name == name })
	}
	if c.Name != "" && taken(c.Name) {
		return sqlerr.Newf(sqlerr.DuplicateObject, "constraint \"%s\" for domain \"%s\" already exists", c.Name, t.Name)
	}
	if err := d.planner().DomainCheck(c.Expr, t.Base); err != nil {
		return err
	}
	name := c.Name
	for n := 0; name == "" || taken(name) && c.Name == ""; n++ {
		if name = t.Name + "_check"; n > 0 {
			name += strconv.Itoa(n)
		}
	}
	t.Checks = append(t.Checks, catalog.Check{Name: name, Expr: upperValue(c.ExprText), NotValid: notValid})
	return nil
}

// upperValue writes VALUE in the check of a domain as it is printed.
func upperValue(text string) string {
	e, err := parse.ParseExpr(text)
	if err != nil {
		return text
	}
	places := map[int]parse.ColumnPlace{}
	eachNode(e, func(v reflect.Value) bool {
		if c, ok := v.Interface().(ast.ColumnRef); ok && len(c.Parts) == 1 && c.Parts[0] == "value" {
			places[c.Pos] = parse.ColumnPlace{Parts: 1, Name: "VALUE"}
		}
		return true
	})
	return inParens(parse.RenameColumns(text, places))
}

// inParens leaves out parentheses around a whole expression: those that it is printed with are enough.
func inParens(text string) string {
	for {
		t := strings.TrimSpace(text)
		if len(t) < 2 || t[0] != '(' || t[len(t)-1] != ')' {
			return t
		}
		depth, quoted := 0, false
		for i := range len(t) - 1 {
			switch c := t[i]; {
			case c == '\'' || c == '"':
				quoted = !quoted
			case quoted:
			case c == '(':
				depth++
			case c == ')':
				depth--
			}
			if depth == 0 {
				return t
			}
		}
		text = t[1 : len(t)-1]
	}
}

// alterDomain does what only ALTER DOMAIN does; t is as it was, c as it will be.
func (d *definer) alterDomain(t, c *catalog.Type, st *ast.AlterUserType) error {
	at := func(name string) int {
		return slices.IndexFunc(c.Checks, func(k catalog.Check) bool { return k.Name == name })
	}
	i := at(st.Old)
	missing := sqlerr.Newf(sqlerr.UndefinedObject, "constraint \"%s\" of domain \"%s\" does not exist", st.Old, t.Name)
	switch st.Action {
	case "set_default":
		if err := d.checkDomainDefault(c, st.Default); err != nil {
			return err
		}
		c.Default = st.DefaultText
	case "drop_default":
		c.Default = ""
	case "set_not_null":
		if c.NotNull = true; !t.NotNull {
			if err := d.eachDomainColumn(t, func(r *catalog.Relation, col, q string) error {
				return d.noRow("SELECT 1 FROM "+q+" WHERE "+parse.QuoteIdent(col)+" IS NULL LIMIT 1",
					sqlerr.Newf(sqlerr.NotNullViolation, "column \"%s\" of table \"%s\" contains null values", col, r.Name))
			}); err != nil {
				return err
			}
		}
	case "drop_not_null":
		c.NotNull = false
	case "add_constraint":
		if err := d.addDomainCheck(c, st.Constraint, st.NotValid); err != nil {
			return err
		}
		if !st.NotValid {
			if err := d.validDomain(t, c.Checks[len(c.Checks)-1].Expr); err != nil {
				return err
			}
		}
	case "drop_constraint":
		if i < 0 {
			if st.IfExists {
				d.s.notice(sqlerr.SuccessfulCompletion, fmt.Sprintf("constraint \"%s\" of domain \"%s\" does not exist, skipping", st.Old, t.Name))
				return nil
			}
			return missing
		}
		c.Checks = slices.Delete(c.Checks, i, i+1)
	case "rename_constraint":
		switch {
		case i < 0:
			return sqlerr.Newf(sqlerr.UndefinedObject, "constraint \"%s\" for domain %s does not exist", st.Old, t.Name)
		case at(st.NewName) >= 0:
			return sqlerr.Newf(sqlerr.DuplicateObject, "constraint \"%s\" for domain %s already exists", st.NewName, t.Name)
		}
		c.Checks[i].Name = st.NewName
	case "validate_constraint":
		if i < 0 {
			return missing
		}
		if err := d.validDomain(t, c.Checks[i].Expr); err != nil {
			return err
		}
		c.Checks[i].NotValid = false
	}
	return d.to().Change(d.ctx, func(cat *catalog.Catalog) { cat.PutType(c) })
}

// eachDomainColumn visits the columns of tables that are of a domain, or of one that was made over it; q is the table's name in SQL.
func (d *definer) eachDomainColumn(t *catalog.Type, f func(r *catalog.Relation, col, q string) error) error {
	for _, r := range d.cat.Sorted() {
		if r.Kind != catalog.Table {
			continue
		}
		for _, c := range r.Columns {
			if !slices.ContainsFunc(d.cat.Domains(c.Domain), func(x *catalog.Type) bool { return x.ID == t.ID }) {
				continue
			}
			if err := f(r, c.Name, parse.QuoteIdent(r.Schema)+"."+parse.QuoteIdent(r.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// validDomain looks for a value in a table that a check refuses.
func (d *definer) validDomain(t *catalog.Type, text string) error {
	return d.eachDomainColumn(t, func(r *catalog.Relation, col, q string) error {
		return d.noRow("SELECT 1 FROM (SELECT "+parse.QuoteIdent(col)+" AS value FROM "+q+") AS v WHERE NOT ("+text+") LIMIT 1",
			sqlerr.Newf(sqlerr.CheckViolation, "column \"%s\" of table \"%s\" contains values that violate the new constraint", col, r.Name))
	})
}

// noRow gives the error if a query has a row.
func (d *definer) noRow(query string, failed error) error {
	q, err := parse.ParseQuery(query)
	if err != nil {
		return err
	}
	pl := d.planner()
	bound, err := pl.Bind(q, nil)
	if err != nil {
		return err
	}
	var b *plan.Batch
	if b, err = pl.Batch(bound); err != nil {
		return err
	}
	found := false
	if err := d.s.runBatch(d.ctx, d.t, b, func(c *vec.Chunk) error {
		found = found || c.Len() > 0
		return nil
	}); err != nil {
		return err
	}
	if found {
		return failed
	}
	return nil
}

func (d *definer) commentDomainConstraint(st *ast.Comment) error {
	t, err := d.ownType(st.Name, true, false)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(t.Checks, func(k catalog.Check) bool { return k.Name == st.Column }) {
		return sqlerr.Newf(sqlerr.UndefinedObject, "constraint \"%s\" for domain %s does not exist", st.Column, t.Name)
	}
	c := *t
	c.CheckComments = map[string]string{}
	for k, v := range t.CheckComments {
		c.CheckComments[k] = v
	}
	if c.CheckComments[st.Column] = commentText(st); st.Text == nil {
		delete(c.CheckComments, st.Column)
	}
	return d.to().Change(d.ctx, func(cat *catalog.Catalog) { cat.PutType(&c) })
}
