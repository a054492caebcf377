package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
)

// alteration is an ALTER TABLE on its way: the definition as it will be, and how the rows become those of the new one.
type alteration struct {
	*tableDef
	ctx context.Context
	old *catalog.Relation
	pl  *planner.Planner
	// from says for each column of rel where its values come from.
	from []columnSource
	// rewrite: the rows become others, or are kept under another key.
	rewrite bool
	// notNull are the columns, by name, and newChecks the constraints, that the rows must be looked at for; constraints with false
	// only have to have a meaning still.
	notNull   map[string]bool
	newChecks map[string]bool
	// fresh are the columns whose generation expression is new.
	fresh map[string]scalar.Expr
	// dropped are the columns of old that go; gone is what goes with them.
	dropped map[int]bool
	gone    map[catalog.ID]*catalog.Relation
	details []string
	// others are further relations as they will be: sequences, indexes.
	others map[catalog.ID]*catalog.Relation
	called map[catalog.ID]bool
	// after is done when the table has changed: where sequences stand.
	after []func() error
}

// columnSource is where the values of a column come from: a column of the old table if expr is nil, else an expression over its
// columns, or a sequence, or the counter of row ids.
type columnSource struct {
	old  int
	expr scalar.Expr
	seq  *catalog.Relation
	auto bool
}

// alterPasses is the order in which the actions of a statement are done.
var alterPasses = map[ast.AlterKind]int{
	ast.DropColumn: 0, ast.DropConstraint: 0, ast.DropDefault: 0, ast.DropNotNull: 0, ast.DropExpression: 0, ast.DropIdentity: 0,
	ast.AlterType: 1, ast.AddColumn: 2, ast.SetNotNull: 3, ast.SetIdentity: 3, ast.AddConstraint: 4, ast.SetDefault: 5, ast.AddIdentity: 5,
	ast.ValidateConstraint: 6, ast.ChangeOwner: 6, ast.Accepted: 6,
}

// alterNames is how messages call an action.
var alterNames = map[ast.AlterKind]string{
	ast.AddColumn: "ADD COLUMN", ast.DropColumn: "DROP COLUMN", ast.AlterType: "ALTER COLUMN ... SET DATA TYPE",
	ast.SetDefault: "ALTER COLUMN ... SET DEFAULT", ast.DropDefault: "ALTER COLUMN ... DROP DEFAULT",
	ast.SetNotNull: "ALTER COLUMN ... SET NOT NULL", ast.DropNotNull: "ALTER COLUMN ... DROP NOT NULL",
	ast.DropExpression: "ALTER COLUMN ... DROP EXPRESSION", ast.AddIdentity: "ALTER COLUMN ... ADD IDENTITY",
	ast.SetIdentity: "ALTER COLUMN ... SET", ast.DropIdentity: "ALTER COLUMN ... DROP IDENTITY",
	ast.AddConstraint: "ADD CONSTRAINT", ast.DropConstraint: "DROP CONSTRAINT", ast.ValidateConstraint: "VALIDATE CONSTRAINT",
}

// alterable finds the relation of an ALTER, which must be of the kind that it says (TABLE goes for all) and the user's; nil if there is none and
// that is no error.
func (d *definer) alterable(name ast.Name, kind ast.ObjectKind, missingOK bool) (*catalog.Relation, error) {
	r, err := d.findNamed(name, missingOK)
	if err != nil || r == nil {
		return nil, err
	}
	if kind != ast.KindTable && r.Kind != relationKinds[kind] {
		return nil, sqlerr.Newf(sqlerr.WrongObjectType, "\"%s\" is not %s", r.Name, withArticle(relationKinds[kind]))
	}
	return r, d.owner(kindWord(r.Kind), r.Name, r.Owner)
}

