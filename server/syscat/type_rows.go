package syscat

import (
	"sort"

	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/types"
)

// ioNames are the names of a kind's input and output functions, but for their ending.
func ioNames(k types.Kind) (in, out, recv, send string) {
	n := k.Name()
	switch k {
	case types.Date, types.Time, types.Timestamp, types.Timestamptz, types.Interval, types.Numeric, types.UUID,
		types.Jsonb, types.Json, types.Jsonpath, types.Record, types.AnyArray, types.Void, types.NodeTree, types.Inet:
		n += "_"
	case types.Any, types.AnyElement:
		return n + "_in", n + "_out", "", ""
	case types.AnyEnum:
		return n + "_in", n + "_out", "", ""
	}
	return n + "in", n + "out", n + "recv", n + "send"
}

// modNames are those of the functions for its modifier.
func modNames(k types.Kind) (in, out string) {
	switch k {
	case types.Varchar, types.Char, types.Numeric, types.Time, types.Timestamp, types.Timestamptz, types.Interval:
		return k.Name() + "typmodin", k.Name() + "typmodout"
	}
	return "", ""
}

func typeRows(c *content) {
	c.columns("oid", "typname", "typnamespace", "typowner", "typlen", "typbyval", "typtype", "typcategory",
		"typispreferred", "typisdefined", "typdelim", "typsubscript", "typelem", "typarray", "typinput", "typoutput",
		"typreceive", "typsend", "typmodin", "typmodout", "typanalyze", "typalign", "typstorage", "typtypmod", "typcollation")
	add := func(t types.Type, typtype rune, elem, arr uint32, subscript, in, out, recv, send, modin, modout, analyze string) {
		category := rune(t.Category())
		if typtype == 'p' && t.Kind == types.Array {
			category = 'P'
		}
		c.add(t.OID(), t.Name(), pgCatalogID, bootstrapRoleID, t.Len(), byValue(t), typtype, category,
			t.Kind.Preferred(), true, ',', ioOID(subscript), elem, arr, ioOID(in), ioOID(out),
			ioOID(recv), ioOID(send), ioOID(modin), ioOID(modout), ioOID(analyze), alignOf(t), storageOf(t), -1, collationOf(t))
	}
	for k := range types.Kind(types.NumKinds) {
		if k == types.Array {
			continue
		}
		t := types.T(k)
		typtype := 'b'
		if k.IsPseudo() || k == types.Unknown || k == types.Record {
			typtype = 'p'
		}
		var elem uint32
		subscript := ""
		switch k {
		case types.Name:
			elem, subscript = types.QChar.OID(), "raw_array_subscript_handler"
		case types.Jsonb:
			subscript = "jsonb_subscript_handler"
		}
		in, out, recv, send := ioNames(k)
		modin, modout := modNames(k)
		add(t, typtype, elem, k.ArrayOID(), subscript, in, out, recv, send, modin, modout, "")
		if k.ArrayOID() != 0 {
			typtype = 'b'
			if k == types.Record {
				typtype = 'p'
			}
			add(types.ArrayOf(k), typtype, k.OID(), 0, "array_subscript_handler",
				"array_in", "array_out", "array_recv", "array_send", modin, modout, "array_typanalyze")
		}
	}
	for _, elem := range []types.Kind{types.Int2, types.Oid} {
		t := types.VectorOf(elem)
		n := t.Name()
		add(t, 'b', elem.OID(), 0, "array_subscript_handler", n+"in", n+"out", n+"recv", n+"send", "", "", "")
	}
	c.columns("oid", "typname", "typnamespace", "typowner", "typlen", "typbyval", "typtype", "typcategory", "typisdefined",
		"typdelim", "typalign", "typstorage", "typtypmod")
	for _, p := range pseudoTypes {
		c.add(p.oid, p.name, pgCatalogID, bootstrapRoleID, p.len, p.len > 0, 'p', 'P', true, ',', 'i', 'p', -1)
	}
	userTypeRows(c)
	sort.SliceStable(c.out, func(i, j int) bool { return c.out[i][0].I < c.out[j][0].I })
}

