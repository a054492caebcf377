package types

import (
	"math"
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/sqlerr"
)

// JSONPathExpr is a parsed jsonpath. A value of type jsonpath is the text that String gives.
type JSONPathExpr struct {
	Strict bool
	root   *pathNode
}

// pathOp says what a node of a path is.
type pathOp uint8

const (
	poNull pathOp = iota
	poBool
	poNumber
	poString
	poVariable
	poRoot
	poCurrent
	poLast
	poKey
	poAnyKey
	poAnyArray
	poIndex
	poAny
	poFilter
	poMethod
	poNot
	poIsUnknown
	poExists
	poLikeRegex
	poStartsWith
	poAnd
	poOr
	poEqual
	poNotEqual
	poLess
	poGreater
	poLessEqual
	poGreaterEqual
	poAdd
	poSub
	poMul
	poDiv
	poMod
	poPlus
	poMinus
)

var pathSymbols = map[pathOp]string{
	poAnd: "&&", poOr: "||", poEqual: "==", poNotEqual: "!=", poLess: "<", poGreater: ">", poLessEqual: "<=",
	poGreaterEqual: ">=", poAdd: "+", poSub: "-", poMul: "*", poDiv: "/", poMod: "%", poPlus: "+", poMinus: "-",
	poStartsWith: "starts with",
}

// pathNode is an item of a path; next is what is applied to its result.
type pathNode struct {
	op   pathOp
	str  string // of strings, keys, variables, methods and patterns
	num  Decimal
	flag bool
	// left and right are operands; left is also the argument of filters and methods.
	left, right *pathNode
	subs        []pathRange
	// first and last are the levels of **.
	first, last uint32
	flags       string
	next        *pathNode
}

// pathRange is a subscript; to is nil if it is one element.
type pathRange struct{ from, to *pathNode }

const anyLevel = math.MaxUint32

