package expr

import (
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
	"golang.org/x/text/unicode/norm"
)

// maxText bounds the size of results, as Postgres does.
const maxText = 1<<30 - 1

var (
	errSubstring = sqlerr.Newf(sqlerr.SubstringError, "negative substring length not allowed")
	errTooLong   = sqlerr.Newf(sqlerr.ProgramLimitExceeded, "requested length too large")
)

func runes(s string) int64 { return int64(utf8.RuneCountInString(s)) }

// charOffset gives the byte offset of the n-th character (from 0), or len(s).
func charOffset(s string, n int64) int {
	if n <= 0 {
		return 0
	}
	if n >= int64(len(s)) {
		if int64(utf8.RuneCountInString(s)) <= n {
			return len(s)
		}
	}
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// substr cuts n characters from position from (from 1); positions before the string count.
func substr(s string, from, n int64) (string, error) {
	end := from + n // both are int4
	if end < from {
		return "", errSubstring
	}
	if end > math.MaxInt32 {
		end = math.MaxInt32 // Postgres takes an overflow as the end of the string
	}
	if end <= 1 {
		return "", nil
	}
	start := max(from, 1)
	s = s[charOffset(s, start-1):]
	return s[:charOffset(s, end-start)], nil
}

func substrFrom(s string, from int64) string { return s[charOffset(s, from-1):] }

func byteSubstr(s string, from, n int64) (string, error) {
	end := from + n
	if end < from {
		return "", errSubstring
	}
	start := min(max(from, 1)-1, int64(len(s)))
	stop := min(max(end, 1)-1, int64(len(s)))
	return s[start:max(start, stop)], nil
}

func left(s string, n int64) string {
	if n < 0 {
		n += runes(s)
	}
	return s[:charOffset(s, n)]
}

func right(s string, n int64) string {
	switch {
	case n == math.MinInt32:
		return s // its negative does not fit, and Postgres then skips nothing
	case n < 0:
		n = -n
	default:
		n = runes(s) - n
	}
	return s[charOffset(s, n):]
}

// padding gives n characters of fill, repeated.
func padding(fill string, n int64) string {
	if n <= 0 || fill == "" {
		return ""
	}
	full := n / runes(fill)
	return strings.Repeat(fill, int(full)) + fill[:charOffset(fill, n-full*runes(fill))]
}

func lpad(s string, n int64, fill string) (string, error) {
	if n > maxText/4 {
		return "", errTooLong
	}
	have := runes(s)
	if n <= have {
		return s[:charOffset(s, n)], nil
	}
	return padding(fill, n-have) + s, nil
}

func rpad(s string, n int64, fill string) (string, error) {
	if n > maxText/4 {
		return "", errTooLong
	}
	have := runes(s)
	if n <= have {
		return s[:charOffset(s, n)], nil
	}
	return s + padding(fill, n-have), nil
}

func repeat(s string, n int64) (string, error) {
	if n <= 0 || s == "" {
		return "", nil
	}
	if int64(len(s)) > maxText/n {
		return "", errTooLong
	}
	return strings.Repeat(s, int(n)), nil
}

func replaceAll(s, from, to string) string {
	if from == "" {
		return s
	}
	return strings.ReplaceAll(s, from, to)
}

func reverse(s string) string {
	b := make([]byte, len(s))
	at := len(s)
	for i := 0; i < len(s); {
		_, n := utf8.DecodeRuneInString(s[i:])
		at -= n
		copy(b[at:], s[i:i+n])
		i += n
	}
	return string(b)
}

func position(s, sub string) int64 {
	i := strings.Index(s, sub)
	if i < 0 {
		return 0
	}
	return runes(s[:i]) + 1
}

func splitPart(s, sep string, n int64) (string, error) {
	if n == 0 {
		return "", sqlerr.Newf(sqlerr.InvalidParameterValue, "field position must not be zero")
	}
	if s == "" {
		return "", nil
	}
	if sep == "" {
		if n == 1 || n == -1 {
			return s, nil
		}
		return "", nil
	}
	if n < 0 {
		// Parts are found from the left, however they are counted.
		if n += int64(strings.Count(s, sep)) + 2; n < 1 {
			return "", nil
		}
	}
	for ; n > 1; n-- {
		at := indexOf(s, sep)
		if at < 0 {
			return "", nil
		}
		s = s[at+len(sep):]
	}
	if at := indexOf(s, sep); at >= 0 {
		s = s[:at]
	}
	return s, nil
}

// indexOf is strings.Index, which is slower for one byte.
func indexOf(s, sep string) int {
	if len(sep) == 1 {
		return strings.IndexByte(s, sep[0])
	}
	return strings.Index(s, sep)
}

func translate(s, from, to string) string {
	f, t := []rune(from), []rune(to)
	return strings.Map(func(r rune) rune {
		for i, c := range f {
			if c == r {
				if i < len(t) {
					return t[i]
				}
				return -1
			}
		}
		return r
	}, s)
}

func initcap(s string) string {
	word := false
	return strings.Map(func(r rune) rune {
		alnum := unicode.IsLetter(r) || unicode.IsDigit(r)
		defer func() { word = alnum }()
		if word {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

func ascii(s string) int64 {
	if s == "" {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(s)
	return int64(r)
}

func chr(n int64) (string, error) {
	switch {
	case n < 0:
		return "", sqlerr.Newf(sqlerr.InvalidParameterValue, "character number must be positive")
	case n == 0:
		return "", sqlerr.Newf(sqlerr.ProgramLimitExceeded, "null character not permitted")
	case n > unicode.MaxRune:
		return "", sqlerr.Newf(sqlerr.ProgramLimitExceeded, "requested character too large for encoding: %d", n)
	case !utf8.ValidRune(rune(n)):
		return "", sqlerr.Newf(sqlerr.ProgramLimitExceeded, "requested character not valid for encoding: %d", n)
	}
	return string(rune(n)), nil
}

func overlay(s, with string, from, n int64) (string, error) {
	if from <= 0 {
		return "", errSubstring
	}
	if from+n > math.MaxInt32 {
		return "", rangeError(types.Int4)
	}
	head, err := substr(s, 1, from-1)
	if err != nil {
		return "", err
	}
	return head + with + substrFrom(s, from+n), nil
}

func byteOverlay(s, with string, from, n int64) (string, error) {
	if from <= 0 {
		return "", errSubstring
	}
	if from+n > math.MaxInt32 {
		return "", rangeError(types.Int4)
	}
	head, err := byteSubstr(s, 1, from-1)
	if err != nil {
		return "", err
	}
	return head + with + byteSubstrFrom(s, from+n), nil
}

func byteSubstrFrom(s string, from int64) string { return s[min(max(from-1, 0), int64(len(s))):] }

// trimBytes removes bytes of set, for bytea.
func trimBytes(s, set string, l, r bool) string {
	for l && s != "" && strings.IndexByte(set, s[0]) >= 0 {
		s = s[1:]
	}
	for r && s != "" && strings.IndexByte(set, s[len(s)-1]) >= 0 {
		s = s[:len(s)-1]
	}
	return s
}

func normForm(name string) (norm.Form, error) {
	switch strings.ToUpper(name) {
	case "NFC":
		return norm.NFC, nil
	case "NFD":
		return norm.NFD, nil
	case "NFKC":
		return norm.NFKC, nil
	case "NFKD":
		return norm.NFKD, nil
	}
	return 0, sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid normalization form: %s", name)
}

// unistr resolves \XXXX, \+XXXXXX, \uXXXX and \UXXXXXXXX.
func unistr(s string) (string, error) {
	bad := sqlerr.Newf(sqlerr.SyntaxError, "invalid Unicode escape").
		WithHint(`Unicode escapes must be \XXXX, \+XXXXXX, \uXXXX, or \UXXXXXXXX.`)
	pair := sqlerr.Newf(sqlerr.SyntaxError, "invalid Unicode surrogate pair")
	var b strings.Builder
	var high rune
	for s != "" {
		if s[0] != '\\' {
			if high != 0 {
				return "", pair
			}
			i := strings.IndexByte(s, '\\')
			if i < 0 {
				i = len(s)
			}
			b.WriteString(s[:i])
			s = s[i:]
			continue
		}
		if strings.HasPrefix(s, `\\`) {
			if high != 0 {
				return "", pair
			}
			b.WriteByte('\\')
			s = s[2:]
			continue
		}
		skip, digits := 1, 4
		if len(s) > 1 {
			switch s[1] {
			case '+':
				skip, digits = 2, 6
			case 'u':
				skip = 2
			case 'U':
				skip, digits = 2, 8
			}
		}
		if len(s) < skip+digits {
			return "", bad
		}
		n, err := strconv.ParseUint(s[skip:skip+digits], 16, 32)
		if err != nil {
			return "", bad
		}
		s = s[skip+digits:]
		r := rune(n)
		if n == 0 || n > unicode.MaxRune {
			return "", sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid Unicode code point: %04X", n)
		}
		switch {
		case high != 0:
			if r < 0xdc00 || r > 0xdfff {
				return "", pair
			}
			b.WriteRune(0x10000 + (high-0xd800)<<10 + (r - 0xdc00))
			high = 0
		case r >= 0xd800 && r <= 0xdbff:
			high = r
		case r >= 0xdc00 && r <= 0xdfff:
			return "", pair
		default:
			b.WriteRune(r)
		}
	}
	if high != 0 {
		return "", pair
	}
	return b.String(), nil
}

func addTextKernels(t table) {
	length := unary(runes)
	bpLength := unary(func(s string) int64 { return runes(trimBlanks(s)) })
	for _, name := range []string{"length", "char_length", "character_length"} {
		t.add(name+"(text)", length)
		t.add(name+"(bpchar)", bpLength)
	}
	octets := unary(func(s string) int64 { return int64(len(s)) })
	bits := unary(func(s string) int64 { return int64(len(s)) * 8 })
	t.add("length(bytea)", octets)
	for _, k := range []string{"text", "bpchar", "bytea"} {
		t.add("octet_length("+k+")", octets)
	}
	t.add("bit_length(text)", bits)
	t.add("bit_length(bytea)", bits)
	concat := binary(func(a, b string) string { return a + b })
	t.add("||(text,text)", concat)
	t.add("||(bytea,bytea)", concat)
	t.add("||(text,anyelement)", datums(func(x *genCall, a []types.Datum) (types.Datum, error) {
		return types.DStr(a[0].S + x.castText(1, a[1])), nil
	}))
	t.add("||(anyelement,text)", datums(func(x *genCall, a []types.Datum) (types.Datum, error) {
		return types.DStr(x.castText(0, a[0]) + a[1].S), nil
	}))
	t.add("^@(text,text)", binary(strings.HasPrefix))
	t.add("starts_with(text,text)", binary(strings.HasPrefix))
	t.add("ascii(text)", unary(ascii))
	t.add("chr(int4)", unaryErr(chr))
	t.add("initcap(text)", unary(initcap))
	t.add("lower(text)", unary(strings.ToLower))
	t.add("upper(text)", unary(strings.ToUpper))
	t.add("left(text,int4)", binary(left))
	t.add("right(text,int4)", binary(right))
	t.add("lpad(text,int4)", binaryErr(func(s string, n int64) (string, error) { return lpad(s, n, " ") }))
	t.add("rpad(text,int4)", binaryErr(func(s string, n int64) (string, error) { return rpad(s, n, " ") }))
	t.add("lpad(text,int4,text)", ternaryErr(lpad))
	t.add("rpad(text,int4,text)", ternaryErr(rpad))
	for _, tr := range []struct {
		name string
		l, r bool
	}{{"btrim", true, true}, {"ltrim", true, false}, {"rtrim", false, true}} {
		trim := func(s, set string) string {
			if tr.l {
				s = strings.TrimLeft(s, set)
			}
			if tr.r {
				s = strings.TrimRight(s, set)
			}
			return s
		}
		t.add(tr.name+"(text)", unary(func(s string) string { return trim(s, " ") }))
		t.add(tr.name+"(text,text)", binary(trim))
		t.add(tr.name+"(bytea,bytea)", binary(func(s, set string) string { return trimBytes(s, set, tr.l, tr.r) }))
	}
	t.add("repeat(text,int4)", binaryErr(repeat))
	t.add("replace(text,text,text)", ternary(replaceAll))
	t.add("reverse(text)", unary(reverse))
	t.add("position(text,text)", binary(position))
	t.add("strpos(text,text)", binary(position))
	t.add("position(bytea,bytea)", binary(func(s, sub string) int64 { return int64(strings.Index(s, sub) + 1) }))
	t.add("split_part(text,text,int4)", ternaryErr(splitPart))
	t.add("translate(text,text,text)", ternary(translate))
	for _, name := range []string{"substr", "substring"} {
		t.add(name+"(text,int4)", binary(substrFrom))
		t.add(name+"(text,int4,int4)", ternaryErr(substr))
		t.add(name+"(bytea,int4)", binary(byteSubstrFrom))
		t.add(name+"(bytea,int4,int4)", ternaryErr(byteSubstr))
	}
	t.add("overlay(text,text,int4)", ternaryErr(func(s, with string, from int64) (string, error) {
		return overlay(s, with, from, runes(with))
	}))
	t.add("overlay(bytea,bytea,int4)", ternaryErr(func(s, with string, from int64) (string, error) {
		return byteOverlay(s, with, from, int64(len(with)))
	}))
	t.add("overlay(text,text,int4,int4)", datums(func(_ *genCall, a []types.Datum) (types.Datum, error) {
		s, err := overlay(a[0].S, a[1].S, a[2].I, a[3].I)
		return types.DStr(s), err
	}))
	t.add("overlay(bytea,bytea,int4,int4)", datums(func(_ *genCall, a []types.Datum) (types.Datum, error) {
		s, err := byteOverlay(a[0].S, a[1].S, a[2].I, a[3].I)
		return types.DStr(s), err
	}))
	t.add("to_hex(int4)", unary(func(n int64) string { return strconv.FormatUint(uint64(uint32(n)), 16) }))
	t.add("to_hex(int8)", unary(func(n int64) string { return strconv.FormatUint(uint64(n), 16) }))
	sum := unary(func(s string) string { b := md5.Sum([]byte(s)); return hex.EncodeToString(b[:]) })
	t.add("md5(text)", sum)
	t.add("md5(bytea)", sum)
	t.add("sha224(bytea)", unary(func(s string) string { b := sha256.Sum224([]byte(s)); return string(b[:]) }))
	t.add("sha256(bytea)", unary(func(s string) string { b := sha256.Sum256([]byte(s)); return string(b[:]) }))
	t.add("sha384(bytea)", unary(func(s string) string { b := sha512.Sum384([]byte(s)); return string(b[:]) }))
	t.add("sha512(bytea)", unary(func(s string) string { b := sha512.Sum512([]byte(s)); return string(b[:]) }))
	t.add("normalize(text,text)", binaryErr(func(s, form string) (string, error) {
		f, err := normForm(form)
		if err != nil {
			return "", err
		}
		return f.String(s), nil
	}))
	t.add("is_normalized(text,text)", binaryErr(func(s, form string) (bool, error) {
		f, err := normForm(form)
		if err != nil {
			return false, err
		}
		return f.IsNormalString(s), nil
	}))
	t.add("unistr(text)", unaryErr(unistr))
}
