package session

import (
	"maps"
	"slices"

	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/types"
)

// pin writes a stored expression so that names of relations in strings go on to mean what they mean now, and lists those.
func (d *definer) pin(pl *planner.Planner, text string, rel *catalog.Relation, want types.Type, what string) (string, []catalog.ID) {
	x, err := d.s.parseExpr(text)
	if err != nil {
		return text, nil
	}
	named := pl.NamedIn(x, rel, want, what)
	var ids []catalog.ID
	for _, at := range slices.Sorted(maps.Keys(named)) {
		ids = append(ids, catalog.ID(named[at]))
	}
	return parse.Pin(text, named), slices.Compact(ids)
}

// shifted moves positions from a text to a part of it that begins at from.
func shifted(at map[int]uint32, from int) map[int]uint32 {
	if from < 0 {
		return nil
	}
	out := map[int]uint32{}
	for p, oid := range at {
		out[p-from] = oid
	}
	return out
}

// pinDefault pins the default of a column. One that is nothing but the next value of a sequence is kept as that.
func (td *tableDef) pinDefault(pl *planner.Planner, c *catalog.Column) {
	rel, what := td.rel, "column generation expressions"
	if !c.Generated {
		rel, what = nil, "DEFAULT expressions"
	}
	c.Default, c.Uses = td.pin(pl, c.Default, rel, c.Type, what)
	if c.Generated || !c.Type.Kind.IsInteger() || len(c.Uses) != 1 {
		return
	}
	seq := td.cat.RelationByID(c.Uses[0])
	if seq == nil || seq.Seq == nil || !isNextval(td.s, c.Default) {
		return
	}
	c.Default, c.Uses, c.Serial, c.Sequence = "", nil, true, seq.ID
}

// isNextval tells whether an expression is nextval of a literal.
func isNextval(s *session, text string) bool {
	x, err := s.parseExpr(text)
	if err != nil {
		return false
	}
	f, ok := x.(*ast.Func)
	if !ok || len(f.Args) != 1 || f.Name.Parts[len(f.Name.Parts)-1] != "nextval" {
		return false
	}
	arg := f.Args[0]
	for {
		c, ok := arg.(*ast.Cast)
		if !ok {
			break
		}
		arg = c.X
	}
	switch arg.(type) {
	case *ast.StrLit, *ast.TypedLit:
		return true
	}
	return false
}
