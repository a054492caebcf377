package op

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// memTable is a state table in memory.
type memTable struct {
	m     map[string][]byte
	empty bool
	// changed are the keys put or deleted since the last checkpoint.
	changed map[string][]byte
}

func (t *memTable) Empty() bool { return t.empty }
func (t *memTable) Get(key []byte) ([]byte, bool, error) {
	v, ok := t.m[string(key)]
	return slices.Clone(v), ok, nil
}

func (t *memTable) Scan(prefix []byte, fn func(k, v []byte) error) error {
	return t.scan(func(k string) bool { return strings.HasPrefix(k, string(prefix)) }, fn)
}

func (t *memTable) ScanRange(lo, hi []byte, fn func(k, v []byte) error) error {
	return t.scan(func(k string) bool { return k >= string(lo) && (hi == nil || k < string(hi)) }, fn)
}

func (t *memTable) scan(in func(k string) bool, fn func(k, v []byte) error) error {
	var keys []string
	for k := range t.m {
		if in(k) {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	for _, k := range keys {
		// A buffer of its own, scribbled over afterwards: operators must copy.
		v := slices.Clone(t.m[k])
		if err := fn([]byte(k), v); err != nil {
			return err
		}
		for i := range v {
			v[i] = 0xee
		}
	}
	return nil
}
func (t *memTable) Put(key, val []byte) {
	t.m[string(key)] = bytes.Clone(val)
	t.changed[string(key)] = nil
	t.empty = false
}

func (t *memTable) Append(key, val []byte) {
	if _, ok := t.changed[string(key)]; ok {
		panic(fmt.Sprintf("key %x is appended though it was changed since the last checkpoint", key))
	}
	t.Put(key, val)
}

func (t *memTable) Insert(key, val []byte) {
	if _, ok := t.m[string(key)]; ok {
		panic(fmt.Sprintf("key %x is inserted though the table has it", key))
	}
	t.Append(key, val)
}

func (t *memTable) Delete(key []byte) {
	delete(t.m, string(key))
	t.changed[string(key)] = nil
}

// memState is the state tables of one operator.
type memState map[string]map[string][]byte

func (s memState) open(name string) exec.StateTable {
	if s[name] == nil {
		s[name] = map[string][]byte{}
	}
	if s[name+changedKeys] == nil {
		s[name+changedKeys] = map[string][]byte{}
	}
	return &memTable{m: s[name], empty: len(s[name]) == 0, changed: s[name+changedKeys]}
}

// changedKeys ends the name of the keys of a table that changed since the last checkpoint.
const changedKeys = " changed"

// checkpoint begins a new one.
func (s memState) checkpoint() {
	for name, t := range s {
		if strings.HasSuffix(name, changedKeys) {
			clear(t)
		}
	}
}

func (s memState) clone() memState {
	c := memState{}
	for n, t := range s {
		c[n] = map[string][]byte{}
		for k, v := range t {
			c[n][k] = v
		}
	}
	return c
}

// checker is an Output that collects what an operator emits and checks the operator contract.
type checker struct {
	t      testing.TB
	schema []types.Type
	epoch  storage.Epoch
	closed bool
	// text is everything that was emitted, acc the sum of it by row.
	text strings.Builder
	acc  map[string]int64
	rows map[string][]types.Datum
	// fails is the sum of what was reported as failing, by expression and row.
	fails map[string]int64
}

// failed notes a row error.
func (k *checker) failed(f exec.RowFailure) error {
	key := []byte(fmt.Sprintf("%d:", f.Site))
	for i, v := range f.Cols {
		if v.Len() > f.Row {
			key = vec.EncodeKey(fmt.Appendf(key, " %d=", i), f.Cols, f.Row, []SortKey{{Col: i}})
		}
	}
	if k.fails[string(key)] += f.Diff; k.fails[string(key)] == 0 {
		delete(k.fails, string(key))
	}
	return nil
}

func newChecker(t testing.TB, schema []types.Type) *checker {
	return &checker{t: t, schema: schema, acc: map[string]int64{}, rows: map[string][]types.Datum{}, fails: map[string]int64{}}
}

func (k *checker) Chunk(c *vec.Chunk) error {
	k.t.Helper()
	if k.closed {
		k.t.Fatal("chunk after close")
	}
	if c.Len() == 0 {
		k.t.Fatal("empty chunk")
	}
	if len(c.Cols) != len(k.schema) {
		k.t.Fatalf("%d columns, schema has %d", len(c.Cols), len(k.schema))
	}
	if c.Diffs != nil && len(c.Diffs) != c.Len() {
		k.t.Fatalf("%d diffs for %d rows", len(c.Diffs), c.Len())
	}
	for i, v := range c.Cols {
		if v.Type != k.schema[i] || v.Len() != c.Len() {
			k.t.Fatalf("column %d: type %v, %d values; schema has %v, chunk %d rows", i, v.Type, v.Len(), k.schema[i], c.Len())
		}
	}
	for i := range c.Len() {
		d := c.Diff(i)
		if d == 0 {
			k.t.Fatal("diff 0")
		}
		row := vec.FormatRow(c, i)
		if k.acc[row] += d; k.acc[row] == 0 {
			delete(k.acc, row)
			delete(k.rows, row)
		} else if k.rows[row] == nil {
			vals := c.Row(i, nil)
			for j := range vals {
				vals[j].S = strings.Clone(vals[j].S)
			}
			k.rows[row] = vals
		}
	}
	k.text.WriteString(c.String())
	return nil
}

func (k *checker) Watermark(exec.Watermark) error { return nil }

func (k *checker) Barrier(b exec.Barrier) error {
	k.t.Helper()
	if k.closed || b.Epoch <= k.epoch {
		k.t.Fatalf("barrier %d after %d, closed %t", b.Epoch, k.epoch, k.closed)
	}
	k.epoch = b.Epoch
	for row, n := range k.acc {
		if n < 0 {
			k.t.Fatalf("epoch %d: row %s has multiplicity %d", b.Epoch, row, n)
		}
	}
	fmt.Fprintf(&k.text, "barrier %d\n", b.Epoch)
	return nil
}

// testRow is a change on a port.
type testRow struct {
	port int
	row  []types.Datum
	diff int64
}

// runConfig is a way to run the same changes.
type runConfig struct {
	chunk       int // rows per chunk, input and output
	parallel    int
	stateful    bool
	budget      int64
	restart     int // restart before every restart-th epoch, from the last checkpoint
	checkpoints int // every how manyth barrier is a checkpoint
}

func (c runConfig) String() string {
	return fmt.Sprintf("chunk=%d parallel=%d state=%t budget=%d restart=%d checkpoint=%d", c.chunk, c.parallel, c.stateful, c.budget, c.restart, c.checkpoints)
}

// opTest is an operator under test.
type opTest struct {
	in   [][]types.Type // by port
	dist [][]int        // by port, the columns of the hash distribution; nil: parallelism 1 only
	make func() (exec.Operator, error)
	// stateless: without state tables only. skip is Context.SkipFailed.
	stateless, skip bool
	// failed is what failed at the end of the last run: the sum of checker.fails.
	failed map[string]int64
	// marks gives the watermarks at the end of an epoch; nil: none.
	marks func(epoch int) []portMark
	// left is told how many keys are in the state tables at the end.
	left func(keys int)
}

// portMark is a watermark of a port.
type portMark struct {
	port int
	exec.Watermark
}

// instance is a running operator with its output.
type instance struct {
	op  exec.Operator
	out *checker
}

func (ot *opTest) start(t testing.TB, cfg runConfig, st memState, out *checker) *instance {
	t.Helper()
	o, err := ot.make()
	if err != nil {
		t.Fatal(err)
	}
	if out == nil {
		out = newChecker(t, o.Schema())
	}
	ctx := &exec.Context{Ctx: context.Background(), Logger: slog.Default(), ChunkSize: cfg.chunk, MemoryBudget: cfg.budget, Env: &exec.Env{},
		RowError: out.failed, SkipFailed: ot.skip}
	if cfg.stateful {
		ctx.State = st.open
	}
	if err := o.Open(ctx, out); err != nil {
		t.Fatal(err)
	}
	return &instance{op: o, out: out}
}

// feed sends the rows of one epoch, in order, in chunks.
func (ot *opTest) feed(in *instance, cfg runConfig, part int, rows []testRow) error {
	var c *vec.Chunk
	port := -1
	send := func() error {
		if c == nil || c.Len() == 0 {
			return nil
		}
		err := in.op.Chunk(port, c)
		// The chunk is valid during the call only.
		for _, v := range c.Cols {
			for i := range v.Int {
				v.Int[i] = -77
			}
			for i := range v.Str {
				v.Str[i] = "gone"
			}
		}
		c = nil
		return err
	}
	for _, r := range rows {
		if cfg.parallel > 1 && ot.part(r, cfg.parallel) != part {
			continue
		}
		if c == nil || port != r.port || c.Len() >= cfg.chunk {
			if err := send(); err != nil {
				return err
			}
			port, c = r.port, vec.NewChunk(ot.in[r.port], 0)
		}
		c.AppendRow(r.row, r.diff)
	}
	return send()
}

func (ot *opTest) part(r testRow, n int) int {
	c := vec.NewChunk(ot.in[r.port], 1)
	c.AppendRow(r.row, 1)
	return int(vec.Vnode(vec.HashCols(c, ot.dist[r.port], nil)[0])) * n / vec.VnodeCount
}

// run plays all epochs and gives the accumulated output and the text of all of it.
func (ot *opTest) run(t testing.TB, cfg runConfig, epochs [][]testRow) (rows [][]types.Datum, text string) {
	t.Helper()
	st := memState{}
	saved := st.clone()
	var ins []*instance
	for range cfg.parallel {
		ins = append(ins, ot.start(t, cfg, st, nil))
	}
	since := 0 // first epoch after the last checkpoint
	savedOut := make([]checker, cfg.parallel)
	snapshot := func() {
		for i, in := range ins {
			o := *in.out
			o.acc, o.rows = map[string]int64{}, map[string][]types.Datum{}
			for k, v := range in.out.acc {
				o.acc[k], o.rows[k] = v, in.out.rows[k]
			}
			savedOut[i] = checker{t: t, schema: o.schema, epoch: o.epoch, acc: o.acc, rows: o.rows, fails: maps.Clone(in.out.fails)}
		}
	}
	snapshot()
	play := func(e int) {
		for p, in := range ins {
			if err := ot.feed(in, cfg, p, epochs[e]); err != nil {
				t.Fatalf("%v: epoch %d: %v", cfg, e, err)
			}
		}
		checkpoint := cfg.checkpoints > 0 && e%cfg.checkpoints == cfg.checkpoints-1
		for _, in := range ins {
			if ot.marks != nil {
				for _, m := range ot.marks(e) {
					if err := in.op.Watermark(m.port, m.Watermark); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := in.op.Barrier(exec.Barrier{Epoch: storage.Epoch(e + 1), Checkpoint: checkpoint}); err != nil {
				t.Fatalf("%v: barrier of epoch %d: %v", cfg, e, err)
			}
		}
		if checkpoint {
			st.checkpoint()
			saved, since = st.clone(), e+1
			snapshot()
		}
	}
	for e := range epochs {
		if cfg.restart > 0 && e > 0 && e%cfg.restart == 0 {
			// A crash: back to the last checkpoint, then the same input again.
			st = saved.clone()
			for i, in := range ins {
				in.op.Close()
				o := savedOut[i]
				o.acc, o.rows = map[string]int64{}, map[string][]types.Datum{}
				for k, v := range savedOut[i].acc {
					o.acc[k], o.rows[k] = v, savedOut[i].rows[k]
				}
				out := &checker{t: t, schema: o.schema, epoch: o.epoch, acc: o.acc, rows: o.rows, fails: maps.Clone(o.fails)}
				ins[i] = ot.start(t, cfg, st, out)
			}
			for again := since; again < e; again++ {
				play(again)
			}
		}
		play(e)
	}
	if ot.left != nil && cfg.stateful && cfg.checkpoints == 1 && cfg.budget == 0 && cfg.restart == 0 {
		n := 0
		for name, t := range st {
			if !strings.HasSuffix(name, changedKeys) {
				n += len(t)
			}
		}
		ot.left(n)
	}
	ot.failed = map[string]int64{}
	for _, in := range ins {
		in.op.Close()
		in.out.closed = true
		for k, n := range in.out.fails {
			if ot.failed[k] += n; ot.failed[k] == 0 {
				delete(ot.failed, k)
			}
		}
		text += in.out.text.String()
		for key, n := range in.out.acc {
			for range n {
				rows = append(rows, in.out.rows[key])
			}
		}
	}
	return rows, text
}

// runConfigs are the ways in which every stateful operator is tested.
func runConfigs(parallel bool) []runConfig {
	cfgs := []runConfig{
		{chunk: 1024, parallel: 1},
		{chunk: 1, parallel: 1},
		{chunk: 7, parallel: 1, stateful: true, checkpoints: 1},
		{chunk: 1024, parallel: 1, stateful: true, checkpoints: 2, restart: 3},
		{chunk: 3, parallel: 1, stateful: true, checkpoints: 1, restart: 1},
		{chunk: 5, parallel: 1, stateful: true, checkpoints: 2, restart: 2, budget: 1},
		{chunk: 1, parallel: 1, stateful: true, checkpoints: 3, budget: 2000},
	}
	if parallel {
		cfgs = append(cfgs,
			runConfig{chunk: 1024, parallel: 2},
			runConfig{chunk: 4, parallel: 2, stateful: true, checkpoints: 2, restart: 3, budget: 1},
		)
	}
	return cfgs
}

// formatRows prints rows sorted; columns in normal are printed by a representative of equal values.
func formatRows(ts []types.Type, rows [][]types.Datum, normal []int) string {
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		var w []string
		for i, d := range row {
			if slices.Contains(normal, i) {
				d = canonicalForTest(ts[i], d)
			}
			w = append(w, vec.FormatDatum(ts[i], d))
		}
		lines = append(lines, strings.Join(w, " "))
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

func normalDatum(t types.Type, d types.Datum) types.Datum {
	if !d.Valid {
		return d
	}
	switch t.Phys() {
	case types.PhysFloat:
		if d.F == 0 {
			d.F = 0
		}
	case types.PhysDec:
		d.Dec = d.Dec.Trim()
	case types.PhysInterval:
		days := int64(d.Span.Months)*30 + int64(d.Span.Days)
		d.Span = types.Span{Micros: days*86400000000 + d.Span.Micros}
	}
	return d
}

// check runs all configurations and compares with the expected rows.
func (ot *opTest) check(t testing.TB, seed int64, epochs [][]testRow, want func(ports [][][]types.Datum) [][]types.Datum, normal []int) {
	t.Helper()
	ports := make([][][]types.Datum, len(ot.in))
	for _, rows := range epochs {
		// Within an epoch a row may go before it comes.
		for _, comes := range []bool{true, false} {
			for _, r := range rows {
				if r.diff > 0 == comes {
					ports[r.port] = applyChange(ot.in[r.port], ports[r.port], r)
				}
			}
		}
	}
	o, err := ot.make()
	if err != nil {
		t.Fatal(err)
	}
	exp := formatRows(o.Schema(), want(ports), normal)
	fails := ot.fromScratch(t, ports)
	for _, cfg := range runConfigs(ot.dist != nil) {
		if ot.stateless && cfg.stateful {
			continue
		}
		rows, text := ot.run(t, cfg, epochs)
		got := formatRows(o.Schema(), rows, normal)
		if got != exp {
			t.Fatalf("seed %d, %v\n--- got\n%s\n--- want\n%s\n--- output\n%s\n--- input\n%s", seed, cfg, got, exp, clip(text), clip(formatEpochs(ot.in, epochs)))
		}
		// Where a watermark lets rows be forgotten, so are their errors.
		if ot.marks == nil && !maps.Equal(ot.failed, fails) {
			t.Fatalf("seed %d, %v: errors of rows\n--- got\n%+q\n--- want\n%+q\n--- input\n%s", seed, cfg, fmt.Sprint(ot.failed), fmt.Sprint(fails), clip(formatEpochs(ot.in, epochs)))
		}
		if _, again := ot.run(t, cfg, epochs); again != text {
			t.Fatalf("seed %d, %v: the same events gave different chunks", seed, cfg)
		}
	}
}

// fromScratch gives what fails if there were never other rows than those that are there in the end.
func (ot *opTest) fromScratch(t testing.TB, ports [][][]types.Datum) map[string]int64 {
	t.Helper()
	var rows []testRow
	for p, list := range ports {
		for _, row := range list {
			rows = append(rows, testRow{p, row, 1})
		}
	}
	ot.run(t, runConfig{chunk: 1024, parallel: 1}, [][]testRow{rows})
	return ot.failed
}

func clip(s string) string {
	if len(s) > 6000 {
		return s[:6000] + "..."
	}
	return s
}

func formatEpochs(in [][]types.Type, epochs [][]testRow) string {
	var b strings.Builder
	for e, rows := range epochs {
		for _, r := range rows {
			c := vec.NewChunk(in[r.port], 1)
			c.AppendRow(r.row, r.diff)
			fmt.Fprintf(&b, "%d: %s", r.port, c.String())
		}
		fmt.Fprintf(&b, "epoch %d\n", e)
	}
	return b.String()
}

func sameDatums(ts []types.Type, a, b []types.Datum) bool {
	for i := range a {
		if !vec.SameDatum(ts[i], a[i], b[i]) {
			return false
		}
	}
	return true
}

func applyChange(ts []types.Type, rows [][]types.Datum, r testRow) [][]types.Datum {
	for range max(r.diff, 0) {
		rows = append(rows, r.row)
	}
	for range max(-r.diff, 0) {
		i := slices.IndexFunc(rows, func(x []types.Datum) bool { return sameDatums(ts, x, r.row) })
		if i < 0 {
			panic("generator retracted what is not there")
		}
		rows = slices.Delete(slices.Clone(rows), i, i+1)
	}
	return rows
}

// gen makes random histories.
type gen struct {
	r          *rand.Rand
	in         [][]types.Type
	keyed      []bool // column 0 of the port is a unique int key
	appendOnly []bool
	live       [][][]types.Datum
	nextKey    int64
	// invert lets the new row of an update come before the old one goes.
	invert bool
	// value makes a value; nil: randomDatum.
	value func(r *rand.Rand, t types.Type) types.Datum
}

func (g *gen) datum(t types.Type) types.Datum {
	if g.value != nil {
		return g.value(g.r, t)
	}
	return randomDatum(g.r, t)
}

func (g *gen) row(port int) []types.Datum {
	row := make([]types.Datum, len(g.in[port]))
	for i, t := range g.in[port] {
		row[i] = g.datum(t)
	}
	if g.keyed[port] {
		g.nextKey++
		row[0] = types.DInt(g.nextKey)
	}
	return row
}

func (g *gen) epochs(n, perEpoch int) [][]testRow {
	g.live = make([][][]types.Datum, len(g.in))
	var out [][]testRow
	for range n {
		var rows []testRow
		for range g.r.Intn(perEpoch + 1) {
			p := g.r.Intn(len(g.in))
			live := g.live[p]
			op := g.r.Intn(10)
			if g.appendOnly[p] || len(live) == 0 {
				op = 0
			}
			switch {
			case op < 4:
				row := g.row(p)
				d := int64(1)
				if !g.keyed[p] && g.r.Intn(5) == 0 {
					d = 2
				}
				rows = append(rows, testRow{p, row, d})
			case op < 8:
				i := g.r.Intn(len(live))
				rows = append(rows, testRow{p, live[i], -1})
			default:
				// An update: of some columns, or of none.
				i := g.r.Intn(len(live))
				old := live[i]
				row := slices.Clone(old)
				from := 0
				if g.keyed[p] {
					from = 1
				}
				for k := from; k < len(row); k++ {
					if g.r.Intn(3) == 0 {
						row[k] = g.datum(g.in[p][k])
					}
				}
				if g.invert {
					rows = append(rows, testRow{p, row, 1}, testRow{p, old, -1})
				} else {
					rows = append(rows, testRow{p, old, -1}, testRow{p, row, 1})
				}
			}
			// Apply what was added to the live rows.
			added := rows[len(rows)-1:]
			if op >= 8 && !g.appendOnly[p] && len(live) > 0 {
				added = rows[len(rows)-2:]
			}
			for _, r := range added {
				g.live[r.port] = applyChange(g.in[r.port], g.live[r.port], r)
			}
		}
		out = append(out, rows)
	}
	return out
}

var valuePool = map[types.Kind][]string{
	types.Bool:      {"t", "f"},
	types.Int4:      {"0", "1", "2", "3", "-1", "2147483647", "-2147483648"},
	types.Int8:      {"0", "1", "2", "-1", "9223372036854775807", "-9223372036854775808"},
	types.Float8:    {"0", "-0", "1.5", "-1.5", "0.1", "0.2", "1e100", "-1e300", "NaN", "Infinity", "-Infinity", "1e-300"},
	types.Numeric:   {"0", "1.0", "1.00", "1", "-2.5", "NaN", "Infinity", "-Infinity", "123456789012345678901234567890.5", "0.10"},
	types.Text:      {"", "a", "b", "A longer text than sixteen bytes", "NULL"},
	types.Char:      {"a", "a ", "b", ""},
	types.Interval:  {"24:00:00", "1 day", "1 mon", "30 days", "0"},
	types.Jsonb:     {"null", "1.0", "1.00", "{\"a\": [1, \"x 1.0\"]}", "{\"a\": [1.0, \"x 1.0\"]}"},
	types.Timestamp: {"2024-03-31 01:59:59", "2024-03-31 02:00:00", "2024-03-31 03:00:00", "2000-01-01 00:00:00"},
}

func randomDatum(r *rand.Rand, t types.Type) types.Datum {
	pool := valuePool[t.Kind]
	i := r.Intn(len(pool) + 1)
	if i == len(pool) {
		return types.Null
	}
	d, err := types.ParseText(t, pool[i], nil)
	if err != nil {
		panic(err)
	}
	return d
}

func mustTypes(s string) []types.Type {
	ts, err := vec.ParseTypes(s)
	if err != nil {
		panic(err)
	}
	return ts
}
