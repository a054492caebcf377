package datagen

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/connector/arena"
	"github.com/weirdb/weir/connector/generate"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// field makes the values of a column. Its options, behind fields.<column>:
//
//	kind          sequence or random (default)
//	start, end    of a sequence: the first and last value; without end it does not end. With it the source ends there
//	step          of a sequence, default 1 (of times: 1 second)
//	cycle         a sequence begins again after its end
//	min, max      bounds of random numbers and times
//	max_past      random times are at most so long before basetime
//	basetime      default 2024-01-01 00:00:00
//	length        of text and bytea, default 10; var_len: up to length
//	values        a list of the values to choose from, with commas between them
//	null_rate     how many of the values are NULL, from 0 to 1
//	distribution  uniform (default), normal, exponential, zipf: of numbers, times and values
//	mean, stddev  of the normal and, mean alone, of the exponential distribution
//	exponent      of the zipf distribution, default 1
//	seed          instead of the source's
type field struct {
	typ  types.Type
	seed uint64
	salt uint64
	// end is the number of rows of a sequence with an end; math.MaxInt64: there is none.
	end      int64
	nullRate float64
	make     func(row int64, dst *vec.Vector, texts *arena.Strings)
}

func (f *field) fill(row int64, dst *vec.Vector, texts *arena.Strings) {
	if f.nullRate > 0 && unit(f.draw(row, 1)) < f.nullRate {
		dst.AppendNull()
		return
	}
	f.make(row, dst, texts)
}

// draw is a random number for a row, one of several.
func (f *field) draw(row int64, n uint64) uint64 { return generate.Hash(f.seed, f.salt<<8|n, row) }

// unit makes a number in [0, 1) of a random one.
func unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }

// fieldParser reads the options of one column.
type fieldParser struct {
	p      *connector.Parser
	prefix string
	col    exec.Column
}

func (o *fieldParser) name(n string) string { return o.prefix + n }

func (o *fieldParser) text(n, def string) string { return o.p.Text(o.name(n), def) }

// datum reads an option as a value of a type.
func (o *fieldParser) datum(n string, t types.Type) (types.Datum, bool) {
	if !o.p.Has(o.name(n)) {
		return types.Null, false
	}
	d, err := types.ParseText(t, o.text(n, ""), nil)
	if err != nil {
		o.p.Fail(o.name(n), "invalid value for option %q: %s", o.name(n), sqlerr.From(err).Message)
		return types.Null, false
	}
	return d, true
}

// span reads an interval without months as microseconds.
func (o *fieldParser) span(n string, def int64) int64 {
	d, ok := o.datum(n, types.T(types.Interval))
	if !ok {
		return def
	}
	if d.Span.Months != 0 {
		o.p.Fail(o.name(n), "option %q must not have months", o.name(n))
		return def
	}
	return int64(d.Span.Days)*day + d.Span.Micros
}

const day = 86_400_000_000

func newField(p *connector.Parser, c exec.Column, seed uint64, no int) (*field, error) {
	o := &fieldParser{p: p, prefix: "fields." + c.Name + ".", col: c}
	f := &field{typ: c.Type, seed: seed, salt: uint64(no + 1), end: math.MaxInt64}
	if p.Has(o.name("seed")) {
		f.seed = uint64(p.Int(o.name("seed"), 0, math.MinInt64, math.MaxInt64))
		f.salt = 1
	}
	f.nullRate = p.Float(o.name("null_rate"), 0, 0, 1)
	if p.OneOf(o.name("kind"), "random", "random", "sequence") == "sequence" {
		return f, f.sequence(o)
	}
	if p.Has(o.name("values")) {
		return f, f.choice(o)
	}
	return f, f.random(o)
}

func (o *fieldParser) unsupported(what string) error {
	return sqlerr.Newf(sqlerr.FeatureNotSupported, "%s for column %q of type %s is not supported by connector \"datagen\"", what, o.col.Name, o.col.Type).
		WithHint("Option %q chooses from a list of values.", o.name("values"))
}

