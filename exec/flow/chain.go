package flow

import (
	"fmt"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
)

// Node is an operator in the tree of a fragment, or with Op nil a leaf: input number Input of the actor.
// An operator without In, such as Values, is driven by barriers alone.
type Node struct {
	Op exec.Operator
	// Name identifies the operator within its fragment; its state tables are named after it.
	Name  string
	In    []*Node
	Input int
	// Unseen: what the operator emits changes rows that it has not emitted itself, as on a side of a join that is read from
	// elsewhere. It is not watched.
	Unseen bool
}

// Continuer is an operator that goes on with work of its own after a barrier, until it wants the next
// one: AfterBarrier is called once the actor has reported the barrier; what it emits belongs to
// the next epoch.
type Continuer interface {
	AfterBarrier(b exec.Barrier) error
}

// chain is the wired tree of one actor.
type chain struct {
	// entries has the entry of each input: the same input may feed one leaf only.
	entries []exec.Output
	// selfs are operators without inputs: a barrier is all that they get.
	selfs      []exec.Operator
	ops        []exec.Operator
	continuers []Continuer
	// fault is called before an operator gets something; nil but in tests.
	fault func(operator string)
	// watch gives who is shown what an operator emits; nil but in tests.
	watch func(operator string) Watcher
	// meter counts what the operators do; its meters are those of ops.
	meter  *metering
	meters []*meter
}

// Watcher is shown what an operator emits, before the consumer is: for tests that check it. Chunks are valid
// during the call only.
type Watcher interface {
	Chunk(c *vec.Chunk)
	Barrier(b exec.Barrier)
}

// watched shows everything that passes to a Watcher.
type watched struct {
	exec.Output
	by Watcher
}

func (w *watched) Chunk(c *vec.Chunk) error {
	w.by.Chunk(c)
	return w.Output.Chunk(c)
}

func (w *watched) Barrier(b exec.Barrier) error {
	w.by.Barrier(b)
	return w.Output.Barrier(b)
}

// faulty calls fault before everything that passes.
type faulty struct {
	exec.Output
	fault func()
}

func (f *faulty) Chunk(c *vec.Chunk) error {
	f.fault()
	return f.Output.Chunk(c)
}

func (f *faulty) Barrier(b exec.Barrier) error {
	f.fault()
	return f.Output.Barrier(b)
}

// link is the connection from a child (or an input) to port number port of an operator. It is the
// child's Output.
type link struct {
	op   exec.Operator
	port int
	// join counts the barriers of an operator with several ports, shared by their links.
	join *barrierJoin
	of   *meter
	by   *metering
}

type barrierJoin struct{ ports, seen int }

func (l *link) Chunk(c *vec.Chunk) error {
	if c.Len() == 0 {
		return nil
	}
	l.of.rowsIn.Add(int64(c.Len()))
	if l.by.weight == 0 {
		return l.op.Chunk(l.port, c)
	}
	return l.by.time(&l.of.within, func() error { return l.op.Chunk(l.port, c) })
}
func (l *link) Watermark(w exec.Watermark) error { return l.op.Watermark(l.port, w) }

// Barrier calls the operator once all of its ports have had the barrier: what each child emits at
// the barrier comes first.
func (l *link) Barrier(b exec.Barrier) error {
	if l.join != nil {
		l.join.seen++
		if l.join.seen < l.join.ports {
			return nil
		}
		l.join.seen = 0
	}
	return l.by.time(&l.of.within, func() error { return l.op.Barrier(b) })
}

// open opens the operators of a tree, consumers first. What was opened is closed by close, also after
// an error.
func (c *chain) open(root *Node, inputs int, out exec.Output, context func(name string) *exec.Context) error {
	c.entries = make([]exec.Output, inputs)
	if err := c.wire(root, out, context); err != nil {
		return err
	}
	for i, e := range c.entries {
		if e == nil {
			return fmt.Errorf("flow: input %d has no leaf", i)
		}
	}
	c.meter.meters.Store(&c.meters)
	return nil
}

func (c *chain) wire(n *Node, out exec.Output, context func(string) *exec.Context) error {
	if n.Op == nil {
		if n.Input < 0 || n.Input >= len(c.entries) {
			return fmt.Errorf("flow: a leaf for input %d of %d", n.Input, len(c.entries))
		}
		if c.entries[n.Input] != nil {
			return fmt.Errorf("flow: input %d has two leaves", n.Input)
		}
		c.entries[n.Input] = &entry{Output: out, by: c.meter}
		return nil
	}
	m := &meter{name: n.Name}
	c.meters = append(c.meters, m)
	out = &metered{Output: out, of: m, by: c.meter}
	if c.watch != nil && !n.Unseen {
		if w := c.watch(n.Name); w != nil {
			out = &watched{Output: out, by: w}
		}
	}
	if err := n.Op.Open(context(n.Name), out); err != nil {
		return fmt.Errorf("open %s: %w", n.Name, err)
	}
	c.ops = append(c.ops, n.Op)
	if k, ok := n.Op.(Continuer); ok {
		c.continuers = append(c.continuers, &meteredContinuer{Continuer: k, of: m, by: c.meter})
	}
	if len(n.In) == 0 {
		c.selfs = append(c.selfs, &meteredSelf{Operator: n.Op, of: m, by: c.meter})
	}
	var join *barrierJoin
	if len(n.In) > 1 {
		join = &barrierJoin{ports: len(n.In)}
	}
	for i, in := range n.In {
		var to exec.Output = &link{op: n.Op, port: i, join: join, of: m, by: c.meter}
		if c.fault != nil {
			to = &faulty{Output: to, fault: func() { c.fault(n.Name) }}
		}
		if err := c.wire(in, to, context); err != nil {
			return err
		}
	}
	return nil
}

func (c *chain) close() {
	for _, op := range c.ops {
		op.Close()
	}
}
