package expr

import (
	"encoding/base64"
	"encoding/hex"
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

func encode(b, format string) (string, error) {
	switch strings.ToLower(format) {
	case "hex":
		return hex.EncodeToString([]byte(b)), nil
	case "base64":
		s := base64.StdEncoding.EncodeToString([]byte(b))
		var out strings.Builder
		for len(s) > 76 {
			out.WriteString(s[:76])
			out.WriteByte('\n')
			s = s[76:]
		}
		out.WriteString(s)
		return out.String(), nil
	case "escape":
		var out strings.Builder
		for i := range len(b) {
			switch c := b[i]; {
			case c == 0 || c >= 0x80:
				out.Write([]byte{'\\', '0' + c>>6, '0' + c>>3&7, '0' + c&7})
			case c == '\\':
				out.WriteString(`\\`)
			default:
				out.WriteByte(c)
			}
		}
		return out.String(), nil
	}
	return "", sqlerr.Newf(sqlerr.InvalidParameterValue, "unrecognized encoding: \"%s\"", format)
}

func decode(s, format string) (string, error) {
	switch strings.ToLower(format) {
	case "hex":
		return decodeHex(s)
	case "base64":
		return decodeBase64(s)
	case "escape":
		return decodeEscape(s)
	}
	return "", sqlerr.Newf(sqlerr.InvalidParameterValue, "unrecognized encoding: \"%s\"", format)
}

// firstChar is the first character of s, for messages.
func firstChar(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n]
}

func decodeHex(s string) (string, error) {
	digit := func(c byte) (byte, bool) {
		switch {
		case c >= '0' && c <= '9':
			return c - '0', true
		case c >= 'a' && c <= 'f':
			return c - 'a' + 10, true
		case c >= 'A' && c <= 'F':
			return c - 'A' + 10, true
		}
		return 0, false
	}
	var out []byte
	for i := 0; i < len(s); {
		c := s[i]
		if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			i++
			continue
		}
		h, ok := digit(c)
		if !ok {
			return "", sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid hexadecimal digit: \"%s\"", firstChar(s[i:]))
		}
		if i+1 == len(s) {
			return "", sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid hexadecimal data: odd number of digits")
		}
		l, ok := digit(s[i+1])
		if !ok {
			return "", sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid hexadecimal digit: \"%s\"", firstChar(s[i+1:]))
		}
		out = append(out, h<<4|l)
		i += 2
	}
	return string(out), nil
}

func decodeBase64(s string) (string, error) {
	var out []byte
	var buf uint32
	pos, end := 0, 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		var v int
		switch {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			continue
		case c >= 'A' && c <= 'Z':
			v = int(c - 'A')
		case c >= 'a' && c <= 'z':
			v = int(c-'a') + 26
		case c >= '0' && c <= '9':
			v = int(c-'0') + 52
		case c == '+':
			v = 62
		case c == '/':
			v = 63
		case c == '=':
			if end == 0 {
				switch pos {
				case 2:
					end = 1
				case 3:
					end = 2
				default:
					return "", sqlerr.Newf(sqlerr.InvalidParameterValue, "unexpected \"=\" while decoding base64 sequence")
				}
			}
		default:
			return "", sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid symbol \"%s\" found while decoding base64 sequence", firstChar(s[i:]))
		}
		buf = buf<<6 | uint32(v)
		if pos++; pos == 4 {
			out = append(out, byte(buf>>16))
			if end == 0 || end > 1 {
				out = append(out, byte(buf>>8))
			}
			if end == 0 || end > 2 {
				out = append(out, byte(buf))
			}
			buf, pos = 0, 0
		}
	}
	if pos != 0 {
		return "", sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid base64 end sequence").
			WithHint("Input data is missing padding, is truncated, or is otherwise corrupted.")
	}
	return string(out), nil
}

func decodeEscape(s string) (string, error) {
	octal := func(c byte, top byte) bool { return c >= '0' && c <= top }
	var out []byte
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\':
			out = append(out, s[i])
		case i+3 < len(s) && octal(s[i+1], '3') && octal(s[i+2], '7') && octal(s[i+3], '7'):
			out = append(out, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
			i += 3
		case i+1 < len(s) && s[i+1] == '\\':
			out = append(out, '\\')
			i++
		default:
			return "", sqlerr.Newf(sqlerr.InvalidTextRepresentation, "invalid input syntax for type bytea")
		}
	}
	return string(out), nil
}

func bitIndex(b string, n int64) error {
	if limit := int64(len(b)) * 8; n < 0 || n >= limit {
		return sqlerr.Newf(sqlerr.ArraySubscriptError, "index %d out of valid range, 0..%d", n, limit-1)
	}
	return nil
}

