package expr

import (
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// onePass matches patterns in which the next character alone decides how a match goes on, such as (&|^)id=([^&]*), some ten times as
// fast as package regexp.
//
//  1. The program of the pattern is followed from each state through everything that consumes nothing; what it meets is the
//     state's edges, each with the groups that begin or end on the way. If two ways lead on with one character, or to an
//     end, there is no onePass.
//  2. A match is tried from each position at which one can begin. From there on there is at most one way; the last end on it is
//     that of the longest match.
//  3. Whoever tries too often (as a*b in a text of a's would) is given up: package regexp takes a time linear in the text.
//
// It is immutable. Texts are valid UTF-8.
type onePass struct {
	states []opState
	// begin is the state at the start of the text, later that at other places.
	begin, later int32
	// first has the bytes with which a match can begin at later places; every place may be one if empty. only is the byte
	// if there is just one, or -1.
	first [256]bool
	empty bool
	only  int
	caps  int // slots for groups, two each, with that of the whole match
}

type opState struct {
	ascii  [utf8.RuneSelf]int16 // edge, or -1
	ranges []opRange            // beyond ASCII
	edges  []opEdge
	// match: a match may end here, or at the end of the text; caps are the slots that are set then.
	match opMatch
	caps  []int
}

type opMatch uint8

const (
	opNoMatch opMatch = iota
	opEnd             // at the end of the text
	opAnywhere
)

type opRange struct {
	lo, hi rune
	edge   int16
}

type opEdge struct {
	to   int32
	caps []int
}

// opMaxStates bounds the size.
const opMaxStates = 300

// opBuilder makes a onePass.
type opBuilder struct {
	prog *syntax.Prog
	out  *onePass
	// byPC has the states behind a consumed character, todo those that are not worked out yet.
	byPC map[uint32]int32
	todo []uint32
	// For the present state: what has been met.
	seen map[uint32]bool
}

// newOnePass gives nil if the pattern, in the syntax of package regexp, is not of this kind.
func newOnePass(src string) *onePass {
	re, err := syntax.Parse(src, syntax.Perl)
	if err != nil {
		return nil
	}
	caps := 2 * (re.MaxCap() + 1)
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil
	}
	b := &opBuilder{prog: prog, out: &onePass{caps: caps}, byPC: map[uint32]int32{}}
	var ok [2]bool
	b.out.begin, ok[0] = b.state(uint32(prog.Start), true)
	b.out.later, ok[1] = b.state(uint32(prog.Start), false)
	if !ok[0] || !ok[1] {
		return nil
	}
	for len(b.todo) > 0 {
		pc := b.todo[0]
		b.todo = b.todo[1:]
		s, ok := b.build(pc, false)
		if !ok || len(b.out.states) > opMaxStates {
			return nil
		}
		b.out.states[b.byPC[pc]] = s
	}
	b.out.setFirst()
	return b.out
}

// state makes a state for itself.
func (b *opBuilder) state(pc uint32, atStart bool) (int32, bool) {
	s, ok := b.build(pc, atStart)
	b.out.states = append(b.out.states, s)
	return int32(len(b.out.states) - 1), ok
}

// after gives the state behind a consumed character.
func (b *opBuilder) after(pc uint32) int32 {
	id, ok := b.byPC[pc]
	if !ok {
		id = int32(len(b.out.states))
		b.out.states = append(b.out.states, opState{})
		b.byPC[pc] = id
		b.todo = append(b.todo, pc)
	}
	return id
}

func (b *opBuilder) build(pc uint32, atStart bool) (s opState, ok bool) {
	for i := range s.ascii {
		s.ascii[i] = -1
	}
	b.seen = map[uint32]bool{}
	return s, b.follow(&s, pc, atStart, false, nil)
}

// follow adds what can be reached from pc without a character. atEnd: only if the text ends here.
func (b *opBuilder) follow(s *opState, pc uint32, atStart, atEnd bool, caps []int) bool {
	if b.seen[pc] {
		return false
	}
	b.seen[pc] = true
	in := &b.prog.Inst[pc]
	switch in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		return b.follow(s, in.Out, atStart, atEnd, caps) && b.follow(s, in.Arg, atStart, atEnd, caps)
	case syntax.InstNop:
		return b.follow(s, in.Out, atStart, atEnd, caps)
	case syntax.InstCapture:
		return b.follow(s, in.Out, atStart, atEnd, append(caps[:len(caps):len(caps)], int(in.Arg)))
	case syntax.InstEmptyWidth:
		switch syntax.EmptyOp(in.Arg) {
		case syntax.EmptyBeginText:
			return !atStart || b.follow(s, in.Out, atStart, atEnd, caps)
		case syntax.EmptyEndText:
			return b.follow(s, in.Out, atStart, true, caps)
		}
		return false
	case syntax.InstMatch:
		if s.match != opNoMatch {
			return false
		}
		s.match, s.caps = opAnywhere, caps
		if atEnd {
			s.match = opEnd
		}
		return true
	case syntax.InstFail:
		return true
	}
	return atEnd || b.consume(s, in, caps)
}

