// Package rowerr keeps the row errors of a job: which expressions fail on which rows, and how often. Operators report what
// fails and what does not any more (exec.RowFailure); the sum is kept in an arrangement, so that it is part of checkpoints,
// is as it was after a restart, and can be read at an epoch like the rows of a view.
//
//  1. Each actor of the job has a Writer, which adds up what its operators report in an epoch.
//  2. At a barrier it hands that to the Log of the job. Actors pass barriers at different times, so the Log adds up epoch by
//     epoch; the last actor to pass a barrier applies its epoch to the arrangement and seals it, before it tells anybody that
//     it has passed. So an epoch is complete only when its errors can be read.
//  3. An entry is an expression of an operator and a row, by SQL equality: the actor that saw the row come and the one that
//     sees it go may be different ones, in different runs with other parallelism.
//
// The sum over all entries is exact. At most Config.Listed rows of a job are told apart; what is more is counted by
// expression and SQLSTATE, without its rows, so that a job whose rows all fail does not keep them all.
package rowerr

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// DefaultListed is Config.Listed if that is 0.
const DefaultListed = 10_000

// Site describes an expression of an operator for users.
type Site struct {
	Operator, Expression string
	// Columns are the names of the columns of its rows; "" is not shown.
	Columns []string
}

// Config says what a Log is for.
type Config struct {
	// Arrangement holds the entries. The Log is its only writer.
	Arrangement *storage.Arrangement
	// Actors is how many writers there are.
	Actors int
	// Describe describes expression number site of an operator of a fragment.
	Describe func(fragment int, op string, site int) Site
	// Listed is how many entries have a row.
	Listed int
	// Strict: an epoch at the end of which something fails is an error, which ends the job.
	Strict bool
}

// Log is the row errors of a running job.
type Log struct {
	cfg Config
	// ever: there have been entries since the Log was made. total is their sum in the newest epoch.
	ever  atomic.Bool
	total atomic.Int64

	mu      sync.Mutex
	writers []*Writer
	// open are the epochs that some writers have ended and others have not, oldest first.
	open []*part
	// listed is the number of entries with a row.
	listed int64
}

// part is what the writers that have ended an epoch had to say of it.
type part struct {
	epoch    storage.Epoch
	passed   int
	failures map[string]*failure
}

// failure is the change of an entry in an epoch.
type failure struct {
	fragment int
	op       string
	site     int
	err      *sqlerr.Error
	// row is the text of the row; not listed: the entry is for all rows that have none of their own.
	row    string
	listed bool
	diff   int64
}

// Keys of the arrangement: totalKey for the sums; keyRow, the hash of a row, and number and hash of the expression; keyOthers and the hash
// of an expression and a SQLSTATE. Rows come first so that the order does not depend on how a plan is cut into fragments.
const (
	keyTotal byte = iota
	keyRow
	keyOthers
)

var totalKey = []byte{keyTotal}

// hashBytes of a SHA-256 tell rows, and expressions, apart.
const hashBytes = 16

// New makes the Log of a job that is about to start from what is in the arrangement.
func New(cfg Config) (*Log, error) {
	if cfg.Listed == 0 {
		cfg.Listed = DefaultListed
	}
	l := &Log{cfg: cfg}
	val, ok, err := cfg.Arrangement.HeadGet(totalKey)
	if err != nil || !ok {
		return l, err
	}
	total, listed, err := decodeTotal(val)
	l.total.Store(total)
	l.listed = listed
	l.ever.Store(true)
	return l, err
}

// Ever tells whether there may be entries in an epoch since the Log was made, or in the one before.
func (l *Log) Ever() bool { return l.ever.Load() }

// Total is how many errors there are in the newest epoch.
func (l *Log) Total() int64 { return l.total.Load() }

