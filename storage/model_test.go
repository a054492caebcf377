package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

var (
	seedFlag  = flag.Int64("seed", 0, "seed of a random test; 0 means the built-in ones")
	stepsFlag = flag.Int("steps", 1500, "steps of a random test")
)

// seeds gives the seeds that random tests run with.
func seeds(n int64) []int64 {
	if *seedFlag != 0 {
		return []int64{*seedFlag}
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i) + 1
	}
	return out
}

// repeat tells how to repeat a failed random test.
func repeat(t *testing.T, seed int64) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("repeat with: go test ./storage -run '^%s$' -seed %d -steps %d", strings.Split(t.Name(), "/")[0], seed, *stepsFlag)
		}
	})
}

type rows map[string]string

func (r rows) sorted(lo, hi []byte, reverse bool) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(r)) {
		if (lo == nil || k >= string(lo)) && (hi == nil || k < string(hi)) {
			out = append(out, k+"="+r[k])
		}
	}
	if reverse {
		slices.Reverse(out)
	}
	return out
}

// model is what a store should hold, kept naively.
type model struct {
	head      map[TableID]rows // arrangements, newest
	state     map[TableID]rows
	meta      rows
	epochs    map[Epoch]map[TableID]rows // sealed
	sealed    []ckpt                     // checkpoints that are not committed
	committed ckpt
}

type ckpt struct {
	epoch  Epoch
	arrs   map[TableID]rows
	state  map[TableID]rows
	meta   rows
	deltas []*Delta
	ops    []MetaOp
	drops  []TableID
}

func cloneAll(m map[TableID]rows) map[TableID]rows {
	out := map[TableID]rows{}
	for id, r := range m {
		out[id] = maps.Clone(r)
	}
	return out
}

// driver runs random operations on a store and its model.
type driver struct {
	t     *testing.T
	rng   *rand.Rand
	fs    vfs.FS
	s     *Store
	m     model
	epoch Epoch
	arrs  []TableID
	state map[TableID]*StateTable
	snaps []*Snapshot
	next  TableID
	// reset has the epoch in which an arrangement was reset last.
	reset map[TableID]Epoch
	// beforeCommit and afterCommit, if not nil, are told what is being committed.
	beforeCommit func(c *Commit, becomes ckpt)
	afterCommit  func()
}

func newDriver(t *testing.T, seed int64, fs vfs.FS) *driver {
	d := &driver{t: t, rng: rand.New(rand.NewSource(seed)), fs: fs, next: 1, reset: map[TableID]Epoch{}}
	d.m = model{head: map[TableID]rows{}, state: map[TableID]rows{}, meta: rows{}, epochs: map[Epoch]map[TableID]rows{}}
	d.m.committed = ckpt{arrs: map[TableID]rows{}, state: map[TableID]rows{}, meta: rows{}}
	d.open()
	for range 3 {
		d.newTable()
	}
	for range 2 {
		d.m.state[d.next] = rows{}
		d.openState(d.next)
		d.next++
	}
	return d
}

func testConfig(fs vfs.FS) Config {
	return Config{Dir: "db", FS: fs, CacheBytes: 1 << 20, MemTableBytes: 64 << 10, LogSegmentBytes: 2 << 10, ingestBytes: 600, manualRetain: true, blocks: blockConfig{minRows: 2, rows: 4, bytes: 60, gap: 1}, fold: foldConfig{
		minEntries: 4, tableBytes: 300, tableGroups: 4, onceBytes: 200, softBytes: 1 << 20, hardBytes: 1 << 20,
		batchEntries: 3, ingestBytes: 250, directBytes: 150, share: 1, manual: true,
	}}
}

func (d *driver) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *driver) open() {
	d.t.Helper()
	s, err := Open(testConfig(d.fs))
	d.must(err)
	d.s, d.state = s, map[TableID]*StateTable{}
}

func (d *driver) openState(id TableID) {
	st, err := d.s.StateTable(id)
	d.must(err)
	d.state[id] = st
}

func (d *driver) newTable() {
	d.arrs = append(d.arrs, d.next)
	d.m.head[d.next] = rows{}
	d.next++
}

func (d *driver) key() []byte {
	return []byte(fmt.Sprintf("k%0*d", 1+d.rng.Intn(2), d.rng.Intn(40)))
}

func (d *driver) val() []byte { return []byte(fmt.Sprintf("v%d", d.rng.Intn(1<<20))) }

func (d *driver) table() TableID { return d.arrs[d.rng.Intn(len(d.arrs))] }

func (d *driver) stateIDs() []TableID { return slices.Sorted(maps.Keys(d.m.state)) }

