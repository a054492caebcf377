package op

import (
	"encoding/binary"

	"github.com/weirdb/weir/exec/vec"
)

// bitAgg is bit_and, bit_or and bit_xor: for every bit, the number of inputs that have it, so that
// inputs can be taken back.
type bitAgg struct {
	tab   *groupTable
	name  string
	state paged[bitState]
}

type bitState struct {
	n    int64
	ones [64]int64
}

func (a *bitAgg) attach(tab *groupTable) { a.tab = tab }

func (a *bitAgg) add(b *aggBatch) error {
	v := b.args[0]
	for i, e := range b.ents {
		if v.Nulls.Get(i) {
			continue
		}
		s, d := a.state.at(e), b.diff(i)
		s.n += d
		for bit := range s.ones {
			if v.Int[i]>>bit&1 != 0 {
				s.ones[bit] += d
			}
		}
	}
	return nil
}

func (a *bitAgg) results(ents []uint32, dst *vec.Vector) error {
	for _, e := range ents {
		s := a.state.at(e)
		if s.n == 0 {
			dst.AppendNull()
			continue
		}
		var x int64
		for bit, ones := range s.ones {
			if a.name == "bit_and" && ones == s.n || a.name == "bit_or" && ones > 0 || a.name == "bit_xor" && ones&1 != 0 {
				x |= 1 << bit
			}
		}
		dst.AppendInt(x)
	}
	return nil
}

func (a *bitAgg) reset(e uint32) {
	a.state.ensure(e + 1)
	*a.state.at(e) = bitState{}
}

func (a *bitAgg) bytes() int { return a.tab.store.count() * 65 * 8 }

func (a *bitAgg) encode(e uint32, dst []byte) []byte {
	s := a.state.at(e)
	dst = binary.AppendVarint(dst, s.n)
	for _, x := range s.ones {
		dst = binary.AppendVarint(dst, x)
	}
	return dst
}

func (a *bitAgg) decode(e uint32, b []byte) ([]byte, error) {
	s := a.state.at(e)
	var err error
	if s.n, b, err = takeVarint(b); err != nil {
		return nil, err
	}
	for i := range s.ones {
		if s.ones[i], b, err = takeVarint(b); err != nil {
			return nil, err
		}
	}
	return b, nil
}