func (d *definer) alterTable(ctx context.Context, st *ast.AlterTable) error {
	r, err := d.alterable(st.Name, st.Kind, st.IfExists)
	if err != nil || r == nil {
		return err
	}
	all, _ := d.dependent(map[catalog.ID]*catalog.Relation{r.ID: r})
	if err := d.notPending("alter", all); err != nil {
		return err
	}
	switch x := st.Actions[0]; x.Kind {
	case ast.RenameColumn:
		return d.renameColumn(ctx, r, x)
	case ast.RenameConstraint:
		return d.renameConstraint(ctx, r, x)
	}
	if len(st.Actions) == 1 {
		switch x := st.Actions[0]; {
		case x.Kind == ast.AddConstraint && x.Constraint.Kind == ast.ConForeignKey:
			return d.addForeignKey(ctx, r, *x.Constraint)
		case x.Kind == ast.DropConstraint && findForeign(r, x.Name) >= 0:
			return d.dropForeignKey(ctx, r, findForeign(r, x.Name))
		case x.Kind == ast.ValidateConstraint && findForeign(r, x.Name) >= 0:
			return d.validateForeignKey(ctx, r, findForeign(r, x.Name))
		}
	}
	for _, x := range st.Actions {
		if x.Kind == ast.AddConstraint && x.Constraint.Kind == ast.ConForeignKey || findForeign(r, x.Name) >= 0 {
			return sqlerr.New(sqlerr.FeatureNotSupported, x.Pos, "a foreign key together with other actions of ALTER TABLE is not supported yet").
				WithHint("Write a statement for each.")
		}
	}
	actions := slices.Clone(st.Actions)
	slices.SortStableFunc(actions, func(x, y ast.AlterAction) int { return alterPasses[x.Kind] - alterPasses[y.Kind] })
	if r.Kind != catalog.Table {
		for _, x := range actions {
			switch {
			case x.Kind == ast.Accepted:
			case x.Kind == ast.ChangeOwner:
				if err := d.alter(ctx, &ast.Alter{Kind: objectKindOf(r.Kind), Name: st.Name, Action: "owner", NewName: x.Name, Pos: st.Pos}); err != nil {
					return err
				}
			case r.Kind == catalog.View && (x.Kind == ast.SetDefault || x.Kind == ast.DropDefault):
				return sqlerr.New(sqlerr.FeatureNotSupported, x.Pos, "defaults of a view's columns are not supported yet")
			default:
				return sqlerr.Newf(sqlerr.WrongObjectType, "ALTER action %s cannot be performed on relation \"%s\"", alterNames[x.Kind], r.Name).
					WithDetail("This operation is not supported for %ss.", kindWord(r.Kind))
			}
		}
		return nil
	}
	if r.HasConnector() || r.Watermark != nil {
		for _, x := range actions {
			if x.Kind != ast.ChangeOwner && x.Kind != ast.Accepted {
				return sqlerr.New(sqlerr.FeatureNotSupported, x.Pos, "%s of a table with a connector or a watermark is not supported yet", alterNames[x.Kind])
			}
		}
	}
	held, err := d.to().Alter(ctx, r)
	if err != nil {
		return err
	}
	defer held.Release()
	a := d.newAlteration(ctx, r)
	for _, x := range actions {
		if err := a.act(x); err != nil {
			return err
		}
	}
	return a.finish(held)
}

func withArticle(k catalog.RelKind) string {
	if k == catalog.Index {
		return "an index"
	}
	return "a " + kindWord(k)
}

// objectKindOf is the kind of object that a statement about a relation names.
func objectKindOf(k catalog.RelKind) ast.ObjectKind {
	for o, c := range relationKinds {
		if c == k {
			return o
		}
	}
	return ast.KindTable
}

func (d *definer) newAlteration(ctx context.Context, r *catalog.Relation) *alteration {
	c := *r
	c.Columns, c.Key, c.Checks = slices.Clone(r.Columns), slices.Clone(r.Key), slices.Clone(r.Checks)
	c.Uniques = slices.Clone(r.Uniques)
	for i := range c.Uniques {
		c.Uniques[i].Columns = slices.Clone(c.Uniques[i].Columns)
	}
	c.ColumnComments, c.StateTables = maps.Clone(r.ColumnComments), maps.Clone(r.StateTables)
	c.Altered++
	a := &alteration{
		tableDef: &tableDef{definer: d, rel: &c}, ctx: ctx, old: r, pl: d.planner(), notNull: map[string]bool{}, newChecks: map[string]bool{},
		fresh: map[string]scalar.Expr{}, dropped: map[int]bool{}, gone: map[catalog.ID]*catalog.Relation{}, others: map[catalog.ID]*catalog.Relation{},
		called: map[catalog.ID]bool{},
	}
	for i := range r.Columns {
		a.from = append(a.from, columnSource{old: i})
	}
	return a
}

