package rowerr

import (
	"context"
	"fmt"
	"maps"
	"math/rand"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

const table storage.TableID = 1000

// world is a store with the log of a job.
type world struct {
	t      *testing.T
	fs     *vfs.MemFS
	store  *storage.Store
	log    *Log
	ws     []*Writer
	epoch  storage.Epoch
	listed int
	strict bool
}

func (w *world) open() {
	w.t.Helper()
	var err error
	if w.store, err = storage.Open(storage.Config{Dir: "data", FS: w.fs}); err != nil {
		w.t.Fatal(err)
	}
	w.epoch = w.store.Checkpoint().Epoch
}

// start begins the job with a number of actors.
func (w *world) start(actors int) {
	w.t.Helper()
	var err error
	w.log, err = New(Config{
		Arrangement: w.store.Arrangement(table), Actors: actors, Listed: w.listed, Strict: w.strict,
		Describe: func(_ int, op string, site int) Site {
			return Site{Operator: op, Expression: fmt.Sprint("e", site), Columns: []string{"a", "", "b"}}
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.ws = nil
	for range actors {
		w.ws = append(w.ws, w.log.Writer())
	}
}

var rowTypes = []types.Type{types.T(types.Int4), types.T(types.Int8), types.T(types.Text)}

func fails(site int, a int64, b string, diff int64) exec.RowFailure {
	c := vec.NewChunk(rowTypes, 1)
	c.AppendRow([]types.Datum{types.DInt(a), types.DInt(7), types.DStr(b)}, 1)
	return exec.RowFailure{Err: sqlerr.Newf(sqlerr.DivisionByZero, "division by zero"), Site: site, Cols: c.Cols, Diff: diff}
}

// barrier ends the epoch for some writers.
func (w *world) barrier(checkpoint bool, ws ...*Writer) error {
	for _, x := range ws {
		if err := x.Barrier(exec.Barrier{Epoch: w.epoch + 1, Time: int64(w.epoch+1) * 1_000_000, Checkpoint: checkpoint}); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) next(checkpoint bool) {
	w.t.Helper()
	if err := w.barrier(checkpoint, w.ws...); err != nil {
		w.t.Fatal(err)
	}
	w.done(checkpoint)
}

func (w *world) done(checkpoint bool) {
	w.t.Helper()
	w.epoch++
	w.store.SetCompleted(w.epoch)
	if checkpoint {
		if err := w.store.Commit(context.Background(), storage.Commit{Epoch: w.epoch}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// read gives the entries and their sum.
func (w *world) read() (map[string]int64, int64) {
	w.t.Helper()
	sn, err := w.store.Latest()
	if err != nil {
		w.t.Fatal(err)
	}
	defer sn.Release()
	v := sn.Table(table)
	out := map[string]int64{}
	err = Each(v, func(e Entry) error {
		out[fmt.Sprintf("%s %s: %s", e.Operator, e.Expression, e.Row)] += e.Count
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	n, err := Total(v)
	if err != nil {
		w.t.Fatal(err)
	}
	return out, n
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, fs: vfs.NewMem()}
	w.open()
	t.Cleanup(func() { _ = w.store.Close() })
	return w
}

func (w *world) expect(want map[string]int64) {
	w.t.Helper()
	got, total := w.read()
	sum := int64(0)
	for _, n := range want {
		sum += n
	}
	if !maps.Equal(got, want) || total != sum {
		w.t.Fatalf("got %v with total %d, want %v", got, total, want)
	}
}

// TestEpochs: what actors report is read when all of them have ended the epoch, and adds up over actors and epochs.
func TestEpochs(t *testing.T) {
	w := newWorld(t)
	w.start(2)
	report := func(i int, f exec.RowFailure) {
		t.Helper()
		if err := w.ws[i].Failed(1, "Project1", f); err != nil {
			t.Fatal(err)
		}
	}
	if w.next(false); w.log.Ever() {
		t.Error("errors before there are any")
	}
	report(0, fails(0, 1, "x", 2))
	report(1, fails(0, 1, "x", -1))
	report(1, fails(1, 1, "x", 1))
	if err := w.barrier(false, w.ws[0]); err != nil {
		t.Fatal(err)
	}
	// The first one is ahead.
	report(0, fails(0, 2, "it's", 1))
	if w.log.Ever() || w.log.Total() != 0 {
		t.Error("an epoch is applied before all have ended it")
	}
	if err := w.barrier(false, w.ws[1]); err != nil {
		t.Fatal(err)
	}
	w.done(false)
	w.expect(map[string]int64{"Project1 e0: a = 1, b = 'x'": 1, "Project1 e1: a = 1, b = 'x'": 1})
	old, err := w.store.Latest()
	if err != nil {
		t.Fatal(err)
	}
	defer old.Release()
	w.next(false)
	w.expect(map[string]int64{"Project1 e0: a = 1, b = 'x'": 1, "Project1 e1: a = 1, b = 'x'": 1, "Project1 e0: a = 2, b = 'it''s'": 1})
	if n, err := Total(old.Table(table)); n != 2 || err != nil {
		t.Errorf("the epoch before has %d errors, %v", n, err)
	}
	// What goes may be reported by another actor than what came.
	report(1, fails(0, 1, "x", -1))
	report(0, fails(1, 1, "x", -1))
	report(1, fails(0, 2, "it's", -1))
	w.next(true)
	w.expect(map[string]int64{})
	if w.log.Total() != 0 {
		t.Errorf("total %d", w.log.Total())
	}
}

// TestStrict: a strict job ends with the epoch in which something is left that fails.
func TestStrict(t *testing.T) {
	w := newWorld(t)
	w.strict = true
	w.start(1)
	for _, d := range []int64{1, -1} {
		if err := w.ws[0].Failed(1, "Filter1", fails(0, 1, "x", d)); err != nil {
			t.Fatal(err)
		}
	}
	w.next(false)
	if err := w.ws[0].Failed(1, "Filter1", fails(0, 1, "x", 1)); err != nil {
		t.Fatal(err)
	}
	err := w.barrier(false, w.ws[0])
	if e := sqlerr.From(err); err == nil || e.Code != sqlerr.DivisionByZero || e.Detail != "Row: a = 1, b = 'x'" {
		t.Errorf("got %v", err)
	}
}

// TestListed: the rows beyond what is listed are counted without them, and the sum is right whatever goes first.
func TestListed(t *testing.T) {
	for seed := range int64(30) {
		r := rand.New(rand.NewSource(seed))
		w := newWorld(t)
		w.listed = 1 + r.Intn(5)
		w.start(1)
		live := map[int64]int64{}
		for range 30 {
			for range r.Intn(20) {
				a, d := int64(r.Intn(12)), int64(1)
				if r.Intn(2) == 0 && live[a] > 0 {
					d = -1
				}
				if live[a] += d; live[a] == 0 {
					delete(live, a)
				}
				if err := w.ws[0].Failed(1, "Project1", fails(0, a, "", d)); err != nil {
					t.Fatal(err)
				}
			}
			w.next(r.Intn(3) == 0)
			got, total := w.read()
			sum, want := int64(0), int64(0)
			for _, n := range got {
				sum += n
			}
			for _, n := range live {
				want += n
			}
			rows := len(got)
			if _, ok := got["Project1 e0: "]; ok {
				rows--
			}
			if sum != want || total != want || rows > w.listed {
				t.Fatalf("seed %d: %v, total %d; want %v, %d at most listed", seed, got, total, live, w.listed)
			}
		}
	}
}

// TestRestarts: after a crash the errors are those of the last checkpoint, and the same reports again give the same,
// with any number of actors.
func TestRestarts(t *testing.T) {
	for seed := range int64(20) {
		r := rand.New(rand.NewSource(seed))
		w := newWorld(t)
		w.start(1 + r.Intn(3))
		type report struct {
			a, d int64
		}
		live, saved := map[int64]int64{}, map[int64]int64{}
		for range 40 {
			var reports []report
			for range r.Intn(6) {
				a := int64(r.Intn(8))
				d := int64(1)
				if live[a] > 0 && r.Intn(2) == 0 {
					d = -live[a]
				}
				if live[a] += d; live[a] == 0 {
					delete(live, a)
				}
				reports = append(reports, report{a, d})
			}
			for _, x := range reports {
				if err := w.ws[r.Intn(len(w.ws))].Failed(2, "HashAgg1", fails(3, x.a, strings.Repeat("y", 2000), x.d)); err != nil {
					t.Fatal(err)
				}
			}
			checkpoint := r.Intn(3) == 0
			w.next(checkpoint)
			if checkpoint {
				saved = maps.Clone(live)
			}
			if r.Intn(4) == 0 {
				if err := w.store.Close(); err != nil {
					t.Fatal(err)
				}
				w.open()
				w.start(1 + r.Intn(3))
				live = maps.Clone(saved)
			}
			want := map[string]int64{}
			for a, n := range live {
				want[fmt.Sprintf("HashAgg1 e3: a = %d, b = '%s...'", a, strings.Repeat("y", maxText/4))] = n
			}
			w.expect(want)
		}
	}
}
