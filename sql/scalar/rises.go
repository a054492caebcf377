package scalar

import "github.com/weirdb/weir/sql/types"

// Rises tells whether e, a time or date, never falls when a column of such a type grows and everything else is equal, and
// which column that is: what is above the least value of the column has then a bound, too. What depends on the time
// zone does not count: local time falls when clocks are set back.
func Rises(e Expr) (col int, ok bool) {
	if !isTime(e.Type()) {
		return 0, false
	}
	switch e := e.(type) {
	case *Column:
		return e.Index, true
	case *Call:
		for _, a := range e.Args {
			if isTime(a.Type()) && (a.Type().Kind == types.Timestamptz) != (e.T.Kind == types.Timestamptz) {
				return 0, false
			}
		}
		switch {
		case len(e.Args) == 1 && isTime(e.Args[0].Type()):
			// A cast, also to a precision.
			switch e.Fn.Name {
			case "timestamp", "timestamptz", "date":
				return Rises(e.Args[0])
			}
		case len(e.Args) == 2 && (e.Fn.Name == "+" || e.Fn.Name == "-"):
			if shift(e.Args[1], e.T) {
				return Rises(e.Args[0])
			}
			if e.Fn.Name == "+" && shift(e.Args[0], e.T) {
				return Rises(e.Args[1])
			}
		case len(e.Args) == 2 && e.Fn.Name == "date_trunc" && isConst(e.Args[0]) && e.T.Kind == types.Timestamp:
			return Rises(e.Args[1])
		case len(e.Args) == 3 && e.Fn.Name == "date_bin" && isConst(e.Args[0]) && isConst(e.Args[2]):
			return Rises(e.Args[1])
		}
	}
	return 0, false
}

func isTime(t types.Type) bool {
	return t.Kind == types.Timestamp || t.Kind == types.Timestamptz || t.Kind == types.Date
}

func isConst(e Expr) bool {
	c, ok := e.(*Const)
	return ok && c.Val.Valid
}

// shift tells whether e is a constant interval that has a fixed length when it is added to a time of type t.
func shift(e Expr, t types.Type) bool {
	c, ok := e.(*Const)
	return ok && c.Val.Valid && c.T.Kind == types.Interval && c.Val.Span.Months == 0 &&
		(c.Val.Span.Days == 0 || t.Kind != types.Timestamptz)
}
