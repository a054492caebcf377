package types

import (
	"encoding/binary"
	"math"

	"github.com/cockroachdb/apd/v3"

	"github.com/weirdb/weir/sql/sqlerr"
)

// The binary wire format of values is Postgres's (its *_send and *_recv functions): integers and
// floats big-endian, numerics in base 10000, strings as they are.

func badBinary() *sqlerr.Error {
	return sqlerr.Newf(sqlerr.InvalidBinaryRepresentation, "incorrect binary data format")
}

func shortBinary() *sqlerr.Error {
	return sqlerr.Newf(sqlerr.ProtocolViolation, "insufficient data left in message")
}

// ParseBinary reads a value of t from Postgres's binary format and applies the type's modifier as
// an assignment would.
func ParseBinary(t Type, b []byte) (Datum, error) { return (*Env)(nil).ParseBinary(t, b) }

// ParseBinary is ParseBinary that knows the types of users.
func (env *Env) ParseBinary(t Type, b []byte) (Datum, error) {
	d, err := env.parseBinary(t, b)
	if err != nil || t.Mod < 0 || t.Kind == Array {
		return d, err
	}
	return ApplyTypmod(t, d, false)
}

func (env *Env) parseBinary(t Type, b []byte) (Datum, error) {
	if t.Kind.IsUser() {
		return parseUserBinary(t, b, env)
	}
	if n := kinds[t.Kind].len; n > 0 && t.Kind != Name && t.Kind != Void {
		switch {
		case len(b) < int(n):
			return Null, shortBinary()
		case len(b) > int(n):
			return Null, badBinary()
		}
	}
	be := binary.BigEndian
	switch t.Kind {
	case Bool:
		return DBool(b[0] != 0), nil
	case Int2:
		return DInt(int64(int16(be.Uint16(b)))), nil
	case Int4:
		return DInt(int64(int32(be.Uint32(b)))), nil
	case Oid, Regclass, Regtype, Regproc, Regnamespace, Regrole, Xid:
		return DInt(int64(be.Uint32(b))), nil
	case Int8:
		return DInt(int64(be.Uint64(b))), nil
	case Float4:
		return DFloat(float64(math.Float32frombits(be.Uint32(b)))), nil
	case Float8:
		return DFloat(math.Float64frombits(be.Uint64(b))), nil
	case Numeric:
		d, err := parseNumericBinary(b)
		if err != nil {
			return Null, err
		}
		return DDec(d), nil
	case Text, Varchar, Char, Name, Unknown:
		s := string(b)
		if err := checkUTF8(s); err != nil {
			return Null, err
		}
		if t.Kind == Name && len(s) >= 64 {
			return Null, sqlerr.Newf(sqlerr.NameTooLong, "identifier too long").WithDetail("Identifier must be less than 64 characters.")
		}
		return DStr(s), nil
	case QChar:
		if b[0] == 0 {
			return DStr(""), nil
		}
		return DStr(string(b)), nil
	case Bytea, UUID:
		return DStr(string(b)), nil
	case Json:
		s := string(b)
		if err := checkUTF8(s); err != nil {
			return Null, err
		}
		return DStr(s), CheckJSON(s)
	case Jsonpath:
		if len(b) == 0 {
			return Null, shortBinary()
		}
		if b[0] != 1 {
			return Null, sqlerr.Newf(sqlerr.InternalError, "unsupported jsonpath version number: %d", b[0])
		}
		return parseText(t, string(b[1:]), nil)
	case Jsonb:
		if len(b) == 0 {
			return Null, shortBinary()
		}
		if b[0] != 1 {
			return Null, sqlerr.Newf(sqlerr.InternalError, "unsupported jsonb version number %d", b[0])
		}
		s := string(b[1:])
		if err := checkUTF8(s); err != nil {
			return Null, err
		}
		j, err := ParseJSON(s)
		if err != nil {
			return Null, err
		}
		return DStr(j), nil
	case Date:
		return dateFromBinary(int32(be.Uint32(b)))
	case Time:
		v := int64(be.Uint64(b))
		if v < 0 || v > usecPerDay {
			return Null, sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "time out of range")
		}
		return DInt(v), nil
	case Timestamp, Timestamptz:
		v := int64(be.Uint64(b))
		if !IsInfinite(v) && !validTimestamp(v) {
			return Null, timestampOutOfRange()
		}
		return DInt(v), nil
	case Interval:
		return DSpan(Span{Micros: int64(be.Uint64(b)), Days: int32(be.Uint32(b[8:])), Months: int32(be.Uint32(b[12:]))}), nil
	case Array:
		return env.parseArrayBinary(t, b)
	case Record:
		return env.parseRecordBinary(b)
	case Void:
		return DStr(""), nil
	}
	return Null, sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot accept a value of type %s", t.Kind.Name())
}