// ParseJSONPath reads a jsonpath. Errors are Postgres's.
func ParseJSONPath(s string) (*JSONPathExpr, error) {
	p := &pathParser{s: s}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok == ptEnd {
		return nil, sqlerr.Newf(sqlerr.InvalidTextRepresentation, "invalid input syntax for type jsonpath: \"%s\"", s)
	}
	path := &JSONPathExpr{}
	if p.word("strict") || p.word("lax") {
		path.Strict = p.word("strict")
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.tok != ptEnd {
		return nil, p.syntax()
	}
	path.root = n
	return path, checkPath(n, 0, false)
}

// checkPath refuses @ outside of filters and last outside of subscripts.
func checkPath(n *pathNode, filters int, subscript bool) error {
	for ; n != nil; n = n.next {
		switch n.op {
		case poCurrent:
			if filters == 0 {
				return sqlerr.Newf(sqlerr.SyntaxError, "@ is not allowed in root expressions")
			}
		case poLast:
			if !subscript {
				return sqlerr.Newf(sqlerr.SyntaxError, "LAST is allowed only in array subscripts")
			}
		}
		in := filters
		if n.op == poFilter {
			in++
		}
		for _, x := range []*pathNode{n.left, n.right} {
			if err := checkPath(x, in, subscript); err != nil {
				return err
			}
		}
		for _, r := range n.subs {
			if err := checkPath(r.from, filters, true); err != nil {
				return err
			}
			if err := checkPath(r.to, filters, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// String prints the path as Postgres does.
func (p *JSONPathExpr) String() string {
	var b []byte
	if p.Strict {
		b = append(b, "strict "...)
	}
	return string(p.root.append(b, false, true))
}

func (op pathOp) priority() int {
	switch op {
	case poOr:
		return 0
	case poAnd:
		return 1
	case poEqual, poNotEqual, poLess, poGreater, poLessEqual, poGreaterEqual, poStartsWith:
		return 2
	case poAdd, poSub:
		return 3
	case poMul, poDiv, poMod:
		return 4
	case poPlus, poMinus:
		return 5
	}
	return 6
}

// append prints the node and what follows. In a key a member begins with a dot; brackets are put around operators.
func (n *pathNode) append(b []byte, key, brackets bool) []byte {
	operand := func(x *pathNode) { b = x.append(b, false, x.op.priority() <= n.op.priority()) }
	open := func() {
		if brackets {
			b = append(b, '(')
		}
	}
	end := func() {
		if brackets {
			b = append(b, ')')
		}
	}
	dot := func() {
		if key {
			b = append(b, '.')
		}
	}
	switch n.op {
	case poNull:
		b = append(b, "null"...)
	case poBool:
		b = strconv.AppendBool(b, n.flag)
	case poNumber:
		if n.next != nil {
			b = append(b, '(')
		}
		b = n.num.AppendText(b)
		if n.next != nil {
			b = append(b, ')')
		}
	case poString:
		b = AppendJSONString(b, n.str)
	case poVariable:
		b = AppendJSONString(append(b, '$'), n.str)
	case poRoot:
		b = append(b, '$')
	case poCurrent:
		b = append(b, '@')
	case poLast:
		b = append(b, "last"...)
	case poKey:
		dot()
		b = AppendJSONString(b, n.str)
	case poAnyKey:
		dot()
		b = append(b, '*')
	case poAnyArray:
		b = append(b, "[*]"...)
	case poIndex:
		b = append(b, '[')
		for i, r := range n.subs {
			if i > 0 {
				b = append(b, ',')
			}
			b = r.from.append(b, false, false)
			if r.to != nil {
				b = r.to.append(append(b, " to "...), false, false)
			}
		}
		b = append(b, ']')
	case poAny:
		dot()
		b = append(b, "**"...)
		if n.first != 0 || n.last != anyLevel {
			b = append(b, '{')
			b = appendLevel(b, n.first)
			if n.first != n.last {
				b = appendLevel(append(b, " to "...), n.last)
			}
			b = append(b, '}')
		}
	case poFilter:
		b = append(n.left.append(append(b, "?("...), false, false), ')')
	case poMethod:
		b = append(append(append(b, '.'), n.str...), '(')
		if n.left != nil {
			b = n.left.append(b, false, false)
		}
		b = append(b, ')')
	case poNot:
		b = append(n.left.append(append(b, "!("...), false, false), ')')
	case poIsUnknown:
		b = append(n.left.append(append(b, '('), false, false), ") is unknown"...)
	case poExists:
		b = append(n.left.append(append(b, "exists ("...), false, false), ')')
	case poLikeRegex:
		open()
		operand(n.left)
		b = AppendJSONString(append(b, " like_regex "...), n.str)
		if n.flags != "" {
			b = append(append(append(b, ` flag "`...), n.flags...), '"')
		}
		end()
	case poPlus, poMinus:
		open()
		b = append(b, pathSymbols[n.op]...)
		operand(n.left)
		end()
	default:
		open()
		operand(n.left)
		b = append(append(append(b, ' '), pathSymbols[n.op]...), ' ')
		operand(n.right)
		end()
	}
	if n.next != nil {
		b = n.next.append(b, true, true)
	}
	return b
}

func appendLevel(b []byte, n uint32) []byte {
	if n == anyLevel {
		return append(b, "last"...)
	}
	return strconv.AppendUint(b, uint64(n), 10)
}

// pathLikeFlags gives the flags of like_regex in their order, once each.
func pathLikeFlags(s string) (string, error) {
	for i := range len(s) {
		switch s[i] {
		case 'i', 's', 'm', 'q':
		case 'x':
			return "", sqlerr.Newf(sqlerr.FeatureNotSupported, "XQuery \"x\" flag (expanded regular expressions) is not implemented")
		default:
			return "", sqlerr.Newf(sqlerr.SyntaxError, "invalid input syntax for type jsonpath").
				WithDetail("Unrecognized flag character \"%s\" in LIKE_REGEX predicate.", s[i:i+1])
		}
	}
	var out []byte
	for _, c := range "ismq" {
		if strings.ContainsRune(s, c) {
			out = append(out, byte(c))
		}
	}
	return string(out), nil
}