// put appends a whole number as a value of the column's type.
func (f *field) put(n int64, dst *vec.Vector, texts *arena.Strings) {
	switch f.typ.Phys() {
	case types.PhysFloat:
		dst.AppendFloat(float64(n))
	case types.PhysDec:
		dst.AppendDec(types.NewDecimal(n, f.scale()))
	case types.PhysStr:
		var buf [20]byte
		dst.AppendStr(texts.Copy(strconv.AppendInt(buf[:0], n, 10)))
	default:
		dst.AppendInt(n)
	}
}

// scale is that of numeric values.
func (f *field) scale() int {
	if _, s, ok := f.typ.NumericPS(); ok {
		return max(s, 0)
	}
	return 2
}

// pow10 is what 1 is in the units of numeric values.
func (f *field) pow10() int64 {
	n := int64(1)
	for range min(f.scale(), 18) {
		n *= 10
	}
	return n
}

// whole reads an option in the units in which values are put: cents, microseconds, days.
func (f *field) whole(o *fieldParser, n string, def int64) int64 {
	t := f.typ
	switch t.Kind {
	case types.Text, types.Varchar:
		t = types.T(types.Int8)
	case types.Float4, types.Float8:
		t = types.T(types.Int8)
	case types.Numeric:
		d, ok := o.datum(n, types.T(types.Numeric))
		if !ok {
			return def
		}
		c, err := d.Dec.ToFloat64()
		if v := c * float64(f.pow10()); err == nil && math.Abs(v) < 1<<62 {
			return int64(math.Round(v))
		}
		o.p.Fail(o.name(n), "value %s out of bounds for option %q", o.text(n, ""), o.name(n))
		return def
	}
	d, ok := o.datum(n, t)
	if !ok {
		return def
	}
	return d.I
}

func (f *field) sequence(o *fieldParser) error {
	step := int64(1)
	switch f.typ.Kind {
	case types.Int2, types.Int4, types.Int8, types.Float4, types.Float8, types.Text, types.Varchar:
		step = o.p.Int(o.name("step"), 1, math.MinInt32, math.MaxInt32)
	case types.Numeric:
		step = f.whole(o, "step", f.pow10())
	case types.Date:
		step = o.span("step", day) / day
	case types.Timestamp, types.Timestamptz:
		step = o.span("step", 1_000_000)
	default:
		return o.unsupported("a sequence")
	}
	start := f.whole(o, "start", 0)
	cycle := o.p.Bool(o.name("cycle"), false)
	count := int64(math.MaxInt64)
	if o.p.Has(o.name("end")) {
		end := f.whole(o, "end", start)
		if step == 0 || (end-start)/step < 0 || (end-start)%step != 0 && (end < start) != (step < 0) {
			o.p.Fail(o.name("end"), "a sequence from %s does not get to its end", o.text("start", "0"))
			return nil
		}
		count = (end-start)/step + 1
	} else if k := f.typ.Kind; k == types.Int2 || k == types.Int4 {
		// Where there are no values any more.
		limit := int64(math.MaxInt16)
		if k == types.Int4 {
			limit = math.MaxInt32
		}
		if step > 0 {
			count = (limit-start)/step + 1
		} else if step < 0 {
			count = (-limit-1-start)/step + 1
		}
	}
	if !cycle {
		f.end = count
	}
	f.make = func(row int64, dst *vec.Vector, texts *arena.Strings) { f.put(start+row%count*step, dst, texts) }
	return nil
}

// choice takes values from a list.
func (f *field) choice(o *fieldParser) error {
	var list []types.Datum
	for _, s := range strings.Split(o.text("values", ""), ",") {
		if f.typ.Kind != types.Text && f.typ.Kind != types.Varchar {
			s = strings.TrimSpace(s)
		}
		d, err := types.ParseText(f.typ, s, nil)
		if err != nil {
			o.p.Fail(o.name("values"), "invalid value for option %q: %s", o.name("values"), sqlerr.From(err).Message)
			return nil
		}
		list = append(list, d)
	}
	pick := o.distribution(f, 0, int64(len(list)-1))
	f.make = func(row int64, dst *vec.Vector, _ *arena.Strings) { dst.AppendDatum(list[pick(row)]) }
	return nil
}

