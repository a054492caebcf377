package syscat

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/types"
)

// The access methods, with PostgreSQL's oids.
const (
	heapID  = catalog.ID(2)
	btreeID = catalog.ID(403)
)

func namespaceRows(c *content) {
	c.columns("oid", "nspname", "nspowner", "nspacl")
	for _, s := range c.env.schemas() {
		c.add(s.ID, s.Name, roleID(s.Owner), aclText(s.ACL))
	}
}

func amRows(c *content) {
	c.columns("oid", "amname", "amhandler", "amtype")
	c.add(heapID, "heap", 3, 't')
	c.add(btreeID, "btree", 330, 'i')
}

func classRows(c *content) {
	c.columns("oid", "relname", "relnamespace", "reltype", "relowner", "relam", "relfilenode", "reltuples", "relhasindex",
		"relpersistence", "relkind", "relnatts", "relchecks", "relhasrules", "relhastriggers", "relispopulated", "relreplident", "relacl")
	for _, x := range c.all() {
		var am, file catalog.ID
		switch x.kind {
		case kindTable, kindMatView:
			am, file = heapID, x.oid
		case kindIndex:
			am, file = btreeID, x.oid
		case kindSequence:
			file = x.oid
		}
		replident := 'n'
		if (x.kind == kindTable || x.kind == kindMatView) && !isSystemSchema(x.schema) {
			replident = 'd'
		}
		var checks int
		var hasIndex bool
		if x.kind == kindTable {
			checks = len(x.rel.Checks)
		}
		if x.kind == kindTable || x.kind == kindMatView {
			hasIndex = x.rel != nil && len(x.rel.Uniques) > 0 || len(c.env.indexesOf(x.oid)) > 0
		}
		triggers := x.kind == kindTable && x.rel != nil && (len(x.rel.ForeignKeys) > 0 || c.env.objects().referenced[x.oid])
		c.add(x.oid, x.name, c.env.schemaID(x.schema), x.typeID(), roleID(x.owner), am, file, -1.0, hasIndex,
			persistence(x), x.kind, len(x.cols), checks, x.kind == kindView || x.kind == kindMatView, triggers, true, replident, x.acl())
	}
}

// persistence is relpersistence: of temporary relations those of the session are seen, in their schema.
func persistence(x *object) rune {
	if strings.HasPrefix(x.schema, "pg_temp_") {
		return 't'
	}
	return 'p'
}

// acl is the entry of relacl: an index has none of its own.
func (x *object) acl() any {
	if x.rel == nil || x.index != nil {
		return nil
	}
	return aclText(x.rel.ACL)
}

// indexesOf lists the indexes of a relation, by oid.
func (e *Env) indexesOf(oid catalog.ID) []*object { return e.objects().indexes[oid] }

func attributeRows(c *content) {
	c.columns("attrelid", "attname", "atttypid", "attstattarget", "attlen", "attnum", "attndims", "attcacheoff",
		"atttypmod", "attbyval", "attalign", "attstorage", "attnotnull", "atthasdef", "attidentity", "attgenerated",
		"attislocal", "attcollation")
	for _, x := range c.all() {
		for _, a := range x.cols {
			dims := 0
			if a.Type.Kind == types.Array && !a.Type.IsVector() {
				dims = 1
			}
			identity, generated := "", ""
			switch a.Identity {
			case "always":
				identity = "a"
			case "by default":
				identity = "d"
			}
			if a.Generated {
				generated = "s"
			}
			c.add(x.oid, a.Name, typeOID(a.Column), -1, a.Type.Len(), a.num, dims, -1,
				max(a.Type.Mod, -1), byValue(a.Type), alignOf(a.Type), storageOf(a.Type), a.NotNull, hasDefault(x, a), identity, generated,
				true, collationOf(a.Type))
		}
	}
}

