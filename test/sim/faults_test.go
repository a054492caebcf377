package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/connector/file"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/server"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/sql/catalog"
)

// definition is a kind of statement that changes the catalog. It is run while one of its steps fails, for every step.
type definition struct {
	name, sql string
	// before makes what it needs, undo takes back what it did.
	before, undo []string
	// partly is a view that may stay stalled though everything else is done.
	partly string
	// fail is a job that is stalled before the statement.
	fail string
}

// definitions has one of every kind. They begin with the schema of base.
var definitions = []definition{
	{name: "table", sql: "CREATE TABLE n (id serial PRIMARY KEY, u int8 UNIQUE, v text DEFAULT 'x')", undo: []string{"DROP TABLE n"}},
	{name: "table as", sql: "CREATE TABLE n AS SELECT id, v FROM t", undo: []string{"DROP TABLE n"}},
	{name: "table with connector", sql: "CREATE TABLE n (n int8 PRIMARY KEY) WITH (connector = 'faulty')", undo: []string{"DROP TABLE n"}},
	{name: "source", sql: "CREATE SOURCE n (n int8) WITH (connector = 'faulty')", undo: []string{"DROP SOURCE n"}},
	{name: "view", sql: "CREATE VIEW n AS SELECT id FROM mv", undo: []string{"DROP VIEW n"}},
	{name: "materialized view", sql: "CREATE MATERIALIZED VIEW n AS SELECT v % 3 AS k, count(*) AS c FROM t GROUP BY 1", undo: []string{"DROP MATERIALIZED VIEW n"}},
	{name: "materialized view over a source", sql: "CREATE MATERIALIZED VIEW n AS SELECT src.n, t.v FROM src JOIN t ON src.n = t.id", undo: []string{"DROP MATERIALIZED VIEW n"}},
	{name: "materialized view over others", sql: "CREATE MATERIALIZED VIEW n AS SELECT a.id, b.n FROM mv a, total b", undo: []string{"DROP MATERIALIZED VIEW n"}},
	{name: "index", sql: "CREATE INDEX n ON t (v DESC, id)", undo: []string{"DROP INDEX n"}},
	{name: "sink", sql: "CREATE SINK n AS SELECT id FROM mv WITH (connector = 'faulty')", undo: []string{"DROP SINK n"}},
	{name: "sink into", sql: "CREATE SINK n INTO target AS SELECT id, v FROM mv", undo: []string{"DROP SINK n", "TRUNCATE target"}},
	{name: "table with foreign key", sql: "CREATE TABLE n (id int8 REFERENCES t)", undo: []string{"DROP TABLE n"}},
	{name: "unique index", sql: "CREATE UNIQUE INDEX n ON t (v)", undo: []string{"DROP INDEX n"}},
	{name: "sequence", sql: "CREATE SEQUENCE n", undo: []string{"DROP SEQUENCE n"}},
	{name: "drop referenced", sql: "DROP TABLE d CASCADE", before: []string{
		"CREATE TABLE d (id int8 PRIMARY KEY)", "INSERT INTO d VALUES (1)", "CREATE TABLE child (id int8 REFERENCES d)", "INSERT INTO child VALUES (1)",
	}, undo: []string{"DROP TABLE child"}},
	{name: "alter rows", sql: "ALTER TABLE d ADD COLUMN z int8 DEFAULT 3, ALTER COLUMN v TYPE text", before: []string{
		"CREATE TABLE d (id int8 PRIMARY KEY, u int8 UNIQUE, v int8, up int8 REFERENCES d)", "INSERT INTO d VALUES (1, 1, 1, 1), (2, 2, 2, 1)",
		"CREATE TABLE child (id int8 REFERENCES d (u))", "INSERT INTO child VALUES (1)", "CREATE MATERIALIZED VIEW dm AS SELECT count(*) AS n, sum(u) AS s FROM d",
	}, undo: []string{"DROP TABLE child", "DROP TABLE d CASCADE"}},
	{name: "drop unique index", sql: "DROP INDEX d", before: []string{"CREATE UNIQUE INDEX d ON t (v)"}},
	{name: "function", sql: "CREATE FUNCTION n(a int8) RETURNS int8 LANGUAGE sql AS 'SELECT a + 1'", undo: []string{"DROP FUNCTION n"}},
	{name: "schema", sql: "CREATE SCHEMA n", undo: []string{"DROP SCHEMA n"}},
	{name: "role", sql: "CREATE ROLE n", undo: []string{"DROP ROLE n"}},
	{name: "comment", sql: "COMMENT ON TABLE t IS 'n'", undo: []string{"COMMENT ON TABLE t IS NULL"}},
	{name: "grant", sql: "GRANT SELECT ON mv TO reader", undo: []string{"REVOKE SELECT ON mv FROM reader"}},
	{name: "revoke", sql: "REVOKE SELECT ON t FROM reader", undo: []string{"GRANT SELECT ON t TO reader"}},
	{
		name: "block", sql: `CREATE TABLE n (id int8 PRIMARY KEY, u int8 UNIQUE, r int8 REFERENCES t); INSERT INTO n VALUES (1, 1, 1), (2, 2, 2);
			CREATE INDEX n_r ON n (r); CREATE INDEX t_n ON t (v); CREATE VIEW nv AS SELECT u FROM n; INSERT INTO lone VALUES (6)`,
		undo: []string{"DROP VIEW nv", "DROP TABLE n", "DROP INDEX t_n", "DELETE FROM lone WHERE id = 6"},
	},
	{
		name: "block over tables", sql: `ALTER TABLE d ALTER COLUMN v SET DEFAULT 3; CREATE UNIQUE INDEX d_v ON d (v); INSERT INTO d (id) VALUES (9);
			ALTER TABLE child ADD CONSTRAINT fk FOREIGN KEY (id) REFERENCES d; DROP TABLE e CASCADE; CREATE TABLE e (id int8)`,
		before: []string{
			"CREATE TABLE d (id int8 PRIMARY KEY, v int8)", "INSERT INTO d VALUES (1, 1), (2, 2)", "CREATE TABLE child (id int8)", "INSERT INTO child VALUES (1)",
			"CREATE TABLE e (id int8 PRIMARY KEY)", "INSERT INTO e VALUES (1)", "CREATE MATERIALIZED VIEW em AS SELECT count(*) AS n FROM e",
		}, undo: []string{"DROP TABLE child", "DROP TABLE d", "DROP TABLE e CASCADE"},
	},
	{name: "truncate", sql: "TRUNCATE filled", undo: []string{"INSERT INTO filled VALUES (1), (2)"}},
	{name: "rename table", sql: "ALTER TABLE lone RENAME TO n", undo: []string{"ALTER TABLE n RENAME TO lone"}},
	{name: "rename view", sql: "ALTER MATERIALIZED VIEW total RENAME TO n", undo: []string{"ALTER MATERIALIZED VIEW n RENAME TO total"}},
	{name: "options", sql: "ALTER MATERIALIZED VIEW total SET (failover = 'all')", undo: []string{"ALTER MATERIALIZED VIEW total SET (failover = 'default')"}},
	{
		name: "drop table", sql: "DROP TABLE d", before: []string{"CREATE TABLE d (id serial PRIMARY KEY, u int8 UNIQUE)", "INSERT INTO d (u) VALUES (1), (2)"},
	},
	{
		name: "drop cascade", sql: "DROP TABLE d CASCADE", before: []string{
			"CREATE TABLE d (id serial PRIMARY KEY, v int8)", "INSERT INTO d (v) VALUES (1), (2)", "CREATE INDEX d_v ON d (v)",
			"CREATE VIEW dv AS SELECT v FROM d", "CREATE MATERIALIZED VIEW dm AS SELECT dv.v, src.n FROM dv JOIN src ON dv.v = src.n",
			"CREATE SINK ds AS SELECT v FROM dm WITH (connector = 'faulty')", "CREATE SINK di INTO target AS SELECT id, v FROM d",
		}, undo: []string{"TRUNCATE target"},
	},
	{name: "drop view", sql: "DROP MATERIALIZED VIEW d", before: []string{"CREATE MATERIALIZED VIEW d AS SELECT id FROM t"}},
	{name: "drop index", sql: "DROP INDEX d", before: []string{"CREATE INDEX d ON t (v)"}},
	{
		name: "drop sink into", sql: "DROP SINK d", before: []string{"CREATE SINK d INTO target AS SELECT id, v FROM mv"},
		undo: []string{"TRUNCATE target"},
	},
	{name: "drop function", sql: "DROP FUNCTION d", before: []string{"CREATE FUNCTION d(a int8) RETURNS int8 LANGUAGE sql AS 'SELECT a'"}},
	{name: "drop schema", sql: "DROP SCHEMA d CASCADE", before: []string{"CREATE SCHEMA d", "CREATE TABLE d.x (id int8)", "CREATE MATERIALIZED VIEW d.y AS SELECT count(*) AS n FROM d.x"}},
	{
		name: "replace", sql: "CREATE OR REPLACE MATERIALIZED VIEW r AS SELECT id, v + 1 AS v FROM t", before: []string{
			"CREATE MATERIALIZED VIEW r AS SELECT id, v FROM t", "CREATE MATERIALIZED VIEW over AS SELECT sum(v) AS s FROM r", "CREATE INDEX r_v ON r (v)",
		}, undo: []string{"DROP MATERIALIZED VIEW r CASCADE"},
	},
	{
		name: "replace with a source", sql: "CREATE OR REPLACE MATERIALIZED VIEW r AS SELECT n AS id, n AS v FROM src", before: []string{
			"CREATE MATERIALIZED VIEW r AS SELECT id, v FROM t",
		}, undo: []string{"DROP MATERIALIZED VIEW r CASCADE"},
	},
	{
		name: "resume view", sql: "ALTER MATERIALIZED VIEW f RESUME", fail: "f", before: []string{
			"CREATE MATERIALIZED VIEW f AS SELECT id, v FROM t", "CREATE MATERIALIZED VIEW over AS SELECT sum(v) AS s FROM f",
		}, undo: []string{"DROP MATERIALIZED VIEW f CASCADE"},
	},
	{
		name: "resume table", sql: "ALTER TABLE f RESUME", fail: "f", before: []string{
			"CREATE TABLE f (n int8 PRIMARY KEY) WITH (connector = 'faulty')", "CREATE MATERIALIZED VIEW over AS SELECT count(*) AS s FROM f, t",
		}, undo: []string{"DROP TABLE f CASCADE"}, partly: "over",
	},
	{
		name: "source of a stale view", sql: "CREATE MATERIALIZED VIEW n AS SELECT n FROM src", fail: "f", before: []string{
			"CREATE MATERIALIZED VIEW f AS SELECT n FROM src",
		}, undo: []string{"DROP MATERIALIZED VIEW IF EXISTS n", "DROP MATERIALIZED VIEW f"},
	},
}