func dateFromBinary(v int32) (Datum, error) {
	switch {
	case v == math.MaxInt32:
		return DInt(PosInfinity), nil
	case v == math.MinInt32:
		return DInt(NegInfinity), nil
	case v < minDate || int64(v) >= endDate:
		return Null, dateOutOfRange()
	}
	return DInt(int64(v)), nil
}

// AppendBinary appends the binary format of a value of t that is not NULL.
func AppendBinary(dst []byte, t Type, d Datum) []byte { return (*Env)(nil).AppendBinary(dst, t, d) }

// AppendBinary is AppendBinary that knows the types of users.
func (env *Env) AppendBinary(dst []byte, t Type, d Datum) []byte {
	be := binary.BigEndian
	switch t.Kind {
	case Bool:
		return append(dst, byte(d.I&1))
	case Int2:
		return be.AppendUint16(dst, uint16(d.I))
	case Int4, Oid, Regclass, Regtype, Regproc, Regnamespace, Regrole, Xid:
		return be.AppendUint32(dst, uint32(d.I))
	case Int8, Time, Timestamp, Timestamptz:
		return be.AppendUint64(dst, uint64(d.I))
	case Float4:
		return be.AppendUint32(dst, math.Float32bits(float32(d.F)))
	case Float8:
		if d.F != d.F { // one NaN for all
			return be.AppendUint64(dst, 0x7ff8000000000000)
		}
		return be.AppendUint64(dst, math.Float64bits(d.F))
	case Numeric:
		return appendNumericBinary(dst, d.Dec)
	case Date:
		v := int32(d.I)
		switch d.I {
		case PosInfinity:
			v = math.MaxInt32
		case NegInfinity:
			v = math.MinInt32
		}
		return be.AppendUint32(dst, uint32(v))
	case Interval:
		dst = be.AppendUint64(dst, uint64(d.Span.Micros))
		dst = be.AppendUint32(dst, uint32(d.Span.Days))
		return be.AppendUint32(dst, uint32(d.Span.Months))
	case QChar:
		if d.S == "" {
			return append(dst, 0)
		}
		return append(dst, d.S[0])
	case Jsonb, Jsonpath:
		return append(append(dst, 1), d.S...)
	case Array:
		return env.appendArrayBinary(dst, d.S)
	case Record:
		return env.appendRecordBinary(dst, d.S)
	}
	switch {
	case t.Kind.IsEnum():
		return appendEnum(dst, t.Kind, d.I, env)
	case t.Kind.IsComposite():
		return env.appendRecordBinary(dst, d.S)
	}
	return append(dst, d.S...)
}

// The sign words of a numeric.
const (
	numericPos    = 0x0000
	numericNeg    = 0x4000
	numericNaN    = 0xc000
	numericPosInf = 0xd000
	numericNegInf = 0xf000
)