func byteIndex(b string, n int64) error {
	if n < 0 || n >= int64(len(b)) {
		return sqlerr.Newf(sqlerr.ArraySubscriptError, "index %d out of valid range, 0..%d", n, len(b)-1)
	}
	return nil
}

// convertible maps the encodings that are known to whether text in them is UTF-8.
func encodingName(name string) (string, bool) {
	switch n := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name)); n {
	case "utf8", "unicode":
		return "utf8", true
	case "latin1", "iso88591":
		return "latin1", true
	case "sqlascii":
		return "ascii", true
	}
	return "", false
}

func convertFrom(b, enc string) (string, error) {
	name, ok := encodingName(enc)
	if !ok {
		return "", sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid source encoding name \"%s\"", enc)
	}
	if name == "latin1" {
		var out strings.Builder
		for i := range len(b) {
			out.WriteRune(rune(b[i]))
		}
		return out.String(), nil
	}
	if i := strings.IndexByte(b, 0); i >= 0 {
		return "", sqlerr.Newf(sqlerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": 0x00")
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRuneInString(b[i:])
		if r == utf8.RuneError && n == 1 {
			return "", sqlerr.Newf(sqlerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": %s", badSequence(b[i:]))
		}
		i += n
	}
	return b, nil
}

// badSequence prints the bytes that do not make a character, as many as the first promises.
func badSequence(b string) string {
	n := 1
	switch c := b[0]; {
	case c&0xe0 == 0xc0:
		n = 2
	case c&0xf0 == 0xe0:
		n = 3
	case c&0xf8 == 0xf0:
		n = 4
	}
	var out []string
	for i := range min(n, len(b)) {
		out = append(out, "0x"+hex.EncodeToString([]byte{b[i]}))
	}
	return strings.Join(out, " ")
}

func convertTo(s, enc string) (string, error) {
	name, ok := encodingName(enc)
	if !ok {
		return "", sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid destination encoding name \"%s\"", enc)
	}
	if name != "latin1" {
		return s, nil
	}
	out := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			var seq []string
			for _, c := range []byte(string(r)) {
				seq = append(seq, "0x"+hex.EncodeToString([]byte{c}))
			}
			return "", sqlerr.Newf(sqlerr.UntranslatableCharacter,
				"character with byte sequence %s in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\"", strings.Join(seq, " "))
		}
		out = append(out, byte(r))
	}
	return string(out), nil
}

func addBytesKernels(t table) {
	t.add("encode(bytea,text)", binaryErr(encode))
	t.add("decode(text,text)", binaryErr(decode))
	t.add("convert_from(bytea,name)", binaryErr(convertFrom))
	t.add("convert_to(text,name)", binaryErr(convertTo))
	t.add("convert(bytea,name,name)", datums(func(_ *genCall, a []types.Datum) (types.Datum, error) {
		s, err := convertFrom(a[0].S, a[1].S)
		if err == nil {
			s, err = convertTo(s, a[2].S)
		}
		return types.DStr(s), err
	}))
	t.add("length(bytea,name)", binaryErr(func(b, enc string) (int64, error) {
		s, err := convertFrom(b, enc)
		return int64(utf8.RuneCountInString(s)), err
	}))
	t.add("bit_count(bytea)", unary(func(b string) int64 {
		n := 0
		for i := range len(b) {
			n += bits.OnesCount8(b[i])
		}
		return int64(n)
	}))
	t.add("get_bit(bytea,int8)", binaryErr(func(b string, n int64) (int64, error) {
		if err := bitIndex(b, n); err != nil {
			return 0, err
		}
		return int64(b[n/8] >> (n % 8) & 1), nil
	}))
	t.add("get_byte(bytea,int4)", binaryErr(func(b string, n int64) (int64, error) {
		if err := byteIndex(b, n); err != nil {
			return 0, err
		}
		return int64(b[n]), nil
	}))
	t.add("set_bit(bytea,int8,int4)", datums(func(_ *genCall, a []types.Datum) (types.Datum, error) {
		b, n, v := a[0].S, a[1].I, a[2].I
		if err := bitIndex(b, n); err != nil {
			return types.Null, err
		}
		if v != 0 && v != 1 {
			return types.Null, sqlerr.Newf(sqlerr.InvalidParameterValue, "new bit must be 0 or 1")
		}
		c := []byte(b)
		c[n/8] = c[n/8]&^(1<<(n%8)) | byte(v)<<(n%8)
		return types.DStr(string(c)), nil
	}))
	t.add("set_byte(bytea,int4,int4)", datums(func(_ *genCall, a []types.Datum) (types.Datum, error) {
		b, n, v := a[0].S, a[1].I, a[2].I
		if err := byteIndex(b, n); err != nil {
			return types.Null, err
		}
		c := []byte(b)
		c[n] = byte(v)
		return types.DStr(string(c)), nil
	}))
}