// base is the schema that every definition finds.
var base = []string{
	"CREATE ROLE reader",
	"CREATE TABLE t (id int8 PRIMARY KEY, v int8)", "GRANT SELECT ON t TO reader",
	"INSERT INTO t SELECT i, i * 7 FROM generate_series(1, 20) AS g(i)",
	"CREATE TABLE target (id int8 PRIMARY KEY, v int8)",
	"CREATE TABLE lone (id int8)", "INSERT INTO lone VALUES (5)",
	"CREATE TABLE filled (id int8)", "INSERT INTO filled VALUES (1), (2)",
	"CREATE TABLE probe (id int8 PRIMARY KEY)",
	"CREATE SOURCE src (n int8) WITH (connector = 'faulty')",
	"CREATE MATERIALIZED VIEW mv AS SELECT id, v FROM t WHERE v % 2 = 0",
	"CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n FROM probe",
}

// stepper lets one step of a definition fail, or something else happen at it.
type stepper struct {
	mu   sync.Mutex
	on   bool
	seen int
	at   int
	// do is what happens; its error is the step's.
	do func(step string) error
	// hit is the step at which it happened.
	hit string
}

// arm lets do happen at a step.
func (s *stepper) arm(at int, do func(step string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on, s.seen, s.at, s.do, s.hit = true, 0, at, do, ""
}

func (s *stepper) disarm() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = false
	return s.hit
}

