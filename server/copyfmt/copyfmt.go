// Package copyfmt reads and writes the text, CSV and binary formats of COPY (PostgreSQL manual, "COPY",
// section "File Formats"). It knows fields, not types.
package copyfmt

import (
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/sqlerr"
)

// Options are the format options of COPY.
type Options struct {
	CSV    bool
	Binary bool
	Header bool
	// Match: the header must name the columns (HEADER MATCH).
	Match         bool
	Delim         byte
	Quote, Escape byte
	Null          string
	// ForceQuote, ForceNotNull and ForceNull list columns; a ForceQuote of "*" means all.
	ForceQuote, ForceNotNull, ForceNull []string
}

// ParseOptions checks the options of a statement.
func ParseOptions(opts []ast.Option, to bool) (Options, error) {
	o := Options{Delim: '\t', Null: `\N`}
	seen := map[string]bool{}
	var delim, quote, escape, null *string
	for i := range opts {
		op := &opts[i]
		if seen[op.Name] {
			return o, sqlerr.New(sqlerr.SyntaxError, op.Pos, "conflicting or redundant options")
		}
		seen[op.Name] = true
		switch op.Name {
		case "format":
			switch op.Value {
			case "text":
			case "csv":
				o.CSV = true
			case "binary":
				o.Binary = true
			default:
				return o, sqlerr.New(sqlerr.InvalidParameterValue, op.Pos, "COPY format %q not recognized", op.Value)
			}
		case "header":
			switch strings.ToLower(op.Value) {
			case "", "true", "on", "1":
				o.Header = true
			case "false", "off", "0":
			case "match":
				if to {
					return o, sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot use \"match\" with HEADER in COPY TO")
				}
				o.Header, o.Match = true, true
			default:
				return o, sqlerr.New(sqlerr.SyntaxError, op.Pos, "header requires a Boolean value or \"match\"")
			}
		case "delimiter":
			delim = &op.Value
		case "quote":
			quote = &op.Value
		case "escape":
			escape = &op.Value
		case "null":
			null = &op.Value
		case "force_quote":
			o.ForceQuote = columns(op.Value)
		case "force_not_null":
			o.ForceNotNull = columns(op.Value)
		case "force_null":
			o.ForceNull = columns(op.Value)
		case "encoding":
			if e := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(op.Value)); e != "utf8" && e != "unicode" {
				return o, sqlerr.New(sqlerr.InvalidParameterValue, op.Pos, "argument to option \"encoding\" must be a valid encoding name")
			}
		case "freeze":
			// It says how rows are stored, which means nothing here.
		default:
			return o, sqlerr.New(sqlerr.SyntaxError, op.Pos, "option %q not recognized", op.Name)
		}
	}
	return o, o.finish(delim, quote, escape, null)
}

func columns(v string) []string {
	parts := strings.Split(v, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// finish applies the single-character options and checks that all fit together.
func (o *Options) finish(delim, quote, escape, null *string) error {
	if o.Binary {
		switch {
		case delim != nil:
			return sqlerr.Newf(sqlerr.SyntaxError, "cannot specify DELIMITER in BINARY mode")
		case null != nil:
			return sqlerr.Newf(sqlerr.SyntaxError, "cannot specify NULL in BINARY mode")
		case o.Header:
			return sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot specify HEADER in BINARY mode")
		}
	}
	if o.CSV {
		o.Delim, o.Null, o.Quote, o.Escape = ',', "", '"', '"'
	}
	one := func(dst *byte, v *string, what string) error {
		if v == nil {
			return nil
		}
		if len(*v) != 1 {
			return sqlerr.Newf(sqlerr.FeatureNotSupported, "COPY %s must be a single one-byte character", what)
		}
		*dst = (*v)[0]
		return nil
	}
	if err := one(&o.Delim, delim, "delimiter"); err != nil {
		return err
	}
	if !o.CSV {
		switch {
		case quote != nil:
			return sqlerr.Newf(sqlerr.FeatureNotSupported, "COPY quote available only in CSV mode")
		case escape != nil:
			return sqlerr.Newf(sqlerr.FeatureNotSupported, "COPY escape available only in CSV mode")
		case o.ForceQuote != nil:
			return sqlerr.Newf(sqlerr.FeatureNotSupported, "COPY force quote available only in CSV mode")
		case o.ForceNotNull != nil:
			return sqlerr.Newf(sqlerr.FeatureNotSupported, "COPY force not null available only in CSV mode")
		case o.ForceNull != nil:
			return sqlerr.Newf(sqlerr.FeatureNotSupported, "COPY force null available only in CSV mode")
		case strings.IndexByte("\\.abcdefghijklmnopqrstuvwxyz0123456789", o.Delim) >= 0:
			return sqlerr.Newf(sqlerr.InvalidParameterValue, "COPY delimiter cannot be %q", string(o.Delim))
		}
	} else {
		if err := one(&o.Quote, quote, "quote"); err != nil {
			return err
		}
		o.Escape = o.Quote
		if err := one(&o.Escape, escape, "escape"); err != nil {
			return err
		}
	}
	if null != nil {
		o.Null = *null
	}
	switch {
	case o.Delim == '\n' || o.Delim == '\r':
		return sqlerr.Newf(sqlerr.InvalidParameterValue, "COPY delimiter cannot be newline or carriage return")
	case strings.ContainsAny(o.Null, "\r\n"):
		return sqlerr.Newf(sqlerr.InvalidParameterValue, "COPY null representation cannot use newline or carriage return")
	case o.CSV && o.Delim == o.Quote:
		return sqlerr.Newf(sqlerr.InvalidParameterValue, "COPY delimiter and quote must be different")
	case strings.IndexByte(o.Null, o.Delim) >= 0:
		return sqlerr.Newf(sqlerr.InvalidParameterValue, "COPY delimiter must not appear in the NULL specification")
	case o.CSV && strings.IndexByte(o.Null, o.Quote) >= 0:
		return sqlerr.Newf(sqlerr.InvalidParameterValue, "CSV quote character must not appear in the NULL specification")
	}
	return nil
}
