// Package tpch is a source of the eight tables of the TPC-H benchmark, in the proportions and with the correlations that its
// definition asks for.
//
// Every value is a function of the seed, the scale factor, the row's number and the column, so that a reader can start
// anywhere. For that two things differ from the benchmark's own generator: the values are not the same ones, and of eight orders
// that follow each other the numbers of their lines are always 1 to 7 and once more 4, in random order, so that line n
// belongs to order n/32*8 and the seven behind it.
package tpch

import (
	"math"
	"strings"
	"sync"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/connector/arena"
	"github.com/weirdb/weir/connector/generate"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// NewSource makes the source of one table. Options:
//
//	table         region, nation, supplier, part, partsupp, customer, orders or lineitem; required
//	scale_factor  default 1: 1,500,000 orders
//	seed          default 0
//	rate          rows a second by the clock; absent: as fast as consumed
//	splits        number of parallel parts, default 1
func NewSource(cfg connector.Config) (exec.Source, error) {
	p := connector.Parse(`connector "tpch"`, cfg.Options)
	name := strings.ToLower(p.Required("table"))
	sf := p.Float("scale_factor", 1, 0.0001, 100_000)
	seed := p.Int("seed", 0, math.MinInt64, math.MaxInt64)
	rate := p.Int("rate", 0, 1, 1_000_000_000)
	splits := p.Int("splits", 1, 1, 1024)
	g := newGenerator(sf, uint64(seed))
	tab, ok := g.table(name)
	if !ok && name != "" {
		p.Fail("table", `invalid value for option "table": %s`, name)
	}
	if err := p.Done(); err != nil {
		if e := sqlerr.From(err); !ok && name != "" && e.Hint == "" && e.Code == sqlerr.InvalidParameterValue {
			return nil, e.WithHint("The tables are %s.", strings.Join(Tables, ", "))
		}
		return nil, err
	}
	if err := cfg.NoFormat("tpch"); err != nil {
		return nil, err
	}
	cols, at, err := generate.Choose("TPC-H table \""+name+"\"", tab.columns(), cfg.Columns, fits)
	if err != nil {
		return nil, err
	}
	return generate.New(generate.Config{
		Name: "tpch", Columns: cols, Rows: tab.rows, Rate: rate, Splits: int(splits), Clock: cfg.ClockOrWall(),
		Fill: func(col int, first, end int64, dst *vec.Vector, texts *arena.Strings) {
			fill := tab.cols[at[col]].fill
			for row := first; row < end; row++ {
				fill(row, dst, texts)
			}
		},
	}), nil
}

// fits tells whether a column of the statement's type shows the generated values as they are.
func fits(c, fixed exec.Column) bool {
	switch fixed.Type.Kind {
	case types.Int4:
		return c.Type.Kind == types.Int4 || c.Type.Kind == types.Int8
	case types.Numeric:
		return c.Type.Kind == types.Numeric && (c.Type.Mod < 0 || c.Type.Mod == (15<<16|2)+4)
	case types.Text:
		return c.Type.Kind == types.Text || c.Type.Kind == types.Varchar
	}
	return c.Type.Kind == fixed.Type.Kind
}

// Tables are the names of the tables.
var Tables = []string{"region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem"}

// col is a column: fill appends the value of a row.
type col struct {
	name string
	typ  types.Type
	fill func(row int64, dst *vec.Vector, texts *arena.Strings)
}

type table struct {
	rows int64
	cols []col
}

func (t *table) columns() []exec.Column {
	out := make([]exec.Column, len(t.cols))
	for i, c := range t.cols {
		out[i] = exec.Column{Name: c.name, Type: c.typ}
	}
	return out
}

// generator knows the sizes of the tables. It is immutable.
type generator struct {
	seed                                        uint64
	suppliers, parts, customers, orders, clerks int64
	// pool is the text that comments are cut from.
	pool func() string
}

func newGenerator(sf float64, seed uint64) *generator {
	n := func(base float64) int64 { return max(1, int64(math.Round(base*sf))) }
	g := &generator{
		seed: seed, suppliers: max(4, n(10_000)), parts: n(200_000), customers: max(3, n(150_000)), clerks: n(1000),
		orders: max(1, n(1_500_000)/8) * 8,
	}
	g.pool = sync.OnceValue(func() string {
		var b strings.Builder
		for i := int64(0); b.Len() < poolSize+maxComment; i++ {
			h := generate.Hash(g.seed, saltPool, i)
			b.WriteString(words[h%uint64(len(words))])
			if h>>40%9 == 0 {
				b.WriteString([3]string{".", ",", ";"}[h>>32%3])
			}
			b.WriteByte(' ')
		}
		return b.String()
	})
	return g
}

const (
	poolSize   = 1 << 17
	maxComment = 200
)

// table finds a table by its name.
func (g *generator) table(name string) (*table, bool) {
	switch name {
	case "region":
		return g.region(), true
	case "nation":
		return g.nation(), true
	case "supplier":
		return g.supplier(), true
	case "part":
		return g.part(), true
	case "partsupp":
		return g.partsupp(), true
	case "customer":
		return g.customer(), true
	case "orders":
		return g.ordersTable(), true
	case "lineitem":
		return g.lineitem(), true
	}
	return nil, false
}
