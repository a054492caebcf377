// Package datagen is a source of made-up rows for tables of any columns: sequences and random values in several
// distributions, column by column.
//
// Every value is a function of the seed, the row's number and the column. Nothing depends on when a row is read, so that
// times are counted from a fixed moment, the option basetime, and not from now.
package datagen

import (
	"math"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/connector/arena"
	"github.com/weirdb/weir/connector/generate"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
)

// NewSource makes a source. Options (those in parentheses are other names of the same):
//
//	rows     (number_of_rows, number-of-rows) how many; absent: endless, or to the end of a sequence
//	rate     (rows_per_second, rows-per-second, datagen.rows.per.second) by the clock; absent: as fast as consumed
//	seed     default 0
//	splits   (datagen.split.num) number of parallel parts, default 1
//	fields.<column>.<option>  see field
func NewSource(cfg connector.Config) (exec.Source, error) {
	p := connector.Parse(`connector "datagen"`, cfg.Options)
	named := func(def, lo, hi int64, names ...string) int64 {
		out := def
		for i, n := range names {
			if i == 0 || p.Has(n) {
				if v := p.Int(n, def, lo, hi); v != def {
					out = v
				}
			}
		}
		return out
	}
	rows := named(math.MaxInt64, 0, math.MaxInt64, "rows", "number_of_rows", "number-of-rows")
	rate := named(0, 1, 1_000_000_000, "rate", "rows_per_second", "rows-per-second", "datagen.rows.per.second")
	splits := named(1, 1, 1024, "splits", "datagen.split.num")
	seed := p.Int("seed", 0, math.MinInt64, math.MaxInt64)
	if len(cfg.Columns) == 0 {
		return nil, sqlerr.Newf(sqlerr.InvalidTableDefinition, `connector "datagen" requires a column list`)
	}
	fields := make([]*field, len(cfg.Columns))
	for i, c := range cfg.Columns {
		f, err := newField(p, c, uint64(seed), i)
		if err != nil {
			return nil, err
		}
		fields[i] = f
		rows = min(rows, f.end)
	}
	if err := p.Done(); err != nil {
		return nil, err
	}
	if err := cfg.NoFormat("datagen"); err != nil {
		return nil, err
	}
	return generate.New(generate.Config{
		Name: "datagen", Columns: cfg.Columns, Rows: rows, Rate: rate, Splits: int(splits), Clock: cfg.ClockOrWall(),
		Fill: func(col int, first, end int64, dst *vec.Vector, texts *arena.Strings) {
			f := fields[col]
			for row := first; row < end; row++ {
				f.fill(row, dst, texts)
			}
		},
	}), nil
}