func parseNumericBinary(b []byte) (Decimal, error) {
	if len(b) < 8 {
		return Decimal{}, shortBinary()
	}
	be := binary.BigEndian
	n := int(be.Uint16(b))
	weight := int(int16(be.Uint16(b[2:])))
	sign := be.Uint16(b[4:])
	scale := int(be.Uint16(b[6:]))
	b = b[8:]
	switch sign {
	case numericNaN:
		return DecNaN, nil
	case numericPosInf:
		return DecInf, nil
	case numericNegInf:
		return DecNegInf, nil
	case numericPos, numericNeg:
	default:
		return Decimal{}, sqlerr.Newf(sqlerr.InvalidBinaryRepresentation, "invalid sign in external \"numeric\" value")
	}
	if scale > maxScale {
		return Decimal{}, sqlerr.Newf(sqlerr.InvalidBinaryRepresentation, "invalid scale in external \"numeric\" value")
	}
	if len(b) < 2*n {
		return Decimal{}, shortBinary()
	}
	if len(b) > 2*n {
		return Decimal{}, badBinary()
	}
	var text []byte // the digits of long values, so that conversion to binary happens once
	var small int64
	ok := n <= 4
	for i := range n {
		v := be.Uint16(b[2*i:])
		if v > 9999 {
			return Decimal{}, sqlerr.Newf(sqlerr.InvalidBinaryRepresentation, "invalid digit in external \"numeric\" value")
		}
		if ok {
			small = small*10000 + int64(v)
		} else {
			text = append(text, byte('0'+v/1000), byte('0'+v/100%10), byte('0'+v/10%10), byte('0'+v%10))
		}
	}
	var d Decimal
	if n > 0 && weight*4 > maxIntDigits {
		return Decimal{}, errNumericOverflow
	}
	// The coefficient counts units of 10000^(weight-n+1).
	exp := (weight - n + 1) * 4
	if ok && exp <= 0 && -exp <= maxScale {
		d = Decimal{coef: small, scale: int16(-exp)}
	} else {
		var c, p apd.BigInt
		if ok {
			c.SetInt64(small)
		} else if _, good := c.SetString(string(text), 10); !good {
			return Decimal{}, badBinary()
		}
		if exp > 0 {
			c.Mul(&c, bigPow10(&p, exp))
			exp = 0
		}
		if -exp > maxScale {
			divRound(&c, -exp-maxScale, false)
			exp = -maxScale
		}
		d = fromBig(&c, -exp)
	}
	if sign == numericNeg {
		d = d.Neg()
	}
	// Digits beyond the display scale are cut, as Postgres does.
	return d.rescale(scale, false), nil
}

func appendNumericBinary(dst []byte, d Decimal) []byte {
	be := binary.BigEndian
	head := func(n, weight int, sign uint16, scale int) {
		dst = be.AppendUint16(dst, uint16(n))
		dst = be.AppendUint16(dst, uint16(weight))
		dst = be.AppendUint16(dst, sign)
		dst = be.AppendUint16(dst, uint16(scale))
	}
	switch d.form {
	case NaN:
		head(0, 0, numericNaN, 0)
		return dst
	case Infinite:
		head(0, 0, numericPosInf, 0x20)
		return dst
	case NegInfinite:
		head(0, 0, numericNegInf, 0x20)
		return dst
	}
	if d.IsZero() {
		head(0, 0, numericPos, int(d.scale))
		return dst
	}
	sign := uint16(numericPos)
	if d.Sign() < 0 {
		sign = numericNeg
	}
	// Decimal digits, padded on both sides so that groups of four align with the point.
	var buf [64]byte
	digits := buf[:4]
	copy(digits, "0000")
	if d.big == nil {
		digits = appendUint(digits, abs64(d.coef))
	} else {
		digits = d.big.Coeff.Append(digits, 10)
	}
	scale := int(d.scale)
	frac := (scale + 3) / 4 * 4
	for range frac - scale {
		digits = append(digits, '0')
	}
	skip := len(digits) % 4 // within the four zeros in front
	digits = digits[skip:]
	weight := len(digits)/4 - frac/4 - 1
	for len(digits) >= 4 && string(digits[:4]) == "0000" {
		digits = digits[4:]
		weight--
	}
	for len(digits) >= 4 && string(digits[len(digits)-4:]) == "0000" {
		digits = digits[:len(digits)-4]
	}
	head(len(digits)/4, weight, sign, scale)
	for i := 0; i < len(digits); i += 4 {
		g := digits[i : i+4]
		v := uint16(g[0]-'0')*1000 + uint16(g[1]-'0')*100 + uint16(g[2]-'0')*10 + uint16(g[3]-'0')
		dst = be.AppendUint16(dst, v)
	}
	return dst
}

