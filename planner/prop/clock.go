package prop

import (
	"strings"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// clockFuncs are the stable functions whose value changes as time passes.
var clockFuncs = map[string]bool{
	"now": true, "transaction_timestamp": true, "statement_timestamp": true, "current_timestamp": true,
	"current_date": true, "current_time": true, "localtime": true, "localtimestamp": true,
}

// ClockCall tells whether x itself is a call of a function of the time.
func ClockCall(x scalar.Expr) bool {
	c, ok := x.(*scalar.Call)
	if !ok {
		return false
	}
	if c.Fn.Name == "age" && len(c.Fn.Args) == 1 {
		return true // from today
	}
	return clockFuncs[c.Fn.Name]
}

// ProcTimeCall tells whether x itself is PROCTIME(), the time at which a row comes.
func ProcTimeCall(x scalar.Expr) bool {
	c, ok := x.(*scalar.Call)
	return ok && c.Fn.ID == "proctime()"
}

// Clock tells whether e depends on the time.
func Clock(e scalar.Expr) bool {
	found := false
	logical.WalkExpr(e, func(x scalar.Expr) bool {
		found = found || ClockCall(x)
		return !found
	})
	return found
}

// TimeBound is a condition on a row that stops or begins to be true as time passes, and not before and after: Value compared
// with Bound, which depends on the time alone, and rises.
type TimeBound struct {
	Value, Bound scalar.Expr
	// Upper: Value is below Bound, else above. Inclusive: or equal.
	Upper, Inclusive bool
	// Slack: Bound may fall for a moment, when a clock is set back.
	Slack bool
}

// comparisons are the operators of conditions that can be bounds, with what they are if the sides change places.
var comparisons = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}

// TimeBounds takes a condition that depends on the time apart into bounds, all of which must hold; false if it is no such
// condition. zoned says that local time is that of a zone whose clock is changed.
func TimeBounds(r *fn.Registry, p scalar.Expr, zoned bool) ([]TimeBound, bool) {
	c, ok := p.(*scalar.Call)
	if !ok || c.Fn.Kind != fn.Operator || len(c.Args) != 2 || comparisons[c.Fn.Name] == "" {
		return nil, false
	}
	op, v, b := c.Fn.Name, c.Args[0], c.Args[1]
	if !alone(b) {
		op, v, b = comparisons[op], b, v
	}
	if !alone(b) {
		// The time less a column, compared with a constant.
		if op, v, b, ok = distance(r, c); !ok {
			return nil, false
		}
	}
	if Clock(v) || logical.HasSubquery(v) || logical.Volatile(v) {
		return nil, false
	}
	rising, slack := rises(b, zoned)
	if !rising {
		return nil, false
	}
	if v, b, ok = sameType(r, v, b); !ok {
		return nil, false
	}
	lower := TimeBound{Value: v, Bound: b, Inclusive: op != ">", Slack: slack}
	upper := TimeBound{Value: v, Bound: b, Upper: true, Inclusive: op != "<", Slack: slack}
	switch op {
	case ">", ">=":
		return []TimeBound{lower}, true
	case "<", "<=":
		return []TimeBound{upper}, true
	}
	return []TimeBound{upper, lower}, true
}

// alone tells whether e depends on the time and on no row.
func alone(e scalar.Expr) bool {
	return Clock(e) && len(logical.ColsOf(e)) == 0 && !logical.HasSubquery(e)
}

// sameType casts dates and timestamps to what they are compared with.
func sameType(r *fn.Registry, v, b scalar.Expr) (scalar.Expr, scalar.Expr, bool) {
	vt, bt := v.Type().WithoutMod(), b.Type().WithoutMod()
	if vt == bt {
		return v, b, true
	}
	var ok bool
	if vt.Kind.IsInteger() && bt.Kind.IsInteger() {
		wide := types.T(types.Int8)
		if v, ok = cast(r, v, wide); ok {
			b, ok = cast(r, b, wide)
		}
		return v, b, ok
	}
	switch types.Timestamptz {
	case vt.Kind:
		b, ok = cast(r, b, vt)
	case bt.Kind:
		v, ok = cast(r, v, bt)
	}
	return v, b, ok
}

// AgeOfToday writes age(x), which is from today, as age(today, x); nil if e is something else.
func AgeOfToday(r *fn.Registry, e scalar.Expr) scalar.Expr {
	c, ok := e.(*scalar.Call)
	if !ok || c.Fn.Name != "age" || len(c.Args) != 1 {
		return nil
	}
	t := c.Fn.Args[0]
	today, two := r.ByID("current_date()"), r.ByID("age(timestamp,timestamp)")
	if t.Kind == types.Timestamptz {
		two = r.ByID("age(timestamptz,timestamptz)")
	}
	if today == nil || two == nil {
		return nil
	}
	from, ok := cast(r, &scalar.Call{Node: scalar.Node{T: types.T(types.Date), Pos: c.Pos}, Fn: today}, t)
	if !ok {
		return nil
	}
	return &scalar.Call{Node: c.Node, Fn: two, Args: []scalar.Expr{from, c.Args[0]}}
}

func cast(r *fn.Registry, x scalar.Expr, t types.Type) (scalar.Expr, bool) {
	if x.Type().WithoutMod() == t {
		return x, true
	}
	steps, err := r.ResolveCast(x.Type(), t, fn.Implicit)
	if err != nil {
		return nil, false
	}
	for _, s := range steps {
		x = &scalar.Call{Node: scalar.Node{T: s.To, Pos: x.Position()}, Fn: s.Fn, Args: []scalar.Expr{x}}
	}
	return x, true
}

