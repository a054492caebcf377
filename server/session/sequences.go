package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// newSequence makes the relation of a sequence.
func (d *definer) newSequence(schema, name string, q catalog.Sequence) *catalog.Relation {
	r := d.newRelation(catalog.SequenceKind, schema, name)
	r.Columns, r.Seq = catalog.SequenceColumns(), &q
	return r
}

func (d *definer) createSequence(st *ast.CreateSequence) error {
	schema, name, exists, err := d.target(st.Name, st.IfNotExists)
	if err != nil || exists {
		return err
	}
	rel := d.newSequence(schema, name, catalog.Sequence{})
	o := sequenceOptions{d: d, rel: rel, init: true}
	if err := o.apply(st.Options); err != nil {
		return err
	}
	return d.to().Change(d.ctx, func(c *catalog.Catalog) { c.Put(rel) })
}

// alterSequence changes what a sequence does. It goes on where it stands, and nothing is reserved any more.
func (d *definer) alterSequence(st *ast.AlterSequence) error {
	r, err := d.findNamed(st.Name, st.IfExists)
	if err != nil || r == nil {
		return err
	}
	if r.Seq == nil {
		return sqlerr.Newf(sqlerr.WrongObjectType, "\"%s\" is not a sequence", r.Name)
	}
	if err := d.owner("sequence", r.Name, r.Owner); err != nil {
		return err
	}
	return d.changeSequence(r, st.Options)
}

func (d *definer) changeSequence(r *catalog.Relation, opts []ast.SequenceOption) error {
	c := *r
	q := *r.Seq
	c.Seq = &q
	stands, err := d.s.standing(d.t, r).SequenceStanding(r)
	if err != nil {
		return err
	}
	o := sequenceOptions{d: d, rel: &c, last: stands.Last, called: stands.Called}
	if err := o.apply(opts); err != nil {
		return err
	}
	if err := d.to().Change(d.ctx, func(cat *catalog.Catalog) { cat.Put(&c) }); err != nil {
		return err
	}
	d.t.restoreSequence(r, stands)
	return d.s.standing(d.t, &c).SetSequence(&c, o.last, o.called)
}

// sequenceOptions gives a sequence its options.
type sequenceOptions struct {
	d   *definer
	rel *catalog.Relation
	// init: the sequence is made.
	init bool
	// identity: it is that of an identity column.
	identity bool
	// last and called are where it stands.
	last   int64
	called bool
}

func (o *sequenceOptions) fail(format string, args ...any) error {
	return sqlerr.Newf(sqlerr.InvalidParameterValue, format, args...)
}

func (o *sequenceOptions) apply(opts []ast.SequenceOption) error {
	q := o.rel.Seq
	by := map[string]*ast.SequenceOption{}
	for i := range opts {
		n := opts[i].Name
		if by[n] != nil {
			return sqlerr.New(sqlerr.SyntaxError, opts[i].Pos, "conflicting or redundant options")
		}
		by[n] = &opts[i]
	}
	if x := by["sequence name"]; x != nil && !o.identity {
		return sqlerr.New(sqlerr.SyntaxError, x.Pos, "invalid sequence option SEQUENCE NAME")
	}
	old := *q
	if err := o.typed(by["as"]); err != nil {
		return err
	}
	lo, hi := catalog.TypeLimits(q.Type)
	oldLo, oldHi := catalog.TypeLimits(old.Type)
	retyped := !o.init && q.Type.Kind != old.Type.Kind
	if x := by["increment"]; x != nil {
		if *x.Value == 0 {
			return o.fail("INCREMENT must not be zero")
		}
		q.Increment = *x.Value
	} else if o.init {
		q.Increment = 1
	}
	if x := by["cycle"]; x != nil {
		q.Cycle = x.On
	}
	up := q.Increment > 0
	switch x := by["maxvalue"]; {
	case x != nil && x.Value != nil:
		q.Max = *x.Value
	case o.init || x != nil || retyped && (up && old.Max == oldHi || !up && old.Max == -1):
		if q.Max = -1; up {
			q.Max = hi
		}
	}
	if q.Max < lo || q.Max > hi {
		return o.fail("MAXVALUE (%d) is out of range for sequence data type %s", q.Max, q.Type)
	}
	switch x := by["minvalue"]; {
	case x != nil && x.Value != nil:
		q.Min = *x.Value
	case o.init || x != nil || retyped && (!up && old.Min == oldLo || up && old.Min == 1):
		if q.Min = lo; up {
			q.Min = 1
		}
	}
	switch {
	case q.Min < lo || q.Min > hi:
		return o.fail("MINVALUE (%d) is out of range for sequence data type %s", q.Min, q.Type)
	case q.Min >= q.Max:
		return o.fail("MINVALUE (%d) must be less than MAXVALUE (%d)", q.Min, q.Max)
	}
	if x := by["start"]; x != nil {
		q.Start = *x.Value
	} else if o.init {
		if q.Start = q.Max; up {
			q.Start = q.Min
		}
	}
	switch {
	case q.Start < q.Min:
		return o.fail("START value (%d) cannot be less than MINVALUE (%d)", q.Start, q.Min)
	case q.Start > q.Max:
		return o.fail("START value (%d) cannot be greater than MAXVALUE (%d)", q.Start, q.Max)
	}
	if x := by["restart"]; x != nil {
		if o.last, o.called = q.Start, false; x.Value != nil {
			o.last = *x.Value
		}
	} else if o.init {
		o.last = q.Start
	}
	switch {
	case o.last < q.Min:
		return o.fail("RESTART value (%d) cannot be less than MINVALUE (%d)", o.last, q.Min)
	case o.last > q.Max:
		return o.fail("RESTART value (%d) cannot be greater than MAXVALUE (%d)", o.last, q.Max)
	}
	if x := by["cache"]; x != nil {
		if *x.Value <= 0 {
			return o.fail("CACHE (%d) must be greater than zero", *x.Value)
		}
		q.Cache = *x.Value
	} else if o.init {
		q.Cache = 1
	}
	if x := by["owned by"]; x != nil {
		return o.ownedBy(x)
	}
	return nil
}