func (s *stepper) step(name string) error {
	s.mu.Lock()
	mine := s.on && s.seen == s.at
	do := s.do
	if s.on {
		s.seen++
	}
	if mine {
		s.hit = fmt.Sprintf("step %d: %s", s.at, name)
	}
	s.mu.Unlock()
	if !mine {
		return nil
	}
	return do(name)
}

// trial is a server on which a definition is tried.
type trial struct {
	t     *testing.T
	def   definition
	fs    vfs.FS
	mem   *vfs.MemFS
	steps *stepper
	disk  *stepper
	calls *stepper
	p     *panics
	f     *faulty
	n     *node
	c     *client
	// spared are operations that do not fail.
	spared func(errorfs.Op) bool
	// undone and done are the catalog before and after the statement; again is what undone is after a restart, when what has
	// failed may run again.
	undone, done, again string
}

func newTrial(t *testing.T, def definition) *trial {
	x := &trial{t: t, def: def, mem: vfs.NewCrashableMem(), steps: &stepper{}, disk: &stepper{}, calls: &stepper{}, p: newPanics(), f: newFaulty()}
	x.f.give(12)
	x.fs = watched(x.mem, func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		if x.spared != nil && x.spared(op) {
			return nil
		}
		return x.disk.step(fmt.Sprintf("operation %d on %s", op.Kind, op.Path))
	})
	t.Cleanup(func() {
		if x.n != nil {
			_ = x.n.close()
		}
	})
	x.open()
	for _, sql := range base {
		x.c.must(sql)
	}
	x.prepare()
	return x
}