func (d *driver) apply() {
	d.applyTo(d.table(), d.changes())
}

// changes makes some changes: of any keys, or many rows in key order, often greater than all there are.
func (d *driver) changes() (cs []Change) {
	if d.rng.Intn(3) > 0 {
		for range d.rng.Intn(6) {
			cs = append(cs, Change{Key: d.key(), Value: d.val(), Delete: d.rng.Intn(3) == 0})
		}
		return cs
	}
	at := d.rng.Intn(40)
	for range 2 + d.rng.Intn(12) {
		if at += 1 + d.rng.Intn(3); at >= 100 {
			break
		}
		cs = append(cs, Change{Key: []byte(fmt.Sprintf("k%02d", at)), Value: d.val()})
	}
	return cs
}

func (d *driver) applyTo(id TableID, cs []Change) {
	for _, c := range cs {
		if c.Delete {
			delete(d.m.head[id], string(c.Key))
		} else {
			d.m.head[id][string(c.Key)] = string(c.Value)
		}
	}
	if a := d.s.Arrangement(id); !slices.ContainsFunc(cs, func(c Change) bool { return c.Delete }) {
		var buf []byte
		var ends []int
		for _, c := range cs {
			buf = append(buf, c.Key...)
			ends = append(ends, len(buf))
			buf = append(buf, c.Value...)
			ends = append(ends, len(buf))
		}
		a.Append(buf, ends)
	} else {
		a.Apply(cs)
	}
}

func (d *driver) put() {
	if d.rng.Intn(3) == 0 {
		d.insert()
		return
	}
	for range 1 + d.rng.Intn(4) {
		d.putOne()
	}
}

// insert sets many keys, as if the table had none of them, so that the next checkpoint may write them in key order. Whether it has
// them makes no difference.
func (d *driver) insert() {
	ids := d.stateIDs()
	id := ids[d.rng.Intn(len(ids))]
	t := d.state[id]
	for range 20 + d.rng.Intn(40) {
		if k, v := d.key(), d.val(); !changed(t.dirty, k) {
			t.Insert(k, v)
			d.m.state[id][string(k)] = string(v)
		}
	}
}

func (d *driver) putOne() {
	ids := d.stateIDs()
	id := ids[d.rng.Intn(len(ids))]
	k, v := d.key(), d.val()
	if d.rng.Intn(3) == 0 {
		d.state[id].Delete(k)
		delete(d.m.state[id], string(k))
		return
	}
	if t := d.state[id]; d.rng.Intn(2) == 0 && !changed(t.dirty, k) {
		t.Append(k, v)
	} else {
		t.Put(k, v)
	}
	d.m.state[id][string(k)] = string(v)
}

func changed(d *Delta, key []byte) bool {
	for i := range uint32(d.n) {
		if bytes.Equal(d.keyNo(i), key) {
			return true
		}
	}
	return false
}

func (d *driver) seal() {
	d.epoch += Epoch(1 + d.rng.Intn(2))
	checkpoint := d.rng.Intn(3) == 0
	for _, id := range d.arrs {
		d.s.Arrangement(id).Seal(d.epoch, checkpoint)
	}
	d.m.epochs[d.epoch] = cloneAll(d.m.head)
	if checkpoint {
		c := ckpt{epoch: d.epoch, arrs: cloneAll(d.m.head), state: cloneAll(d.m.state)}
		for _, id := range d.stateIDs() {
			c.deltas = append(c.deltas, d.state[id].Seal())
		}
		for range d.rng.Intn(3) {
			op := MetaOp{Key: d.key(), Value: d.val(), Delete: d.rng.Intn(4) == 0}
			c.ops = append(c.ops, op)
			if op.Delete {
				delete(d.m.meta, string(op.Key))
			} else {
				d.m.meta[string(op.Key)] = string(op.Value)
			}
		}
		c.meta = maps.Clone(d.m.meta)
		if d.rng.Intn(8) == 0 && len(d.arrs) > 1 {
			i := d.rng.Intn(len(d.arrs))
			id := d.arrs[i]
			c.drops = append(c.drops, id)
			d.arrs = slices.Delete(d.arrs, i, i+1)
			delete(d.m.head, id)
			delete(c.arrs, id)
			delete(d.m.epochs[d.epoch], id)
			d.newTable()
		}
		d.m.sealed = append(d.m.sealed, c)
	}
	if d.rng.Intn(4) > 0 {
		d.s.SetCompleted(d.epoch)
	}
}