// Writer makes the writer of an actor. There must be as many as actors before one of them ends an epoch that all have.
func (l *Log) Writer() *Writer {
	w := &Writer{l: l, pending: map[string]*failure{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writers = append(l.writers, w)
	// An actor may begin after others have passed their first barrier: that is its first one too.
	return w
}

// Writer takes the row errors of one actor.
type Writer struct {
	l       *Log
	pending map[string]*failure
	// ahead counts the open epochs that it has ended, the first ones; guarded by Log.mu.
	ahead int
	buf   []byte
	keys  []vec.SortKey
}

// Failed notes what an operator reports.
func (w *Writer) Failed(fragment int, op string, f exec.RowFailure) error {
	if f.Diff == 0 {
		return nil
	}
	w.keys = w.keys[:0]
	for k, v := range f.Cols {
		if v.Len() > f.Row {
			w.keys = append(w.keys, vec.SortKey{Col: k})
		}
	}
	w.buf = vec.EncodeKey(w.buf[:0], f.Cols, f.Row, w.keys)
	key := hashed([]byte{keyRow}, w.buf)
	w.buf = appendSite(w.buf[:0], fragment, op, f.Site)
	key = hashed(binary.BigEndian.AppendUint16(key, uint16(f.Site)), w.buf)
	if p := w.pending[string(key)]; p != nil {
		p.diff += f.Diff
		return nil
	}
	p := &failure{fragment: fragment, op: op, site: f.Site, err: sqlerr.From(f.Err), listed: true, diff: f.Diff}
	if len(w.pending) >= w.l.cfg.Listed {
		// Rows beyond what can be listed are added up at once, but for those that are listed.
		_, ok, err := w.l.cfg.Arrangement.HeadGet(key)
		if err != nil {
			return err
		}
		if !ok {
			p.listed = false
			key = p.others()
			if o := w.pending[string(key)]; o != nil {
				o.diff += f.Diff
				return nil
			}
		}
	}
	if p.listed {
		p.row = rowText(w.l.cfg.Describe(fragment, op, f.Site).Columns, f)
	}
	w.pending[string(key)] = p
	return nil
}

func appendSite(b []byte, fragment int, op string, site int) []byte {
	b = binary.AppendUvarint(b, uint64(fragment))
	b = binary.AppendUvarint(b, uint64(site))
	return append(b, op...)
}

// hashed appends the hash of b.
func hashed(dst, b []byte) []byte {
	hash := sha256.Sum256(b)
	return append(dst, hash[:hashBytes]...)
}

// others is the key of the entry for the rows of the same expression that are not listed.
func (f *failure) others() []byte {
	return hashed([]byte{keyOthers}, append(appendSite(nil, f.fragment, f.op, f.site), f.err.Code...))
}

// Barrier ends an epoch. The last writer to do so makes its errors readable.
func (w *Writer) Barrier(b exec.Barrier) error {
	l := w.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.ahead == len(l.open) {
		l.open = append(l.open, &part{epoch: b.Epoch})
	}
	p := l.open[w.ahead]
	if p.epoch != b.Epoch {
		return fmt.Errorf("row errors: epochs %d and %d end together", p.epoch, b.Epoch)
	}
	if len(w.pending) > 0 {
		if p.failures == nil {
			p.failures, w.pending = w.pending, map[string]*failure{}
		} else {
			for k, f := range w.pending {
				if o := p.failures[k]; o != nil {
					o.diff += f.diff
				} else {
					p.failures[k] = f
				}
			}
			clear(w.pending)
		}
	}
	w.ahead++
	if p.passed++; p.passed < l.cfg.Actors {
		return nil
	}
	l.open = slices.Delete(l.open, 0, 1)
	for _, w := range l.writers {
		w.ahead--
	}
	return l.apply(p, b)
}

// apply brings the errors of an epoch into the arrangement. If there are none it has no version of that epoch: a reader
// finds the one before.
func (l *Log) apply(p *part, b exec.Barrier) error {
	arr := l.cfg.Arrangement
	if len(p.failures) > 0 {
		if err := l.change(p, b); err != nil {
			return err
		}
	}
	if len(p.failures) > 0 || b.Checkpoint && l.Ever() {
		arr.Seal(b.Epoch, b.Checkpoint)
	}
	if l.cfg.Strict && l.Total() > 0 {
		return l.strict()
	}
	return nil
}

func (l *Log) change(p *part, b exec.Barrier) error {
	total := l.total.Load()
	keys := make([]string, 0, len(p.failures))
	for k, f := range p.failures {
		if f.diff != 0 {
			keys = append(keys, k)
			total += f.diff
		}
	}
	if len(keys) == 0 {
		return nil
	}
	l.ever.Store(true)
	slices.Sort(keys)
	// Rows that go first: they make room for those that come.
	slices.SortStableFunc(keys, func(x, y string) int {
		return int(min(max(p.failures[x].diff, -1), 1) - min(max(p.failures[y].diff, -1), 1))
	})
	for _, k := range keys {
		if err := l.changeEntry([]byte(k), p.failures[k], b); err != nil {
			return err
		}
	}
	sum := storage.Change{Key: totalKey, Value: encodeTotal(total, l.listed)}
	if total == 0 && l.listed == 0 {
		sum = storage.Change{Key: totalKey, Delete: true}
	}
	l.cfg.Arrangement.Apply([]storage.Change{sum})
	l.total.Store(total)
	return nil
}

func (l *Log) changeEntry(key []byte, f *failure, b exec.Barrier) error {
	val, ok, err := l.cfg.Arrangement.HeadGet(key)
	if err != nil {
		return err
	}
	if !ok && f.listed {
		others := f.others()
		full := f.diff > 0 && l.listed >= int64(l.cfg.Listed)
		if f.diff < 0 {
			// The row was not listed when it came.
			if _, full, err = l.cfg.Arrangement.HeadGet(others); err != nil {
				return err
			}
		}
		if full {
			o := *f
			o.listed, o.row = false, ""
			return l.changeEntry(others, &o, b)
		}
	}
	var e Entry
	if ok {
		if e, err = decodeEntry(val); err != nil {
			return err
		}
	} else {
		site := l.cfg.Describe(f.fragment, f.op, f.site)
		e = Entry{
			Operator: site.Operator, Expression: site.Expression, Code: f.err.Code, Message: cut(f.err.Message, maxText), Row: f.row,
			FirstEpoch: b.Epoch, FirstTime: b.Time,
		}
		if f.listed {
			l.listed++
		}
	}
	e.Count += f.diff
	if f.diff > 0 || !ok {
		e.LastEpoch, e.LastTime = b.Epoch, b.Time
	}
	c := storage.Change{Key: key}
	if e.Count == 0 {
		c.Delete = true
		if f.listed {
			l.listed--
		}
	} else {
		c.Value = e.encode()
	}
	l.cfg.Arrangement.Apply([]storage.Change{c})
	return nil
}

// strict is the error of a job whose rows must not fail.
func (l *Log) strict() error {
	var e Entry
	stop := fmt.Errorf("found")
	err := l.cfg.Arrangement.HeadScan([]byte{keyRow}, nil, func(_, v []byte) (err error) {
		if e, err = decodeEntry(v); err != nil || e.Count <= 0 {
			return err
		}
		return stop
	})
	if err != nil && err != stop {
		return err
	}
	return e.Err()
}

// maxText is how many bytes of a message or a row are kept.
const maxText = 1000

// rowText shows a row: name = value, and so on.
func rowText(names []string, f exec.RowFailure) string {
	var b strings.Builder
	for k, v := range f.Cols {
		if v.Len() <= f.Row || k >= len(names) || names[k] == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		if b.Len() > maxText {
			break
		}
		b.WriteString(names[k])
		b.WriteString(" = ")
		if v.IsNull(f.Row) {
			b.WriteString("NULL")
			continue
		}
		text := cut(types.Format(v.Type, v.Datum(f.Row), nil), maxText/4)
		switch v.Type.Phys() {
		case types.PhysFloat, types.PhysDec:
			b.WriteString(text)
		case types.PhysInt:
			switch v.Type.Kind {
			case types.Int2, types.Int4, types.Int8:
				b.WriteString(text)
			default:
				quote(&b, text)
			}
		case types.PhysBool:
			b.WriteString(map[string]string{"t": "true", "f": "false"}[text])
		default:
			quote(&b, text)
		}
	}
	return cut(b.String(), maxText)
}

func quote(b *strings.Builder, s string) {
	b.WriteByte('\'')
	b.WriteString(strings.ReplaceAll(s, "'", "''"))
	b.WriteByte('\'')
}

// cut shortens s to about n bytes, at the end of a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "..."
}
