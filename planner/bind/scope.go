package bind

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// scopeCol is a column that can be named.
type scopeCol struct {
	name string
	id   logical.ColID
	// hidden columns can be named but are not in a star.
	hidden bool
	// fields are the columns of the fields, of a row whose fields have names; nil: none, or not known.
	fields []OutCol
	// rel is the item that it belongs to.
	rel *relItem
}

// relItem is an item of FROM with a name.
type relItem struct {
	name   string
	schema string
	// relName is the relation's own name where an alias hides it.
	relName string
	rel     *catalog.Relation
	cols    []scopeCol
}

func (r *relItem) find(name string) (logical.ColID, int) {
	n, id := 0, 0
	for _, c := range r.cols {
		if c.name == name {
			n++
			id = c.id
		}
	}
	return id, n
}

// scope is what names mean at one level of a query.
type scope struct {
	parent *scope
	// rels can be qualified by; cols are the columns without qualification, in the order of *.
	rels []*relItem
	cols []scopeCol
	// invisible are items of the same FROM that may not be referred to from here (hints).
	invisible []*relItem
	// noLateral are items left of a RIGHT or FULL JOIN, which a lateral item may not use.
	noLateral []*relItem
	ctes      []*cte
	// future are the names of WITH items that cannot be referred to from here (hints).
	future    []string
	q         *queryState
	noColumns string
	// inlined is the function whose body the scopes below this one belong to; it is the outermost.
	inlined *inlined
}

// cte is a WITH item.
type cte struct {
	name    string
	query   *ast.Select
	columns []string
	// at is the scope that it is bound in.
	at  *scope
	pos int
	// recursive: it reads itself. working is set while its second term is bound.
	recursive bool
	working   *working
	// hidden of its last columns are in no star of its own terms, and dropped are not there outside of them (SEARCH and CYCLE).
	hidden, dropped int
	// group are the items that it reads and that read it, if it is not alone.
	group *mutual
	// rel stands for the rows of a data-modifying statement.
	rel *catalog.Relation
}

// queryState is what the clauses of one SELECT share.
type queryState struct {
	// clause is the place that is being bound, as Postgres names it in "... are not allowed in
	// WHERE"; empty where aggregates are allowed.
	clause string
	// noSubquery is the error for subqueries if not empty.
	noSubquery string
	// owned are the columns of the FROM items of this level.
	owned     logical.ColSet
	aggs      []*aggCall
	windows   []*windowCall
	srfs      []*srfCall
	named     []ast.NamedWindow
	srfOK     bool
	groupings []*groupingCall
	// setID is the number of the grouping set of a row, if GROUPING needs it.
	setID logical.ColID
	// target is set while the select list or ORDER BY is bound: set-returning functions and window
	// functions may stand there.
	target bool
	// inWindow is set while a window definition is bound.
	inWindow bool
	// recursive: FROM has the recursive reference of a WITH item whose second term this is.
	recursive bool
	// direct: a direct argument of an ordered-set aggregate is checked.
	direct bool
}

func (s *scope) addRel(r *relItem) {
	s.rels = append(s.rels, r)
	for _, c := range r.cols {
		c.rel = r
		s.cols = append(s.cols, c)
		if s.q != nil {
			s.own(c.id)
		}
	}
}

func (s *scope) own(id logical.ColID) {
	if s.q.owned == nil {
		s.q.owned = logical.ColSet{}
	}
	s.q.owned.Add(id)
}

// relColumns makes a scan's worth of fresh columns for rel.
func (b *Binder) relColumns(rel *catalog.Relation, name string) *relItem {
	r := &relItem{name: name, schema: rel.Schema, relName: rel.Name, rel: rel}
	for i, c := range rel.Columns {
		r.cols = append(r.cols, scopeCol{name: c.Name, id: b.Meta.NewFrom(rel, i), hidden: c.Hidden})
	}
	b.columnsOf(r)
	return r
}

// column resolves a column reference.
func (b *Binder) column(s *scope, c *ast.ColumnRef) scalar.Expr {
	if s.noColumns != "" {
		if x := b.variable(c.Parts, c.Pos); x != nil {
			return x
		}
		fail(sqlerr.FeatureNotSupported, c.Pos, "%s", s.noColumns)
	}
	switch len(c.Parts) {
	case 1:
		return b.bareColumn(s, c)
	case 2:
		return b.qualified(s, c, "", c.Parts[0], c.Parts[1])
	case 3:
		return b.qualified(s, c, c.Parts[0], c.Parts[1], c.Parts[2])
	case 4:
		return b.qualified(s, c, c.Parts[1], c.Parts[2], c.Parts[3])
	}
	fail(sqlerr.SyntaxError, c.Pos, "improper qualified name (too many dotted names): %s", dotted(c.Parts))
	return nil
}