func collationRows(c *content) {
	c.columns("oid", "collname", "collnamespace", "collowner", "collprovider", "collisdeterministic", "collencoding",
		"collcollate", "collctype")
	c.add(defaultCollation, "default", pgCatalogID, bootstrapRoleID, 'd', true, -1, nil, nil)
	c.add(cCollation, "C", pgCatalogID, bootstrapRoleID, 'c', true, -1, "C", "C")
	c.add(catalog.ID(951), "POSIX", pgCatalogID, bootstrapRoleID, 'c', true, -1, "POSIX", "POSIX")
}

func languageRows(c *content) {
	c.columns("oid", "lanname", "lanowner", "lanispl", "lanpltrusted")
	c.add(internalLanguage, "internal", bootstrapRoleID, false, false)
	c.add(13, "c", bootstrapRoleID, false, false)
	c.add(14, "sql", bootstrapRoleID, false, true)
}

// internalLanguage is the language of all functions.
const internalLanguage = catalog.ID(12)

// opclasses are the default operator classes of btree by type, with PostgreSQL's oids of class and family.
const opclassFamilyOffset = 1 << 15

func opclasses() map[types.Kind]catalog.ID {
	return map[types.Kind]catalog.ID{
		types.Bool: 10002, types.Char: 10004, types.Bytea: 10006, types.QChar: 10007, types.Date: 3122,
		types.Float4: 10012, types.Float8: 3123, types.Int2: 1979, types.Int4: 1978, types.Int8: 3124,
		types.Interval: 10022, types.Name: 10028, types.Numeric: 3125, types.Oid: 1981, types.Record: 10034,
		types.Text: 3126, types.Time: 10038, types.Timestamptz: 3127, types.Timestamp: 3128, types.UUID: 10065,
		types.Jsonb: 10088, types.AnyArray: 10000, types.AnyEnum: 10069,
	}
}

func opclassKind(t types.Type) types.Kind {
	switch t.Kind {
	case types.Array:
		return types.AnyArray
	case types.Varchar:
		return types.Text
	case types.Regclass, types.Regtype, types.Regproc, types.Regnamespace, types.Regrole:
		return types.Oid
	}
	switch {
	case t.Kind.IsEnum():
		return types.AnyEnum
	case t.Kind.IsComposite():
		return types.Record
	}
	return t.Kind
}

// opclassOf gives the operator class that orders values of t in an index.
func opclassOf(t types.Type) catalog.ID { return opclasses()[opclassKind(t)] }

func opclassName(k types.Kind) string {
	if k == types.AnyArray {
		return "array_ops"
	}
	if k == types.AnyEnum {
		return "enum_ops"
	}
	return k.Name() + "_ops"
}

func opclassRows(c *content) {
	c.columns("oid", "opcmethod", "opcname", "opcnamespace", "opcowner", "opcfamily", "opcintype", "opcdefault")
	cs := opclasses()
	for k := range types.Kind(types.NumKinds) {
		if id := cs[k]; id != 0 {
			c.add(id, btreeID, opclassName(k), pgCatalogID, bootstrapRoleID, id+opclassFamilyOffset, k.OID(), true)
		}
	}
}

func opfamilyRows(c *content) {
	c.columns("oid", "opfmethod", "opfname", "opfnamespace", "opfowner")
	cs := opclasses()
	for k := range types.Kind(types.NumKinds) {
		if id := cs[k]; id != 0 {
			c.add(id+opclassFamilyOffset, btreeID, opclassName(k), pgCatalogID, bootstrapRoleID)
		}
	}
}

