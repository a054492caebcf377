package connector

import (
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Parser reads options by name. The first mistake is kept and given by Done, so that a connector asks
// for all of its options in a row and checks once:
//
//	p := connector.Parse(`connector "file"`, cfg.Options)
//	path := p.Required("path")
//	follow := p.Bool("follow", false)
//	if err := p.Done(); err != nil { ... }
//
// Messages and SQLSTATEs are those of PostgreSQL's COPY and storage options.
type Parser struct {
	owner string
	opts  map[string]Option
	order []Option
	known map[string]bool
	err   error
}

// Parse begins to read opts; owner names the place in messages.
func Parse(owner string, opts []Option) *Parser {
	p := &Parser{owner: owner, opts: make(map[string]Option, len(opts)), order: opts, known: map[string]bool{}}
	for _, o := range opts {
		if _, dup := p.opts[o.Name]; dup {
			p.fail(sqlerr.New(sqlerr.SyntaxError, o.Pos, "conflicting or redundant options"))
			continue
		}
		p.opts[o.Name] = o
	}
	return p
}

func (p *Parser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// Fail reports a mistake in the value of an option that the caller found itself.
func (p *Parser) Fail(name, format string, args ...any) {
	pos := sqlerr.NoPos
	if o, ok := p.opts[name]; ok {
		pos = o.Pos
	}
	p.fail(sqlerr.New(sqlerr.InvalidParameterValue, pos, format, args...))
}

// Has tells whether an option is given.
func (p *Parser) Has(name string) bool {
	p.known[name] = true
	_, ok := p.opts[name]
	return ok
}

// lookup gives the option if it is there with a value.
func (p *Parser) lookup(name string) (Option, bool) {
	if !p.Has(name) {
		return Option{}, false
	}
	o := p.opts[name]
	if !o.IsSet {
		p.fail(sqlerr.New(sqlerr.SyntaxError, o.Pos, "%s requires a parameter", name))
		return Option{}, false
	}
	return o, true
}

// Required gives the text of an option that must be there and not be empty.
func (p *Parser) Required(name string) string {
	if !p.Has(name) {
		p.fail(sqlerr.Newf(sqlerr.SyntaxError, "%s requires option %q", p.owner, name))
		return ""
	}
	o, ok := p.lookup(name)
	if ok && o.Value == "" {
		p.fail(sqlerr.New(sqlerr.InvalidParameterValue, o.Pos, "option %q must not be empty", name))
	}
	return o.Value
}

// Text gives the text of an option, or def.
func (p *Parser) Text(name, def string) string {
	if o, ok := p.lookup(name); ok {
		return o.Value
	}
	return def
}

// OneOf gives an option that has one of some values (case does not matter), or def.
func (p *Parser) OneOf(name, def string, values ...string) string {
	o, ok := p.lookup(name)
	if !ok {
		return def
	}
	for _, v := range values {
		if strings.EqualFold(v, o.Value) {
			return v
		}
	}
	e := sqlerr.New(sqlerr.InvalidParameterValue, o.Pos, "invalid value for enum option %q: %s", name, o.Value)
	p.fail(e.WithDetail("Valid values are %s.", quotedList(values)))
	return def
}

func quotedList(values []string) string {
	q := make([]string, len(values))
	for i, v := range values {
		q[i] = strconv.Quote(v)
	}
	if len(q) < 2 {
		return strings.Join(q, "")
	}
	return strings.Join(q[:len(q)-1], ", ") + " and " + q[len(q)-1]
}

// Bool gives an option that is true or false in any of PostgreSQL's spellings; a bare name is true.
func (p *Parser) Bool(name string, def bool) bool {
	if !p.Has(name) {
		return def
	}
	o := p.opts[name]
	if !o.IsSet {
		return true
	}
	v, ok := ParseBool(o.Value)
	if !ok {
		p.fail(sqlerr.New(sqlerr.InvalidParameterValue, o.Pos, "invalid value for boolean option %q: %s", name, o.Value))
	}
	return v
}

// ParseBool reads a boolean as PostgreSQL's settings do: a unique prefix of true, false, yes, no, on
// and off, or 1 and 0.
func ParseBool(s string) (value, ok bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "" {
		return false, false
	}
	switch {
	case strings.HasPrefix("true", s), strings.HasPrefix("yes", s), s == "on", s == "1":
		return true, true
	case strings.HasPrefix("false", s), strings.HasPrefix("no", s), s == "of", s == "off", s == "0":
		return false, true
	}
	return false, false
}

// Int gives a whole number between lo and hi, or def.
func (p *Parser) Int(name string, def, lo, hi int64) int64 {
	o, ok := p.lookup(name)
	if !ok {
		return def
	}
	n, err := strconv.ParseInt(strings.TrimSpace(o.Value), 10, 64)
	if err != nil {
		if ne, isNum := err.(*strconv.NumError); !isNum || ne.Err != strconv.ErrRange {
			p.fail(sqlerr.New(sqlerr.InvalidParameterValue, o.Pos, "invalid value for integer option %q: %s", name, o.Value))
			return def
		}
	}
	if err != nil || n < lo || n > hi {
		e := sqlerr.New(sqlerr.InvalidParameterValue, o.Pos, "value %s out of bounds for option %q", o.Value, name)
		if hi == math.MaxInt64 {
			p.fail(e.WithDetail("The smallest valid value is \"%d\".", lo))
		} else {
			p.fail(e.WithDetail("Valid values are between \"%d\" and \"%d\".", lo, hi))
		}
		return def
	}
	return n
}

// Float gives a number between lo and hi, or def.
func (p *Parser) Float(name string, def, lo, hi float64) float64 {
	o, ok := p.lookup(name)
	if !ok {
		return def
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(o.Value), 64)
	switch {
	case err != nil || math.IsNaN(x):
		p.fail(sqlerr.New(sqlerr.InvalidParameterValue, o.Pos, "invalid value for floating point option %q: %s", name, o.Value))
		return def
	case x < lo || x > hi:
		p.fail(sqlerr.New(sqlerr.InvalidParameterValue, o.Pos, "value %s out of bounds for option %q", o.Value, name).
			WithDetail("Valid values are between \"%g\" and \"%g\".", lo, hi))
		return def
	}
	return x
}

// Byte gives an option that is a single one-byte character, or def.
func (p *Parser) Byte(name string, def byte) byte {
	o, ok := p.lookup(name)
	if !ok {
		return def
	}
	if len(o.Value) != 1 {
		p.fail(sqlerr.New(sqlerr.FeatureNotSupported, o.Pos, "COPY %s must be a single one-byte character", name))
		return def
	}
	return o.Value[0]
}

// Done gives the first mistake, which may be an option that nobody asked for.
func (p *Parser) Done() error {
	for _, o := range p.order {
		if p.known[o.Name] {
			continue
		}
		names := make([]string, 0, len(p.known))
		for n := range p.known {
			names = append(names, n)
		}
		sort.Strings(names)
		e := sqlerr.New(sqlerr.SyntaxError, o.Pos, "option %q not recognized", o.Name)
		if len(names) == 0 {
			return e.WithHint("There are no valid options of %s.", p.owner)
		}
		return e.WithHint("Valid options of %s are: %s.", p.owner, strings.Join(names, ", "))
	}
	return p.err
}
