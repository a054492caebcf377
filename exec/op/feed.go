package op

import (
	"bytes"
	"errors"
	"slices"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// FeedRow is what an epoch does to a row: it comes Diff times, or goes if Diff is negative.
type FeedRow struct {
	// Row is in the row codec (vec.EncodeRow).
	Row  []byte
	Diff int64
}

// FeedConfig configures a Feed.
type FeedConfig struct {
	In []types.Type
	// Key orders the rows of an epoch.
	Key []SortKey
	// Visible are the columns that the subscriber sees.
	Visible []int
	// Begin is told of the first barrier: everything that comes is after its epoch.
	Begin func(storage.Epoch) error
	// Hold is told how many bytes the epoch has so far, and says whether to go on collecting it.
	Hold func(bytes int) bool
	// Emit gets the net changes of an epoch, which may be none, and keeps them. It must not block.
	Emit func(epoch storage.Epoch, rows []FeedRow)
}

// Feed gives the net changes of each epoch to a subscriber.
//
//	In:      one port, any changelog. Before the first barrier nothing comes.
//	Out:     nothing.
//	State:   none.
//	Memory:  the changes of the epoch, as far as Hold allows it.
//	Barrier: gives the subscriber the changes of the epoch: those that have not cancelled out, by key, and for a key
//	         first what goes and then what comes. Then forwards it.
//	Errors:  those of Begin.
type Feed struct {
	base
	cfg   FeedConfig
	begun bool
	// over: Hold has said that it is too much.
	over  bool
	index map[string]int
	rows  []feedRow
	bytes int
	buf   []byte
	view  vec.Chunk
}

type feedRow struct {
	// text is the key and then the visible row, which begins at at.
	text string
	at   int
	diff int64
}

// NewFeed checks the configuration.
func NewFeed(cfg FeedConfig) (*Feed, error) {
	if cfg.Emit == nil || cfg.Begin == nil || cfg.Hold == nil {
		return nil, errors.New("Feed: no subscriber")
	}
	if err := checkCols("Feed.Key", sortCols(cfg.Key), len(cfg.In)); err != nil {
		return nil, err
	}
	if err := checkCols("Feed.Visible", cfg.Visible, len(cfg.In)); err != nil {
		return nil, err
	}
	f := &Feed{cfg: cfg, index: map[string]int{}}
	f.schema = cfg.In
	return f, nil
}

// Chunk adds changes to those of the epoch.
func (f *Feed) Chunk(_ int, c *vec.Chunk) error {
	if f.over {
		return nil
	}
	f.view.View(c, f.cfg.Visible)
	for i := range c.Len() {
		f.buf = vec.EncodeKey(f.buf[:0], c.Cols, i, f.cfg.Key)
		at := len(f.buf)
		f.buf = vec.EncodeRow(f.buf, f.view.Cols, i)
		n, ok := f.index[string(f.buf)]
		if !ok {
			n = len(f.rows)
			text := string(f.buf)
			f.index[text] = n
			f.rows = append(f.rows, feedRow{text: text, at: at})
			f.bytes += len(text) + 64
		}
		f.rows[n].diff += c.Diff(i)
	}
	if !f.cfg.Hold(f.bytes) {
		f.over = true
		f.clear()
	}
	return nil
}

func (f *Feed) clear() { f.rows, f.index, f.bytes = nil, map[string]int{}, 0 }

// Barrier ends the epoch.
func (f *Feed) Barrier(b exec.Barrier) error {
	if !f.begun {
		f.begun = true
		f.clear()
		if err := f.cfg.Begin(b.Epoch); err != nil {
			return err
		}
		return f.out.Barrier(b)
	}
	if !f.over {
		f.cfg.Emit(b.Epoch, f.net())
	}
	return f.out.Barrier(b)
}

// net gives what is left of the epoch's changes, and forgets them.
func (f *Feed) net() []FeedRow {
	if len(f.rows) == 0 {
		return nil
	}
	rows := slices.DeleteFunc(f.rows, func(r feedRow) bool { return r.diff == 0 })
	slices.SortFunc(rows, func(a, b feedRow) int {
		if c := bytes.Compare(bytesOf(a.text[:a.at]), bytesOf(b.text[:b.at])); c != 0 {
			return c
		}
		if (a.diff < 0) != (b.diff < 0) {
			if a.diff < 0 {
				return -1
			}
			return 1
		}
		return bytes.Compare(bytesOf(a.text[a.at:]), bytesOf(b.text[b.at:]))
	})
	out := make([]FeedRow, len(rows))
	for i, r := range rows {
		out[i] = FeedRow{Row: bytesOf(r.text[r.at:]), Diff: r.diff}
	}
	f.clear()
	return out
}

// Watermark is of no interest to a subscriber.
func (f *Feed) Watermark(_ int, w exec.Watermark) error { return f.out.Watermark(w) }
