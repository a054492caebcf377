package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
)

// Commit makes the definitions and what the transaction has written durable and visible, together. With an error nothing of it is, unless
// the incarnation has ended. The caller releases the locks and calls End.
func (b *Block) Commit(ctx context.Context) (err error) {
	i := b.i
	if err := b.x.EndTransaction(ctx, i.Rules(b.cat, i.stored())); err != nil {
		return i.Explain(err)
	}
	c := &blockCommit{b: b}
	defer func() {
		if err != nil {
			c.withdraw()
		}
	}()
	if err := c.prepare(ctx); err != nil {
		return err
	}
	if err := i.RT.Admit(ctx, b.x.Jobs()); err != nil {
		return i.Explain(err)
	}
	if err := c.commit(); err != nil {
		return err
	}
	b.undo, b.tables, b.base = nil, map[catalog.ID]*table.Table{}, c.final
	return c.finish(ctx)
}

// blockCommit is the commit of a block.
type blockCommit struct {
	b     *Block
	final *catalog.Catalog
	// made are the jobs that were deployed, the last one last.
	made []made
	ends []func()
	gone []*catalog.Relation
	// unnamed are the jobs of what was dropped and stays, because others take its rows.
	unnamed []flow.JobID
	after   []func()
}

type made struct {
	rel *catalog.Relation
	ids *stateIDs
	c   *creation
}

// prepare deploys what is new. Nothing of it is in a catalog.
func (c *blockCommit) prepare(ctx context.Context) error {
	b, i := c.b, c.b.i
	c.final = b.cat.Clone()
	for _, r := range b.base.Sorted() {
		switch now := c.final.Relations[r.ID]; {
		case now == nil:
			c.gone = append(c.gone, r)
		case now.Internal && !r.Internal:
			c.unnamed = append(c.unnamed, flow.JobID(r.ID))
		}
	}
	if err := i.try("deploy the tables of a block"); err != nil {
		return err
	}
	if err := c.deployTables(ctx); err != nil {
		return err
	}
	queries := 0
	for _, r := range c.final.Sorted() {
		if b.New(r.ID) && hasJob(r.Kind) && r.Kind != catalog.Table && r.Kind != catalog.Source {
			if err := c.deployQuery(ctx, r); err != nil {
				return err
			}
			queries++
		}
	}
	if queries > 0 || b.stored {
		// What was read of existing relations does not come from the log.
		// While the region of one of them is restarted there is no checkpoint, and that waits for this.
		wait, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		for _, m := range c.made {
			i.wg.Go(func() {
				select {
				case <-m.c.failed:
					cancel(flow.ErrRestarting)
				case <-wait.Done():
				}
			})
		}
		i.wg.Go(func() { i.watchRoom(wait, cancel) })
		err := i.RT.WaitDurable(wait, i.RT.Open())
		if why := context.Cause(wait); err != nil && why != nil {
			err = why
		}
		if err != nil && err != flow.ErrRestarting {
			return i.explain(err)
		}
	}
	for _, m := range c.made {
		select {
		case <-m.c.failed:
			return i.explainJob(m.rel, m.c, flow.ErrRestarting)
		default:
		}
	}
	return nil
}

// roomPoll is how often who waits for a checkpoint looks whether there is room for it.
const roomPoll = 20 * time.Millisecond

// watchRoom ends a wait for a checkpoint if there is no room for one on the disk, with error 53100.
func (i *Incarnation) watchRoom(wait context.Context, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(roomPoll)
	defer tick.Stop()
	for {
		select {
		case <-wait.Done():
			return
		case <-tick.C:
		}
		if err := i.Store.CheckRoom(); err != nil {
			cancel(err)
			return
		}
	}
}

