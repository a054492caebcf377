package flow

import (
	"sync"

	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/storage"
)

// AlignmentStats tells what aligning the barrier of an epoch took, over all actors that have passed it so far.
type AlignmentStats struct {
	Epoch storage.Epoch
	// Aligned are the bytes that were worked off between an actor's first and last barrier.
	Aligned int64
	// Buffered are the bytes that arrived early meanwhile, and Spilled those of them that went to disk.
	Buffered, Spilled int64
	// Most is the actor with the most of both, 0 if there were none.
	Most ActorID
}

// keptAlignments is how many epochs are remembered.
const keptAlignments = 1 << 10

// alignments adds up what the gates report. An epoch takes the place of the one keptAlignments before it.
type alignments struct {
	mu   sync.Mutex
	ring [keptAlignments]AlignmentStats
	most [keptAlignments]int64
}

// add adds what one actor's gate has had to do for a barrier that it has aligned. Actors that did not have to wait, nearly all
// of them, take no lock.
func (a *alignments) add(e storage.Epoch, id ActorID, s channel.Stats) {
	if s.Aligned == 0 && s.Buffered == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	i := e % keptAlignments
	if a.ring[i].Epoch > e {
		return
	}
	if a.ring[i].Epoch < e {
		a.ring[i], a.most[i] = AlignmentStats{Epoch: e}, 0
	}
	t := &a.ring[i]
	t.Aligned += s.Aligned
	t.Buffered += s.Buffered
	t.Spilled += s.Spilled
	if n := s.Aligned + s.Buffered; n > a.most[i] {
		a.most[i], t.Most = n, id
	}
}

// AlignmentStats gives what aligning the barrier of an epoch took; for one that took nothing, or was long ago, all is 0.
func (r *Runtime) AlignmentStats(e storage.Epoch) AlignmentStats {
	a := &r.aligned
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.ring[e%keptAlignments]; t.Epoch == e {
		return t
	}
	return AlignmentStats{Epoch: e}
}
