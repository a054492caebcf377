package pg

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// talk is a script of several sessions at the same time.
type talk struct {
	t        *testing.T
	url      string
	schema   string
	postgres bool
	// watch is a session of its own that looks for locks.
	watch    *asker
	sessions map[string]*speaker
}

// speaker is one session of a talk.
type speaker struct {
	*asker
	pid  uint32
	done chan string // capacity 1: the answer of the statement that runs
	busy bool
}

func (k *talk) session(name string) *speaker {
	s := k.sessions[name]
	if s == nil {
		a := connect(k.t, k.url)
		a.query("SET search_path = " + k.schema)
		if k.postgres {
			a.query("SET deadlock_timeout = '20ms'")
		}
		s = &speaker{asker: a, pid: a.conn.PID(), done: make(chan string, 1)}
		k.sessions[name] = s
	}
	return s
}

// line runs a statement of one session, and gives what has come of it and of those that waited.
func (k *talk) line(out *strings.Builder, line string) {
	name, sql, ok := strings.Cut(line, ": ")
	if !ok {
		k.t.Fatalf("no session: %q", line)
	}
	s := k.session(name)
	if s.busy {
		k.t.Fatalf("%s waits and cannot do %q", name, sql)
	}
	s.busy = true
	go func() { s.done <- s.query(sql) }()
	k.settle(out, name)
}

// settle awaits that each statement is done or waits for a lock.
func (k *talk) settle(out *strings.Builder, first string) {
	var names []string
	for n := range k.sessions {
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
			s := k.sessions[n]
			for s.busy {
				select {
				case r := <-s.done:
					s.busy, again = false, true // others may go on
					fmt.Fprintf(out, "%s: %s\n", n, r)
					continue
				default:
				}
				if k.waits(s) {
					break
				}
			}
		}
	}
	sort.Strings(names)
	for _, n := range names {
		if k.sessions[n].busy {
			fmt.Fprintf(out, "%s waits\n", n)
		}
	}
}

// waits tells whether a session waits for a lock.
func (k *talk) waits(s *speaker) bool {
	q := fmt.Sprintf("SELECT count(*) FROM pg_locks WHERE pid = %d AND NOT granted", s.pid)
	for range 2 {
		if k.watch.query(q) == "count:  0" {
			return false
		}
		if !k.postgres {
			break
		}
		// PostgreSQL finds a deadlock a while after it has come about.
		k.watch.query("SELECT pg_sleep(0.1)")
	}
	return len(s.done) == 0
}

// talks runs the scripts of testdata/sessions: a line of the directive "run" is a session and a statement of it; "x waits" follows for each
// session that waits for a lock. With "setup" the lines are statements whose answers are not shown.
func talks(t *testing.T, url string, postgres bool) {
	datadriven.Walk(t, "testdata/sessions", func(t *testing.T, path string) {
		schema := "t_" + strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], ".txt")
		var k *talk
		n := 0
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			switch d.Cmd {
			case "setup":
				n++
				k = &talk{t: t, url: url, schema: fmt.Sprintf("%s_%d", schema, n), postgres: postgres, watch: connect(t, url), sessions: map[string]*speaker{}}
				k.watch.query("CREATE SCHEMA " + k.schema)
				k.watch.query("SET search_path = " + k.schema)
				for line := range strings.SplitSeq(d.Input, "\n") {
					if got := k.watch.query(line); strings.HasPrefix(got, "ERROR") {
						d.Fatalf(t, "%s: %s", line, got)
					}
				}
			case "run":
				for line := range strings.SplitSeq(d.Input, "\n") {
					k.line(&out, line)
				}
			default:
				d.Fatalf(t, "no directive %s", d.Cmd)
			}
			return out.String()
		})
	})
}

// TestSessions compares what sessions of Weir do to each other with the files.
func TestSessions(t *testing.T) { talks(t, startWeir(t), false) }

// TestSessionsOfPostgres compares PostgreSQL with the files.
func TestSessionsOfPostgres(t *testing.T) {
	if !*usePostgres {
		t.Log("without -postgres only Weir is asked")
		return
	}
	talks(t, startPostgres(t), true)
}