// deployTables opens the tables that are new, and moves what the transaction has in them there.
func (c *blockCommit) deployTables(ctx context.Context) error {
	b, i := c.b, c.b.i
	var jobs []*flow.Job
	var tables []*table.Table
	for _, r := range c.final.Sorted() {
		p := b.tables[r.ID]
		if p == nil || !p.IsPrivate() {
			continue
		}
		for _, f := range slices.Clone(p.ForeignKeys()) {
			f.Unlink()
		}
		cr, end := i.create(r.ID)
		c.ends = append(c.ends, end)
		c.made = append(c.made, made{r, i.newStateIDs(r), cr})
		t, err := i.openTable(c.final, r)
		if err != nil {
			return err
		}
		t.Adopt(p.Counters())
		jobs, tables = append(jobs, i.tableJob(t)), append(tables, t)
	}
	if len(jobs) == 0 {
		return nil
	}
	defer i.forgetLinks()
	e, err := i.RT.Deploy(i.Ctx, flow.Save{}, jobs...)
	if err != nil {
		return i.explain(err)
	}
	if err := i.RT.Wait(i.Ctx, e); err != nil {
		return i.explain(err)
	}
	i.mu.Lock()
	for _, t := range tables {
		i.tables[t.Rel.ID] = t
	}
	i.mu.Unlock()
	i.linkAll()
	for _, t := range tables {
		if err := b.x.LockWhole(ctx, b.tables[t.Rel.ID]); err != nil {
			return err
		}
		p := b.tables[t.Rel.ID]
		b.x.Become(p, t)
		for _, f := range slices.Clone(p.Referrers()) {
			// Of tables that were there before.
			again, err := i.foreignKey(c.final, f.Child, c.final.RelationByID(f.Child.Rel.ID), f.Def)
			if err != nil {
				return err
			}
			before := *f
			f.Unlink()
			f.Retarget(again)
			f.Link(t)
			b.undo = append(b.undo, func() {
				f.Unlink()
				f.Retarget(&before)
				f.Link(p)
			})
		}
		b.undo = append(b.undo, func() {
			for _, f := range slices.Clone(t.ForeignKeys()) {
				f.Unlink()
			}
		})
	}
	return nil
}

// deployQuery deploys the job of an index or view, and awaits that it is filled.
func (c *blockCommit) deployQuery(ctx context.Context, r *catalog.Relation) error {
	i := c.b.i
	stream, err := i.PlanStream(c.final, r)
	if err != nil {
		return err
	}
	if err := i.awaitJobs(ctx, stream.Relations); err != nil {
		return err
	}
	ids, prog := i.newStateIDs(r), newProgress()
	job, err := i.buildStream(r, stream, ids, leaves{prog: prog, reads: map[catalog.ID]int{}})
	if err != nil {
		return errors.Join(err, i.discard(r, ids))
	}
	prog.all()
	cr, end := i.create(r.ID)
	c.ends = append(c.ends, end)
	i.show(cr, r, prog)
	e, err := i.RT.Deploy(i.Ctx, flow.Save{}, job)
	if err != nil {
		return errors.Join(i.explainJob(r, cr, err), i.discard(r, ids))
	}
	c.made = append(c.made, made{r, ids, cr})
	if err := i.awaitFilled(ctx, cr, prog, e); err != nil {
		return i.explainJob(r, cr, err)
	}
	n := *r
	n.StateTables = ids.all()
	c.final.Put(&n)
	c.after = append(c.after, func() { i.RT.Since(i.Store.Completed(), flow.JobID(r.ID)) })
	return nil
}

// withdraw takes back what was deployed.
func (c *blockCommit) withdraw() {
	i := c.b.i
	c.b.Back(Mark{})
	c.after = nil
	for _, m := range slices.Backward(c.made) {
		if err := i.withdraw(m.rel, m.ids, nil); err != nil && i.Ctx.Err() == nil {
			i.e.cfg.Logger.Warn("what a failed definition leaves behind stays until the next start", "event", "definition_stays", "error", err)
		}
	}
	for _, end := range c.ends {
		end()
	}
}

