package table

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// testTables are the tables of a world: t has the primary key k and a unique u, p only a primary key, and h the
// hidden row id.
func testTables() []*catalog.Relation {
	int8T, text := types.T(types.Int8), types.T(types.Text)
	return []*catalog.Relation{
		{
			ID: 100, Schema: "public", Name: "t", Kind: catalog.Table, PrimaryKey: "t_pkey",
			Columns: []catalog.Column{{Name: "k", Type: int8T, NotNull: true}, {Name: "u", Type: int8T}, {Name: "v", Type: text}},
			Key:     []catalog.SortColumn{{Col: 0}},
			Uniques: []catalog.Unique{{Name: "t_pkey", Columns: []int{0}, Primary: true}, {Name: "t_u_key", Columns: []int{1}}},

			StateTables: map[string]uint32{UniqueStateName("t_u_key"): 101},
		},
		{
			ID: 110, Schema: "public", Name: "p", Kind: catalog.Table, PrimaryKey: "p_pkey",
			Columns: []catalog.Column{{Name: "k", Type: int8T, NotNull: true}, {Name: "v", Type: text}},
			Key:     []catalog.SortColumn{{Col: 0}},
			Uniques: []catalog.Unique{{Name: "p_pkey", Columns: []int{0}, Primary: true}},
		},
		{
			ID: 120, Schema: "public", Name: "h", Kind: catalog.Table,
			Columns: []catalog.Column{{Name: "v", Type: text}, {Name: "_row_id", Type: int8T, Hidden: true, NotNull: true, Serial: true}},
			Key:     []catalog.SortColumn{{Col: 1}},
		},
	}
}

// world is a store with running tables and the transactions of a script.
type world struct {
	t      testing.TB
	fs     storage.FS
	store  *storage.Store
	rt     *flow.Runtime
	cancel context.CancelFunc
	locks  *Locks
	seqs   *Sequences
	tables map[string]*Table
	txs    map[string]*scriptTx
}

// scriptTx is a transaction that a goroutine works on.
type scriptTx struct {
	x      *Tx
	save   Savepoint
	done   chan string // capacity 1: the result of the running step
	busy   bool
	cancel context.CancelFunc
	ctx    context.Context
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, fs: storage.MemFS(), txs: map[string]*scriptTx{}}
	w.open()
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// open opens the store, deploys the tables and replays the log, as an engine does.
func (w *world) open() {
	w.t.Helper()
	var err error
	w.store, err = storage.Open(storage.Config{Dir: "data", FS: w.fs, ReserveBytes: -1})
	w.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	w.rt = flow.NewRuntime(ctx, flow.Config{
		Store: w.store, Logger: slog.New(slog.DiscardHandler), LogPos: w.store.Checkpoint().LogPos,
		Checkpoint: checkpoint.Config{BarrierInterval: time.Hour, CheckpointInterval: time.Hour},
		Failed:     func(f flow.Failure) { w.t.Error(f.Err) },
	})
	w.rt.Start(checkpoint.Events{})
	w.locks = NewLocks()
	w.tables = map[string]*Table{}
	byID := map[uint32]*Table{}
	var jobs []*flow.Job
	for _, rel := range append(testTables(), SequencesRelation()) {
		t := New(w.store, w.locks, rel)
		w.tables[rel.Name], byID[uint32(rel.ID)] = t, t
		jobs = append(jobs, &flow.Job{
			ID: flow.JobID(rel.ID), Name: rel.Name,
			Fragments: []*flow.Fragment{{Parallel: 1, Types: t.Types(), Table: t.Arrangements()}},
		})
	}
	_, err = w.rt.Deploy(ctx, flow.Save{}, jobs...)
	w.must(err)
	w.must(w.store.Log().Replay(w.store.Checkpoint().LogPos, func(pos storage.LogPos, rec []byte) error {
		return Replay(w.rt, pos, rec, func(id uint32) *Table { return byID[id] }, func([]byte) (flow.Save, error) { return flow.Save{}, nil })
	}))
	w.must(w.rt.Wait(ctx, w.rt.Open()))
	w.seqs = NewSequences(w.tables["sequences"], w.store.Log(), w.rt)
	for _, t := range w.tables {
		w.must(t.OpenSequences(w.seqs))
	}
}

// close stops everything without a checkpoint: what is not in the log is lost.
func (w *world) close() {
	w.t.Helper()
	w.cancel()
	w.rt.Stop()
	w.must(w.store.Close())
}

func (w *world) tx(name string) *scriptTx {
	s := w.txs[name]
	if s == nil {
		s = &scriptTx{x: NewTx(), done: make(chan string, 1)}
		s.ctx, s.cancel = context.WithCancel(context.Background())
		w.txs[name] = s
	}
	return s
}

