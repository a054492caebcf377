package op

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand"
	"testing"
	"time"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

func timeCall(id string, args ...scalar.Expr) scalar.Expr {
	f := fn.Default().ByID(id)
	if f == nil {
		panic("no function " + id)
	}
	return &scalar.Call{Node: scalar.Node{T: f.Ret, Pos: -1}, Fn: f, Args: args}
}

func timeConst(k types.Kind, d types.Datum) scalar.Expr {
	return &scalar.Const{Node: scalar.Node{T: types.T(k), Pos: -1}, Val: d}
}

// timeCase is a condition of a temporal filter.
type timeCase struct {
	name  string
	typ   types.Kind
	bound scalar.Expr
	slack bool
	// around is the value that the bound has at a time, about.
	around func(t int64) types.Datum
}

func timeCases(zone *time.Location) []timeCase {
	now := timeCall("now()")
	span := func(s types.Span) scalar.Expr { return timeConst(types.Interval, types.DSpan(s)) }
	same := func(t int64) types.Datum { return types.DInt(t) }
	local := func(t int64) types.Datum { return types.DInt(types.ToLocal(t, zone)) }
	return []timeCase{
		{"now", types.Timestamptz, now, false, same},
		{"now - 90 s", types.Timestamptz, timeCall("-(timestamptz,interval)", now, span(types.Span{Micros: 90_000_000})), false,
			func(t int64) types.Datum { return types.DInt(t - 90_000_000) }},
		{"now - 1 mon", types.Timestamptz, timeCall("-(timestamptz,interval)", now, span(types.Span{Months: 1})), true,
			func(t int64) types.Datum { return types.DInt(t - 30*86400*1_000_000) }},
		{"local time", types.Timestamp, timeCall("localtimestamp()"), true, local},
		{"at time zone", types.Timestamp, timeCall("timezone(text,timestamptz)", timeConst(types.Text, types.DStr(zone.String())), now), true, local},
		{"current_date", types.Date, timeCall("current_date()"), true,
			func(t int64) types.Datum { return types.DInt(types.TimestampToDate(types.ToLocal(t, zone))) }},
	}
}

// TestTemporalFilterRandom compares with the rows for which the condition is true at the time, after each epoch: random changes
// and steps of time, also over the ends of summer time, with crashes.
func TestTemporalFilterRandom(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	starts := []time.Time{
		time.Date(2024, 10, 26, 22, 0, 0, 0, time.UTC), // the clock is set back at 01:00 UTC on the 27th
		time.Date(2024, 3, 30, 22, 0, 0, 0, time.UTC),
		time.Date(2024, 2, 28, 23, 59, 0, 0, time.UTC),
	}
	ops := []string{"<", "<=", ">", ">="}
	seed := int64(1)
	for _, tc := range timeCases(zone) {
		for _, op := range ops {
			for i, start := range starts {
				for _, keyed := range []bool{false, true} {
					seed++
					name := fmt.Sprintf("%s %s/%d/keyed=%t", op, tc.name, i, keyed)
					t.Run(name, func(t *testing.T) {
						testTemporalFilter(t, tc, op, zone, types.FromGoTime(start), keyed, rand.New(rand.NewSource(seed)))
					})
				}
			}
		}
	}
}

