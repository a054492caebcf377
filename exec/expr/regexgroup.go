package expr

import (
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
)

// regexGroup is (regexp_match(text, pattern))[number] with constants: the text of a group, without an array of all of them.
type regexGroup struct {
	callNode
	re *regex
	// group is the group in question, or -1 if there is none.
	group int
	caps  []int
}

// regexGroups makes regexGroup where it can be, and what other makes elsewhere.
func regexGroups(other factory) factory {
	return func(c *compiler, call *scalar.Call, args []node) (node, error) {
		in, ok := args[0].(*general)
		number := args[1].info().con
		if !ok || in.fn.ID != "regexp_match(text,text)" || number == nil || !number.Valid {
			return other(c, call, args)
		}
		pat := in.args[1].info().con
		if pat == nil || !pat.Valid {
			return other(c, call, args)
		}
		re, err := compileRegex(pat.S, regexFlags{})
		if err != nil {
			return other(c, call, args) // which fails as it should
		}
		n := &regexGroup{callNode: newCallNode(call, in.args[:1]), re: re, group: -1}
		n.lazy = true
		groups := re.NumSubexp()
		switch i := number.I; {
		case groups == 0 && i == 1:
			n.group = 0
		case i >= 1 && i <= int64(groups):
			n.group = int(i)
		}
		n.caps = make([]int, 2*(groups+1))
		return n, nil
	}
}

func (n *regexGroup) eval(st *state, sel []int32) (*vec.Vector, error) {
	if err := n.start(st, sel); err != nil {
		return nil, err
	}
	in, out := n.argv[0], n.out.Str
	n.out.Nulls = append(n.out.Nulls[:0], in.Nulls...)
	return &n.out, st.rows(sel, func(i int) error {
		if in.Nulls.Get(i) {
			return nil
		}
		s := in.Str[i]
		m := n.match(s)
		if m == nil || n.group < 0 || m[2*n.group] < 0 {
			n.out.SetNull(i)
			return nil
		}
		out[i] = s[m[2*n.group]:m[2*n.group+1]]
		return nil
	})
}

// match gives the groups, until the next call.
func (n *regexGroup) match(s string) []int {
	if n.re.one != nil {
		// Slots that no state sets are those of groups that do not take part.
		if found, done := n.re.one.find(s, n.caps); done {
			if !found {
				return nil
			}
			return n.caps
		}
	}
	return n.re.Regexp.FindStringSubmatchIndex(s)
}
