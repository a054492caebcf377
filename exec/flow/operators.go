package flow

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
)

// OperatorInfo is what an operator of a job has done since its actors were started, all of them together.
type OperatorInfo struct {
	Job      JobID
	JobName  string
	Fragment int
	// Name identifies the operator within its fragment.
	Name string
	// Actors is how many instances it has.
	Actors int
	// RowsIn and RowsOut count rows of changes, whatever their diff. What passes through a leaf of the fragment is
	// in RowsIn.
	RowsIn, RowsOut int64
	// Busy is the time that it worked, without its consumers. It is an estimate: of chunks only some are timed.
	Busy time.Duration
}

// timedChunks is how many chunks of an actor there are to one that is timed. Barriers, at which many operators do
// most of their work, all are.
const timedChunks = 16

// meter counts what an operator instance does. Its actor adds, others read.
type meter struct {
	name            string
	rowsIn, rowsOut atomic.Int64
	// within is the time in the operator and its consumers, below that in the consumers, in nanoseconds.
	within, below atomic.Int64
}

// metering is what the meters of one actor share: how much the time that is taken now stands for, 0 if none is taken.
type metering struct {
	weight int64
	turns  int
	meters atomic.Pointer[[]*meter]
}

// time adds the time that f takes to n.
func (m *metering) time(n *atomic.Int64, f func() error) error {
	if m.weight == 0 {
		return f()
	}
	began := time.Now()
	err := f()
	n.Add(m.weight * int64(time.Since(began)))
	return err
}

// whole runs f, which is timed.
func (m *metering) whole(f func() error) error {
	m.weight = 1
	defer func() { m.weight = 0 }()
	return f()
}

// entry is where input enters the tree: it decides what is timed.
type entry struct {
	exec.Output
	by *metering
}

func (e *entry) Chunk(c *vec.Chunk) error {
	if e.by.turns++; e.by.turns%timedChunks != 0 {
		return e.Output.Chunk(c)
	}
	e.by.weight = timedChunks
	defer func() { e.by.weight = 0 }()
	return e.Output.Chunk(c)
}

func (e *entry) Barrier(b exec.Barrier) error {
	return e.by.whole(func() error { return e.Output.Barrier(b) })
}

// meteredContinuer and meteredSelf are operators at what no input of theirs brings.
type meteredContinuer struct {
	Continuer
	of *meter
	by *metering
}

func (c *meteredContinuer) AfterBarrier(b exec.Barrier) error {
	return c.by.whole(func() error {
		return c.by.time(&c.of.within, func() error { return c.Continuer.AfterBarrier(b) })
	})
}

type meteredSelf struct {
	exec.Operator
	of *meter
	by *metering
}

func (s *meteredSelf) Barrier(b exec.Barrier) error {
	return s.by.whole(func() error {
		return s.by.time(&s.of.within, func() error { return s.Operator.Barrier(b) })
	})
}

// metered is the output of an operator, on its way to the consumer.
type metered struct {
	exec.Output
	of *meter
	by *metering
}

func (o *metered) Chunk(c *vec.Chunk) error {
	o.of.rowsOut.Add(int64(c.Len()))
	if o.by.weight == 0 {
		return o.Output.Chunk(c)
	}
	return o.by.time(&o.of.below, func() error { return o.Output.Chunk(c) })
}

func (o *metered) Barrier(b exec.Barrier) error {
	return o.by.time(&o.of.below, func() error { return o.Output.Barrier(b) })
}

// Operators lists the operators of all jobs, by job, fragment and name.
func (r *Runtime) Operators() []OperatorInfo {
	type key struct {
		job      JobID
		fragment int
		name     string
	}
	all := map[key]*OperatorInfo{}
	r.jobsMu.RLock()
	defer r.jobsMu.RUnlock()
	for id, d := range r.jobs {
		for _, as := range d.actors {
			for _, a := range as {
				ms := a.metering.meters.Load()
				if ms == nil {
					continue
				}
				for _, m := range *ms {
					k := key{id, a.frag.ID, m.name}
					o := all[k]
					if o == nil {
						o = &OperatorInfo{Job: id, JobName: d.job.Name, Fragment: a.frag.ID, Name: m.name}
						all[k] = o
					}
					o.Actors++
					o.RowsIn += m.rowsIn.Load()
					o.RowsOut += m.rowsOut.Load()
					o.Busy += time.Duration(max(0, m.within.Load()-m.below.Load()))
				}
			}
		}
	}
	out := make([]OperatorInfo, 0, len(all))
	for _, o := range all {
		out = append(out, *o)
	}
	slices.SortFunc(out, func(a, b OperatorInfo) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Fragment, b.Fragment), cmp.Compare(a.Name, b.Name))
	})
	return out
}