// row makes a chunk of one row of literals; "null" is NULL.
func (w *world) row(t *Table, vals []string) *vec.Chunk {
	w.t.Helper()
	if len(vals) != len(t.types) {
		w.t.Fatalf("table %s has %d columns: %v", t.Rel.Name, len(t.types), vals)
	}
	ds := make([]types.Datum, len(vals))
	for i, v := range vals {
		if v == "null" {
			continue
		}
		d, err := types.ParseText(t.types[i], v, nil)
		w.must(err)
		ds[i] = d
	}
	c := vec.NewChunk(t.types, 1)
	c.AppendRow(ds, 1)
	return c
}

// text prints an encoded row.
func (w *world) text(t *Table, row []byte) string {
	c := vec.NewChunk(t.types, 1)
	w.must(t.Decode(c, row, 1))
	parts := make([]string, len(t.types))
	for i := range parts {
		parts[i] = "null"
		if !c.Cols[i].IsNull(0) {
			parts[i] = string(types.AppendText(nil, t.types[i], c.Cols[i].Datum(0), nil))
		}
	}
	return strings.Join(parts, " ")
}

// step runs one step of a transaction.
func (w *world) step(s *scriptTx, verb string, args []string) string {
	var t *Table
	if len(args) > 0 {
		t = w.tables[args[0]]
	}
	report := func(err error) string {
		if err == nil {
			return "ok"
		}
		var e *sqlerr.Error
		if errors.As(err, &e) {
			return strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Code, e.Message, e.Detail))
		}
		return err.Error()
	}
	switch verb {
	case "share", "lock":
		return report(s.x.Lock(s.ctx, t, verb == "lock"))
	case "insert":
		c := w.row(t, args[1:])
		if err := s.x.Prepare(s.ctx, t, c); err != nil {
			return report(err)
		}
		conflict, err := s.x.Insert(t, c, 0)
		if conflict != nil {
			err = conflict.Err
		}
		return report(err)
	case "delete":
		c := w.row(t, args[1:])
		ok, err := s.x.Delete(t, c, 0)
		if err == nil && !ok {
			return "no such row"
		}
		return report(err)
	case "truncate":
		return report(s.x.DeleteAll(t))
	case "save":
		s.save = s.x.Save()
	case "restore":
		s.x.Restore(s.save)
	case "commit":
		return report(s.x.Commit(w.store.Log(), w.rt, true))
	case "rollback":
		s.x.Release()
	default:
		w.t.Fatalf("unknown step %q", verb)
	}
	return "ok"
}

// line runs one line of a script and prints what has come of it and of the steps that waited.
func (w *world) line(out *strings.Builder, line string) {
	w.t.Helper()
	f := strings.Fields(line)
	switch f[0] {
	case "rows", "index":
		t := w.tables[f[1]]
		arr := t.Arr
		if f[0] == "index" {
			arr = t.indexes[0].arr
		}
		n := 0
		w.must(arr.HeadScan(nil, nil, func(_, v []byte) error {
			n++
			if f[0] == "rows" {
				fmt.Fprintf(out, "  %s\n", w.text(t, v))
			}
			return nil
		}))
		fmt.Fprintf(out, "%d %s\n", n, f[0])
		return
	case "crash":
		w.close()
		w.txs = map[string]*scriptTx{}
		w.open()
		return
	case "checkpoint":
		w.must(w.rt.WaitDurable(context.Background(), w.rt.Open()))
		return
	case "cancel":
		w.txs[f[1]].cancel()
	case "drop":
		w.tables[f[1]].Drop()
		return
	default:
		s := w.tx(f[0])
		if s.busy {
			w.t.Fatalf("%s waits and cannot do %q", f[0], line)
		}
		s.busy = true
		go func() { s.done <- w.step(s, f[1], f[2:]) }()
	}
	w.settle(out, f[0])
}

// settle awaits that every running step is done or waits for a lock, that of first before those that it may set free.
func (w *world) settle(out *strings.Builder, first string) {
	names := make([]string, 0, len(w.txs))
	for n := range w.txs {
		names = append(names, n)
	}
	sort.Slice(names, func(i, j int) bool {
		if a, b := names[i] == first, names[j] == first; a != b {
			return a
		}
		return names[i] < names[j]
	})
	for again := true; again; {
		again = false
		for _, n := range names {
			s := w.txs[n]
			for s.busy {
				select {
				case r := <-s.done:
					s.busy, again = false, true // others may go on
					fmt.Fprintf(out, "%s: %s\n", n, r)
					continue
				default:
				}
				w.locks.mu.Lock()
				waits := s.x.waiting != nil && s.ctx.Err() == nil
				w.locks.mu.Unlock()
				if waits {
					break
				}
				runtime.Gosched()
			}
		}
	}
	sort.Strings(names)
	for _, n := range names {
		if w.txs[n].busy {
			fmt.Fprintf(out, "%s waits\n", n)
		}
	}
}