// distance rewrites now() - column < constant, and column - now() < constant, to a comparison of the column.
func distance(r *fn.Registry, c *scalar.Call) (op string, v, b scalar.Expr, ok bool) {
	op = c.Fn.Name
	minus, isCall := c.Args[0].(*scalar.Call)
	k, isConst := c.Args[1].(*scalar.Const)
	if !isCall || !isConst {
		op = comparisons[op]
		minus, isCall = c.Args[1].(*scalar.Call)
		k, isConst = c.Args[0].(*scalar.Const)
	}
	if !isCall || !isConst || !k.Val.Valid || minus.Fn.Name != "-" || minus.Fn.Kind != fn.Operator || len(minus.Args) != 2 {
		return "", nil, nil, false
	}
	x, y := minus.Args[0], minus.Args[1]
	by := scalar.Expr(k)
	switch t := x.Type(); {
	case t.Kind == types.Date && k.T.Kind.IsInteger():
		if by, ok = cast(r, k, types.T(types.Int4)); !ok {
			return "", nil, nil, false
		}
	case (t.Kind == types.Timestamp || t.Kind == types.Timestamptz) && k.T.Kind == types.Interval:
		// Intervals are compared as lengths, with months of 30 days and days of 24 hours; the difference has no months.
		s := k.Val.Span
		const day = 24 * 3600 * 1_000_000
		days := int64(s.Months)*30 + int64(s.Days)
		if max(days, -days) > 50_000_000 || max(s.Micros, -s.Micros) > 4_000_000_000_000_000_000 {
			return "", nil, nil, false // beyond what can be added up
		}
		micros := days*day + s.Micros
		by = &scalar.Const{Node: k.Node, Val: types.DSpan(types.Span{Micros: micros})}
	default:
		return "", nil, nil, false
	}
	sign := "+"
	v, b = x, y
	if alone(x) {
		// now - column < k: column > now - k.
		op, sign, v, b = comparisons[op], "-", y, x
	}
	if !alone(b) {
		return "", nil, nil, false
	}
	res, err := r.ResolveOperator(sign, b.Type(), by.Type())
	if err != nil || len(res.Args) != 2 || res.Args[0] != b.Type().WithoutMod() || res.Args[1] != by.Type().WithoutMod() {
		return "", nil, nil, false
	}
	return op, v, &scalar.Call{Node: scalar.Node{T: res.Ret, Pos: minus.Pos}, Fn: res.Fn, Args: []scalar.Expr{b, by}}, true
}

// rises tells whether e, which depends on the time alone, never falls as time passes; slack: but for when a clock is set
// back.
func rises(e scalar.Expr, zoned bool) (ok, slack bool) {
	if !Clock(e) {
		return len(logical.ColsOf(e)) == 0 && !logical.HasSubquery(e) && !logical.Volatile(e), false
	}
	c, isCall := e.(*scalar.Call)
	if !isCall {
		return false, false
	}
	// local: the value is, or is worked out by, local time.
	local := zoned && c.Fn.Volatility == fn.Stable
	arg := func(i int) bool {
		var s bool
		ok, s = rises(c.Args[i], zoned)
		slack = slack || s
		return ok
	}
	fixed := func(i int) bool { k, isConst := c.Args[i].(*scalar.Const); return isConst && k.Val.Valid }
	kinds := func(ks ...types.Kind) bool {
		for _, k := range ks {
			if c.Args[0].Type().Kind == k {
				return true
			}
		}
		return false
	}
	switch {
	case c.Fn.Kind == fn.Cast:
		switch c.T.Kind {
		case types.Date, types.Timestamp, types.Timestamptz:
			return kinds(types.Date, types.Timestamp, types.Timestamptz) && arg(0), slack || local
		case types.Int2, types.Int4, types.Int8, types.Numeric, types.Float8:
			return kinds(types.Int2, types.Int4, types.Int8, types.Numeric, types.Float8) && arg(0), slack
		}
		return false, false
	case c.Fn.Kind == fn.Operator && len(c.Args) == 2:
		switch {
		case c.Fn.Name == "+" && fixed(0) && !Clock(c.Args[0]):
			return c.Args[1].Type().Kind != types.Interval && arg(1), slack || local
		case c.Fn.Name == "+" && fixed(1), c.Fn.Name == "-" && fixed(1):
			if s := c.Args[1].(*scalar.Const).Val.Span; s.Months == 0 && s.Days == 0 {
				local = false // so many seconds, whatever the clocks show
			}
			return !kinds(types.Interval, types.Time) && arg(0), slack || local
		}
		return false, false
	}
	switch c.Fn.Name {
	case "now", "transaction_timestamp", "statement_timestamp", "current_timestamp":
		return true, false
	case "current_date", "localtimestamp":
		return true, zoned
	case "date_trunc":
		if !fixed(0) || len(c.Args) == 3 && !fixed(2) || c.Args[1].Type().Kind == types.Interval {
			return false, false
		}
		return arg(1), slack || local || len(c.Args) == 3
	case "date_bin":
		return fixed(0) && fixed(2) && arg(1), slack
	case "timezone":
		utc := false
		if k, isConst := c.Args[0].(*scalar.Const); isConst {
			utc = strings.EqualFold(k.Val.S, "UTC")
		}
		return fixed(0) && arg(1), slack || !utc
	case "extract", "date_part":
		k, isConst := c.Args[0].(*scalar.Const)
		if !isConst || k.Val.S != "epoch" {
			return false, false
		}
		switch c.Args[1].Type().Kind {
		case types.Date, types.Timestamp, types.Timestamptz:
			return arg(1), slack || local
		}
	case "floor", "ceil", "ceiling", "round", "trunc":
		return len(c.Args) == 1 && arg(0), slack
	}
	return false, false
}