// variable gives the parameter that a name stands for in the text itself, nil if it stands for none.
func (b *Binder) variable(parts []string, pos int) scalar.Expr {
	if b.cfg.Variable == nil || len(b.views) > 0 || len(b.inlining) > 0 {
		return nil
	}
	n, t, ok, err := b.cfg.Variable(parts)
	check(err, pos)
	if !ok {
		return nil
	}
	for len(b.params) < n {
		b.params = append(b.params, types.T(types.Unknown))
	}
	b.params[n-1] = t
	return &scalar.Param{Node: scalar.Node{T: t, Pos: pos}, N: n}
}

func dotted(parts []string) string {
	s := ""
	for i, p := range parts {
		if i > 0 {
			s += "."
		}
		s += p
	}
	return s
}

func (b *Binder) bareColumn(s *scope, c *ast.ColumnRef) scalar.Expr {
	name := c.Parts[0]
	for at := s; at != nil; at = at.parent {
		id, n := 0, 0
		for _, col := range at.cols {
			if col.name == name {
				n++
				id = col.id
			}
		}
		if n > 1 {
			fail(sqlerr.AmbiguousColumn, c.Pos, "column reference \"%s\" is ambiguous", name)
		}
		if n == 1 {
			if b.variable(c.Parts, c.Pos) != nil {
				raise(sqlerr.New(sqlerr.AmbiguousColumn, c.Pos, "column reference \"%s\" is ambiguous", name).
					WithDetail("It could refer to either a PL/pgSQL variable or a table column."))
			}
			b.useColumn(id, c.Pos, len(c.Parts))
			return b.Meta.RefAt(id, c.Pos)
		}
		if x := b.parameter(at, "", name); x != nil {
			return x
		}
	}
	if x := b.variable(c.Parts, c.Pos); x != nil {
		return x
	}
	// A relation's name alone is its whole row.
	for at := s; at != nil; at = at.parent {
		for _, r := range at.rels {
			if r.name == name {
				return b.wholeRow(r, c.Pos)
			}
		}
	}
	raise(b.missingColumn(s, "", name, c.Pos))
	return nil
}

// rowOf is rel.* as one value.
func (b *Binder) rowOf(s *scope, e *ast.Star) scalar.Expr {
	schema, rel := "", e.Parts[len(e.Parts)-1]
	if len(e.Parts) > 1 {
		schema = e.Parts[len(e.Parts)-2]
	}
	r := b.findRel(s, schema, rel, e.Pos)
	if r == nil {
		raise(missingRel(s, schema, rel, e.Pos))
	}
	return b.wholeRow(r, e.Pos)
}

func (b *Binder) wholeRow(r *relItem, pos int) scalar.Expr {
	row := &scalar.MakeRow{Node: scalar.Node{T: types.T(types.Record), Pos: pos}, Names: []string{}}
	for _, c := range r.cols {
		if !c.hidden {
			b.useColumn(c.id, 0, 0)
			row.Elems = append(row.Elems, b.Meta.RefAt(c.id, pos))
			row.Names = append(row.Names, c.name)
		}
	}
	return row
}