// hasDefault tells whether a column of x has an entry in pg_attrdef.
func hasDefault(x *object, a attribute) bool {
	return x.kind == kindTable && (a.Default != "" || a.Serial)
}

// defaultText is the default or the generation expression of a column.
func (e *Env) defaultText(x *object, a attribute) string {
	if a.Serial && a.Default == "" {
		seq := e.object(a.Sequence)
		if seq == nil {
			return ""
		}
		return "nextval(" + quoteLiteral(e.qualified(seq)) + "::regclass)"
	}
	text := e.unpin(a.Default)
	if s := defaultAsPostgres(text, a.Type); s != text {
		return s
	}
	return e.shown(x.rel, text, a.Type, false)
}

// defaultAsPostgres writes a default the way PostgreSQL does, where programs that read defaults depend on
// it: a string has its type behind it, and so has a negative number.
func defaultAsPostgres(text string, t types.Type) string {
	e, err := parse.ParseExpr(text)
	if err != nil {
		return text
	}
	switch e := e.(type) {
	case *ast.StrLit:
		switch {
		case t.Kind == types.Char:
			return quoteLiteral(e.Value) + "::bpchar"
		case t.Kind == types.Bool || t.Kind.IsInteger():
			if d, err := types.ParseText(t, e.Value, nil); err == nil && (d.I >= 0 || t.Kind == types.Bool) {
				if t.Kind == types.Bool {
					return strconv.FormatBool(d.Bool())
				}
				return strconv.FormatInt(d.I, 10)
			}
		}
		return quoteLiteral(e.Value) + "::" + formatType(t)
	case *ast.Unary:
		if e.Op != "-" {
			break
		}
		switch x := e.X.(type) {
		case *ast.IntLit:
			typ := "integer"
			if x.Value > math.MaxInt32 {
				typ = "bigint"
			}
			return "'-" + strconv.FormatInt(x.Value, 10) + "'::" + typ
		case *ast.NumLit:
			return "(-" + x.Text + ")"
		}
	}
	return text
}

func attrdefRows(c *content) {
	c.columns("oid", "adrelid", "adnum", "adbin")
	for _, x := range c.env.objects().list {
		for _, a := range x.cols {
			if hasDefault(x, a) {
				c.add(defaultID(x.oid, a.num), x.oid, a.num, c.env.defaultText(x, a))
			}
		}
	}
}

func indexRows(c *content) {
	c.columns("indexrelid", "indrelid", "indnatts", "indnkeyatts", "indisunique", "indnullsnotdistinct", "indisprimary", "indimmediate",
		"indisvalid", "indisready", "indislive", "indkey", "indcollation", "indclass", "indoption", "indexprs", "indpred")
	for _, x := range c.env.objects().list {
		if x.index == nil {
			continue
		}
		ix := x.index
		var colls, classes []uint32
		var opts []int
		for i := range ix.key {
			t := x.cols[i].Type
			colls = append(colls, uint32(collationOf(t)))
			classes = append(classes, uint32(opclassOf(t)))
			o := 0
			if ix.desc[i] {
				o |= 1
			}
			if ix.nullsFirst[i] {
				o |= 2
			}
			opts = append(opts, o)
		}
		exprs := strings.Join(slices.DeleteFunc(slices.Clone(ix.exprs), func(s string) bool { return s == "" }), ", ")
		nums := append(slices.Clone(ix.key), ix.include...)
		c.add(x.oid, x.rel.ID, len(nums), len(ix.key), ix.unique, ix.nullsEqual, ix.primary, true,
			true, true, true, nums, colls, classes, opts, orNull(exprs), orNull(c.env.shown(x.rel, ix.where, types.T(types.Bool), false)))
	}
}

