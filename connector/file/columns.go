package file

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/weirdb/weir/connector/arena"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// fieldError is an error in the value of one column.
type fieldError struct {
	column string
	err    error
}

func (e *fieldError) Error() string { return e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

// columns is where decoded values go: the needed columns of the chunk that is being filled.
type columns struct {
	schema []exec.Column
	// needed is the list that was asked for last, if any was (set).
	needed []int
	set    bool
	// slots are the needed columns; slotOf maps a column of the schema to its slot or -1.
	slots  []slot
	slotOf []int
	texts  arena.Strings
	// recent remembers short strings, so that a value that repeats is one string.
	recent [256]string
}

// slot is one needed column.
type slot struct {
	col  int
	name string
	t    types.Type
	v    *vec.Vector
}

func (c *columns) init(schema []exec.Column) {
	c.schema = schema
	c.slotOf = make([]int, len(schema))
}

func (c *columns) need(cols []int) {
	c.needed, c.set = append(c.needed[:0], cols...), true
	c.slots = c.slots[:0]
	for i := range c.slotOf {
		c.slotOf[i] = -1
	}
	for _, col := range cols {
		if c.slotOf[col] >= 0 {
			continue
		}
		c.slotOf[col] = len(c.slots)
		c.slots = append(c.slots, slot{col: col, name: c.schema[col].Name, t: c.schema[col].Type})
	}
}

// begin makes room for rows rows. They are written in any order within a row.
func (c *columns) begin(dst *vec.Chunk, rows int) {
	for i := range c.slots {
		s := &c.slots[i]
		s.v = dst.Cols[s.col]
		s.v.Resize(rows)
	}
}

// finish keeps the first rows rows.
func (c *columns) finish(dst *vec.Chunk, rows int) {
	for i := range c.slots {
		c.slots[i].v.Truncate(rows)
	}
	dst.SetLen(rows)
}

// clearNull undoes a NULL of the same row that came before.
func (s *slot) clearNull(row int) {
	if w := row >> 6; w < len(s.v.Nulls) {
		s.v.Nulls[w] &^= 1 << (uint(row) & 63)
	}
}

// setText writes the value whose text form is b. b is valid UTF-8.
func (c *columns) setText(s *slot, row int, b []byte) error {
	switch s.t.Kind {
	case types.Int8, types.Int4, types.Int2:
		if n, ok := parseInt(b); ok {
			if s.t.Kind == types.Int8 || n == int64(int32(n)) && (s.t.Kind == types.Int4 || n == int64(int16(n))) {
				s.v.Int[row] = n
				return nil
			}
		}
	case types.Text, types.Varchar:
		if limit := s.t.CharLen(); limit < 0 || len(b) <= limit {
			s.v.Str[row] = c.intern(b)
			return nil
		}
	case types.Bool:
		if len(b) == 4 && string(b) == "true" || len(b) == 1 && b[0] == 't' {
			s.v.Bool[row] = true
			return nil
		}
		if len(b) == 5 && string(b) == "false" || len(b) == 1 && b[0] == 'f' {
			s.v.Bool[row] = false
			return nil
		}
	case types.Float8:
		if plainNumber(b) {
			if f, err := strconv.ParseFloat(string(b), 64); err == nil {
				s.v.Float[row] = f
				return nil
			}
		}
	case types.Numeric:
		if s.t.Mod < 0 {
			if d, ok := parseDecimal(b); ok {
				s.v.Dec[row] = d
				return nil
			}
		}
	}
	d, err := types.ParseText(s.t, string(b), nil)
	if err != nil {
		return &fieldError{s.name, err}
	}
	c.setDatum(s, row, d)
	return nil
}

func (c *columns) setDatum(s *slot, row int, d types.Datum) {
	if !d.Valid {
		s.v.SetNull(row)
		return
	}
	switch s.t.Phys() {
	case types.PhysBool:
		s.v.Bool[row] = d.I != 0
	case types.PhysInt:
		s.v.Int[row] = d.I
	case types.PhysFloat:
		s.v.Float[row] = d.F
	case types.PhysStr:
		s.v.Str[row] = d.S
	case types.PhysDec:
		s.v.Dec[row] = d.Dec
	case types.PhysInterval:
		s.v.Span[row] = d.Span
	}
}

// intern gives a string with the bytes of b, the same one for a short value that came lately.
func (c *columns) intern(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > 24 {
		return c.texts.Copy(b)
	}
	h := uint32(len(b))
	for _, x := range b {
		h = (h ^ uint32(x)) * 0x01000193
	}
	p := &c.recent[(h>>16^h)&255]
	if *p != string(b) {
		*p = c.texts.Copy(b)
	}
	return *p
}

// parseInt reads plain decimal digits with a sign, up to 18 of them.
func parseInt(b []byte) (int64, bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	n := int64(0)
	for _, c := range b {
		c -= '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	if neg {
		n = -n
	}
	return n, true
}

// parseDecimal reads plain decimal digits with a sign and a point, up to 18 digits.
func parseDecimal(b []byte) (types.Decimal, bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 19 {
		return types.Decimal{}, false
	}
	n, digits, scale, point := int64(0), 0, 0, false
	for _, c := range b {
		if c == '.' && !point {
			point = true
			continue
		}
		c -= '0'
		if c > 9 {
			return types.Decimal{}, false
		}
		n = n*10 + int64(c)
		digits++
		if point {
			scale++
		}
	}
	if digits == 0 || digits > 18 {
		return types.Decimal{}, false
	}
	if neg {
		n = -n
	}
	return types.NewDecimal(n, scale), true
}

// plainNumber tells whether b has only digits, signs, points and exponents: the part of number syntax
// in which Go and PostgreSQL agree.
func plainNumber(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return false
		}
	}
	return true
}

// unixEpoch is 1970-01-01 as a timestamp value.
const unixEpoch = -946_684_800_000_000

const microsPerDay = 86_400_000_000

// setMillis writes a date or timestamp given as a JSON number: milliseconds since 1970.
func (c *columns) setMillis(s *slot, row int, b []byte) error {
	// Within these bounds every timestamp exists.
	const most = 9_000_000_000_000_000
	var us int64
	if ms, ok := parseInt(b); ok && -most/64 <= ms && ms <= most {
		us = ms*1000 + unixEpoch
	} else if f, err := strconv.ParseFloat(string(b), 64); err == nil && f >= -most/64 && f <= most {
		us = int64(math.RoundToEven(f*1000)) + unixEpoch
	} else {
		return &fieldError{s.name, sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "%s out of range: %q milliseconds", s.t.Kind, b)}
	}
	if s.t.Kind == types.Date {
		day := us / microsPerDay
		if us%microsPerDay < 0 {
			day--
		}
		s.v.Int[row] = day
		return nil
	}
	d := types.DInt(us)
	if s.t.Mod >= 0 {
		var err error
		if d, err = types.ApplyTypmod(s.t, d, false); err != nil {
			return &fieldError{s.name, err}
		}
	}
	s.v.Int[row] = d.I
	return nil
}

// checkText gives PostgreSQL's error if b is not valid UTF-8 or has a zero byte.
func checkText(b []byte) error {
	if utf8.Valid(b) {
		return nil
	}
	_, err := types.ParseText(types.T(types.Text), string(b), nil)
	return err
}