// openOn opens a server on a disk.
func (x *trial) openOn(fs vfs.FS) (*node, *client) {
	x.t.Helper()
	n, err := openTuned(fs, 1, func(c *server.Config) {
		c.RestartAttempts, c.RestartDelayMax = 2, time.Millisecond
		tune := c.Tune
		c.Tune = func(e *engine.Config) {
			tune(e)
			e.Step = x.steps.step
			e.Fault = func(job flow.JobID, actor flow.ActorID, operator string) {
				x.p.call(job, actor, operator)
				if err := x.calls.step(fmt.Sprintf("job %d, %s", job, operator)); err != nil {
					panic(err)
				}
			}
		}
	}, x.f.register, func(r *connector.Registry) { r.AddSource("file", file.NewSource) })
	if err != nil {
		x.t.Fatalf("open: %v", err)
	}
	c := dial(x.t, n)
	c.must("SET statement_timeout = '100s'")
	return n, c
}

func (x *trial) open() { x.n, x.c = x.openOn(x.fs) }

// restart ends the server, if it has not ended, and starts it again.
func (x *trial) restart(ended bool) {
	x.t.Helper()
	_ = x.c.Close(context.Background())
	if err := x.n.close(); err != nil && !ended {
		x.t.Fatalf("shutdown: %v", err)
	}
	x.n = nil
	x.open()
}

// prepare makes what the definition needs.
func (x *trial) prepare() {
	x.t.Helper()
	for _, sql := range x.def.before {
		x.c.must(sql)
	}
	if x.def.fail != "" {
		id := jobID(x.t, x.n, x.def.fail)
		x.p.setAlways(id, true)
		for k := 0; status(x.t, x.n, x.def.fail).State != failover.StateStalled; k++ {
			x.f.give(int64(13 + k))
			x.c.must("UPDATE t SET v = v + 1000 WHERE id = 1")
		}
		x.f.give(100)
		x.p.setAlways(id, false)
		// A definition waits until it has been given up.
		x.c.must("CREATE SINK poke AS SELECT id FROM lone WITH (connector = 'faulty')")
		x.c.must("DROP SINK poke")
	}
	x.undone = x.describe(x.n)
}

// relation of a description: what a relation is, without the ids under which it is kept.
type described struct {
	catalog.Relation
	Reads   []string
	Stalled bool
}

