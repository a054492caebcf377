package types

import (
	"math"
	"time"
)

// BadRangeOffset tells whether d, of type t, cannot be the offset of a RANGE frame over a column of type col: it is
// negative or NaN.
func BadRangeOffset(col, t Type, d Datum) bool {
	switch t.Phys() {
	case PhysFloat:
		return d.F < 0 || d.F != d.F
	case PhysDec:
		return d.Dec.IsNaN() || d.Dec.Sign() < 0
	case PhysInterval:
		if col.Kind == Time {
			return d.Span.Micros < 0
		}
		return d.Span.Cmp(Span{}) < 0
	}
	return d.I < 0
}

// InRange tells whether val is at most (less) or at least (not less) base + offset, or base - offset with sub: which rows of a
// column of type t are in a RANGE frame. Where the sum is beyond what t can hold it is beyond every value; for dates and
// timestamps that is an error besides. The offset is not NULL and not bad.
func InRange(t Type, val, base, offset Datum, sub, less bool, loc *time.Location) (bool, error) {
	at := func(c int) bool { return less && c <= 0 || !less && c >= 0 }
	switch t.Phys() {
	case PhysFloat:
		return inRangeFloat(val.F, base.F, offset.F, sub, less), nil
	case PhysDec:
		return at(compareRangeDec(val.Dec, base.Dec, offset.Dec, sub, less)), nil
	case PhysInterval:
		o := offset.Span
		if sub {
			o = Span{Months: -o.Months, Days: -o.Days, Micros: -o.Micros}
		}
		b := base.Span
		sum := Span{Months: b.Months + o.Months, Days: b.Days + o.Days, Micros: b.Micros + o.Micros}
		return at(val.Span.Cmp(sum)), nil
	}
	o := offset.Span
	if sub {
		o = Span{Months: -o.Months, Days: -o.Days, Micros: -o.Micros}
	}
	var sum int64
	var err error
	v := val.I
	switch t.Kind {
	case Date:
		// Dates are compared as the timestamps of their midnights.
		if sum, err = DateToTimestamp(base.I); err == nil {
			sum, err = AddInterval(sum, o)
		}
		if err == nil {
			var beyond error
			if v, beyond = DateToTimestamp(val.I); beyond != nil {
				// It is later, or earlier, than every timestamp.
				v = math.MaxInt64 - 1
				if val.I < 0 {
					v = math.MinInt64 + 1
				}
			}
		}
	case Timestamp:
		sum, err = AddInterval(base.I, o)
	case Timestamptz:
		sum, err = AddIntervalTZ(base.I, o, loc)
	case Time:
		// The time of day does not go round here; only the time part of the interval counts.
		switch {
		case sub:
			sum = base.I - offset.Span.Micros
		default:
			var ok bool
			if sum, ok = add64(base.I, offset.Span.Micros); !ok {
				return less, nil
			}
		}
	default:
		d := offset.I
		if sub {
			d = -d
		}
		var ok bool
		if sum, ok = add64(base.I, d); !ok {
			return sub != less, nil
		}
	}
	if err != nil {
		early := sub
		if t.Kind == Date {
			if _, beyond := DateToTimestamp(base.I); beyond != nil {
				early = base.I < 0
			}
		}
		sum = math.MaxInt64
		if early {
			sum = math.MinInt64
		}
	}
	switch {
	case v < sum:
		return at(-1), err
	case v > sum:
		return at(1), err
	}
	return true, err
}

// inRangeFloat: NaN equals NaN and is after all others; an infinite base with an infinite offset that leads away
// from it is at every value's side.
func inRangeFloat(val, base, offset float64, sub, less bool) bool {
	isInf := func(x float64) bool { return x-x != 0 && x == x }
	switch {
	case val != val:
		if base != base {
			return true
		}
		return !less
	case base != base:
		return less
	case isInf(offset) && isInf(base) && (sub && base > 0 || !sub && base < 0):
		return true
	}
	sum := base + offset
	if sub {
		sum = base - offset
	}
	if less {
		return val <= sum
	}
	return val >= sum
}

func compareRangeDec(val, base, offset Decimal, sub, less bool) int {
	same := -1
	if !less {
		same = 1
	}
	switch {
	case val.IsNaN():
		if base.IsNaN() {
			return 0
		}
		return 1
	case base.IsNaN():
		return -1
	case offset.Form() == Infinite && (sub && base.Form() == Infinite || !sub && base.Form() == NegInfinite):
		return same
	}
	if sub {
		offset = offset.Neg()
	}
	return val.Cmp(base.Add(offset))
}