func (d *driver) commit() error {
	if len(d.m.sealed) == 0 {
		return nil
	}
	// Sometimes one commit takes several checkpoints at once.
	n := 1 + d.rng.Intn(len(d.m.sealed))
	var c Commit
	for _, k := range d.m.sealed[:n] {
		c.Epoch = k.epoch
		c.Deltas = append(c.Deltas, k.deltas...)
		c.Meta = append(c.Meta, k.ops...)
		c.DropTables = append(c.DropTables, k.drops...)
	}
	if c.Epoch > d.s.Completed() {
		d.s.SetCompleted(c.Epoch)
	}
	if d.beforeCommit != nil {
		d.beforeCommit(&c, d.m.sealed[n-1])
	}
	if err := d.s.Commit(context.Background(), c); err != nil {
		return err
	}
	if d.afterCommit != nil {
		d.afterCommit()
	}
	d.m.committed = d.m.sealed[n-1]
	d.m.sealed = slices.Delete(d.m.sealed, 0, n)
	return nil
}

// restore makes the model what it was at the last commit, and reopens the store.
func (d *driver) reopen() {
	for _, sn := range d.snaps {
		sn.Release()
	}
	d.snaps = nil
	d.must(d.s.Close())
	d.open()
	d.resume(d.m.committed)
}

// resume sets the model to c, which the newly opened store must be at.
func (d *driver) resume(c ckpt) {
	d.t.Helper()
	d.m.committed = c
	d.m.sealed, d.m.epochs = nil, map[Epoch]map[TableID]rows{c.epoch: cloneAll(c.arrs)}
	d.m.head, d.m.state, d.m.meta = cloneAll(c.arrs), cloneAll(c.state), maps.Clone(c.meta)
	d.arrs = slices.Sorted(maps.Keys(c.arrs))
	d.epoch = c.epoch
	if len(d.arrs) == 0 {
		d.newTable()
	}
	if len(d.m.state) == 0 {
		d.m.state[d.next] = rows{}
		d.next++
	}
	for _, id := range d.stateIDs() {
		d.openState(id)
		if d.state[id].Empty() && len(d.m.state[id]) > 0 {
			d.t.Fatalf("state table %d: Empty() with %d keys", id, len(d.m.state[id]))
		}
	}
	if got := d.s.Checkpoint().Epoch; got != c.epoch {
		d.t.Fatalf("opened at checkpoint %d, want %d", got, c.epoch)
	}
	d.checkAll()
}

// checkForms: no key has both of the stored forms, and the blocks of a table do not overlap.
func (d *driver) checkForms() {
	d.t.Helper()
	it, err := d.s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{kindRows}, UpperBound: []byte{kindRows + 1}})
	d.must(err)
	table, last := TableID(0), ""
	for ok := it.First(); ok; ok = it.Next() {
		id := TableID(binary.BigEndian.Uint32(it.Key()[1:]))
		if id != table {
			table, last = id, ""
		}
		s, err := rowsAt(it)
		d.must(err)
		for i := range s.n {
			k := string(s.key(i))
			if k <= last && last != "" {
				d.t.Fatalf("table %d: key %q of a block after %q", id, k, last)
			}
			last = k
			if _, ok, err := getFrom(d.s.db, id, []byte(k)); ok || err != nil {
				d.t.Fatalf("table %d: key %q is in a block and by itself (%v)", id, k, err)
			}
		}
		if got := string(it.Key()[tablePrefixLen:]); got != last {
			d.t.Fatalf("table %d: block under %q ends with %q", id, got, last)
		}
	}
	d.must(it.Close())
}

// checkAll compares everything committed with the model.
func (d *driver) checkAll() {
	d.t.Helper()
	d.checkForms()
	sn, err := d.s.Latest()
	d.must(err)
	defer sn.Release()
	for id := TableID(0); id < d.next; id++ {
		if _, ok := d.m.state[id]; ok {
			continue
		}
		d.equal(fmt.Sprintf("table %d", id), d.iterate(sn.Table(id).Iterator(nil, nil, false)),
			d.m.epochs[sn.Epoch()][id].sorted(nil, nil, false))
	}
	for _, id := range d.stateIDs() {
		d.equal(fmt.Sprintf("state %d", id), d.scanState(id, nil, nil), d.m.state[id].sorted(nil, nil, false))
	}
	d.equal("meta", d.scanMeta(), d.m.committed.meta.sorted(nil, nil, false))
}

func (d *driver) scanMeta() []string {
	var got []string
	d.must(d.s.ScanMeta(nil, func(k, v []byte) error {
		got = append(got, string(k)+"="+string(v))
		return nil
	}))
	return got
}