// consume adds the edge of an instruction for characters.
func (b *opBuilder) consume(s *opState, in *syntax.Inst, caps []int) bool {
	edge := int16(len(s.edges))
	s.edges = append(s.edges, opEdge{b.after(in.Out), caps})
	for _, r := range runeRanges(in) {
		for c := r.lo; c <= min(r.hi, utf8.RuneSelf-1); c++ {
			if s.ascii[c] >= 0 && s.ascii[c] != edge {
				return false
			}
			s.ascii[c] = edge
		}
		if r.hi < utf8.RuneSelf {
			continue
		}
		r.lo, r.edge = max(r.lo, utf8.RuneSelf), edge
		for _, o := range s.ranges {
			if o.edge != edge && o.lo <= r.hi && r.lo <= o.hi {
				return false
			}
		}
		s.ranges = append(s.ranges, r)
	}
	return true
}

// runeRanges gives the characters of an instruction.
func runeRanges(in *syntax.Inst) []opRange {
	switch in.Op {
	case syntax.InstRuneAny:
		return []opRange{{lo: 0, hi: unicode.MaxRune}}
	case syntax.InstRuneAnyNotNL:
		return []opRange{{lo: 0, hi: '\n' - 1}, {lo: '\n' + 1, hi: unicode.MaxRune}}
	}
	if len(in.Rune) == 1 {
		r := in.Rune[0]
		out := []opRange{{lo: r, hi: r}}
		if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				out = append(out, opRange{lo: f, hi: f})
			}
		}
		return out
	}
	var out []opRange
	for i := 0; i+1 < len(in.Rune); i += 2 {
		out = append(out, opRange{lo: in.Rune[i], hi: in.Rune[i+1]})
	}
	return out
}

func (o *onePass) setFirst() {
	s := &o.states[o.later]
	o.empty = s.match != opNoMatch
	n := 0
	for c := range 256 {
		o.first[c] = c < utf8.RuneSelf && s.ascii[c] >= 0 || c >= utf8.RuneSelf && len(s.ranges) > 0
		if o.first[c] {
			n++
			o.only = c
		}
	}
	if n != 1 {
		o.only = -1
	}
}

// find looks for the first match and sets caps as package regexp does, or nothing if caps is nil. It gives up, with done = false, if it takes
// too long.
func (o *onePass) find(s string, caps []int) (found, done bool) {
	cur := make([]int, 0, 20)
	if caps != nil {
		for range o.caps {
			cur = append(cur, -1)
		}
	}
	left := 8*len(s) + 256
	for start := 0; start <= len(s); {
		st := &o.states[o.later]
		if start == 0 {
			st = &o.states[o.begin]
		} else if !o.empty {
			if start = o.next(s, start); start < 0 {
				return false, true
			}
		}
		pos := start
		for {
			if st.match == opAnywhere || st.match == opEnd && pos == len(s) {
				found = true
				if caps == nil {
					return true, true
				}
				copy(caps, cur)
				for _, k := range st.caps {
					caps[k] = pos
				}
				caps[0], caps[1] = start, pos
			}
			if pos == len(s) {
				break
			}
			edge, size := int16(-1), 1
			if c := s[pos]; c < utf8.RuneSelf {
				edge = st.ascii[c]
			} else {
				var r rune
				r, size = utf8.DecodeRuneInString(s[pos:])
				for i := range st.ranges {
					if g := &st.ranges[i]; g.lo <= r && r <= g.hi {
						edge = g.edge
						break
					}
				}
			}
			if edge < 0 {
				break
			}
			e := &st.edges[edge]
			if caps != nil {
				for _, k := range e.caps {
					cur[k] = pos
				}
			}
			pos += size
			st = &o.states[e.to]
		}
		if found {
			return true, true
		}
		if left -= pos - start + 1; left < 0 {
			return false, false
		}
		for i := range cur {
			cur[i] = -1
		}
		if start == len(s) {
			break
		}
		_, size := utf8.DecodeRuneInString(s[start:])
		start += size
	}
	return false, true
}

// next gives the next place from start on where a match can begin, or -1.
func (o *onePass) next(s string, start int) int {
	if o.only >= 0 {
		at := strings.IndexByte(s[start:], byte(o.only))
		if at < 0 {
			return -1
		}
		return start + at
	}
	for ; start < len(s); start++ {
		if o.first[s[start]] && utf8.RuneStart(s[start]) {
			return start
		}
	}
	return -1
}