// distribution gives whole numbers in [lo, hi].
func (o *fieldParser) distribution(f *field, lo, hi int64) func(row int64) int64 {
	d := o.p.OneOf(o.name("distribution"), "uniform", "uniform", "normal", "exponential", "zipf")
	width := uint64(hi) - uint64(lo) + 1 // 0: all there are
	mid := float64(lo)/2 + float64(hi)/2
	unitOf := 1.0
	if f.typ.Kind == types.Numeric {
		unitOf = float64(f.pow10())
	}
	clamp := func(x float64) int64 {
		switch {
		case !(x > float64(lo)):
			return lo
		case x >= float64(hi):
			return hi
		}
		return int64(math.Floor(x))
	}
	if d != "normal" {
		mid = float64(lo) + (float64(hi)-float64(lo))/10
	}
	mean := o.p.Float(o.name("mean"), mid/unitOf, -math.MaxFloat64, math.MaxFloat64) * unitOf
	stddev := o.p.Float(o.name("stddev"), (float64(hi)-float64(lo))/6/unitOf, 0, math.MaxFloat64) * unitOf
	exponent := o.p.Float(o.name("exponent"), 1, 0, 100)
	switch d {
	case "normal":
		return func(row int64) int64 {
			r := math.Sqrt(-2 * math.Log(1-unit(f.draw(row, 2))))
			return clamp(mean + stddev*r*math.Cos(2*math.Pi*unit(f.draw(row, 3))) + 0.5)
		}
	case "exponential":
		return func(row int64) int64 { return clamp(float64(lo) - (mean-float64(lo))*math.Log(1-unit(f.draw(row, 2)))) }
	case "zipf":
		// The inverse of the continuous distribution; the first number is the most frequent one.
		n := float64(hi) - float64(lo) + 1
		return func(row int64) int64 {
			u := unit(f.draw(row, 2))
			if math.Abs(exponent-1) < 1e-9 {
				return clamp(float64(lo) + math.Pow(n+1, u) - 1)
			}
			e := 1 - exponent
			return clamp(float64(lo) + math.Pow((math.Pow(n+1, e)-1)*u+1, 1/e) - 1)
		}
	}
	return func(row int64) int64 {
		h := f.draw(row, 2)
		if width != 0 {
			h, _ = bits.Mul64(h, width)
		}
		return int64(uint64(lo) + h)
	}
}

func (f *field) random(o *fieldParser) error {
	bounded := func(lo, hi int64) {
		lo, hi = f.whole(o, "min", lo), f.whole(o, "max", hi)
		if hi < lo {
			o.p.Fail(o.name("max"), "option %q is less than %q", o.name("max"), o.name("min"))
			hi = lo
		}
		pick := o.distribution(f, lo, hi)
		f.make = func(row int64, dst *vec.Vector, texts *arena.Strings) { f.put(pick(row), dst, texts) }
	}
	switch f.typ.Kind {
	case types.Bool:
		f.make = func(row int64, dst *vec.Vector, _ *arena.Strings) { dst.AppendBool(f.draw(row, 2)&1 == 1) }
	case types.Int2:
		bounded(0, math.MaxInt16)
	case types.Int4:
		bounded(0, math.MaxInt32)
	case types.Int8:
		bounded(0, math.MaxInt64)
	case types.Numeric:
		p, s, ok := f.typ.NumericPS()
		if !ok {
			p, s = 9, 2
		}
		if s < 0 || p > 18 {
			return o.unsupported("a random value")
		}
		hi := int64(1)
		for range p {
			hi *= 10
		}
		bounded(0, hi-1)
	case types.Float4, types.Float8:
		f.float(o)
	case types.Date:
		if base, past, ok := f.past(o, day); ok {
			bounded(base-past, base)
		} else {
			bounded(base-30, base)
		}
	case types.Timestamp, types.Timestamptz:
		if base, past, ok := f.past(o, 1); ok {
			bounded(base-past, base)
		} else {
			bounded(base-day, base)
		}
	case types.Time:
		bounded(0, day-1)
	case types.Text, types.Varchar, types.Bytea:
		f.letters(o)
	case types.UUID:
		f.make = func(row int64, dst *vec.Vector, texts *arena.Strings) {
			var b [16]byte
			for i := range 8 {
				b[i], b[8+i] = byte(f.draw(row, 2)>>(8*i)), byte(f.draw(row, 3)>>(8*i))
			}
			b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
			d, err := types.ParseText(f.typ, fmt.Sprintf("%x", b), nil)
			if err != nil {
				panic(err) // 32 hexadecimal digits are a uuid
			}
			d.S = texts.Copy([]byte(d.S))
			dst.AppendDatum(d)
		}
	default:
		return o.unsupported("a random value")
	}
	return nil
}

