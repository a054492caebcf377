package types

import (
	"math"
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"

	"github.com/weirdb/weir/sql/sqlerr"
)

// NumberFormat is a compiled template of to_char for numbers and of to_number.
type NumberFormat struct {
	nodes []fmtNode
	// pre and post count the digit positions before and after the point; multi those after V.
	pre, post, multi int
	// zeroStart is the position of the first 0, counted from 0; zeroEnd how many positions there
	// are up to the last.
	zeroStart, zeroEnd int
	// signAt is how many positions stand before S.
	signAt int

	decimal, zero, blank, fill, bracket, minus, plus, roman, shift, sci bool
	// sign says where S stands.
	sign signPlace
}

type signPlace uint8

const (
	noSign signPlace = iota
	signBefore
	signAfter
)

func templateError(format string, args ...any) *sqlerr.Error {
	return sqlerr.Newf(sqlerr.SyntaxError, format, args...)
}

// CompileNumberFormat reads a template; combinations of patterns that mean nothing are errors.
func CompileNumberFormat(s string) (*NumberFormat, error) {
	f := &NumberFormat{nodes: parseTemplate(s, numberPatterns, false)}
	for i := range f.nodes {
		if f.nodes[i].kind != nodePattern {
			continue
		}
		if err := f.add(f.nodes[i].key); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Empty says whether the template is the empty string, for which to_char gives
// an empty text and to_number
// NULL.
func (f *NumberFormat) Empty() bool { return len(f.nodes) == 0 }

// add notes what a pattern means for the whole number.
func (f *NumberFormat) add(key string) error {
	if f.sci && key != "EEEE" {
		return templateError("\"EEEE\" must be the last pattern used")
	}
	switch key {
	case "9", "0":
		return f.addDigit(key)
	case "B":
		if f.pre == 0 && f.post == 0 && !f.zero {
			f.blank = true
		}
	case "D", ".":
		if f.decimal {
			return templateError("multiple decimal points")
		}
		if f.shift {
			return templateError("cannot use \"V\" and decimal point together")
		}
		f.decimal = true
	case "FM":
		f.fill = true
	case "S":
		if f.sign != noSign {
			return templateError("cannot use \"S\" twice")
		}
		if f.plus || f.minus || f.bracket {
			return templateError("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together")
		}
		f.sign = signAfter
		if !f.decimal {
			f.sign = signBefore
			f.signAt = f.pre
		}
	case "MI", "PL", "SG":
		if f.sign != noSign {
			return templateError("cannot use \"S\" and \"%s\" together", key)
		}
		f.minus = f.minus || key != "PL"
		f.plus = f.plus || key != "MI"
	case "PR":
		if f.sign != noSign || f.plus || f.minus {
			return templateError("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together")
		}
		f.bracket = true
	case "RN":
		f.roman = true
	case "V":
		if f.decimal {
			return templateError("cannot use \"V\" and decimal point together")
		}
		f.shift = true
	case "EEEE":
		if f.sci {
			return templateError("cannot use \"EEEE\" twice")
		}
		if f.blank || f.fill || f.sign != noSign || f.bracket || f.minus || f.plus || f.roman || f.shift {
			return templateError("\"EEEE\" is incompatible with other formats").
				WithDetail("\"EEEE\" may only be used together with digit and decimal point patterns.")
		}
		f.sci = true
	}
	return nil
}

func (f *NumberFormat) addDigit(key string) error {
	if f.bracket {
		return templateError("\"%s\" must be ahead of \"PR\"", key)
	}
	if key == "9" && f.shift {
		f.multi++
		return nil
	}
	if key == "0" && !f.zero && !f.decimal {
		f.zero = true
		f.zeroStart = f.pre
	}
	if f.decimal {
		f.post++
	} else {
		f.pre++
	}
	if key == "0" {
		f.zeroEnd = f.pre + f.post
	}
	return nil
}

// AppendDecimal appends a numeric or an integer.
func (f *NumberFormat) AppendDecimal(dst []byte, d Decimal) ([]byte, error) {
	w := numberWriter{f: f, pre: f.pre, post: f.post}
	switch {
	case f.roman:
		v, err := d.Round(0).Int64(Int4)
		if err != nil {
			return nil, err
		}
		return w.write(dst, romanNumeral(v), false)
	case f.sci:
		if !d.IsFinite() {
			return append(dst, f.sciOverflow()...), nil
		}
		if d.Sign() >= 0 {
			dst = append(dst, ' ')
		}
		return append(dst, d.scientific(f.post)...), nil
	}
	if f.shift {
		var err error
		if d.IsFinite() {
			p, perr := NewDecimal(10, 0).Power(NewDecimal(int64(f.multi), 0))
			if perr != nil {
				return nil, perr
			}
			if d, err = d.Mul(p); err != nil {
				return nil, err
			}
		}
		w.pre += f.multi
	}
	return w.writeText(dst, d.Round(w.post).String())
}

// AppendFloat appends a float of the given size, with no more digits than it has (15 or 6).
func (f *NumberFormat) AppendFloat(dst []byte, v float64, bitSize int) ([]byte, error) {
	digits := 15
	if bitSize == 32 {
		digits = 6
	}
	w := numberWriter{f: f, pre: f.pre, post: f.post}
	switch {
	case f.roman:
		return w.write(dst, romanNumeral(int64(math.RoundToEven(v))), false)
	case f.sci:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return append(dst, f.sciOverflow()...), nil
		}
		if !math.Signbit(v) {
			dst = append(dst, ' ')
		}
		return strconv.AppendFloat(dst, v, 'e', f.post, 64), nil
	}
	if f.shift {
		v *= math.Pow(10, float64(f.multi))
		w.pre += f.multi
	}
	if whole := len(cFloat(math.Abs(v), 0)); whole >= digits {
		w.post = 0
	} else {
		w.post = min(w.post, digits-whole)
	}
	return w.writeText(dst, cFloat(v, w.post))
}

// cFloat prints with a number of decimals as C's printf does.
func cFloat(v float64, decimals int) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// sciOverflow stands for a NaN or an infinity under EEEE.
func (f *NumberFormat) sciOverflow() string {
	b := []byte(" " + strings.Repeat("#", f.pre+f.post+5))
	b[f.pre+1] = '.'
	return string(b)
}

// scientific prints a finite d with one digit before the point, decimals after it and an exponent
// of two digits at least.
func (d Decimal) scientific(decimals int) string {
	exp := 0
	if !d.IsZero() {
		exp = d.intDigits() - 1
	}
	// Rounding may give a significand of 10, which Postgres prints as it is.
	r := d.Round(decimals - exp)
	var c, p apd.BigInt
	r.signed(&c)
	if k := decimals - exp - int(r.scale); k >= 0 {
		c.Mul(&c, bigPow10(&p, k))
	} else {
		c.Quo(&c, bigPow10(&p, -k))
	}
	sign := "+"
	if exp < 0 {
		sign, exp = "-", -exp
	}
	return fromBig(&c, decimals).String() + "e" + sign + string(append2(nil, int64(exp)))
}

// romanNumeral writes 1 to 3999; other numbers are 15 number signs.
func romanNumeral(v int64) string {
	if v < 1 || v > 3999 {
		return strings.Repeat("#", 15)
	}
	steps := []struct {
		value int64
		text  string
	}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"},
		{10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}}
	var b strings.Builder
	for _, s := range steps {
		for v >= s.value {
			b.WriteString(s.text)
			v -= s.value
		}
	}
	return b.String()
}

