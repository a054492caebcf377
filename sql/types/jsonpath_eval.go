package types

import (
	"math"
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Running a jsonpath over a jsonb value. Items are canonical text. A nil list asks only whether there is any item, and
// lets the search end with the first one (not in strict mode, where every error counts).

// PathRun is how a path is run.
type PathRun struct {
	// Vars is a jsonb object with the variables, "" if there are none.
	Vars string
	// Silent: errors of structure and values give no result.
	Silent bool
	// Match compiles a pattern of like_regex with flags of an advanced regular expression ("inpwsq").
	Match func(pattern, flags string) (func(string) bool, error)
}

type pathState struct {
	*PathRun
	strict bool
	root   string
	cur    string
	// arrayLen is the length of the array whose subscript is computed, -1 outside.
	arrayLen int
	// ignore: structural errors are ignored, as in lax mode.
	ignore bool
	throw  bool
	err    error
}

// pathResult is the outcome of a step.
type pathResult uint8

const (
	prNone pathResult = iota
	prOk
	prError
)

// pathBool is three-valued.
type pathBool uint8

const (
	pbFalse pathBool = iota
	pbTrue
	pbUnknown
)

func toPathBool(b bool) pathBool {
	if b {
		return pbTrue
	}
	return pbFalse
}

func (p *JSONPathExpr) start(json string, run *PathRun) (*pathState, error) {
	if run.Vars != "" && !isJSONObject(run.Vars) {
		return nil, sqlerr.Newf(sqlerr.InvalidParameterValue, "\"vars\" argument is not an object").
			WithDetail("Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.")
	}
	return &pathState{PathRun: run, strict: p.Strict, root: json, cur: json, arrayLen: -1, ignore: !p.Strict, throw: !run.Silent}, nil
}

// Query gives the items; ok is false if an error was ignored.
func (p *JSONPathExpr) Query(json string, run *PathRun) (items []string, ok bool, err error) {
	x, err := p.start(json, run)
	if err != nil {
		return nil, false, err
	}
	res := x.item(p.root, json, &items, !x.strict)
	return items, res != prError, x.err
}

// Exists tells whether there is any item; valid is false if an error was ignored.
func (p *JSONPathExpr) Exists(json string, run *PathRun) (found, valid bool, err error) {
	x, err := p.start(json, run)
	if err != nil {
		return false, false, err
	}
	if x.strict {
		var items []string
		res := x.item(p.root, json, &items, false)
		return len(items) > 0, res != prError, x.err
	}
	res := x.item(p.root, json, nil, true)
	return res == prOk, res != prError, x.err
}

// Match gives the only item, which must be a boolean or null (valid is false).
func (p *JSONPathExpr) Match(json string, run *PathRun) (value, valid bool, err error) {
	items, ok, err := p.Query(json, run)
	if err != nil {
		return false, false, err
	}
	if ok && len(items) == 1 {
		switch items[0] {
		case "true", "false":
			return items[0] == "true", true, nil
		case "null":
			return false, false, nil
		}
	}
	if !run.Silent {
		return false, false, pathError("22038", "single boolean result is expected")
	}
	return false, false, nil
}

func pathError(code sqlerr.Code, format string, args ...any) error {
	return sqlerr.Newf(code, format, args...)
}

// fail reports an error of structure or values.
func (x *pathState) fail(code sqlerr.Code, format string, args ...any) pathResult {
	return x.failWith(pathError(code, format, args...))
}

func (x *pathState) failWith(err error) pathResult {
	if x.throw && x.err == nil {
		x.err = err
	}
	return prError
}

// always reports an error that is never ignored.
func (x *pathState) always(err error) pathResult {
	if x.err == nil {
		x.err = err
	}
	return prError
}

func (x *pathState) next(n *pathNode, v string, found *[]string) pathResult {
	if n != nil && n.next != nil {
		return x.item(n.next, v, found, !x.strict)
	}
	if found != nil {
		*found = append(*found, v)
	}
	return prOk
}

// unwrapped runs n over the elements of an array.
func (x *pathState) unwrapped(n *pathNode, v string, found *[]string, unwrap bool) pathResult {
	return x.any(n, v, found, 1, 1, 1, false, unwrap)
}

// any runs n over the members and elements of v down to a level.
func (x *pathState) any(n *pathNode, v string, found *[]string, level, first, last uint32, ignore, unwrap bool) pathResult {
	if level > last {
		return prNone
	}
	res := prNone
	jsonEach(v, func(_, m string) bool {
		container := !isJSONScalar(m)
		if level >= first || first == anyLevel && last == anyLevel && !container {
			switch {
			case n != nil:
				old := x.ignore
				if ignore {
					x.ignore = true
				}
				res = x.item(n, m, found, unwrap)
				x.ignore = old
				if res == prError || res == prOk && found == nil {
					return false
				}
			case found != nil:
				*found = append(*found, m)
				res = prOk
			default:
				res = prOk
				return false
			}
		}
		if level < last && container {
			r := x.any(n, m, found, level+1, first, last, ignore, unwrap)
			if r != prNone {
				res = r
			}
			if r == prError || r == prOk && found == nil {
				return false
			}
		}
		return true
	})
	return res
}

func (x *pathState) item(n *pathNode, v string, found *[]string, unwrap bool) pathResult {
	if x.err != nil {
		return prError
	}
	array := isJSONArray(v)
	switch n.op {
	case poNull, poBool, poNumber, poString, poVariable:
		if n.next == nil && found == nil {
			return prOk
		}
		lit, ok := x.literal(n)
		if !ok {
			return prError
		}
		return x.next(n, lit, found)
	case poRoot:
		return x.next(n, x.root, found)
	case poCurrent:
		return x.next(n, x.cur, found)
	case poLast:
		return x.next(n, strconv.Itoa(x.arrayLen-1), found)
	case poKey:
		switch {
		case isJSONObject(v):
			if m, ok := JSONField(v, n.str); ok {
				return x.next(n, m, found)
			}
			if !x.ignore {
				return x.fail("2203A", "JSON object does not contain key \"%s\"", n.str)
			}
		case unwrap && array:
			return x.unwrapped(n, v, found, false)
		case !x.ignore:
			return x.fail("2203A", "jsonpath member accessor can only be applied to an object")
		}
		return prNone
	case poAnyKey:
		switch {
		case isJSONObject(v):
			return x.any(n.next, v, found, 1, 1, 1, false, !x.strict)
		case unwrap && array:
			return x.unwrapped(n, v, found, false)
		case !x.ignore:
			return x.fail("2203C", "jsonpath wildcard member accessor can only be applied to an object")
		}
		return prNone
	case poAnyArray:
		switch {
		case array:
			return x.any(n.next, v, found, 1, 1, 1, false, !x.strict)
		case !x.strict:
			return x.next(n, v, found)
		case !x.ignore:
			return x.fail("22039", "jsonpath wildcard array accessor can only be applied to an array")
		}
		return prNone
	case poIndex:
		return x.index(n, v, found)
	case poAny:
		res := prNone
		if n.first == 0 {
			old := x.ignore
			x.ignore = true
			res = x.next(n, v, found)
			x.ignore = old
			if res == prError || res == prOk && found == nil {
				return res
			}
		}
		if !isJSONScalar(v) {
			if r := x.any(n.next, v, found, 1, n.first, n.last, true, !x.strict); r != prNone {
				res = r
			}
		}
		return res
	case poFilter:
		if unwrap && array {
			return x.unwrapped(n, v, found, false)
		}
		old := x.cur
		x.cur = v
		b := x.bool(n.left, v)
		x.cur = old
		if b != pbTrue {
			return prNone
		}
		return x.next(n, v, found)
	case poMethod:
		return x.method(n, v, found, unwrap)
	case poAdd, poSub, poMul, poDiv, poMod:
		return x.arithmetic(n, v, found)
	case poPlus, poMinus:
		return x.sign(n, v, found)
	}
	b := x.bool(n, v)
	if x.err != nil {
		return prError
	}
	if n.next == nil && found == nil {
		return prOk
	}
	return x.next(n, [...]string{"false", "true", "null"}[b], found)
}

func (x *pathState) literal(n *pathNode) (string, bool) {
	switch n.op {
	case poNull:
		return "null", true
	case poBool:
		return strconv.FormatBool(n.flag), true
	case poNumber:
		return n.num.String(), true
	case poString:
		return string(AppendJSONString(nil, n.str)), true
	}
	if x.Vars != "" {
		if v, ok := JSONField(x.Vars, n.str); ok {
			return v, true
		}
	}
	x.always(pathError(sqlerr.UndefinedObject, "could not find jsonpath variable \"%s\"", n.str))
	return "", false
}

func (x *pathState) index(n *pathNode, v string, found *[]string) pathResult {
	array := isJSONArray(v)
	if !array && x.strict {
		if !x.ignore {
			return x.fail("22039", "jsonpath array accessor can only be applied to an array")
		}
		return prNone
	}
	size := 1
	elems := []JSONMember{{Value: v}}
	if array {
		elems = elems[:0]
		jsonEach(v, func(_, m string) bool {
			elems = append(elems, JSONMember{Value: m})
			return true
		})
		size = len(elems)
	}
	outer := x.arrayLen
	x.arrayLen = size
	defer func() { x.arrayLen = outer }()
	res := prNone
	for _, r := range n.subs {
		from, ok := x.subscript(r.from, v)
		if !ok {
			return prError
		}
		to := from
		if r.to != nil {
			if to, ok = x.subscript(r.to, v); !ok {
				return prError
			}
		}
		if !x.ignore && (from < 0 || from > to || to >= size) {
			return x.fail("22033", "jsonpath array subscript is out of bounds")
		}
		for i := max(from, 0); i <= min(to, size-1); i++ {
			if res == prOk && found == nil {
				return res
			}
			r := x.next(n, elems[i].Value, found)
			if r == prError {
				return r
			}
			if r == prOk {
				res = r
				if found == nil {
					return res
				}
			}
		}
	}
	return res
}

func (x *pathState) subscript(n *pathNode, v string) (int, bool) {
	var items []string
	if x.item(n, v, &items, !x.strict) == prError {
		return 0, false
	}
	var d Decimal
	ok := len(items) == 1
	if ok {
		d, ok = JSONNumber(items[0])
	}
	if !ok {
		x.fail("22033", "jsonpath array subscript is not a single numeric value")
		return 0, false
	}
	i, err := d.Trunc(0).Int64(Int4)
	if err != nil {
		x.fail("22033", "jsonpath array subscript is out of integer range")
		return 0, false
	}
	return int(i), true
}

// operand runs n and takes arrays in the result apart.
func (x *pathState) operand(n *pathNode, v string, unwrap bool) ([]string, pathResult) {
	var items []string
	res := x.item(n, v, &items, !x.strict)
	if res == prError || !unwrap || x.strict {
		return items, res
	}
	out := make([]string, 0, len(items))
	for _, it := range items {
		if !isJSONArray(it) {
			out = append(out, it)
			continue
		}
		jsonEach(it, func(_, m string) bool {
			out = append(out, m)
			return true
		})
	}
	return out, prOk
}

// quiet is operand in predicates: errors make the result unknown.
func (x *pathState) quiet(n *pathNode, v string, unwrap bool) ([]string, pathResult) {
	old := x.throw
	x.throw = false
	items, res := x.operand(n, v, unwrap)
	x.throw = old
	return items, res
}

func (x *pathState) arithmetic(n *pathNode, v string, found *[]string) pathResult {
	var ds [2]Decimal
	var sides [2][]string
	for i, side := range []*pathNode{n.left, n.right} {
		items, res := x.operand(side, v, true)
		if res == prError {
			return res
		}
		sides[i] = items
	}
	for i, items := range sides {
		ok := len(items) == 1
		if ok {
			ds[i], ok = JSONNumber(items[0])
		}
		if !ok {
			return x.fail("22038", "%s operand of jsonpath operator %s is not a single numeric value", [2]string{"left", "right"}[i], pathSymbols[n.op])
		}
	}
	var d Decimal
	var err error
	switch n.op {
	case poAdd:
		d = ds[0].Add(ds[1])
	case poSub:
		d = ds[0].Sub(ds[1])
	case poMul:
		d, err = ds[0].Mul(ds[1])
	case poDiv:
		d, err = ds[0].Div(ds[1])
	default:
		d, err = ds[0].Mod(ds[1])
	}
	if err != nil {
		return x.failWith(err)
	}
	if n.next == nil && found == nil {
		return prOk
	}
	return x.next(n, d.String(), found)
}

func (x *pathState) sign(n *pathNode, v string, found *[]string) pathResult {
	items, res := x.operand(n.left, v, true)
	if res == prError {
		return res
	}
	res = prNone
	for _, it := range items {
		d, ok := JSONNumber(it)
		if !ok {
			if found == nil && n.next == nil {
				continue
			}
			return x.fail("2203B", "operand of unary jsonpath operator %s is not a numeric value", pathSymbols[n.op])
		}
		if found == nil && n.next == nil {
			return prOk
		}
		if n.op == poMinus {
			d = d.Neg()
		}
		r := x.next(n, d.String(), found)
		if r == prError {
			return r
		}
		if r == prOk {
			if res = r; found == nil {
				return r
			}
		}
	}
	return res
}

func (x *pathState) method(n *pathNode, v string, found *[]string, unwrap bool) pathResult {
	switch n.str {
	case "type":
		return x.next(n, `"`+JSONTypeof(v)+`"`, found)
	case "size":
		if isJSONArray(v) {
			return x.next(n, strconv.Itoa(jsonLen(v)), found)
		}
		if x.strict && !x.ignore {
			return x.fail("22039", "jsonpath item method .size() can only be applied to an array")
		}
		return x.next(n, "1", found)
	}
	if unwrap && isJSONArray(v) {
		return x.unwrapped(n, v, found, false)
	}
	d, isNumber := JSONNumber(v)
	switch n.str {
	case "abs", "floor", "ceiling":
		if !isNumber {
			return x.fail("22036", "jsonpath item method .%s() can only be applied to a numeric value", n.str)
		}
		switch n.str {
		case "abs":
			d = d.Abs()
		case "floor":
			d = d.Floor()
		default:
			d = d.Ceil()
		}
		return x.next(n, d.String(), found)
	case "double":
		return x.double(n, v, found)
	case "keyvalue":
		if !isJSONObject(v) {
			return x.fail("2203C", "jsonpath item method .keyvalue() can only be applied to an object")
		}
		res := prNone
		jsonEach(v, func(k, m string) bool {
			res = x.next(n, JSONObject([]string{"key", k, "value", m, "id", "0"}), found)
			return res != prError && (res != prOk || found != nil)
		})
		return res
	}
	return x.always(pathError(sqlerr.FeatureNotSupported, "jsonpath item method .%s() is not supported yet", n.str))
}

func (x *pathState) double(n *pathNode, v string, found *[]string) pathResult {
	text, what := v, "numeric"
	if v[0] == '"' {
		text, what = jsonUnquote(v), "string"
	} else if jsonRank(v) != 2 {
		return x.fail("22036", "jsonpath item method .double() can only be applied to a string or numeric value")
	}
	f, err := parseFloat(text, 64)
	if err != nil {
		if what == "numeric" {
			return x.fail("22036", "numeric argument of jsonpath item method .double() is out of range for type double precision")
		}
		return x.fail("22036", "string argument of jsonpath item method .double() is not a valid representation of a double precision number")
	}
	if math.IsInf(f, 0) || f != f {
		return x.fail("22036", "string argument of jsonpath item method .double() is not a valid representation of a double precision number")
	}
	if what == "numeric" {
		return x.next(n, v, found)
	}
	d, err := ParseDecimal(string(AppendFloat(nil, f, 64)))
	if err != nil {
		return x.failWith(err)
	}
	return x.next(n, d.String(), found)
}

func (x *pathState) bool(n *pathNode, v string) pathBool {
	if x.err != nil {
		return pbUnknown
	}
	switch n.op {
	case poAnd:
		l := x.bool(n.left, v)
		if l == pbFalse {
			return l
		}
		if r := x.bool(n.right, v); r != pbTrue {
			return r
		}
		return l
	case poOr:
		l := x.bool(n.left, v)
		if l == pbTrue {
			return l
		}
		if r := x.bool(n.right, v); r != pbFalse {
			return r
		}
		return l
	case poNot:
		switch x.bool(n.left, v) {
		case pbUnknown:
			return pbUnknown
		case pbTrue:
			return pbFalse
		}
		return pbTrue
	case poIsUnknown:
		return toPathBool(x.bool(n.left, v) == pbUnknown)
	case poExists:
		old := x.throw
		x.throw = false
		defer func() { x.throw = old }()
		var items []string
		list := &items
		if !x.strict {
			list = nil
		}
		switch res := x.item(n.left, v, list, !x.strict); {
		case res == prError:
			return pbUnknown
		case list != nil:
			return toPathBool(len(items) > 0)
		default:
			return toPathBool(res == prOk)
		}
	case poStartsWith:
		return x.predicate(n, v, false, func(l, r string) pathBool {
			if l[0] != '"' || r[0] != '"' {
				return pbUnknown
			}
			return toPathBool(strings.HasPrefix(jsonUnquote(l), jsonUnquote(r)))
		})
	case poLikeRegex:
		match, err := x.Match(n.str, likeFlags(n.flags))
		if err != nil {
			x.always(err)
			return pbUnknown
		}
		return x.predicate(n, v, false, func(l, _ string) pathBool {
			if l[0] != '"' {
				return pbUnknown
			}
			return toPathBool(match(jsonUnquote(l)))
		})
	}
	return x.predicate(n, v, true, func(l, r string) pathBool { return comparePathItems(n.op, l, r) })
}

// likeFlags translates XQuery's flags.
func likeFlags(s string) string {
	has := func(c string) bool { return strings.Contains(s, c) }
	out := ""
	if has("i") {
		out = "i"
	}
	switch {
	case has("q"):
		return out + "q"
	case has("s") && has("m"):
		return out + "w"
	case has("s"):
		return out + "s"
	case has("m"):
		return out + "n"
	}
	return out + "p"
}

func (x *pathState) predicate(n *pathNode, v string, unwrapRight bool, test func(l, r string) pathBool) pathBool {
	ls, res := x.quiet(n.left, v, true)
	if res == prError {
		return pbUnknown
	}
	rs := []string{""}
	if n.right != nil {
		if rs, res = x.quiet(n.right, v, unwrapRight); res == prError {
			return pbUnknown
		}
	}
	found, failed := false, false
	for _, l := range ls {
		for _, r := range rs {
			switch test(l, r) {
			case pbUnknown:
				if x.strict {
					return pbUnknown
				}
				failed = true
			case pbTrue:
				if !x.strict {
					return pbTrue
				}
				found = true
			}
		}
	}
	switch {
	case found:
		return pbTrue
	case failed:
		return pbUnknown
	}
	return pbFalse
}

func comparePathItems(op pathOp, a, b string) pathBool {
	ra, rb := jsonRank(a), jsonRank(b)
	if ra != rb {
		if ra == 0 || rb == 0 {
			// Nothing is in order with null, and everything else differs from it.
			return toPathBool(op == poNotEqual)
		}
		return pbUnknown
	}
	c := 0
	switch ra {
	case 0:
	case 1:
		c = strings.Compare(jsonUnquote(a), jsonUnquote(b))
	case 2:
		c = jsonNumber(a).Cmp(jsonNumber(b))
	case 3:
		if a != b {
			if c = -1; a == "true" {
				c = 1
			}
		}
	default:
		return pbUnknown
	}
	switch op {
	case poEqual:
		return toPathBool(c == 0)
	case poNotEqual:
		return toPathBool(c != 0)
	case poLess:
		return toPathBool(c < 0)
	case poGreater:
		return toPathBool(c > 0)
	case poLessEqual:
		return toPathBool(c <= 0)
	}
	return toPathBool(c >= 0)
}

// LikePatterns lists the patterns of like_regex in the path with their flags, which are checked when it is read.
func (p *JSONPathExpr) LikePatterns(f func(pattern, flags string) error) error {
	return likePatterns(p.root, f)
}

func likePatterns(n *pathNode, f func(pattern, flags string) error) error {
	for ; n != nil; n = n.next {
		if n.op == poLikeRegex {
			if err := f(n.str, likeFlags(n.flags)); err != nil {
				return err
			}
		}
		for _, x := range []*pathNode{n.left, n.right} {
			if err := likePatterns(x, f); err != nil {
				return err
			}
		}
		for _, r := range n.subs {
			if err := likePatterns(r.from, f); err != nil {
				return err
			}
			if err := likePatterns(r.to, f); err != nil {
				return err
			}
		}
	}
	return nil
}
