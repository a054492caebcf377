package sim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weirdb/weir/checkpoint"
)

// medium is the disk of the store: two records that are replaced as a whole, and blobs.
type medium struct {
	state checkpoint.KeeperState
	blobs map[string][]byte
	// full: nothing can be written.
	full bool
	// corrupt are blobs that cannot be read.
	corrupt map[string]bool
}

func (m *medium) init() { m.blobs, m.corrupt = map[string][]byte{}, map[string]bool{} }

var errDiskFull = errors.New("no space left on device")

func (m *medium) persistNumbers(n checkpoint.KeeperNumbers) error {
	if m.full {
		return errDiskFull
	}
	m.state.KeeperNumbers = n
	return nil
}

func (m *medium) persistList(w *world, list []checkpoint.CheckpointInfo) error {
	if m.full {
		return errDiskFull
	}
	old := m.state.Checkpoints
	m.state.Checkpoints = list
	if len(list) > 0 && (len(old) == 0 || old[0].Epoch < list[0].Epoch) {
		w.check.recorded(m.state)
	}
	return nil
}

func (m *medium) write(w *world, location string, data []byte) error {
	if m.full {
		return errDiskFull
	}
	if old, ok := m.blobs[location]; ok && string(old) != string(data) {
		w.fail("blob %s is written twice, differently", location)
	}
	m.blobs[location] = data
	return nil
}

func (m *medium) read(locations []string) ([][]byte, error) {
	var out [][]byte
	for _, l := range locations {
		b, ok := m.blobs[l]
		if !ok {
			return nil, fmt.Errorf("there is no blob %s", l)
		}
		if m.corrupt[l] {
			return nil, fmt.Errorf("blob %s: checksum mismatch", l)
		}
		out = append(out, b)
	}
	return out, nil
}

func (m *medium) remove(w *world, locations []string) {
	if w.cfg.Bug == CleanNeeded {
		// It takes one along that the newest checkpoint has.
		for _, s := range m.state.Checkpoints[0].States {
			if s.Location != "" {
				locations = append(slices.Clone(locations), s.Location)
				break
			}
		}
	}
	for _, l := range locations {
		delete(m.blobs, l)
	}
}

func (m *medium) locations() []string {
	var ls []string
	for l := range m.blobs {
		ls = append(ls, l)
	}
	slices.Sort(ls)
	return ls
}

// stateOf gives the states of an actor at a checkpoint, oldest first.
func (m *medium) stateOf(st checkpoint.KeeperState, a checkpoint.ActorID, e checkpoint.Epoch) ([][]byte, error) {
	var out [][]byte
	for e != 0 {
		i := slices.IndexFunc(st.Checkpoints, func(c checkpoint.CheckpointInfo) bool { return c.Epoch == e })
		if i < 0 {
			return nil, fmt.Errorf("checkpoint %d is needed and gone", e)
		}
		c := st.Checkpoints[i]
		var own [][]byte
		for _, s := range c.States {
			if s.Actor != a {
				continue
			}
			b := s.Inline
			if s.Location != "" {
				var ok bool
				if b, ok = m.blobs[s.Location]; !ok {
					return nil, fmt.Errorf("checkpoint %d: blob %s is gone", e, s.Location)
				}
			}
			own = append(own, b)
		}
		out = slices.Concat(own, out)
		e = c.Parent
	}
	return out, nil
}

// target is what the sinks write to: a system with transactions that can be committed by name.
type target struct {
	w        *world
	prepared map[txName][]entryOf
	// committed has what became of a transaction that is no longer prepared: its rows, or nil if it was aborted.
	committed map[txName]bool
	fences    map[checkpoint.ActorID]uint32
	counts    map[rowID]entryOf
	rows      int
}

func (t *target) init(w *world) {
	t.w = w
	t.prepared, t.committed = map[txName][]entryOf{}, map[txName]bool{}
	t.fences, t.counts = map[checkpoint.ActorID]uint32{}, map[rowID]entryOf{}
}

// fence keeps older generations of a sink from preparing anything, and gives what they have prepared.
func (t *target) fence(sink checkpoint.ActorID, gen uint32) []txName {
	t.fences[sink] = max(t.fences[sink], gen)
	var names []txName
	for n := range t.prepared {
		if n.sink == sink && uint32(n.gen) < gen {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, func(a, b txName) int {
		if a.gen != b.gen {
			return int(a.gen) - int(b.gen)
		}
		return int(a.epoch) - int(b.epoch)
	})
	return names
}

// prepare makes a transaction that can be committed by name, unless the generation is fenced.
func (t *target) prepare(n txName, rows []entryOf) bool {
	if uint32(n.gen) < t.fences[n.sink] {
		return false
	}
	t.prepared[n] = rows
	return true
}

// commit makes a prepared transaction visible; again, it does nothing.
func (t *target) commit(n txName) {
	if done, ok := t.committed[n]; ok {
		if !done && !t.w.fellBack {
			t.w.fail("I22: %v is committed after it was aborted", n)
		}
		return
	}
	rows, ok := t.prepared[n]
	if !ok {
		t.w.fail("I22: %v is committed, and was never prepared", n)
		return
	}
	if !t.w.check.knows[n] {
		t.w.fail("I22: %v is committed, and no recorded checkpoint has it", n)
		return
	}
	delete(t.prepared, n)
	t.committed[n] = true
	t.w.say("target: %v is committed, %d rows", n, len(rows))
	for _, r := range rows {
		if _, twice := t.counts[r.id]; twice {
			if t.w.fellBack {
				continue // what a checkpoint had that is lost was committed already
			}
			t.w.fail("exactly once: row %v is twice in the output", r.id)
			return
		}
		t.counts[r.id] = r
		t.rows++
	}
}

// abort drops a prepared transaction.
func (t *target) abort(n txName) {
	if _, ok := t.prepared[n]; !ok {
		return
	}
	if t.w.check.knows[n] && !t.w.fellBack {
		t.w.fail("I22: %v is aborted, and a recorded checkpoint has it", n)
	}
	delete(t.prepared, n)
	t.committed[n] = false
	t.w.say("target: %v is aborted", n)
}
