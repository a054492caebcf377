package flow

import (
	"slices"

	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// DistKind says to which consumers of an edge a row goes.
type DistKind uint8

// The distributions of an edge.
const (
	// ToSingle: there is one consumer, or all rows go to the first.
	ToSingle DistKind = iota
	// ToHash: the consumer that owns the vnode of the hash columns.
	ToHash
	// ToAll: every consumer gets every row.
	ToAll
	// ToPeer: producer i feeds consumer i.
	ToPeer
)

// Dist is the distribution of an edge; Cols, of the producer's output, are hashed for ToHash.
type Dist struct {
	Kind DistKind
	Cols []int
}

// Owner gives the index of the actor, of n, that owns a vnode.
func Owner(vnode uint8, n int) int { return int(vnode) * n / vec.VnodeCount }

// edge is one producer's end of the connection to a consumer fragment.
type edge struct {
	id   edgeID
	dist Dist
	// cols are the producer's columns that are sent, in order; nil for all.
	cols    []int
	targets []feed
	// owner and input say which input of which fragment the edge leads to.
	owner *Fragment
	input int
	// inner: producer and consumer are of one job, and so begin with the same barrier.
	inner bool
	// loop: it stays inside of a loop, see loop.go.
	loop bool
	// pool has the parcels for copies, views those that show columns of a parcel.
	pool, views *parcelPool
	view        vec.Chunk
	// ownerOf gives the target of each vnode, for ToHash. sel has room for the row numbers of each
	// target one after the other, and ends says where the next one goes.
	ownerOf [vec.VnodeCount]uint16
	sel     []int32
	ends    []int
}

// idleParcels is how many parcels an edge keeps for each consumer: as many as are usually under way.
const idleParcels = 6

// dispatcher is the output of an actor: it copies what the operators produce to the consumers.
type dispatcher struct {
	self  ActorID
	as    channel.ProducerID
	gen   channel.Generation
	types []types.Type
	size  int
	edges []*edge
	hash  []uint64
	// loop: the edges inside of a loop are this dispatcher's, else all others.
	loop bool
	// onChange is called when the set of edges has changed; may be nil.
	onChange func()
}

var _ exec.Output = (*dispatcher)(nil)

func (e *edge) init(ts []types.Type, size int) {
	sent := ts
	if e.cols != nil {
		sent = make([]types.Type, len(e.cols))
		for i, c := range e.cols {
			sent[i] = ts[c]
		}
	}
	e.pool = newParcelPool(sent, size, idleParcels*len(e.targets))
	e.views = newViewPool(idleParcels * len(e.targets))
	for v := range e.ownerOf {
		e.ownerOf[v] = uint16(Owner(uint8(v), len(e.targets)))
	}
	e.ends = make([]int, len(e.targets))
}

// Chunk copies the rows to the inboxes.
func (d *dispatcher) Chunk(c *vec.Chunk) error {
	if c.Len() == 0 {
		return nil
	}
	for _, e := range d.edges {
		if err := d.send(e, c); err != nil {
			return err
		}
	}
	return nil
}

func (d *dispatcher) send(e *edge, c *vec.Chunk) error {
	src := c
	if e.cols != nil {
		e.view.View(c, e.cols)
		src = &e.view
	}
	if e.partitions() {
		return d.partition(e, c, src)
	}
	p := e.pool.get()
	p.chunk.AppendRange(src, 0, src.Len())
	return e.post(p)
}

// partitions tells whether rows have to be separated by consumer.
func (e *edge) partitions() bool { return e.dist.Kind == ToHash && len(e.targets) > 1 }

// post sends one parcel to the target or targets.
func (e *edge) post(p *parcel) error {
	ts := e.targets
	if e.dist.Kind != ToAll {
		ts = ts[:1]
	}
	p.refs.Add(int32(len(ts)) - 1)
	for i := range ts {
		if err := ts[i].chunk(p); err != nil {
			return err
		}
	}
	return nil
}

// partition sends each row to the owner of its vnode, keeping the order per consumer.
func (d *dispatcher) partition(e *edge, c, src *vec.Chunk) error {
	d.hash = vec.HashCols(c, e.dist.Cols, d.hash)
	rows := len(d.hash)
	e.separate(d.hash)
	for i, end := range e.ends {
		sel := e.sel[i*rows : end]
		if len(sel) == 0 {
			continue
		}
		p := e.pool.get()
		p.chunk.AppendSel(src, sel)
		if err := e.targets[i].chunk(p); err != nil {
			return err
		}
	}
	return nil
}

// separate writes the row numbers of target number i, by hash, to sel[i*rows:ends[i]].
func (e *edge) separate(hash []uint64) {
	rows := len(hash)
	if need := rows * len(e.targets); cap(e.sel) < need {
		e.sel = make([]int32, need)
	}
	if len(e.targets) == 2 {
		// Each row is written for both targets, and the next one over it for the one that it is not
		// for: no branch to guess, and the ends stay in registers.
		a, b := e.sel[:rows], e.sel[rows:2*rows]
		na, nb := 0, 0
		for i, h := range hash {
			a[na], b[nb] = int32(i), int32(i)
			o := int(e.ownerOf[vec.Vnode(h)])
			na, nb = na+1-o, nb+o
		}
		e.ends[0], e.ends[1] = na, rows+nb
		return
	}
	for i := range e.ends {
		e.ends[i] = i * rows
	}
	for i, h := range hash {
		o := e.ownerOf[vec.Vnode(h)]
		e.sel[e.ends[o]] = int32(i)
		e.ends[o]++
	}
}

// own sends a parcel that the caller gives away, without copying where every consumer wants the rows
// whole. It consumes one reference of p.
func (d *dispatcher) own(p *parcel) error {
	defer p.release()
	if p.chunk.Len() == 0 {
		return nil
	}
	for _, e := range d.edges {
		if e.partitions() {
			if err := d.send(e, p.chunk); err != nil {
				return err
			}
			continue
		}
		q := p
		if e.cols != nil {
			q = e.views.show(p, e.cols)
		} else {
			p.refs.Add(1)
		}
		if err := e.post(q); err != nil {
			return err
		}
	}
	return nil
}

// Watermark passes a watermark to all consumers that get its column.
func (d *dispatcher) Watermark(w exec.Watermark) error {
	for _, e := range d.edges {
		col := w.Col
		if e.cols != nil {
			col = -1
			for i, c := range e.cols {
				if c == w.Col {
					col = i
				}
			}
		}
		if col < 0 {
			continue
		}
		for i := range e.targets {
			if err := e.targets[i].watermark(exec.Watermark{Col: col, Value: w.Value}); err != nil {
				return err
			}
		}
	}
	return nil
}

// attach adds the mutation's edges that have not been added yet, or only the inner ones of them; what is sent over them
// belongs to the epoch of the mutation's barrier. Inner edges are
// there before the first barrier: what operators emit at it (the one row of an aggregate without keys)
// has to reach the job's next fragments, while a job that starts to read another one's output must not
// see what went before.
func (d *dispatcher) attach(m *Mutation, epoch storage.Epoch, inner bool) (changed bool) {
	if m == nil {
		return false
	}
	for _, e := range m.addEdges[d.self] {
		if inner && !e.inner || e.loop != d.loop || slices.Contains(d.edges, e) {
			continue
		}
		e.init(d.types, d.size)
		for i := range e.targets {
			e.targets[i].start(d.as, d.gen, epoch)
		}
		d.edges = append(d.edges, e)
		changed = true
	}
	return changed
}

// Barrier passes the barrier to all consumers; edges that its mutation adds see it first, edges that
// it removes see it last.
func (d *dispatcher) Barrier(b exec.Barrier) error {
	m, _ := b.Mutation.(*Mutation)
	changed := d.attach(m, b.Epoch, false)
	for _, e := range d.edges {
		for i := range e.targets {
			if err := e.targets[i].barrier(&b); err != nil {
				return err
			}
		}
	}
	if m != nil && len(m.removeEdges) > 0 {
		kept := d.edges[:0]
		for _, e := range d.edges {
			if m.removeEdges[e.id] {
				changed = true
			} else {
				kept = append(kept, e)
			}
		}
		d.edges = kept
	}
	if changed && d.onChange != nil {
		d.onChange()
	}
	return nil
}

// needed lists the columns that some edge sends or hashes.
func (d *dispatcher) needed() []int {
	want := make([]bool, len(d.types))
	for _, e := range d.edges {
		if e.cols == nil {
			for i := range want {
				want[i] = true
			}
		}
		for _, c := range e.cols {
			want[c] = true
		}
		if e.dist.Kind == ToHash {
			for _, c := range e.dist.Cols {
				want[c] = true
			}
		}
	}
	cols := []int{}
	for i, w := range want {
		if w {
			cols = append(cols, i)
		}
	}
	return cols
}