// commit writes the record.
func (c *blockCommit) commit() error {
	b, i := c.b, c.b.i
	unread, idle := i.unreadSources(c.final)
	b.drop = append(b.drop, unread...)
	i.mu.Lock()
	c.final.NextID = i.nextID
	i.mu.Unlock()
	c.final.Version = b.base.Version + 1
	op, err := encodeCatalog(c.final)
	if err != nil {
		return err
	}
	if err := i.try("log the definitions of a block"); err != nil {
		return err
	}
	if err := i.Store.CheckRoom(); err != nil {
		return err
	}
	var ids []catalog.ID
	for _, r := range c.gone {
		ids = append(ids, r.ID)
	}
	save := flow.Save{Meta: append(i.fresh(ids...), op)}
	i.setDropping(ids, true)
	old := map[catalog.ID]*table.Table{}
	i.mu.Lock()
	for _, p := range b.renewed {
		if id := p.Table().Rel.ID; b.tables[id] == p.Table() && !p.Table().IsPrivate() {
			old[id], i.tables[id] = i.tables[id], p.Table()
		}
	}
	i.mu.Unlock()
	err = b.x.CommitDefinitions(i.Store.Log(), i.RT, op.Value, save, func() { i.cat.Store(c.final) })
	if err != nil {
		i.mu.Lock()
		maps.Copy(i.tables, old)
		i.mu.Unlock()
		i.setDropping(ids, false)
		return i.explain(err)
	}
	for _, p := range b.renewed {
		p.Done()
	}
	for _, r := range c.gone {
		if t := i.Table(r.ID); t != nil {
			t.Drop()
		}
	}
	for _, f := range c.after {
		f()
	}
	c.after = nil
	for _, end := range c.ends {
		end()
	}
	c.ends = nil
	for _, f := range b.unforce {
		f()
	}
	b.idle = idle
	return nil
}

// finish takes what was dropped out of the graph. Everything has come to be, whatever becomes of that.
func (c *blockCommit) finish(ctx context.Context) error {
	b, i := c.b, c.b.i
	if len(c.gone) == 0 && len(b.drop) == 0 && len(b.idle) == 0 && len(c.unnamed) == 0 {
		return nil
	}
	return i.finish(ctx, func() error { return c.remove(i.Ctx) }, nil)
}

func (c *blockCommit) nameOf(id catalog.ID) string {
	for _, r := range c.gone {
		if r.ID == id {
			return r.Name
		}
	}
	return ""
}

// remove is the end of a commit that drops something.
func (c *blockCommit) remove(ctx context.Context) error {
	b, i := c.b, c.b.i
	jobs, drop := b.idle, b.drop
	var ids []catalog.ID
	for _, r := range c.gone {
		ids = append(ids, r.ID)
		jobs = append(jobs, flow.JobID(r.ID))
		drop = append(drop, table.Tables(r)...)
	}
	subJobs, subTables := i.endSubscriptions(slices.Concat(jobs, c.unnamed), func(_ *Subscription, id flow.JobID) error {
		return sqlerr.Newf(sqlerr.UndefinedTable, "the subscription was ended because %q was dropped", c.nameOf(catalog.ID(id)))
	})
	e, err := i.RT.Remove(ctx, flow.Save{Drop: append(drop, subTables...)}, append(jobs, subJobs...)...)
	if err == nil {
		err = i.RT.Wait(ctx, e)
	}
	if err != nil {
		// The catalog says that they are gone.
		if i.Ctx.Err() == nil {
			i.RT.GiveUp(err)
		}
		return ErrRestarted
	}
	i.forget(ids...)
	for _, id := range ids {
		i.e.step(failover.Forget{Jobs: []failover.JobID{failover.JobID(id)}})
	}
	for _, r := range c.gone {
		i.errs.forget(r)
	}
	if err := i.seqs.Retain(func(id catalog.ID) bool { return c.final.RelationByID(id) != nil }); err != nil && i.Ctx.Err() == nil {
		i.e.cfg.Logger.Warn("sequences of dropped tables stay", "event", "sequences_stay", "error", err)
	}
	return nil
}