// ids are the ids of what users make.
var ids = regexp.MustCompile(`:1[6-9][0-9]{3}\b`)

// describe tells what is in the catalog and what is in the tables that definitions change.
func (x *trial) describe(n *node) string {
	x.t.Helper()
	inc := n.inc(x.t)
	cat := inc.Catalog()
	var out []string
	add := func(kind string, v any) {
		b, err := json.Marshal(v)
		if err != nil {
			x.t.Fatal(err)
		}
		out = append(out, kind+" "+ids.ReplaceAllString(string(b), ":0"))
	}
	for _, r := range cat.Sorted() {
		d := described{Relation: *r}
		d.ID, d.RowsID, d.JobID, d.StateTables, d.DependsOn, d.Into, d.Parent, d.Stale, d.Altered = 0, 0, 0, nil, nil, 0, 0, "", 0
		for _, id := range r.DependsOn {
			if up := cat.RelationByID(id); up != nil {
				d.Reads = append(d.Reads, up.Name)
			}
		}
		slices.Sort(d.Reads)
		d.Stalled = inc.StalledError(r) != nil
		add("relation", d)
	}
	for _, f := range cat.SortedFunctions() {
		g := *f
		g.ID = 0
		add("function", g)
	}
	for _, name := range slices.Sorted(maps.Keys(cat.Schemas)) {
		out = append(out, "schema "+name)
	}
	for _, name := range slices.Sorted(maps.Keys(cat.Roles)) {
		out = append(out, "role "+name)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// content tells what is in the tables.
func (x *trial) content(c *client, n *node) string {
	var out []string
	for _, r := range n.inc(x.t).Catalog().Sorted() {
		if r.Kind == catalog.Table && !r.HasConnector() && r.Name != "probe" && r.Name != "t" {
			out = append(out, fmt.Sprint(r.Name, c.get(fmt.Sprintf("SELECT * FROM %q.%q", r.Schema, r.Name))))
		}
	}
	return strings.Join(out, "\n")
}

// check looks at a server: it is in one of the wanted states, nothing is left over, and it works.
func (x *trial) check(n *node, c *client, wanted ...string) string {
	x.t.Helper()
	problems, err := n.inc(x.t).Audit(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	if len(problems) > 0 {
		x.t.Errorf("left over:\n%s", strings.Join(problems, "\n"))
	}
	got := x.describe(n)
	if !slices.Contains(wanted, got) {
		for _, want := range wanted {
			x.t.Errorf("neither done nor not done:\n%s", difference(want, got))
		}
		x.t.FailNow()
	}
	for _, r := range n.inc(x.t).Catalog().Sorted() {
		if r.Kind != catalog.MatView || n.inc(x.t).StalledError(r) != nil {
			continue
		}
		want := c.get(r.Query)
		if got := c.get(fmt.Sprintf("SELECT * FROM %q.%q", r.Schema, r.Name)); !reflect.DeepEqual(got, want) {
			// A source may have gone on in between.
			c.await(fmt.Sprintf("SELECT * FROM %q.%q", r.Schema, r.Name), c.get(r.Query)...)
		}
	}
	return got
}

// works makes another definition, writes, and reads.
func (x *trial) works(c *client) {
	x.t.Helper()
	c.must("CREATE MATERIALIZED VIEW after AS SELECT count(*) AS n FROM probe")
	c.must("INSERT INTO probe VALUES (1)")
	c.want("SELECT n FROM after", "1")
	c.must("DELETE FROM probe")
	c.must("UPDATE t SET v = v + 1000 WHERE id = 1")
	c.must("DROP MATERIALIZED VIEW after")
}

// stalled is a description in which a view is stalled.
func stalled(described, view string) string {
	lines := strings.Split(described, "\n")
	for k, l := range lines {
		if strings.Contains(l, fmt.Sprintf("%q:%q", "Name", view)) {
			lines[k] = strings.Replace(l, `"Stalled":false`, `"Stalled":true`, 1)
		}
	}
	return strings.Join(lines, "\n")
}

// difference gives the lines that only one of two texts has.
func difference(want, got string) string {
	var out []string
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, l := range w {
		if !slices.Contains(g, l) {
			out = append(out, "- "+l)
		}
	}
	for _, l := range g {
		if !slices.Contains(w, l) {
			out = append(out, "+ "+l)
		}
	}
	return strings.Join(out, "\n")
}

// outcome is what may be after a fault.
type outcome struct {
	// fatal: the server may end with an error; either: what was said to have failed may be done.
	fatal, either bool
}

// run runs the statement once with a fault, and tells whether it happened.
func (x *trial) run(what string, s *stepper, at int, do func(step string) error, o outcome) bool {
	x.t.Helper()
	before := x.content(x.c, x.n)
	s.arm(at, do)
	_, err := x.c.Exec(x.t.Context(), x.def.sql)
	hit := s.disarm()
	defer func() {
		if x.t.Failed() {
			x.t.Logf("%s, %s at %s: the statement gave %v", x.def.name, what, hit, err)
		}
	}()
	if o.fatal {
		x.reopenIfEnded()
	}
	var wanted []string
	switch {
	case err == nil:
		wanted = []string{x.done}
	case o.either:
		wanted = []string{x.undone, x.done}
	default:
		wanted = []string{x.undone}
	}

	var e *pgconn.PgError
	if errors.As(err, &e) && (e.Code == "40001" || e.Detail != "" || e.Code[:2] == "57" && o.fatal) || o.fatal && err != nil && e == nil {
		// It may be done, and says so.
		wanted = []string{x.undone, x.again, x.done}
	}
	if err != nil && x.def.partly != "" {
		wanted = append(wanted, stalled(x.done, x.def.partly))
	}
	x.works(x.c)
	got := x.check(x.n, x.c, wanted...)
	content := x.content(x.c, x.n)
	if got == x.undone && got != x.done && content != before {
		x.t.Errorf("%s is not done, but\n%s\nbecame\n%s", x.def.sql, before, content)
	}
	x.restart(false)
	if got == x.undone {
		got = x.again
	}
	x.check(x.n, x.c, got)
	if again := x.content(x.c, x.n); again != content {
		x.t.Errorf("after a restart\n%s\nis\n%s", content, again)
	}
	x.reset(got)
	return hit != ""
}

// reopenIfEnded starts the server again if a fault was such that it had to end.
func (x *trial) reopenIfEnded() {
	x.t.Helper()
	conn, err := x.n.connect(x.t.Context())
	if err == nil {
		// Whoever must end does so at the latest with this.
		_, err = conn.Exec(x.t.Context(), "CREATE SCHEMA poke")
		_, derr := conn.Exec(x.t.Context(), "DROP SCHEMA poke")
		err = errors.Join(err, derr)
		_ = conn.Close(context.Background())
	}
	if err == nil {
		return
	}
	_ = x.n.close()
	x.n = nil
	x.open()
	if x.c.get("SELECT count(*) FROM pg_namespace WHERE nspname = 'poke'")[0] == "1" {
		x.c.must("DROP SCHEMA poke")
	}
}

// reset makes the state before the statement again.
func (x *trial) reset(got string) {
	x.t.Helper()
	if got != x.undone || got == x.done {
		x.remake()
	}
}

// remake makes the state before the statement again, from that after it or something in between.
func (x *trial) remake() {
	x.t.Helper()
	for _, sql := range x.def.undo {
		x.c.must(sql)
	}
	if len(x.def.before) > 0 {
		x.prepare()
	}
}

// learn finds what the statement does when nothing is in the way.
func (x *trial) learn() {
	x.t.Helper()
	x.c.must(x.def.sql)
	x.done = x.describe(x.n)
	x.check(x.n, x.c, x.done)
	x.reset(x.done)
	x.undone = x.describe(x.n)
	x.check(x.n, x.c, x.undone)
	x.restart(false)
	if x.again = x.describe(x.n); x.again != x.undone {
		x.remake()
	}
}

var errStep = errors.New("this step fails as it was told")

// each runs f for every definition.
func each(t *testing.T, f func(x *trial)) {
	for _, def := range definitions {
		t.Run(strings.ReplaceAll(def.name, " ", "_"), func(t *testing.T) {
			x := newTrial(t, def)
			x.learn()
			f(x)
		})
	}
}

// TestDefinitionStepsThatFail: whatever step of a definition fails, the statement has either done everything or nothing.
func TestDefinitionStepsThatFail(t *testing.T) {
	each(t, func(x *trial) {
		for at := 0; x.run("an error", x.steps, at, func(string) error { return errStep }, outcome{}); at++ {
			if x.t.Failed() {
				return
			}
		}
	})
}

// TestDefinitionsCancelled: whenever a definition is cancelled, it has either done everything or nothing.
func TestDefinitionsCancelled(t *testing.T) {
	each(t, func(x *trial) {
		for at := 0; ; at++ {
			c := x.c
			cancel := func(string) error { return c.PgConn().CancelRequest(t.Context()) }
			if !x.run("a cancellation", x.steps, at, cancel, outcome{}) || t.Failed() {
				return
			}
		}
	})
}

// TestFailuresDuringDefinitions: everything is started again in the middle of a definition, at each of its steps.
func TestFailuresDuringDefinitions(t *testing.T) {
	each(t, func(x *trial) {
		for at := 0; ; at++ {
			inc := x.n.inc(t)
			if !x.run("a failure of everything", x.steps, at, func(string) error { inc.RT.GiveUp(errStep); return nil }, outcome{either: true}) || t.Failed() {
				return
			}
		}
	})
}

// TestPanicsDuringDefinitions: an operator fails in the middle of a definition.
func TestPanicsDuringDefinitions(t *testing.T) {
	most := 12
	if testing.Short() {
		most = 4
	}
	each(t, func(x *trial) {
		for at := 0; at < most; at++ {
			if !x.run("a panic", x.calls, at, func(string) error { return errStep }, outcome{}) || t.Failed() {
				return
			}
		}
	})
}

// TestCrashesDuringDefinitions: the machine loses its power at each step of a definition.
func TestCrashesDuringDefinitions(t *testing.T) {
	each(t, func(x *trial) {
		type crash struct {
			fs   *vfs.MemFS
			step string
		}
		var crashes []crash
		for at := 0; ; at++ {
			var c *crash
			x.steps.arm(at, func(step string) error {
				c = &crash{x.mem.CrashClone(vfs.CrashCloneCfg{}), step}
				return nil
			})
			x.c.must(x.def.sql)
			hit := x.steps.disarm()
			x.reset(x.done)
			if hit == "" {
				break
			}
			crashes = append(crashes, *c)
		}
		for k, c := range crashes {
			n, client := x.openOn(c.fs)
			x.works(client)
			wanted := []string{x.again, x.done}
			if x.def.partly != "" {
				wanted = append(wanted, stalled(x.done, x.def.partly))
			}
			x.check(n, client, wanted...)
			if err := n.close(); err != nil {
				t.Fatal(err)
			}
			if t.Failed() {
				t.Fatalf("%s, crash at step %d: %s", x.def.name, k, c.step)
			}
		}
	})
}

// TestDiskErrorsDuringDefinitions: one operation on the disk fails in the middle of a definition, or finds the disk full.
func TestDiskErrorsDuringDefinitions(t *testing.T) {
	for _, why := range []error{syscall.EIO, syscall.ENOSPC} {
		stride := 17
		if os.Getenv("WEIR_SOAK") != "" {
			stride = 1
		}
		each(t, func(x *trial) {
			x.spared = func(op errorfs.Op) bool {
				if why == syscall.EIO {
					// There the storage engine ends the process: a crash.
					return strings.HasPrefix(op.Path, "/data/state")
				}
				// Only what writes needs room.
				return op.Kind != errorfs.OpFileWrite && op.Kind != errorfs.OpCreate
			}
			for at := 0; ; at += stride {
				if !x.run(why.Error(), x.disk, at, func(string) error { return why }, outcome{fatal: true}) || t.Failed() {
					return
				}
			}
		})
	}
}