func (env *Env) parseArrayBinary(t Type, b []byte) (Datum, error) {
	be := binary.BigEndian
	if len(b) < 12 {
		return Null, shortBinary()
	}
	nd := int(int32(be.Uint32(b)))
	if nd < 0 {
		return Null, sqlerr.Newf(sqlerr.InvalidBinaryRepresentation, "invalid number of dimensions: %d", nd)
	}
	if nd > MaxDims {
		return Null, tooManyDims(nd)
	}
	if f := be.Uint32(b[4:]); f > 1 {
		return Null, sqlerr.Newf(sqlerr.InvalidBinaryRepresentation, "invalid array flags")
	}
	if oid := be.Uint32(b[8:]); oid != t.Elem.OID() {
		return Null, sqlerr.Newf(sqlerr.DatatypeMismatch,
			"binary data has array element type %d (%s) instead of expected %d (%s)",
			oid, env.oidName(oid), t.Elem.OID(), t.Elem)
	}
	b = b[12:]
	a := ArrayValue{Elem: t.Elem}
	n := 0
	if nd > 0 {
		n = 1
	}
	for range nd {
		if len(b) < 8 {
			return Null, shortBinary()
		}
		l, lo := int32(be.Uint32(b)), int32(be.Uint32(b[4:]))
		b = b[8:]
		// Every element takes four bytes at least, which bounds the product.
		if l < 0 || int(l) > len(b)/4+1 || n*int(l) > len(b)/4+1 {
			return Null, sqlerr.Newf(sqlerr.ProgramLimitExceeded, "array size exceeds the maximum allowed (%d)", 1<<27-1)
		}
		n *= int(l)
		a.Dims = append(a.Dims, Dim{int(l), int(lo)})
	}
	et := t.ElemType()
	for range n {
		d, rest, err := env.parseSizedBinary(et, b)
		if err != nil {
			return Null, err
		}
		a.Elems = append(a.Elems, d)
		b = rest
	}
	if len(b) != 0 {
		return Null, badBinary()
	}
	if n == 0 {
		a.Dims = nil
	}
	return DStr(a.Encode()), nil
}

func (env *Env) oidName(oid uint32) string {
	if t, ok := env.TypeByOID(oid); ok {
		return t.String()
	}
	return "???"
}

// parseSizedBinary reads a length and a value, or NULL for length -1.
func (env *Env) parseSizedBinary(t Type, b []byte) (Datum, []byte, error) {
	if len(b) < 4 {
		return Null, nil, shortBinary()
	}
	size := int32(binary.BigEndian.Uint32(b))
	b = b[4:]
	if size == -1 {
		return Null, b, nil
	}
	if size < 0 || int(size) > len(b) {
		return Null, nil, shortBinary()
	}
	d, err := env.ParseBinary(t, b[:size])
	return d, b[size:], err
}

// appendSizedBinary appends a length and a value.
func (env *Env) appendSizedBinary(dst []byte, t Type, d Datum) []byte {
	if !d.Valid {
		return binary.BigEndian.AppendUint32(dst, math.MaxUint32)
	}
	at := len(dst)
	dst = env.AppendBinary(append(dst, 0, 0, 0, 0), t, d)
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

func (env *Env) appendArrayBinary(dst []byte, s string) []byte {
	be := binary.BigEndian
	a, err := DecodeArray(s)
	if err != nil {
		a = ArrayValue{}
	}
	flags := uint32(0)
	for _, e := range a.Elems {
		if !e.Valid {
			flags = 1
		}
	}
	dst = be.AppendUint32(dst, uint32(len(a.Dims)))
	dst = be.AppendUint32(dst, flags)
	dst = be.AppendUint32(dst, a.Elem.OID())
	for _, d := range a.Dims {
		dst = be.AppendUint32(dst, uint32(d.Len))
		dst = be.AppendUint32(dst, uint32(d.Lower))
	}
	for _, e := range a.Elems {
		dst = env.appendSizedBinary(dst, T(a.Elem), e)
	}
	return dst
}

func (env *Env) parseRecordBinary(b []byte) (Datum, error) {
	be := binary.BigEndian
	if len(b) < 4 {
		return Null, shortBinary()
	}
	n := int(int32(be.Uint32(b)))
	b = b[4:]
	if n < 0 || n > len(b)/8 {
		return Null, shortBinary()
	}
	ts, vals := make([]Type, n), make([]Datum, n)
	for i := range n {
		if len(b) < 8 {
			return Null, shortBinary()
		}
		oid := be.Uint32(b)
		t, ok := env.TypeByOID(oid)
		if !ok {
			return Null, sqlerr.Newf(sqlerr.UndefinedObject, "type with OID %d does not exist", oid)
		}
		d, rest, err := env.parseSizedBinary(t, b[4:])
		if err != nil {
			return Null, err
		}
		ts[i], vals[i], b = t, d, rest
	}
	if len(b) != 0 {
		return Null, badBinary()
	}
	return DStr(EncodeRecord(ts, vals)), nil
}

func (env *Env) appendRecordBinary(dst []byte, s string) []byte {
	be := binary.BigEndian
	ts, vals, err := DecodeRecord(s)
	if err != nil {
		ts, vals = nil, nil
	}
	dst = be.AppendUint32(dst, uint32(len(vals)))
	for i, v := range vals {
		dst = be.AppendUint32(dst, ts[i].OID())
		dst = env.appendSizedBinary(dst, ts[i], v)
	}
	return dst
}