// numberWriter fills the positions of a template with the digits of one number. Positions are
// numbered from 0; the digits are right-aligned before the point, so that the first pad
// positions have none.
type numberWriter struct {
	f         *NumberFormat
	pre, post int
	pad       int
	// digits is the number without its sign; at is the next digit to write.
	digits string
	at     int
	neg    bool
	// pos is the current position, count the last of all.
	pos, count int
	// lastNeeded is the offset of the last digit that FM keeps, or -1 without FM or point.
	lastNeeded int
	// signDone says that no sign is to be written any more; inNumber that a digit has been.
	signDone, inNumber bool
	// ended says that nothing more is to be written.
	ended   bool
	sign    signPlace
	bracket bool
}

// writeText takes the decimal text of the number.
func (w *numberWriter) writeText(dst []byte, text string) ([]byte, error) {
	neg := strings.HasPrefix(text, "-")
	text = strings.TrimPrefix(text, "-")
	whole := len(text)
	if p := strings.IndexByte(text, '.'); p >= 0 {
		whole = p
	}
	switch {
	case whole < w.pre:
		w.pad = w.pre - whole
	case whole > w.pre:
		b := []byte(strings.Repeat("#", w.pre+w.post+1))
		b[w.pre] = '.'
		text = string(b)
	}
	return w.write(dst, text, neg)
}