func (o *sequenceOptions) typed(x *ast.SequenceOption) error {
	q := o.rel.Seq
	if x == nil {
		if o.init && q.Type == (types.Type{}) {
			q.Type = types.T(types.Int8)
		}
		return nil
	}
	t, err := o.d.typeOf(x.Type)
	if err != nil {
		return err
	}
	switch t.Kind {
	case types.Int2, types.Int4, types.Int8:
		q.Type = t
		return nil
	}
	if o.identity {
		return o.fail("identity column type must be smallint, integer, or bigint")
	}
	return o.fail("sequence type must be smallint, integer, or bigint")
}

func (o *sequenceOptions) ownedBy(x *ast.SequenceOption) error {
	q, d := o.rel.Seq, o.d
	if q.Identity {
		return sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot change ownership of identity sequence").
			WithDetail("Sequence \"%s\" is linked to table \"%s\".", o.rel.Name, d.cat.RelationByID(q.OwnedBy).Name)
	}
	if x.Owner == nil {
		q.OwnedBy, q.OwnedColumn = 0, ""
		return nil
	}
	n := *x.Owner
	if len(n.Parts) < 2 {
		return sqlerr.Newf(sqlerr.SyntaxError, "invalid OWNED BY option").WithHint("Specify OWNED BY table.column or OWNED BY NONE.")
	}
	col := n.Parts[len(n.Parts)-1]
	n.Parts = n.Parts[:len(n.Parts)-1]
	t, err := d.findNamed(n, false)
	switch {
	case err != nil:
		return err
	case t.Kind != catalog.Table && t.Kind != catalog.View && t.Kind != catalog.Source:
		return sqlerr.Newf(sqlerr.WrongObjectType, "sequence cannot be owned by relation \"%s\"", t.Name)
	case catalog.OwnerName(t.Owner) != catalog.OwnerName(o.rel.Owner):
		return sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "sequence must have same owner as table it is linked to")
	case t.Schema != o.rel.Schema:
		return sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "sequence must be in same schema as table it is linked to")
	}
	if i := t.ColumnIndex(col); i < 0 || t.Columns[i].Hidden {
		return sqlerr.Newf(sqlerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", col, t.Name)
	}
	q.OwnedBy, q.OwnedColumn, q.FromColumn = t.ID, col, 0
	return nil
}

// findNamed finds a relation of any kind; nil if there is none and ifExists allows that.
func (d *definer) findNamed(n ast.Name, ifExists bool) (*catalog.Relation, error) {
	schema, name, err := d.qualify(n, false)
	if err != nil {
		return nil, err
	}
	if r := d.cat.Relation(schema, name); r != nil {
		return r, nil
	}
	if ifExists {
		d.s.notice(sqlerr.SuccessfulCompletion, fmt.Sprintf("relation \"%s\" does not exist, skipping", name))
		return nil, nil
	}
	if len(n.Parts) > 1 && !d.cat.HasSchema(schema) {
		return nil, sqlerr.Newf(sqlerr.InvalidSchemaName, "schema \"%s\" does not exist", schema)
	}
	return nil, sqlerr.Newf(sqlerr.UndefinedTable, "relation \"%s\" does not exist", strings.Join(n.Parts, "."))
}

// objectName makes a name of parts as PostgreSQL does, cutting the longer one of the first two.
func objectName(a, b, label string) string {
	const most = 63
	room := most - len(label) - 1
	if b != "" {
		room--
	}
	for len(a)+len(b) > room {
		if len(a) > len(b) {
			a = cutRune(a)
		} else {
			b = cutRune(b)
		}
	}
	if b != "" {
		a += "_" + b
	}
	return a + "_" + label
}

