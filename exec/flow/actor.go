package flow

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/storage"
)

// ActorID identifies an actor for the life of the process.
type ActorID = checkpoint.ActorID

// Actor is one parallel instance of a fragment: one goroutine that takes events from its inbox and
// pushes them through its operators.
type actor struct {
	id   ActorID
	job  *deployed
	frag *Fragment
	// index is the actor's number among the frag.Parallel actors of its fragment.
	index int
	// as is who the actor is for those that it sends to, the same after each restart; gen is the generation of everything
	// that it sends.
	as   channel.ProducerID
	gen  channel.Generation
	in   *inbox
	gate *gate
	// root is the end of the coordinator and the writers of a table, who feed actors without producers.
	root  *feed
	disp  *dispatcher
	rt    *Runtime
	chain *chain
	// metering has the meters of the operators.
	metering metering
	// tables are the state tables that the operators have opened.
	tables []*storage.StateTable
	// dues are when the operators are due that depend on time.
	dues []*due
	// passed is the newest epoch whose barrier the actor has passed.
	passed atomic.Uint64
	// from is the epoch of its first barrier, 0 before that is injected.
	from atomic.Uint64
	// commits: some operator wants to know of checkpoints that are saved.
	commits atomic.Bool
	// last is set when the barrier that removes the actor has passed.
	last bool
	// loop is set if the actor is part of a loop.
	loop *looped
	// rowErrors takes what fails; nil: nobody does. rowErrorsDue asks for a barrier, nil: there is no need.
	rowErrors    RowErrors
	rowErrorsDue *due
}

// closeInputs ends what the actor takes from.
func (a *actor) closeInputs() {
	a.in.close()
	a.loop.close()
}

// run works until the actor is removed or the runtime stops. A panic is reported as a failure of
// the actor's job.
func (a *actor) run() {
	defer func() {
		if r := recover(); r != nil {
			a.rt.fail(a, fmt.Errorf("panic: %v\n%s", r, debug.Stack()))
		}
		if a.chain != nil {
			a.chain.close()
		}
		a.gate.close()
		for _, d := range a.dues {
			d.forget()
		}
		a.forgetRowErrors()
		a.rt.ended(a)
		a.job.running.Done()
	}()
	var err error
	switch {
	case a.frag.Source != nil:
		err = a.runSource()
	case a.frag.Loop != nil:
		err = a.runLoopHead()
	case a.loop != nil:
		err = a.runLoopBody()
	default:
		err = a.runGate()
	}
	if err != nil && !errors.Is(err, errStopped) {
		a.rt.fail(a, err)
	}
}

// open makes the actor's operators, whose output goes to out.
func (a *actor) open(out exec.Output) error {
	root, err := a.frag.Root(a.index)
	if err != nil {
		return err
	}
	if a.job.job.RowErrors != nil {
		a.rowErrors = a.job.job.RowErrors()
	}
	a.chain = &chain{meter: &a.metering}
	if f := a.rt.cfg.Fault; f != nil {
		a.chain.fault = func(operator string) { f(a.job.id(), a.id, operator) }
	}
	if f := a.rt.cfg.Watch; f != nil {
		a.chain.watch = func(operator string) Watcher { return f(a.job.job.Name, a.id, operator) }
	}
	return a.chain.open(root, len(a.frag.Inputs), out, a.context)
}

func (a *actor) runGate() error {
	if a.frag.Root != nil {
		if err := a.open(a.disp); err != nil {
			return err
		}
		a.commits.Store(slices.ContainsFunc(a.chain.ops, func(op exec.Operator) bool {
			_, ok := op.(CheckpointSaved)
			return ok
		}))
	}
	for !a.last {
		ms, err := a.in.take()
		if err != nil {
			return err
		}
		if ms == nil {
			<-a.in.wake
			continue
		}
		for _, m := range ms {
			if m.saved != 0 {
				if err := a.saved(m.saved); err != nil {
					return err
				}
				continue
			}
			if err := a.gate.deliver(m, a); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *actor) chunk(port int, p *parcel) error {
	if len(a.frag.Inputs) == 0 {
		a.rt.inputArrived()
	}
	if a.chain == nil {
		p.refs.Add(1)
		return a.disp.own(p)
	}
	return a.chain.entries[port].Chunk(p.chunk)
}

func (a *actor) watermark(port int, w exec.Watermark) error {
	if a.chain == nil {
		return a.disp.Watermark(w)
	}
	return a.chain.entries[port].Watermark(w)
}

func (a *actor) barrier(b exec.Barrier) error {
	if a.chain == nil {
		if err := a.disp.Barrier(b); err != nil {
			return err
		}
	} else {
		for _, e := range a.chain.entries {
			if err := e.Barrier(b); err != nil {
				return err
			}
		}
		for _, op := range a.chain.selfs {
			if err := op.Barrier(b); err != nil {
				return err
			}
		}
	}
	if err := a.endRowErrors(b); err != nil {
		return err
	}
	a.report(b)
	if a.last || a.chain == nil {
		return nil
	}
	for _, c := range a.chain.continuers {
		if err := c.AfterBarrier(b); err != nil {
			return err
		}
	}
	return nil
}

// openState opens a state table whose dirty part the actor hands over at checkpoints.
func (a *actor) openState(id storage.TableID) (*storage.StateTable, error) {
	t, err := a.rt.cfg.Store.StateTable(id)
	if err != nil {
		return nil, fmt.Errorf("state table %d: %w", id, err)
	}
	a.tables = append(a.tables, t)
	return t, nil
}

// context makes what an operator of this actor gets from its surroundings.
func (a *actor) context(op string) *exec.Context {
	return &exec.Context{
		Ctx:    a.job.ctx,
		Logger: a.rt.cfg.Logger.With("job", a.job.job.Name, "operator", op),
		State: func(name string) exec.StateTable {
			id := a.job.job.StateID(fmt.Sprintf("%d/%s/%s", a.frag.ID, op, name))
			t, err := a.openState(id)
			if err != nil {
				// The disk cannot be read. It ends the actor, as every failure of its state does.
				panic(err)
			}
			return t
		},
		RowError:     a.rowError(op),
		SkipFailed:   a.job.job.SkipFailed,
		Late:         a.job.job.Late,
		ChunkSize:    a.rt.cfg.ChunkSize,
		MemoryBudget: a.rt.cfg.MemoryBudget,
		Memory:       a.rt.cfg.Memory,
		Env:          a.job.job.Env,
		Due:          a.due(),
	}
}

// due gives an operator's way of saying when it is due.
func (a *actor) due() func(at int64) {
	var d *due
	return func(at int64) {
		if d == nil {
			d = a.rt.time.register()
			a.dues = append(a.dues, d)
		}
		d.set(at)
	}
}
