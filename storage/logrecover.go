package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirdb/weir/sql/sqlerr"
)

// recover finds the end of the log.
func (l *Log) recover() error {
	firsts, err := listSegments(l.cfg.fs, l.cfg.dir, false)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	// Replay starts in the last segment that begins at or before the first needed record.
	need := l.cfg.checkpoint + 1
	start := -1
	for i, f := range firsts {
		if f <= need {
			start = i
		}
	}
	if start < 0 && (len(firsts) > 0 || l.cfg.checkpoint > 0) {
		return fmt.Errorf("log %s: no segment holds record %d, which comes after the last checkpoint", l.cfg.dir, need)
	}
	// A retained checkpoint may need earlier ones.
	oldest := start
	for oldest > 0 && firsts[oldest] > min(l.cfg.keep, l.cfg.checkpoint)+1 {
		oldest--
	}
	for i, f := range firsts {
		if i < oldest {
			if err := l.cfg.fs.Remove(l.path(f)); err != nil {
				return fmt.Errorf("log: %w", err)
			}
			continue
		}
		st, err := l.cfg.fs.Stat(l.path(f))
		if err != nil {
			return fmt.Errorf("log: %w", err)
		}
		l.segs = append(l.segs, segment{first: f, bytes: st.Size()})
	}
	next := LogPos(1)
	if err := l.eachSegment(func(data []byte, limit LogPos) error {
		n, err := scanSegment(data, limit, nil)
		next = n
		return err
	}); err != nil {
		return err
	}
	if n := len(l.segs); n > 0 {
		// What we have read may be in the operating system's memory only.
		f, err := l.cfg.fs.OpenReadWrite(l.path(l.segs[n-1].first), vfs.WriteCategoryUnspecified)
		if err != nil {
			return fmt.Errorf("log: %w", err)
		}
		err = f.Sync()
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err == nil {
			err = syncDir(l.cfg.fs, l.cfg.dir)
		}
		if err != nil {
			return fmt.Errorf("log: %w", err)
		}
	}
	// A checkpoint may contain records that were written without a sync and are lost.
	l.end = max(next-1, l.cfg.checkpoint)
	l.durable = l.end
	return nil
}

// eachSegment reads the segments in order; limit is where the next one starts, 0 for the last. An
// error names the file.
func (l *Log) eachSegment(fn func(data []byte, limit LogPos) error) error {
	l.segMu.Lock()
	segs := append([]segment(nil), l.segs...)
	l.segMu.Unlock()
	for i, s := range segs {
		var limit LogPos
		if i+1 < len(segs) {
			limit = segs[i+1].first
			if limit <= l.cfg.checkpoint+1 {
				continue
			}
		}
		name := l.path(s.first)
		data, err := readFile(l.cfg.fs, name)
		if err != nil {
			return fmt.Errorf("log segment %s: %w", name, err)
		}
		if err := fn(data, limit); err != nil {
			var e *replayError
			if errors.As(err, &e) {
				return e.err
			}
			return &sqlerr.Error{Code: sqlerr.DataCorrupted, Pos: sqlerr.NoPos,
				Message: "log segment " + name + " is damaged", Cause: err}
		}
	}
	return nil
}

// replayError carries an error of the caller's function through scanSegment.
type replayError struct{ err error }

func (e *replayError) Error() string { return e.err.Error() }

// Replay calls fn for every record after the given position, in order; give it the checkpoint's
// LogPos. It must be called before the first Submit. rec must not be modified; it stays valid.
func (l *Log) Replay(after LogPos, fn func(pos LogPos, rec []byte) error) error {
	return l.eachSegment(func(data []byte, limit LogPos) error {
		_, err := scanSegment(data, limit, func(b block) error {
			if b.last() <= after {
				return nil
			}
			return b.records(func(pos LogPos, rec []byte) error {
				if pos <= after {
					return nil
				}
				if err := fn(pos, rec); err != nil {
					return &replayError{err}
				}
				return nil
			})
		})
		return err
	})
}