func testTemporalFilter(t *testing.T, tc timeCase, op string, zone *time.Location, start int64, keyed bool, r *rand.Rand) {
	in := []types.Type{types.T(types.Int8), types.T(tc.typ), types.T(types.Text)}
	value := &scalar.Column{Node: scalar.Node{T: in[1], Pos: -1}, Index: 1}
	cfg := TemporalFilterConfig{
		In: in, Value: value, Bound: tc.bound, Upper: op[0] == '<', Inclusive: len(op) == 2, Slack: tc.slack, Vnode: 7,
	}
	if keyed {
		cfg.RowKey = []int{0}
	}
	res, err := fn.Default().ResolveOperator(op, in[1], tc.bound.Type())
	if err != nil {
		t.Fatal(err)
	}
	pred, err := expr.Compile(&scalar.Call{Node: scalar.Node{T: res.Ret, Pos: -1}, Fn: res.Fn, Args: []scalar.Expr{value, tc.bound}}, nil)
	if err != nil {
		t.Fatal(err)
	}

	st := memState{}
	var due int64
	chunk := []int{1, 3, 1000}[r.Intn(3)]
	open := func(k *checker) *TemporalFilter {
		f, err := NewTemporalFilter(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx := &exec.Context{
			Ctx: context.Background(), Logger: slog.Default(), ChunkSize: chunk, Env: &exec.Env{Location: zone}, State: st.open,
			RowError: func(f exec.RowFailure) error { return f.Err }, Due: func(at int64) { due = at },
		}
		if err := f.Open(ctx, k); err != nil {
			t.Fatal(err)
		}
		return f
	}
	k := newChecker(t, in)
	f := open(k)
	now, epoch := start, storage.Epoch(1)
	barrier := func(checkpoint bool) {
		t.Helper()
		if err := f.Barrier(exec.Barrier{Epoch: epoch, Time: now, Checkpoint: checkpoint}); err != nil {
			t.Fatal(err)
		}
		epoch++
		if due <= (exec.Barrier{Time: now}).Second() {
			t.Fatalf("due at %d, which is not after %d", due, now)
		}
	}
	// In half of the runs changes come before the first barrier.
	if r.Intn(2) == 0 {
		barrier(false)
	}

	type row struct {
		vals []types.Datum
	}
	var rows []row // the input
	savedRows, savedState, savedOut := []row(nil), st.clone(), newChecker(t, in)
	save := func() {
		st.checkpoint()
		savedRows, savedState = append([]row(nil), rows...), st.clone()
		savedOut = newChecker(t, in)
		for x, n := range k.acc {
			savedOut.acc[x], savedOut.rows[x] = n, k.rows[x]
		}
	}
	next := int64(0)
	random := func() row {
		v := tc.around(now + int64(r.Intn(7200))*1_000_000 - 3600_000_000)
		switch {
		case r.Intn(10) == 0:
			v = types.Null
		case r.Intn(10) == 0 && tc.typ != types.Date:
			v.I += int64(r.Intn(1_000_000))
		case r.Intn(20) == 0:
			v = types.DInt(types.PosInfinity)
			if tc.typ == types.Date {
				v = types.DInt(v.I / 86400)
			}
		}
		next++
		id := next
		if !keyed {
			id = int64(r.Intn(3))
		}
		return row{[]types.Datum{types.DInt(id), v, types.DStr(string(rune('a' + r.Intn(2))))}}
	}
	check := func(when string) {
		t.Helper()
		want := newChecker(t, in)
		c := vec.NewChunk(in, 0)
		for _, x := range rows {
			c.AppendRow(x.vals, 1)
		}
		if c.Len() > 0 {
			env := &exec.Env{Location: zone, Now: types.ToGoTime((exec.Barrier{Time: now}).Second())}
			sel, err := pred.EvalFilter(&expr.EvalContext{Env: env}, c, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range sel {
				want.acc[vec.FormatRow(c, int(i))]++
			}
		}
		for x, n := range want.acc {
			if k.acc[x] != n {
				t.Fatalf("%s: epoch %d, time %v: row %s: %d times, want %d", when, epoch, types.ToGoTime(now).In(zone), x, k.acc[x], n)
			}
		}
		for x, n := range k.acc {
			if want.acc[x] != n {
				t.Fatalf("%s: epoch %d, time %v: row %s: %d times, want %d", when, epoch, types.ToGoTime(now).In(zone), x, n, want.acc[x])
			}
		}
	}
	for range 60 {
		if r.Intn(6) == 0 {
			// A crash: time has gone on when the operator is there again, and the lost changes come again, or others.
			st = savedState.clone()
			rows = append([]row(nil), savedRows...)
			k = savedOut
			savedOut = newChecker(t, in)
			for x, n := range k.acc {
				savedOut.acc[x], savedOut.rows[x] = n, k.rows[x]
			}
			f.Close()
			f = open(k)
			if r.Intn(2) == 0 {
				barrier(false)
				check("after a restart")
			} else {
				// What is below emits at the first barrier, before it forwards it, and time has gone on.
				due = 0
				now += int64(r.Intn(3600 * 1_000_000))
			}
		}
		c := vec.NewChunk(in, 0)
		for range r.Intn(8) {
			switch {
			case len(rows) > 0 && r.Intn(3) == 0:
				i := r.Intn(len(rows))
				c.AppendRow(rows[i].vals, -1)
				rows = append(rows[:i], rows[i+1:]...)
			case keyed && len(rows) > 0 && r.Intn(3) == 0:
				// An update, sometimes with the new row first.
				i := r.Intn(len(rows))
				up := random()
				up.vals[0] = rows[i].vals[0]
				if r.Intn(2) == 0 {
					up.vals[1] = rows[i].vals[1]
				}
				if r.Intn(2) == 0 {
					c.AppendRow(rows[i].vals, -1)
					c.AppendRow(up.vals, 1)
				} else {
					c.AppendRow(up.vals, 1)
					c.AppendRow(rows[i].vals, -1)
				}
				rows[i] = up
			default:
				x := random()
				rows = append(rows, x)
				c.AppendRow(x.vals, 1)
			}
		}
		if c.Len() > 0 {
			if err := f.Chunk(0, c); err != nil {
				t.Fatal(err)
			}
		}
		switch r.Intn(6) {
		case 0:
			now += int64(r.Intn(3 * 86400 * 1_000_000))
		case 1, 2:
			now += int64(r.Intn(3600 * 1_000_000))
		case 3:
			now += int64(r.Intn(2_000_000))
		case 4:
			// Just before the next row is due nothing changes; when it is, something may.
			if due != exec.NeverDue && due < now+40*86400*1_000_000 {
				now = max(now, due-1)
			}
		}
		checkpoint := r.Intn(4) == 0
		before := k.text.Len()
		wasDue := due
		barrier(checkpoint)
		if c.Len() == 0 && now < wasDue && k.text.Len() != before+len(fmt.Sprintf("barrier %d\n", epoch-1)) {
			t.Fatalf("epoch %d: something changed before it was due: %s", epoch, k.text.String()[before:])
		}
		check("")
		if checkpoint {
			save()
		}
	}
}
