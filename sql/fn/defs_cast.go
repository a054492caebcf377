package fn

import (
	"fmt"
	"strings"

	"github.com/weirdb/weir/sql/types"
)

// castMatrix is Postgres's pg_cast for the types of this package, one source type a block. After
// the target: i implicit, a assignment, e explicit only; "=" means that the representation is the
// same and there is nothing to do, "!" that the cast can fail, "s" that it is stable. A cast to
// oid and its kin is a function here even where Postgres has none, because a negative integer changes.
const castMatrix = `
bool: int4 e, text a, varchar a, bpchar a
char: int4 e, text i=, varchar i=, bpchar i=
name: text i=, varchar a=, bpchar a=
int2: int4 i=, int8 i=, float4 i, float8 i, numeric i, oid i, regclass i, regtype i, regproc i, regnamespace i, regrole i
int4: bool e, char e!, int2 a!, int8 i=, float4 i, float8 i, numeric i, oid i, regclass i, regtype i, regproc i, regnamespace i, regrole i
int8: int2 a!, int4 a!, float4 i, float8 i, numeric i, oid i!, regclass i!, regtype i!, regproc i!, regnamespace i!, regrole i!
float4: int2 a!, int4 a!, int8 a!, float8 i=, numeric a
float8: int2 a!, int4 a!, int8 a!, float4 a!, numeric a
numeric: int2 a!, int4 a!, int8 a!, float4 i!, float8 i!
oid: int4 a, int8 a=, regclass i=, regtype i=, regproc i=, regnamespace i=, regrole i=
regclass: int4 a, int8 a=, oid i=
regtype: int4 a, int8 a=, oid i=
regproc: int4 a, int8 a=, oid i=
regnamespace: int4 a, int8 a=, oid i=
regrole: int4 a, int8 a=, oid i=
xid: oid i=
pg_node_tree: text i=
text: char a, name i, varchar i=, bpchar i=, regclass i!s
varchar: char a, name i, text i=, bpchar i=, regclass i!s
bpchar: char a, name i, text i, varchar i
date: timestamp i!, timestamptz i!s
time: interval i
timestamp: date a, time a, timestamptz i!s
timestamptz: date as, time as, timestamp is
interval: time a
json: jsonb a!
jsonb: json a, bool e!, int2 e!, int4 e!, int8 e!, float4 e!, float8 e!, numeric e!
`

// ioKinds are the types with a cast to and from text through their text form.
var ioKinds = []types.Kind{
	types.Bool, types.Int2, types.Int4, types.Int8, types.Float4, types.Float8, types.Numeric,
	types.Bytea, types.Date, types.Time, types.Timestamp, types.Timestamptz, types.Interval,
	types.UUID, types.Jsonb, types.Json, types.Jsonpath, types.Oid, types.Regclass, types.Regtype, types.Regproc, types.Regnamespace,
	types.Regrole, types.Xid, types.Aclitem, types.NodeTree, types.Inet,
}

// stableText has the types whose text form depends on the session's time zone or on the day,
// or on the catalog.
var stableText = map[types.Kind]bool{
	types.Date: true, types.Time: true, types.Timestamp: true, types.Timestamptz: true,
	types.Regclass: true, types.Regtype: true, types.Regproc: true, types.Regnamespace: true, types.Regrole: true,
}

// modKinds are the types with a modifier that changes values.
var modKinds = []types.Kind{
	types.Numeric, types.Varchar, types.Char, types.Time, types.Timestamp, types.Timestamptz, types.Interval,
}

// addCasts fills the cast matrix. The functions are found by ID only, never by name.
func (r *Registry) addCasts() {
	for line := range strings.SplitSeq(strings.TrimSpace(castMatrix), "\n") {
		from, targets, ok := strings.Cut(line, ": ")
		if !ok {
			panic("fn: bad line in the cast matrix: " + line)
		}
		for t := range strings.SplitSeq(targets, ", ") {
			r.addCast(from, t)
		}
	}
	text := types.T(types.Text)
	for _, k := range ioKinds {
		t := types.T(k)
		if _, ok := r.casts[castKey{k, types.Text}]; !ok {
			r.addCastFunc(castID(k, types.Text), t, text, false, k == types.Timestamptz || k.IsReg())
		}
		if _, ok := r.casts[castKey{types.Text, k}]; !ok {
			r.addCastFunc(castID(types.Text, k), text, t, true, stableText[k])
		}
	}
	for _, k := range modKinds {
		id := "mod(" + k.Name() + ")"
		r.addCastFunc(id, types.T(k), types.T(k), k != types.Time && k != types.Interval, false)
	}
	for _, k := range []types.Kind{types.Varchar, types.Char} {
		r.addCastFunc("mod("+k.Name()+",explicit)", types.T(k), types.T(k), false, false)
	}
	anyArray := types.T(types.AnyArray)
	r.addCastFunc(CastArray, anyArray, anyArray, true, true)
	r.addCastFunc(CastArrayExplicit, anyArray, anyArray, true, true)
	r.addCastFunc(CastArrayText, anyArray, text, false, true)
	r.addCastFunc(CastTextArray, text, anyArray, true, true)
	r.addCastFunc(CastRecordText, types.T(types.Record), text, false, true)
	r.addCastFunc(CastTextRecord, text, types.T(types.Record), true, true)
	r.addCastFunc(CastEnumText, types.T(types.AnyEnum), text, false, true)
	r.addCastFunc(CastTextEnum, text, types.T(types.AnyEnum), true, true)
}

// addCast adds one entry of the matrix: from type, and "target flags".
func (r *Registry) addCast(from, entry string) {
	to, flags, _ := strings.Cut(entry, " ")
	f, ok1 := byTypname[from]
	t, ok2 := byTypname[to]
	ctx := strings.IndexByte("iae", flags[0])
	if !ok1 || !ok2 || ctx < 0 {
		panic(fmt.Sprintf("fn: bad entry in the cast matrix: %s to %s", from, entry))
	}
	e := castEntry{ctx: CastContext(ctx)}
	if !strings.Contains(flags, "=") {
		e.fn = r.addCastFunc(castID(f, t), types.T(f), types.T(t),
			strings.Contains(flags, "!"), strings.Contains(flags[1:], "s"))
	}
	r.casts[castKey{f, t}] = e
}

func (r *Registry) addCastFunc(id string, from, to types.Type, fail, stable bool) *Func {
	f := &Func{
		ID: id, Name: idName(to), Kind: Cast, Args: []types.Type{from}, Ret: to,
		Strict: true, CanFail: fail, Direct: -1,
	}
	if stable {
		f.Volatility = Stable
	}
	r.add(f)
	return f
}

func castID(from, to types.Kind) string { return "cast(" + from.Name() + " as " + to.Name() + ")" }