func (d *driver) scanState(id TableID, lo, hi []byte) []string {
	var got []string
	d.must(d.state[id].ScanRange(lo, hi, func(k, v []byte) error {
		got = append(got, string(k)+"="+string(v))
		return nil
	}))
	return got
}

func (d *driver) iterate(it *Iterator) []string {
	var got []string
	for it.Next() {
		got = append(got, string(it.Key())+"="+string(it.Value()))
	}
	d.must(it.Close())
	return got
}

// seek walks an iterator by steps and by keys that ascend.
func (d *driver) seek(v *Version, want rows) {
	lo, hi := d.bounds()
	rest := want.sorted(lo, hi, false)
	it := v.Iterator(lo, hi, false)
	on := false
	for range 12 {
		var got bool
		if k := string(d.key()); d.rng.Intn(3) > 0 && (!on || len(rest) == 0 || k >= strings.SplitN(rest[0], "=", 2)[0]) {
			got = it.SeekGE([]byte(k))
			for len(rest) > 0 && strings.SplitN(rest[0], "=", 2)[0] < k {
				rest = rest[1:]
			}
		} else {
			got = it.Next()
			if on && len(rest) > 0 {
				rest = rest[1:]
			}
		}
		on = true
		if got != (len(rest) > 0) {
			d.t.Fatalf("[%s,%s): a row: %t; left %v", lo, hi, got, rest)
		}
		if !got {
			break
		}
		if row := string(it.Key()) + "=" + string(it.Value()); row != rest[0] {
			d.t.Fatalf("[%s,%s): on %s, want %s", lo, hi, row, rest[0])
		}
	}
	d.must(it.Close())
}

