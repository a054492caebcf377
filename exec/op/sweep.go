package op

import (
	"slices"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage/keycodec"
)

// Cleaning by watermarks. What is below a watermark does not change any more, and operators forget it. They look through
// all of their state for that, so they do it when so much has been added since the last time that it pays: the work for an
// entry is bounded, and so is what is kept in vain, to as much as is needed.

// sweeper tells when state is to be looked through.
type sweeper struct {
	// made is how many entries were added since the last time, kept how many there were after it.
	made, kept int
}

// minSweep is how many new entries are worth looking at.
const minSweep = 256

// due tells whether it is time, at a barrier: with a state table only at checkpoints, when everything is in it.
func (s *sweeper) due(bar exec.Barrier, st exec.StateTable) bool {
	return s.made >= max(minSweep, s.kept) && (st == nil || bar.Checkpoint)
}

// done says how many entries are left.
func (s *sweeper) done(kept int) { s.made, s.kept = 0, kept }

// keysBelow lists the keys of a state table whose column k, of those that the keys begin with, is below w, and counts
// the others.
func keysBelow(st exec.StateTable, ts []types.Type, k int, w int64) (below [][]byte, others int, err error) {
	err = st.Scan(nil, func(key, _ []byte) error {
		rest := key[1:]
		for i, t := range ts[:k+1] {
			d, r, err := keycodec.DecodeDatum(rest, t, false)
			if err != nil {
				return err
			}
			if rest = r; i == k && d.Valid && d.I < w {
				below = append(below, slices.Clone(key))
				return nil
			}
		}
		others++
		return nil
	})
	return below, others, err
}

// deleteBelow deletes what keysBelow lists, and gives the number of the others.
func deleteBelow(st exec.StateTable, ts []types.Type, k int, w int64) (int, error) {
	if st == nil {
		return 0, nil
	}
	below, others, err := keysBelow(st, ts, k, w)
	for _, key := range below {
		st.Delete(key)
	}
	return others, err
}

// sweep forgets the entries whose key column k is below w. Nothing may be dirty nor touched.
func (g *groupTable) sweep(k int, w int64) error {
	left, err := deleteBelow(g.st, g.keyTypes, k, w)
	if err != nil {
		return err
	}
	var gone []uint32
	col := &g.store.cols[k]
	for e := range g.store.n {
		if g.store.live.get(e) && !col.isNull(e) && *col.words.at(e) < w {
			gone = append(gone, e)
		}
	}
	g.drop(gone)
	g.sweeper.done(max(left, g.store.count()))
	return nil
}