// at finds a column by name.
func (a *alteration) at(name string) (int, error) {
	i := a.rel.ColumnIndex(name)
	if i < 0 || a.rel.Columns[i].Hidden {
		return 0, sqlerr.Newf(sqlerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", name, a.rel.Name)
	}
	return i, nil
}

func (a *alteration) calls(x ast.Expr, what string) {
	for _, id := range a.pl.FunctionsIn(x, a.rel, what) {
		a.called[id] = true
	}
}

func (a *alteration) act(x ast.AlterAction) error {
	switch x.Kind {
	case ast.AddColumn:
		return a.addNewColumn(x)
	case ast.AddConstraint:
		return a.addNewConstraint(x)
	case ast.DropConstraint:
		return a.dropConstraint(x)
	case ast.ValidateConstraint:
		return a.validate(x)
	case ast.ChangeOwner:
		to, err := a.newOwner(x.Name, a.rel.Schema)
		if err != nil {
			return err
		}
		a.rel.Owner, a.rel.ACL = to, a.rel.ACL.WithOwner(catalog.OwnerName(a.old.Owner), to)
		return nil
	case ast.Accepted:
		return nil
	}
	i, err := a.at(x.Column)
	if err != nil {
		if x.Kind == ast.DropColumn && x.IfExists {
			a.s.notice(sqlerr.SuccessfulCompletion, fmt.Sprintf("column \"%s\" of relation \"%s\" does not exist, skipping", x.Column, a.rel.Name))
			return nil
		}
		return err
	}
	switch x.Kind {
	case ast.DropColumn:
		return a.dropColumn(i, x)
	case ast.AlterType:
		return a.alterType(i, x)
	case ast.SetDefault, ast.DropDefault:
		return a.setDefault(i, x)
	case ast.SetNotNull:
		if c := &a.rel.Columns[i]; !c.NotNull {
			c.NotNull, a.notNull[c.Name] = true, true
		}
		return nil
	case ast.DropNotNull:
		return a.dropNotNull(i)
	}
	return a.identity(i, x)
}

// finish makes the alteration.
func (a *alteration) finish(held *holder) error {
	if len(a.details) > 0 {
		a.cascades(a.details)
	}
	if len(a.called) > 0 {
		for _, id := range a.old.Functions {
			a.called[id] = true
		}
		if a.rel.Functions = slices.Sorted(maps.Keys(a.called)); len(a.old.Functions) == 0 {
			a.rel.SearchPath = a.s.vars.permanentPath(a.s.user())
		}
	}
	also := func(c *catalog.Catalog) {
		a.putSequences(c)
		for _, x := range c.Owned(a.rel.ID) {
			y := *x
			if y.Schema, y.Owner = a.rel.Schema, a.rel.Owner; a.rel.Owner != a.old.Owner {
				y.ACL = x.ACL.WithOwner(catalog.OwnerName(a.old.Owner), a.rel.Owner)
			}
			c.Put(&y)
		}
		for _, x := range a.others {
			c.Put(x)
		}
		for _, x := range c.AllIndexes(a.rel.ID) {
			if x.Owner != a.rel.Owner {
				y := *x
				y.Owner = a.rel.Owner
				c.Put(&y)
			}
		}
		for _, r := range a.gone {
			if r.Seq != nil {
				c.Remove(r.ID)
			}
		}
	}
	if err := a.convertAll(held, also); err != nil {
		return err
	}
	for _, f := range a.after {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// uniqueNames are the constraints of a schema that are indexes, by name.
func (d *definer) indexNamed(schema, name string) bool {
	if d.cat.Relation(schema, name) != nil {
		return true
	}
	for _, r := range d.cat.Relations {
		if r.Schema == schema && hasUnique(r, name) {
			return true
		}
	}
	return false
}

func (a *alteration) addNewConstraint(x ast.AlterAction) error {
	c := *x.Constraint
	if x.Index != "" {
		return sqlerr.New(sqlerr.FeatureNotSupported, x.Pos, "ADD CONSTRAINT ... USING INDEX is not supported yet").
			WithHint("Name the columns: ADD CONSTRAINT ... UNIQUE (...), or PRIMARY KEY (...).")
	}
	switch c.Kind {
	case ast.ConCheck:
		if c.Name != "" && a.hasConstraint(c.Name) {
			return sqlerr.Newf(sqlerr.DuplicateObject, "constraint \"%s\" for relation \"%s\" already exists", c.Name, a.rel.Name)
		}
		n := len(a.rel.Checks)
		if len(c.Columns) == 0 {
			// A constraint on one column is named after it.
			c.Columns = a.columnsIn(c.ExprText)
		}
		a.checks = []ast.TableConstraint{c}
		if err := a.addChecks(a.pl, a.calls); err != nil {
			return err
		}
		a.checks = nil
		if x.NotValid {
			a.rel.Checks[n].NotValid = true
		} else {
			a.newChecks[a.rel.Checks[n].Name] = true
		}
		return nil
	case ast.ConPrimaryKey, ast.ConUnique:
		if c.Name != "" && a.keyTaken(c.Name) {
			return sqlerr.Newf(sqlerr.DuplicateTable, "relation \"%s\" already exists", c.Name)
		}
		wasKey := a.rel.PrimaryKey
		nulls := map[string]bool{}
		for _, n := range c.Columns {
			if i := a.rel.ColumnIndex(n); i >= 0 && !a.rel.Columns[i].NotNull {
				nulls[n] = true
			}
		}
		if err := a.addConstraint(c); err != nil {
			return sqlerr.At(noPosition(err), sqlerr.NoPos)
		}
		if wasKey == "" && a.rel.PrimaryKey != "" {
			maps.Copy(a.notNull, nulls)
			a.removeRowID()
		}
		a.rewrite = true
		return nil
	}
	return a.addConstraint(c)
}

// noPosition is err without a position: PostgreSQL gives none for what ALTER TABLE names.
func noPosition(err error) error {
	e := *sqlerr.From(err)
	e.Pos = sqlerr.NoPos
	return &e
}

// columnsIn lists the columns that an expression over the table names.
func (a *alteration) columnsIn(text string) []string { return a.columnsOf(a.rel, text) }

// columnsOf is columnsIn for one of the two definitions of the table.
func (a *alteration) columnsOf(rel *catalog.Relation, text string) []string {
	x, err := a.s.parseExpr(text)
	if err != nil {
		return nil
	}
	uses, err := a.pl.FieldsIn(x, rel, "check constraints")
	if err != nil {
		return nil
	}
	var names []string
	for _, u := range uses {
		if n := rel.Columns[u.Ord].Name; !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

func (a *alteration) hasConstraint(name string) bool {
	return slices.ContainsFunc(a.rel.Checks, func(c catalog.Check) bool { return c.Name == name }) ||
		slices.ContainsFunc(a.rel.Uniques, func(u catalog.Unique) bool { return u.Name == name }) || findForeign(a.rel, name) >= 0
}

func (a *alteration) noConstraint(name string) error {
	return sqlerr.Newf(sqlerr.UndefinedObject, "constraint \"%s\" of relation \"%s\" does not exist", name, a.rel.Name)
}

func (a *alteration) dropConstraint(x ast.AlterAction) error {
	if i := slices.IndexFunc(a.rel.Checks, func(c catalog.Check) bool { return c.Name == x.Name }); i >= 0 {
		a.rel.Checks = slices.Delete(a.rel.Checks, i, i+1)
		delete(a.newChecks, x.Name)
		return nil
	}
	if i := slices.IndexFunc(a.rel.Uniques, func(u catalog.Unique) bool { return u.Name == x.Name }); i >= 0 {
		for _, f := range a.cat.Referrers(a.old.ID) {
			if f.Key.Key == x.Name {
				return sqlerr.Newf(sqlerr.DependentObjectsStillExist, "cannot drop constraint %s on table %s because other objects depend on it",
					quoteIdent(x.Name), a.displayName(a.old)).
					WithDetail("constraint %s on table %s depends on index %s", quoteIdent(f.Key.Name), a.displayName(f.Table), quoteIdent(x.Name)).
					WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
			}
		}
		a.dropUnique(i)
		return nil
	}
	if x.IfExists {
		a.s.notice(sqlerr.SuccessfulCompletion, fmt.Sprintf("constraint \"%s\" of relation \"%s\" does not exist, skipping", x.Name, a.rel.Name))
		return nil
	}
	return a.noConstraint(x.Name)
}

// dropUnique takes a unique constraint away. Without its primary key the table is kept in the order of hidden row ids.
func (a *alteration) dropUnique(i int) {
	u := a.rel.Uniques[i]
	a.rel.Uniques = slices.Delete(a.rel.Uniques, i, i+1)
	a.rewrite = true
	if !u.Primary {
		delete(a.rel.StateTables, uniqueState(u.Name))
		return
	}
	a.rel.PrimaryKey, a.rel.Key = "", nil
	a.addRowID()
	a.from = append(a.from, columnSource{old: -1, auto: true})
}

// removeRowID takes the hidden key away, now that there is another one.
func (a *alteration) removeRowID() {
	if i := a.rel.ColumnIndex(rowIDColumn); i >= 0 {
		a.cut(i)
	}
}

func (a *alteration) validate(x ast.AlterAction) error {
	if i := slices.IndexFunc(a.rel.Checks, func(c catalog.Check) bool { return c.Name == x.Name }); i >= 0 {
		if a.rel.Checks[i].NotValid {
			a.rel.Checks[i].NotValid, a.newChecks[x.Name] = false, true
		}
		return nil
	}
	if slices.ContainsFunc(a.rel.Uniques, func(u catalog.Unique) bool { return u.Name == x.Name }) {
		return sqlerr.Newf(sqlerr.WrongObjectType, "constraint \"%s\" of relation \"%s\" is not a foreign key or check constraint", x.Name, a.rel.Name)
	}
	return a.noConstraint(x.Name)
}

// dependsOnColumn lists the views and the like whose query names a column of the table.
func (a *alteration) dependsOnColumn(ord int) []*catalog.Relation {
	var out []*catalog.Relation
	for _, r := range a.cat.Dependents(a.old.ID) {
		if r.Kind == catalog.Index {
			continue
		}
		uses, err := a.t.inc.ColumnUses(a.cat, r)
		if err != nil || slices.ContainsFunc(uses, func(u planner.ColumnUse) bool { return u.Rel == a.old.ID && u.Ord == ord }) {
			out = append(out, r)
		}
	}
	return out
}

// displayColumn names a column for messages.
func (a *alteration) displayColumn(name string) string {
	return fmt.Sprintf("column %s of table %s", quoteIdent(name), a.displayName(a.old))
}

// dependents refuses without CASCADE what others depend on, and else adds those to what goes.
func (a *alteration) dropDependents(name string, direct []*catalog.Relation, extra []string, cascade bool) error {
	var details []string
	named := map[catalog.ID]*catalog.Relation{}
	for _, r := range direct {
		switch {
		case r.Internal:
			named[r.ID] = r // nobody knows it; who takes its rows is planned again
		case a.gone[r.ID] == nil:
			details = append(details, fmt.Sprintf("%s %s depends on %s", kindWord(r.Kind), a.displayName(r), a.displayColumn(name)))
			named[r.ID] = r
		}
	}
	all, more := a.dependent(named)
	details = append(append(details, more...), extra...)
	if len(details) > 0 && !cascade {
		return sqlerr.Newf(sqlerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", a.displayColumn(name)).
			WithDetail("%s", strings.Join(details, "\n")).
			WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	for id, r := range all {
		if r.Kind == catalog.Sink {
			return sqlerr.Newf(sqlerr.FeatureNotSupported, "dropping sink \"%s\" together with a column is not supported yet", r.Name).
				WithHint("Drop the sink before.")
		}
		a.gone[id] = r
	}
	a.details = append(a.details, details...)
	return nil
}