func (w *numberWriter) write(dst []byte, digits string, neg bool) ([]byte, error) {
	f := w.f
	w.digits, w.neg, w.lastNeeded = digits, neg, -1
	w.sign, w.bracket = f.sign, f.bracket
	switch {
	case f.roman:
		w.sign, w.bracket, w.pre, w.post, w.pad = noSign, false, 0, 0, 0
	case f.plus || f.minus:
		// MI, PL and SG write the sign themselves; the number needs one only for PL alone.
		w.signDone = f.minus
	default:
		if !neg && f.fill {
			w.bracket = false
		}
		w.signDone = !neg && f.fill && f.sign == noSign
		if f.sign == signBefore && w.pre == f.signAt {
			w.sign = signAfter
		}
	}
	w.count = w.post + w.pre - 1
	if f.fill && f.decimal && !f.roman {
		w.lastNeeded = lastNeededDecimal(digits)
		if w.lastNeeded >= 0 && f.zeroEnd > w.pad {
			w.lastNeeded = max(w.lastNeeded, min(len(digits)-1, f.zeroEnd-w.pad))
		}
	}
	if !w.signDone && w.pad == 0 {
		w.count++
	}
	for i := range f.nodes {
		n := &f.nodes[i]
		if n.kind != nodePattern {
			dst = append(dst, n.text...)
			continue
		}
		if n.key == "TH" && w.wantsOrdinal() && !isDigit(w.digits[len(w.digits)-1]) {
			return nil, sqlerr.Newf(sqlerr.InvalidTextRepresentation, "\"%s\" is not a number", w.digits)
		}
		dst = w.pattern(dst, n)
		if w.ended {
			break
		}
	}
	return dst, nil
}

// wantsOrdinal says whether TH writes anything.
func (w *numberWriter) wantsOrdinal() bool {
	return !w.f.roman && w.digits != "" && w.digits[0] != '#' && !w.neg && !w.f.decimal
}

// lastNeededDecimal gives the offset of the last digit after the point that is not 0, of the point
// if there is none, or -1 without a point.
func lastNeededDecimal(s string) int {
	p := strings.IndexByte(s, '.')
	if p < 0 {
		return -1
	}
	last := p
	for i := p + 1; i < len(s); i++ {
		if s[i] != '0' {
			last = i
		}
	}
	return last
}