func (d *driver) equal(what string, got, want []string) {
	d.t.Helper()
	if !slices.Equal(got, want) {
		d.t.Fatalf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func (d *driver) bounds() (lo, hi []byte) {
	if d.rng.Intn(2) == 0 {
		lo = d.key()
	}
	if d.rng.Intn(2) == 0 {
		hi = d.key()
	}
	return lo, hi
}

// fold brings some of a state table into key order, and sometimes gives up in the middle.
func (d *driver) fold() {
	ids := d.stateIDs()
	t := d.s.tail(ids[d.rng.Intn(len(ids))])
	err := d.s.fold(t, func(time.Duration) error {
		if d.rng.Intn(6) == 0 {
			return errStopped
		}
		return nil
	})
	if err != nil && err != errStopped {
		d.t.Fatal(err)
	}
}

func (d *driver) snapshot() {
	sn, err := d.s.Latest()
	d.must(err)
	if d.m.epochs[sn.Epoch()] == nil && sn.Epoch() != 0 {
		d.t.Fatalf("snapshot at epoch %d, which was never sealed", sn.Epoch())
	}
	d.snaps = append(d.snaps, sn)
}

func (d *driver) release() {
	if len(d.snaps) > 0 {
		i := d.rng.Intn(len(d.snaps))
		d.snaps[i].Release()
		d.snaps = slices.Delete(d.snaps, i, i+1)
	}
}

func (d *driver) read() {
	lo, hi := d.bounds()
	reverse := d.rng.Intn(2) == 0
	id := TableID(1 + d.rng.Intn(int(d.next)))
	if _, ok := d.m.state[id]; ok {
		d.equal(fmt.Sprintf("state %d [%s,%s)", id, lo, hi), d.scanState(id, lo, hi), d.m.state[id].sorted(lo, hi, false))
		k := d.key()
		v, ok, err := d.state[id].Get(k)
		d.must(err)
		if want, wok := d.m.state[id][string(k)]; ok != wok || string(v) != want {
			d.t.Fatalf("state %d get %s = %q %t, want %q %t", id, k, v, ok, want, wok)
		}
		return
	}
	if len(d.snaps) > 0 {
		sn := d.snaps[d.rng.Intn(len(d.snaps))]
		v := sn.Table(id)
		want, exists := d.m.epochs[sn.Epoch()][id]
		if !exists { // nobody reads a table after its drop, which may not be committed yet
			return
		}
		d.equal(fmt.Sprintf("table %d at %d [%s,%s) reverse %t", id, sn.Epoch(), lo, hi, reverse),
			d.iterate(v.Iterator(lo, hi, reverse)), want.sorted(lo, hi, reverse))
		d.seek(v, want)
		k := d.key()
		got, ok, err := v.Get(k)
		d.must(err)
		if w, wok := want[string(k)]; ok != wok || string(got) != w {
			d.t.Fatalf("table %d at %d get %s = %q %t, want %q %t", id, sn.Epoch(), k, got, ok, w, wok)
		}
		d.getter(v, want)
	}
	if slices.Contains(d.arrs, id) {
		a := d.s.Arrangement(id)
		var got []string
		d.must(a.HeadScan(lo, hi, func(k, v []byte) error {
			got = append(got, string(k)+"="+string(v))
			return nil
		}))
		d.equal(fmt.Sprintf("head %d [%s,%s)", id, lo, hi), got, d.m.head[id].sorted(lo, hi, false))
		k := d.key()
		v, ok, err := a.HeadGet(k)
		d.must(err)
		if w, wok := d.m.head[id][string(k)]; ok != wok || string(v) != w {
			d.t.Fatalf("head %d get %s = %q %t, want %q %t", id, k, v, ok, w, wok)
		}
		if v, err := a.VersionAt(d.epoch); err == nil {
			d.equal(fmt.Sprintf("table %d version at %d", id, d.epoch), d.iterate(v.Iterator(lo, hi, reverse)),
				d.m.epochs[d.epoch][id].sorted(lo, hi, reverse))
			if d.reset[id] < d.epoch {
				d.difference(id, v)
			}
			v.Release()
		}
	}
}

// getter reads some keys with one Getter, mostly in order.
func (d *driver) getter(v *Version, want rows) {
	g := v.Getter()
	keys := make([][]byte, d.rng.Intn(12))
	for i := range keys {
		keys[i] = d.key()
	}
	if d.rng.Intn(4) > 0 {
		slices.SortFunc(keys, bytes.Compare)
	}
	for _, k := range keys {
		got, ok, err := g.Get(k)
		d.must(err)
		if w, wok := want[string(k)]; ok != wok || string(got) != w {
			d.t.Fatalf("table at %d getter %s = %q %t, want %q %t", v.Epoch(), k, got, ok, w, wok)
		}
	}
	d.must(g.Close())
}

// difference checks that a version is the last checkpoint and the difference.
func (d *driver) difference(id TableID, v *Version) {
	df := v.Difference()
	defer df.Release()
	old := d.m.committed.arrs[id]
	got := maps.Clone(old)
	if got == nil {
		got = rows{}
	}
	n, last := 0, ""
	df.Keys(nil, func(k []byte) bool {
		if n++; n > 1 && string(k) <= last || !df.Touched(k) {
			d.t.Fatalf("table %d: touched key %s after %s", id, k, last)
		}
		last = string(k)
		o, ok, err := df.Old(k)
		d.must(err)
		if w, wok := old[last]; ok != wok || string(o) != w {
			d.t.Fatalf("table %d: old %s = %q %t, want %q %t", id, k, o, ok, w, wok)
		}
		val, ok, err := v.Get(k)
		d.must(err)
		if delete(got, last); ok {
			got[last] = string(val)
		}
		return true
	})
	d.equal(fmt.Sprintf("table %d at %d by difference", id, d.epoch), got.sorted(nil, nil, false), d.m.epochs[d.epoch][id].sorted(nil, nil, false))
}

// resetTable takes an arrangement back to the last commit: checkpoints that were sealed and are not committed
// do not have its changes any more, the versions have.
func (d *driver) resetTable() {
	id := d.table()
	d.s.Arrangement(id).Reset()
	d.reset[id] = d.epoch
	at := d.m.committed.arrs[id]
	if at == nil {
		at = rows{}
	}
	d.m.head[id] = maps.Clone(at)
	for _, k := range d.m.sealed {
		if k.arrs[id] != nil {
			k.arrs[id] = maps.Clone(at)
		}
	}
}

func (d *driver) step() {
	switch n := d.rng.Intn(100); {
	case n < 2:
		d.resetTable()
	case n < 30:
		d.apply()
	case n < 45:
		d.put()
	case n < 60:
		d.seal()
	case n < 68:
		d.must(d.commit())
		if d.rng.Intn(4) == 0 {
			d.checkForms()
		}
	case n < 73:
		d.snapshot()
	case n < 78:
		d.release()
	case n < 81:
		d.fold()
	case n < 99:
		d.read()
	default:
		d.reopen()
	}
}

// TestStoreEqualsModel compares arrangements, state tables and metadata with maps, under random
// changes, barriers, commits, drops, readers and restarts.
func TestStoreEqualsModel(t *testing.T) {
	for _, seed := range seeds(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			repeat(t, seed)
			d := newDriver(t, seed, vfs.NewMem())
			for range *stepsFlag {
				d.step()
			}
			d.reopen()
			d.must(d.s.Close())
		})
	}
}