func procRows(c *content) {
	c.columns("oid", "proname", "pronamespace", "proowner", "prolang", "procost", "prorows", "provariadic", "prokind",
		"proisstrict", "proretset", "provolatile", "proparallel", "pronargs", "pronargdefaults", "prorettype", "proargtypes",
		"proallargtypes", "proargmodes", "proargnames", "prosrc")
	for _, p := range procs().list {
		kind := 'f'
		switch p.fn.Kind {
		case fn.Aggregate:
			kind = 'a'
		case fn.Window:
			kind = 'w'
		}
		volatility := [...]rune{fn.Immutable: 'i', fn.Stable: 's', fn.Volatile: 'v'}[p.fn.Volatility]
		var variadic uint32
		args := make([]uint32, len(p.fn.Args))
		for i, t := range p.fn.Args {
			args[i] = t.OID()
			if p.fn.Variadic && i == len(args)-1 {
				variadic = t.OID()
				if arr := t.Kind.ArrayOID(); arr != 0 {
					args[i] = arr
				}
			}
		}
		var all, modes, names any
		if p.fn.ArgNames != nil {
			names = p.fn.ArgNames
		}
		if p.fn.Outs != nil {
			as, ms, ns := args[:len(args):len(args)], []string{}, []string{}
			for i := range args {
				ms = append(ms, "i")
				if p.fn.ArgNames != nil {
					ns = append(ns, p.fn.ArgNames[i])
				} else {
					ns = append(ns, "")
				}
			}
			for _, o := range p.fn.Outs {
				as, ms, ns = append(as, o.Type.OID()), append(ms, "o"), append(ns, o.Name)
			}
			all, modes, names = as, ms, ns
		}
		defaults := 0
		for _, d := range p.fn.Defaults {
			if d != fn.NoDefault {
				defaults++
			}
		}
		rows := 0.0
		if p.fn.Kind == fn.Table {
			rows = 1000
		}
		c.add(p.oid, p.fn.Name, pgCatalogID, bootstrapRoleID, internalLanguage, 1.0, rows, variadic, kind,
			p.fn.Strict, p.fn.Kind == fn.Table, volatility, 's', len(args), defaults, p.fn.Ret.OID(), args,
			all, modes, names, p.fn.Name)
	}
	sqlProcRows(c)
}

func aggregateRows(c *content) {
	c.columns("aggfnoid", "aggkind", "aggnumdirectargs", "aggfinalmodify", "aggmfinalmodify", "aggtranstype")
	for _, p := range procs().list {
		if p.fn.Kind == fn.Aggregate {
			kind, direct := 'n', 0
			if p.fn.Direct >= 0 {
				kind, direct = 'o', p.fn.Direct
			}
			c.add(p.oid, kind, direct, 'r', 'r', p.fn.Ret.OID())
		}
	}
}

func operatorRows(c *content) {
	c.columns("oid", "oprname", "oprnamespace", "oprowner", "oprkind", "oprcanmerge", "oprcanhash", "oprleft", "oprright",
		"oprresult", "oprcode")
	for _, p := range procs().operators {
		f := p.fn
		kind, left := 'b', uint32(0)
		if len(f.Args) == 1 {
			kind = 'l'
		} else {
			left = f.Args[0].OID()
		}
		equal := f.Name == "=" && len(f.Args) == 2 && f.Args[0] == f.Args[1]
		c.add(p.oid, f.Name, pgCatalogID, bootstrapRoleID, kind, equal, equal, left, f.Args[len(f.Args)-1].OID(),
			f.Ret.OID(), 0)
	}
}

func castRows(c *content) {
	c.columns("oid", "castsource", "casttarget", "castfunc", "castcontext", "castmethod")
	reg := Registry()
	id := firstCastID
	for from := range types.Kind(types.NumKinds) {
		for to := range types.Kind(types.NumKinds) {
			ctx, ok := castContext(reg, from, to)
			if !ok {
				continue
			}
			method := 'i'
			if binaryCompatible(from, to) {
				method = 'b'
			}
			c.add(id, from.OID(), to.OID(), 0, ctx, method)
			id++
		}
	}
}

// binaryCompatible tells whether values of from are values of to as they are.
func binaryCompatible(from, to types.Kind) bool {
	oidLike := func(k types.Kind) bool { return k == types.Oid || k == types.Int4 || k.IsReg() }
	textLike := func(k types.Kind) bool { return k == types.Text || k == types.Varchar }
	return oidLike(from) && oidLike(to) || textLike(from) && textLike(to)
}

const firstCastID = catalog.ID(10100)

// castContext is pg_cast.castcontext, and false if from cannot be cast to another type to.
func castContext(reg *fn.Registry, from, to types.Kind) (rune, bool) {
	for _, k := range []types.Kind{from, to} {
		if k == types.Unknown || k == types.Array || k == types.Record || k.IsPseudo() {
			return 0, false
		}
	}
	if from == to || from.IsString() != to.IsString() && !from.IsReg() && !to.IsReg() && from != types.QChar && to != types.QChar {
		// Conversions between strings and everything else by way of text are in no list.
		return 0, false
	}
	for _, c := range []struct {
		ctx  fn.CastContext
		name rune
	}{{fn.Implicit, 'i'}, {fn.Assignment, 'a'}, {fn.Explicit, 'e'}} {
		if reg.CanCast(types.T(from), types.T(to), c.ctx) {
			return c.name, true
		}
	}
	return 0, false
}