// past reads basetime and max_past in units of so many microseconds.
func (f *field) past(o *fieldParser, unit int64) (base, past int64, ok bool) {
	base, _ = types.ParseTimestamp("2024-01-01", nil)
	if d, given := o.datum("basetime", types.T(types.Timestamp)); given {
		base = d.I
	}
	ok = o.p.Has(o.name("max_past"))
	past = o.span("max_past", day)
	return base / unit, past / unit, ok
}

func (f *field) float(o *fieldParser) {
	lo := o.p.Float(o.name("min"), 0, -math.MaxFloat64, math.MaxFloat64)
	hi := o.p.Float(o.name("max"), 1, -math.MaxFloat64, math.MaxFloat64)
	if hi < lo {
		o.p.Fail(o.name("max"), "option %q is less than %q", o.name("max"), o.name("min"))
	}
	d := o.p.OneOf(o.name("distribution"), "uniform", "uniform", "normal", "exponential")
	mean := o.p.Float(o.name("mean"), lo/2+hi/2, -math.MaxFloat64, math.MaxFloat64)
	stddev := o.p.Float(o.name("stddev"), hi/6-lo/6, 0, math.MaxFloat64)
	f.make = func(row int64, dst *vec.Vector, _ *arena.Strings) {
		u := unit(f.draw(row, 2))
		x := lo + u*(hi-lo)
		switch d {
		case "normal":
			x = mean + stddev*math.Sqrt(-2*math.Log(1-u))*math.Cos(2*math.Pi*unit(f.draw(row, 3)))
		case "exponential":
			x = lo - (mean-lo)*math.Log(1-u)
		}
		x = min(max(x, lo), hi)
		if f.typ.Kind == types.Float4 {
			x = float64(float32(x))
		}
		dst.AppendFloat(x)
	}
}

// letters makes strings of lower-case letters, or of any bytes.
func (f *field) letters(o *fieldParser) {
	n := o.p.Int(o.name("length"), 10, 0, 1<<20)
	if m := int64(f.typ.CharLen()); f.typ.Kind == types.Varchar && m > 0 {
		n = min(n, m)
	}
	vary := o.p.Bool(o.name("var_len"), false)
	f.make = func(row int64, dst *vec.Vector, texts *arena.Strings) {
		k := n
		if vary && n > 0 {
			k = 1 + int64(f.draw(row, 3)%uint64(n))
		}
		b := make([]byte, k)
		h := f.draw(row, 2)
		for i := range b {
			if i%8 == 0 {
				h = f.draw(row, uint64(4+i/8))
			}
			if b[i] = byte(h >> (8 * (i % 8))); f.typ.Kind != types.Bytea {
				b[i] = 'a' + b[i]%26
			}
		}
		dst.AppendStr(texts.Copy(b))
	}
}