// findRel finds an item of FROM by qualifier; the nearest scope wins.
func (b *Binder) findRel(s *scope, schema, name string, pos int) *relItem {
	for at := s; at != nil; at = at.parent {
		var found *relItem
		for _, r := range at.rels {
			if r.name == name && (schema == "" || r.schema == schema && r.relName == name) {
				if found != nil {
					fail(sqlerr.AmbiguousColumn, pos, "table reference \"%s\" is ambiguous", name)
				}
				found = r
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

func (b *Binder) qualified(s *scope, c *ast.ColumnRef, schema, rel, name string) scalar.Expr {
	r := b.findRel(s, schema, rel, c.Pos)
	if r == nil {
		for at := s; at != nil && schema == ""; at = at.parent {
			if x := b.parameter(at, rel, name); x != nil {
				return x
			}
		}
		if x := b.variable(c.Parts, c.Pos); x != nil {
			return x
		}
		raise(missingRel(s, schema, rel, c.Pos))
	}
	id, n := r.find(name)
	if n > 1 {
		fail(sqlerr.AmbiguousColumn, c.Pos, "column reference \"%s\" is ambiguous", name)
	}
	if n == 0 {
		raise(b.missingColumn(s, rel, name, c.Pos))
	}
	b.useColumn(id, c.Pos, len(c.Parts))
	return b.Meta.RefAt(id, c.Pos)
}

// missingRel is the error for an unknown qualifier.
func missingRel(s *scope, schema, name string, pos int) error {
	for at := s; at != nil; at = at.parent {
		if at.noLateral != nil {
			for _, r := range at.noLateral {
				if r.name == name {
					return sqlerr.New(sqlerr.InvalidColumnReference, pos, "invalid reference to FROM-clause entry for table \"%s\"", name).
						WithDetail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.")
				}
			}
		}
		for _, r := range at.invisible {
			if r.name == name {
				return sqlerr.New(sqlerr.UndefinedTable, pos, "invalid reference to FROM-clause entry for table \"%s\"", name).
					WithHint("There is an entry for table \"%s\", but it cannot be referenced from this part of the query.", name)
			}
		}
		for _, r := range at.rels {
			if r.rel != nil && r.relName == name && r.name != name {
				return sqlerr.New(sqlerr.UndefinedTable, pos, "invalid reference to FROM-clause entry for table \"%s\"", name).
					WithHint("Perhaps you meant to reference the table alias \"%s\".", r.name)
			}
		}
	}
	return sqlerr.New(sqlerr.UndefinedTable, pos, "missing FROM-clause entry for table \"%s\"", name)
}

// missingColumn is the error for an unknown column, with Postgres's guess at what was meant.
func (b *Binder) missingColumn(s *scope, rel, name string, pos int) error {
	var e *sqlerr.Error
	if rel == "" {
		e = sqlerr.New(sqlerr.UndefinedColumn, pos, "column \"%s\" does not exist", name)
	} else {
		e = sqlerr.New(sqlerr.UndefinedColumn, pos, "column %s.%s does not exist", rel, name)
	}
	const maxDistance = 3
	type match struct{ rel, col string }
	best := maxDistance + 1
	var first, second *match
	tooMany := false
	consider := func(r *relItem, penalty int) {
		for _, c := range r.cols {
			if c.hidden || penalty > best {
				continue
			}
			d := levenshtein(name, c.name)
			if d > len(name)/2 {
				continue
			}
			d += penalty
			switch {
			case d < best:
				best, first, second, tooMany = d, &match{r.name, c.name}, nil, false
			case d == best && d <= maxDistance:
				if second != nil || tooMany {
					first, second, tooMany = nil, nil, true
				} else if first != nil {
					second = &match{r.name, c.name}
				}
			}
		}
	}
	for at := s; at != nil; at = at.parent {
		for _, r := range append(at.invisible[:len(at.invisible):len(at.invisible)], at.rels...) {
			penalty := 0
			if rel != "" {
				penalty = min(levenshtein(rel, r.name), maxDistance+1)
			}
			consider(r, penalty)
		}
		for _, r := range at.invisible {
			if _, n := r.find(name); n > 0 && (rel == "" || r.name == rel) {
				return e.WithHint("There is a column named \"%s\" in table \"%s\", but it cannot be referenced from this part of the query.", name, r.name)
			}
		}
	}
	switch {
	case first != nil && second != nil:
		return e.WithHint("Perhaps you meant to reference the column \"%s.%s\" or the column \"%s.%s\".", first.rel, first.col, second.rel, second.col)
	case first != nil:
		return e.WithHint("Perhaps you meant to reference the column \"%s.%s\".", first.rel, first.col)
	}
	return e
}

// levenshtein is the edit distance in bytes.
func levenshtein(a, b string) int {
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur := make([]int, len(b)+1)
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
		}
		prev = cur
	}
	return prev[len(b)]
}

// findCTE finds a WITH item by name.
func (s *scope) findCTE(name string) *cte {
	for at := s; at != nil; at = at.parent {
		for i := len(at.ctes) - 1; i >= 0; i-- {
			if at.ctes[i].name == name {
				return at.ctes[i]
			}
		}
	}
	return nil
}