func constraintRows(c *content) {
	c.columns("oid", "conname", "connamespace", "contype", "condeferrable", "condeferred", "convalidated", "conrelid", "conindid", "confrelid",
		"confupdtype", "confdeltype", "confmatchtype", "conislocal", "connoinherit", "conkey", "confkey", "confdelsetcols", "conbin")
	for _, n := range c.env.objects().constraints {
		if f := n.foreign; f != nil {
			match := 's'
			if f.MatchFull {
				match = 'f'
			}
			var set any
			if f.SetColumns != nil {
				var nums []int
				for _, k := range f.SetColumns {
					nums = append(nums, k+1)
				}
				set = nums
			}
			c.add(n.oid, n.name, c.env.schemaID(n.rel.schema), n.kind, f.Deferrable, f.Deferred, !f.NotValid, n.rel.oid, n.index, n.ref.oid,
				actionCodes[f.OnUpdate], actionCodes[f.OnDelete], match, true, true, n.cols, n.refCols, set, nil)
			continue
		}
		var bin any
		if n.kind == 'c' {
			bin = n.expr
		}
		cols := n.cols
		if n.kind == 'c' {
			cols = columnsIn(n.rel, n.expr)
		}
		key := any(cols)
		if cols == nil {
			key = nil
		}
		c.add(n.oid, n.name, c.env.schemaID(n.rel.schema), n.kind, false, false, !n.notValid, n.rel.oid, n.index, 0,
			' ', ' ', ' ', true, n.kind != 'c', key, nil, nil, bin)
	}
	domainConstraintRows(c)
}

// actionCodes are the actions of foreign keys in pg_constraint.
var actionCodes = map[string]rune{
	catalog.NoAction: 'a', catalog.Restrict: 'r', catalog.Cascade: 'c', catalog.SetNull: 'n', catalog.SetDefault: 'd',
}

func sequenceRows(c *content) {
	c.columns("seqrelid", "seqtypid", "seqstart", "seqincrement", "seqmax", "seqmin", "seqcache", "seqcycle")
	for _, x := range c.env.objects().list {
		if q := x.seq; q != nil {
			c.add(x.oid, q.Type.OID(), q.Start, q.Increment, q.Max, q.Min, q.Cache, q.Cycle)
		}
	}
}

// namespaceID is the oid of pg_namespace.
const namespaceID = catalog.ID(2615)

// schemaComment is what COMMENT ON SCHEMA said, or what PostgreSQL says of its own schemas.
func schemaComment(s catalog.Schema) string {
	if s.Comment != "" {
		return s.Comment
	}
	return map[string]string{pgCatalog: "system catalog schema", catalog.PublicSchema: "standard public schema"}[s.Name]
}

func descriptionRows(c *content) {
	class := c.sys.byName[[2]string{pgCatalog, "pg_class"}].rel.ID
	c.columns("objoid", "classoid", "objsubid", "description")
	for _, x := range c.env.objects().list {
		if x.comment != "" {
			c.add(x.oid, class, 0, x.comment)
		}
		for _, a := range x.cols {
			if a.comment != "" {
				c.add(x.oid, class, a.num, a.comment)
			}
		}
	}
	con := c.sys.byName[[2]string{pgCatalog, "pg_constraint"}].rel.ID
	for _, n := range c.env.objects().constraints {
		if text := n.rel.rel.ConstraintComments[n.name]; text != "" {
			c.add(n.oid, con, 0, text)
		}
	}
	for _, f := range c.cat.SortedFunctions() {
		if f.Comment != "" {
			c.add(f.ID, procID, 0, f.Comment)
		}
	}
	typeDescriptions(c)
	for _, s := range c.env.schemas() {
		if text := schemaComment(s); text != "" {
			c.add(s.ID, namespaceID, 0, text)
		}
	}
}

// rewriteID is the oid of a view's rule, which stands for its query in pg_depend.
func rewriteID(view catalog.ID) catalog.ID { return derivedBase | view<<derivedShift }

