package copyfmt

import "bytes"

// AppendRow appends a row with its line end. A nil value is NULL; force tells for each column whether it
// is quoted in any case (CSV), and may be nil.
func (o *Options) AppendRow(dst []byte, values [][]byte, force []bool) []byte {
	for i, v := range values {
		if i > 0 {
			dst = append(dst, o.Delim)
		}
		switch {
		case v == nil:
			dst = append(dst, o.Null...)
		case o.CSV:
			dst = o.appendCSV(dst, v, force != nil && force[i], len(values) == 1)
		default:
			dst = o.appendText(dst, v)
		}
	}
	return append(dst, '\n')
}

func (o *Options) appendText(dst, v []byte) []byte {
	for _, c := range v {
		switch c {
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\v':
			dst = append(dst, `\v`...)
		case '\\':
			dst = append(dst, `\\`...)
		case o.Delim:
			dst = append(dst, '\\', c)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func (o *Options) appendCSV(dst, v []byte, force, single bool) []byte {
	if !force && string(v) != o.Null && !(single && string(v) == `\.`) &&
		bytes.IndexByte(v, o.Delim) < 0 && bytes.IndexByte(v, o.Quote) < 0 &&
		bytes.IndexByte(v, '\n') < 0 && bytes.IndexByte(v, '\r') < 0 {
		return append(dst, v...)
	}
	dst = append(dst, o.Quote)
	for _, c := range v {
		if c == o.Quote || c == o.Escape {
			dst = append(dst, o.Escape)
		}
		dst = append(dst, c)
	}
	return append(dst, o.Quote)
}