// columnSequence makes the sequence of a serial or identity column.
func (td *tableDef) columnSequence(col *catalog.Column, opts []ast.SequenceOption) error {
	rel := td.rel
	q := catalog.NewSequence(col.Type)
	q.OwnedBy, q.OwnedColumn, q.Identity = rel.ID, col.Name, col.Identity != ""
	schema, name := rel.Schema, td.freeName(objectName(rel.Name, col.Name, "seq"))
	for _, o := range opts {
		if o.Name == "sequence name" {
			name = o.Owner.Parts[len(o.Owner.Parts)-1]
			if len(o.Owner.Parts) > 1 {
				schema = o.Owner.Parts[len(o.Owner.Parts)-2]
			}
			if td.cat.Relation(schema, name) != nil {
				return sqlerr.Newf(sqlerr.DuplicateTable, "relation \"%s\" already exists", name)
			}
		}
	}
	seq := td.newSequence(schema, name, q)
	seq.Owner = rel.Owner
	o := sequenceOptions{d: td.definer, rel: seq, init: true, identity: q.Identity}
	if err := o.apply(opts); err != nil {
		return err
	}
	col.Sequence = seq.ID
	td.sequences = append(td.sequences, seq)
	return nil
}

// freeName is a name that neither a relation nor a sequence of this definition has.
func (td *tableDef) freeName(name string) string {
	free := name
	for n := 1; ; n++ {
		taken := free == td.rel.Name || td.cat.Relation(td.rel.Schema, free) != nil || td.cat.PendingRelation(td.rel.Schema, free) != nil
		for _, s := range td.sequences {
			taken = taken || s.Name == free
		}
		if !taken {
			return free
		}
		free = fmt.Sprintf("%s%d", name, n)
	}
}

// putSequences adds the sequences of a definition to a catalog.
func (td *tableDef) putSequences(c *catalog.Catalog) {
	for _, s := range td.sequences {
		c.Put(s)
	}
}

// sequenceUse is a column whose default takes values of a sequence.
type sequenceUse struct {
	table *catalog.Relation
	col   int
	seq   *catalog.Relation
}

// sequenceUses lists the columns of tables that use sequences of all and are not among them.
func (d *definer) sequenceUses(all map[catalog.ID]*catalog.Relation) []sequenceUse {
	var out []sequenceUse
	for _, t := range d.cat.Sorted() {
		if t.Kind != catalog.Table || all[t.ID] != nil {
			continue
		}
		for i, c := range t.Columns {
			for _, id := range append(slices.Clone(c.Uses), c.Sequence) {
				if s := all[id]; s != nil && id != 0 {
					out = append(out, sequenceUse{t, i, s})
					break
				}
			}
		}
	}
	return out
}

// dropOwned adds the sequences that go with tables, and says what uses sequences that would be dropped; without cascade that is in the
// way. also takes the defaults away.
func (d *definer) dropOwned(all map[catalog.ID]*catalog.Relation) (details []string, also func(*catalog.Catalog), err error) {
	named := map[catalog.ID]bool{}
	for id, r := range all {
		named[id] = r.Seq != nil
		for _, s := range d.cat.Owned(id) {
			all[s.ID] = s
		}
	}
	uses := d.sequenceUses(all)
	for _, u := range uses {
		c := u.table.Columns[u.col]
		if c.Identity != "" && named[u.seq.ID] {
			return nil, nil, sqlerr.Newf(sqlerr.DependentObjectsStillExist, "cannot drop sequence %s because column %s of table %s requires it",
				d.displayName(u.seq), c.Name, d.displayName(u.table)).
				WithHint("You can drop column %s of table %s instead.", c.Name, d.displayName(u.table))
		}
		details = append(details, fmt.Sprintf("default value for column %s of table %s depends on sequence %s", c.Name, d.displayName(u.table), d.displayName(u.seq)))
	}
	return details, func(c *catalog.Catalog) {
		for _, u := range uses {
			t := *c.RelationByID(u.table.ID)
			t.Columns = slices.Clone(t.Columns)
			k := &t.Columns[u.col]
			k.Default, k.Serial, k.Sequence, k.Uses = "", false, 0, nil
			c.Put(&t)
		}
	}, nil
}

// restartIdentity lets the sequences of tables begin again (TRUNCATE ... RESTART IDENTITY).
func (s *session) restartIdentity(_ context.Context, t *tx, rels []*catalog.Relation) error {
	for _, r := range rels {
		for _, q := range t.catalog().Owned(r.ID) {
			if err := s.standing(t, q).SetSequence(q, q.Seq.Start, false); err != nil {
				return err
			}
		}
	}
	return nil
}