func rewriteRows(c *content) {
	c.columns("oid", "rulename", "ev_class", "ev_type", "ev_enabled", "is_instead", "ev_qual", "ev_action")
	for _, x := range c.env.objects().list {
		if x.kind == kindView || x.kind == kindMatView {
			c.add(rewriteID(x.oid), "_RETURN", x.oid, '1', 'O', true, "<>", "<>")
		}
	}
}

// dependRows says what hangs on what: sequences, defaults and indexes on their tables, views on what they
// read.
func dependRows(c *content) {
	class := func(name string) catalog.ID { return c.sys.byName[[2]string{pgCatalog, name}].rel.ID }
	rewrite, con, attrdef := class("pg_rewrite"), class("pg_constraint"), class("pg_attrdef")
	c.columns("classid", "objid", "objsubid", "refclassid", "refobjid", "refobjsubid", "deptype")
	for _, x := range c.env.objects().list {
		switch {
		case x.seq != nil:
			kind := 'a'
			if x.seq.Identity {
				kind = 'i'
			}
			if num := c.env.ownedColumn(x.seq); num > 0 {
				c.add(classID, x.oid, 0, classID, x.seq.OwnedBy, num, kind)
			}
		case x.index != nil && x.index.constraint:
			c.add(classID, x.oid, 0, con, x.oid, 0, 'i')
		case x.index != nil:
			for _, k := range x.index.key {
				c.add(classID, x.oid, 0, classID, x.rel.ID, k, 'a')
			}
		case x.kind == kindView || x.kind == kindMatView:
			c.add(rewrite, rewriteID(x.oid), 0, classID, x.oid, 0, 'i')
			for _, d := range x.rel.DependsOn {
				c.add(rewrite, rewriteID(x.oid), 0, classID, d, 0, 'n')
			}
			for _, f := range x.rel.Functions {
				c.add(rewrite, rewriteID(x.oid), 0, procID, f, 0, 'n')
			}
		}
		for _, a := range x.cols {
			if hasDefault(x, a) {
				c.add(attrdef, defaultID(x.oid, a.num), 0, classID, x.oid, a.num, 'a')
				uses := a.Uses
				if a.Serial {
					uses = []catalog.ID{a.Sequence}
				}
				for _, id := range uses {
					c.add(attrdef, defaultID(x.oid, a.num), 0, classID, id, 0, 'n')
				}
			}
		}
	}
	typeDepends(c, con)
	for _, n := range c.env.objects().constraints {
		for _, k := range n.cols {
			c.add(con, n.oid, 0, classID, n.rel.oid, k, 'a')
		}
		if n.foreign != nil {
			for _, k := range n.refCols {
				c.add(con, n.oid, 0, classID, n.ref.oid, k, 'n')
			}
			c.add(con, n.oid, 0, classID, n.index, 0, 'n')
		}
	}
}

// columnsIn gives the numbers of the columns of x that an expression over it has, in the order in which they come.
func columnsIn(x *object, text string) []int {
	e, err := parse.ParseExpr(text)
	if err != nil {
		return nil
	}
	var nums []int
	walkNodes(reflect.ValueOf(e), func(n any) bool {
		c, ok := n.(*ast.ColumnRef)
		if !ok {
			return true
		}
		name := c.Parts[len(c.Parts)-1]
		for _, a := range x.cols {
			if a.Name == name && !slices.Contains(nums, a.num) {
				nums = append(nums, a.num)
			}
		}
		return true
	})
	return nums
}

// walkNodes calls f for the nodes of a tree that are pointers, in the order of the fields of what they are in; if it says false, not for
// what is in that one.
func walkNodes(v reflect.Value, f func(node any) bool) {
	switch v.Kind() {
	case reflect.Interface:
		walkNodes(v.Elem(), f)
	case reflect.Pointer:
		if !v.IsNil() && f(v.Interface()) {
			walkNodes(v.Elem(), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walkNodes(v.Index(i), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walkNodes(v.Field(i), f)
			}
		}
	}
}
