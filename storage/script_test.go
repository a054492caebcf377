package storage

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestScripts runs testdata/arrangement: stories of versions, commits and readers. Commands:
//
//	apply table=1 [writer=0]     lines "+ key value" and "- key" go to the head
//	seal epoch=1 [checkpoint] table=1 [writer=0]
//	complete epoch=1             SetCompleted
//	commit epoch=1 [drop=1]
//	snapshot name=s [epoch=1]    without an epoch: the newest complete one
//	release name=s
//	read name=s table=1 [lo=a] [hi=b] [reverse]
//	get name=s table=1 key=a
//	version table=1 epoch=1      reads what a backfill reader sees
//	head table=1 [key=a]
//	writers table=1 n=2
//	forms table=1                what is committed: blocks of rows, and rows by themselves
//	stats                        what is kept for whom
//	reopen
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/arrangement", func(t *testing.T, path string) {
		r := &scriptRunner{t: t, fs: vfs.NewMem(), snaps: map[string]*Snapshot{}}
		r.s = testStore(t, r.fs)
		datadriven.RunTest(t, path, r.run)
		r.close()
	})
}

type scriptRunner struct {
	t     *testing.T
	fs    vfs.FS
	s     *Store
	snaps map[string]*Snapshot
}

func (r *scriptRunner) close() {
	for n, sn := range r.snaps {
		sn.Release()
		delete(r.snaps, n)
	}
	mustClose(r.t, r.s)
}

type scriptArgs struct {
	table, epoch, writer, n, drop uint64
	name, key, lo, hi             string
	reverse, checkpoint           bool
}

func (r *scriptRunner) args(d *datadriven.TestData) scriptArgs {
	var a scriptArgs
	for _, c := range d.CmdArgs {
		val := ""
		if len(c.Vals) > 0 {
			val = c.Vals[0]
		}
		num := func() uint64 {
			v, err := strconv.ParseUint(val, 10, 64)
			if err != nil {
				d.Fatalf(r.t, "%s: %v", c.Key, err)
			}
			return v
		}
		switch c.Key {
		case "table":
			a.table = num()
		case "epoch":
			a.epoch = num()
		case "writer":
			a.writer = num()
		case "n":
			a.n = num()
		case "drop":
			a.drop = num()
		case "name":
			a.name = val
		case "key":
			a.key = val
		case "lo":
			a.lo = val
		case "hi":
			a.hi = val
		case "reverse":
			a.reverse = true
		case "checkpoint":
			a.checkpoint = true
		default:
			d.Fatalf(r.t, "unknown argument %s", c.Key)
		}
	}
	return a
}

func bound(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

func (r *scriptRunner) rows(it *Iterator) string {
	var b strings.Builder
	for it.Next() {
		fmt.Fprintf(&b, "%s %s\n", it.Key(), it.Value())
	}
	if err := it.Close(); err != nil {
		return "error: " + err.Error() + "\n"
	}
	if b.Len() == 0 {
		return "(empty)\n"
	}
	return b.String()
}

func value(v []byte, ok bool, err error) string {
	switch {
	case err != nil:
		return "error: " + err.Error() + "\n"
	case !ok:
		return "(none)\n"
	}
	return string(v) + "\n"
}

func outcome(err error) string {
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	return ""
}

func (r *scriptRunner) run(t *testing.T, d *datadriven.TestData) string {
	a := r.args(d)
	table := TableID(a.table)
	switch d.Cmd {
	case "writers":
		r.s.Arrangement(table).SetWriters(int(a.n))
	case "apply":
		var cs []Change
		for _, line := range strings.Split(d.Input, "\n") {
			f := strings.Fields(line)
			switch {
			case len(f) == 3 && f[0] == "+":
				cs = append(cs, Change{Key: []byte(f[1]), Value: []byte(f[2])})
			case len(f) == 2 && f[0] == "-":
				cs = append(cs, Change{Key: []byte(f[1]), Delete: true})
			default:
				d.Fatalf(t, "bad change %q", line)
			}
		}
		r.s.Arrangement(table).Writer(int(a.writer)).Apply(cs)
	case "seal":
		r.s.Arrangement(table).Writer(int(a.writer)).Seal(Epoch(a.epoch), a.checkpoint)
	case "complete":
		r.s.SetCompleted(Epoch(a.epoch))
	case "commit":
		c := Commit{Epoch: Epoch(a.epoch)}
		if a.drop != 0 {
			c.DropTables = []TableID{TableID(a.drop)}
		}
		return outcome(r.s.Commit(context.Background(), c))
	case "snapshot":
		var sn *Snapshot
		var err error
		if a.epoch != 0 {
			sn, err = r.s.Snapshot(Epoch(a.epoch))
		} else {
			sn, err = r.s.Latest()
		}
		if err != nil {
			return outcome(err)
		}
		r.snaps[a.name] = sn
		return fmt.Sprintf("at epoch %d\n", sn.Epoch())
	case "release":
		r.snaps[a.name].Release()
		delete(r.snaps, a.name)
	case "read":
		return r.rows(r.snaps[a.name].Table(table).Iterator(bound(a.lo), bound(a.hi), a.reverse))
	case "get":
		return value(r.snaps[a.name].Table(table).Get([]byte(a.key)))
	case "version":
		v, err := r.s.Arrangement(table).VersionAt(Epoch(a.epoch))
		if err != nil {
			return outcome(err)
		}
		defer v.Release()
		return r.rows(v.Iterator(nil, nil, false))
	case "head":
		if a.key != "" {
			return value(r.s.Arrangement(table).HeadGet([]byte(a.key)))
		}
		var b strings.Builder
		if err := r.s.Arrangement(table).HeadScan(bound(a.lo), bound(a.hi), func(k, v []byte) error {
			fmt.Fprintf(&b, "%s %s\n", k, v)
			return nil
		}); err != nil {
			return outcome(err)
		}
		return b.String()
	case "forms":
		var b strings.Builder
		it, err := rowsIter(r.s.db, table, nil)
		if err != nil {
			return outcome(err)
		}
		for ok := it.First(); ok; ok = it.Next() {
			s, err := rowsAt(it)
			if err != nil {
				return outcome(err)
			}
			b.WriteString("block")
			for i := range s.n {
				fmt.Fprintf(&b, " %s=%s", s.key(i), s.value(i))
			}
			b.WriteString("\n")
		}
		if err := it.Close(); err != nil {
			return outcome(err)
		}
		if it, err = iterFrom(r.s.db, table, nil, nil); err != nil {
			return outcome(err)
		}
		for ok := it.First(); ok; ok = it.Next() {
			fmt.Fprintf(&b, "row %s=%s\n", it.Key()[tablePrefixLen:], it.Value())
		}
		if err := it.Close(); err != nil {
			return outcome(err)
		}
		return b.String()
	case "stats":
		m := r.s.Metrics()
		return fmt.Sprintf("checkpoint %d, versions %d, uncommitted bytes %d, pins %d\n",
			r.s.Checkpoint().Epoch, m.Versions, m.OverlayBytes, m.Pins)
	case "reopen":
		r.close()
		r.s = testStore(t, r.fs)
		return fmt.Sprintf("at checkpoint %d\n", r.s.Checkpoint().Epoch)
	default:
		d.Fatalf(t, "unknown command")
	}
	return ""
}
