package flow

import (
	"bytes"
	"slices"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
)

// place is how far a leaf is that fills a job, in the job's state: of each split a flag that says that it has caught up, and the
// position. It goes with the checkpoint that has what the leaf has sent until then.
type place struct {
	st exec.StateTable
	// done: the last one that was loaded or saved has caught up.
	done bool
	// val is scratch, saved what the table has by split.
	val   []byte
	saved map[int][]byte
}

func (p *place) open(ctx *exec.Context) {
	p.st, p.saved = ctx.State("position"), map[int][]byte{}
}

// load gives the position of a split; false if there is none.
func (p *place) load(split int) (SplitPosition, bool, error) {
	val, ok, err := p.st.Get(splitKey(split))
	if err != nil || !ok {
		return SplitPosition{}, false, err
	}
	if len(val) == 0 || val[0] > 1 {
		return SplitPosition{}, false, vec.ErrCorruptRow
	}
	p.done = val[0] == 1
	p.saved[split] = slices.Clone(val)
	at, err := decodePosition(split, val[1:])
	return at, err == nil, err
}

// save puts the position of a split into the state, if it is another one.
func (p *place) save(at SplitPosition, done bool) {
	p.done = done
	p.val = append(p.val[:0], 0)
	if done {
		p.val[0] = 1
	}
	p.val = append(p.val, encodePosition(at)...)
	if !bytes.Equal(p.val, p.saved[at.Split]) {
		p.st.Put(splitKey(at.Split), p.val)
		p.saved[at.Split] = append(p.saved[at.Split][:0], p.val...)
	}
}