func (w *numberWriter) pattern(dst []byte, n *fmtNode) []byte {
	f := w.f
	switch n.key {
	case "9", "0", ".", "D":
		return w.position(dst, n.key)
	case ",", "G":
		switch {
		case w.inNumber:
			return append(dst, ',')
		case f.fill:
			return dst
		}
		return append(dst, ' ')
	case "L":
		return append(dst, ' ')
	case "RN":
		s := w.digits
		if n.text == "rn" {
			s = strings.ToLower(s)
		}
		if !f.fill {
			for i := len(s); i < 15; i++ {
				dst = append(dst, ' ')
			}
		}
		return append(dst, s...)
	case "TH":
		if !w.wantsOrdinal() {
			return dst
		}
		return append(dst, ordinal(w.digits, n.text)...)
	case "MI", "PL":
		want := n.key == "MI"
		switch {
		case w.neg == want && want:
			return append(dst, '-')
		case w.neg == want:
			return append(dst, '+')
		case f.fill:
			return dst
		}
		return append(dst, ' ')
	case "SG":
		if w.neg {
			return append(dst, '-')
		}
		return append(dst, '+')
	}
	return dst // B, C, FM, S, SP, V, PR and EEEE write nothing themselves
}

// leadingZero says whether the next digit is the zero before the point of a number below 1, which
// only a 0 in the template shows.
func (w *numberWriter) leadingZero() bool {
	return !w.f.zero && w.at == 0 && w.digits != "" && w.digits[0] == '0' && w.post != 0
}

// onlyPoint says whether FM leaves nothing behind the point.
func (w *numberWriter) onlyPoint() bool {
	return w.lastNeeded >= 0 && w.digits[w.lastNeeded] == '.'
}

func (w *numberWriter) position(dst []byte, key string) []byte {
	f := w.f
	if f.roman {
		return dst
	}
	w.inNumber = false
	if !w.signDone && (w.pos >= w.pad || f.zero && f.zeroStart == w.pos) && (!w.leadingZero() || w.onlyPoint()) {
		dst = w.writeSign(dst)
	}
	switch {
	case w.pos < w.pad && (f.zeroStart > w.pos || !f.zero):
		if !f.fill {
			dst = append(dst, ' ')
		}
	case w.pos < w.pad:
		dst = append(dst, '0')
		w.inNumber = true
	default:
		if dst = w.digit(dst, key); w.ended {
			return dst
		}
	}
	end := w.count
	if w.pad > 0 {
		end++
	}
	if f.decimal {
		end++
	}
	if w.lastNeeded >= 0 && w.lastNeeded == w.at {
		end = w.pos
	}
	if w.pos+1 == end {
		switch {
		case w.signDone && w.bracket && w.neg:
			dst = append(dst, '>')
		case w.signDone && w.bracket:
			dst = append(dst, ' ')
		case w.sign == signAfter && w.neg:
			dst = append(dst, '-')
		case w.sign == signAfter:
			dst = append(dst, '+')
		}
	}
	w.pos++
	return dst
}

// writeSign writes the sign in front of the first digit.
func (w *numberWriter) writeSign(dst []byte) []byte {
	switch {
	case w.sign == signBefore:
		w.signDone = true
		if w.neg {
			return append(dst, '-')
		}
		return append(dst, '+')
	case w.sign == signAfter:
		return dst
	}
	w.signDone = true
	switch {
	case w.bracket && w.neg:
		return append(dst, '<')
	case w.bracket:
		return append(dst, ' ')
	case w.neg:
		return append(dst, '-')
	case !w.f.fill:
		return append(dst, ' ')
	}
	return dst
}

// digit writes the next digit or the point.
func (w *numberWriter) digit(dst []byte, key string) []byte {
	if w.at >= len(w.digits) {
		// A position too many, a point that nothing follows: Postgres's output ends here.
		w.ended = w.lastNeeded < 0 || w.at <= w.lastNeeded || key == "0"
		return dst
	}
	c := w.digits[w.at]
	switch {
	case c == '.':
		if !w.onlyPoint() || w.f.fill {
			dst = append(dst, '.')
		}
	case w.lastNeeded >= 0 && w.at > w.lastNeeded && key != "0":
	case w.leadingZero():
		if !w.f.fill {
			dst = append(dst, ' ')
		} else if w.onlyPoint() {
			dst = append(dst, '0')
		}
	default:
		dst = append(dst, c)
		w.inNumber = true
	}
	w.at++
	return dst
}
