package expr

import (
	"fmt"
	"testing"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/types"
)

// benchExprs are evaluated over chunks of benchRelation.
var benchExprs = []struct{ name, text string }{
	{"int_add", "a + b"},
	{"int_add_const", "a + 1"},
	{"int8_mul", "c * d"},
	{"int_div", "a / 7"},
	{"int_less", "a < b"},
	{"int_less_const", "a < 500"},
	{"float_mul", "x * y"},
	{"numeric_mul", "p * q"},
	{"numeric_add", "p + q"},
	{"numeric_less", "p < q"},
	{"text_eq_const", "s = 'apple 7'"},
	{"like_prefix", "s LIKE 'apple%'"},
	{"like_contains", "s LIKE '%e 5%'"},
	{"like_general", "s LIKE 'a%e_5'"},
	{"regex", "s ~ '^apple [0-4]'"},
	{"regex_group", "(regexp_match(s, '^(apple) ([0-4])'))[2]"},
	{"and", "a < 500 AND b > 100 AND c <> 7"},
	{"case", "CASE WHEN a < 300 THEN a WHEN a < 600 THEN b ELSE 0 END"},
	{"case_fail", "CASE WHEN b <> 0 THEN a / b ELSE 0 END"},
	{"in_const", "a IN (1, 5, 9, 100, 500)"},
	{"date_trunc", "date_trunc('hour', ts)"},
	{"to_char", "to_char(ts, 'YYYY')"},
	{"extract", "extract(hour from ts)"},
	{"cast_text", "a::text"},
	{"lower", "lower(s)"},
	{"concat", "s || '!'"},
	{"q1", "0.908 * p"},
}

func benchRelation() (*catalog.Relation, *vec.Chunk) {
	r := &catalog.Relation{Schema: "public", Name: "t"}
	var ts []types.Type
	for _, c := range []struct {
		name string
		kind types.Kind
	}{
		{"a", types.Int4}, {"b", types.Int4}, {"c", types.Int8}, {"d", types.Int8}, {"x", types.Float8}, {"y", types.Float8},
		{"p", types.Numeric}, {"q", types.Numeric}, {"s", types.Text}, {"ts", types.Timestamp},
	} {
		r.Columns = append(r.Columns, catalog.Column{Name: c.name, Type: types.T(c.kind)})
		ts = append(ts, types.T(c.kind))
	}
	c := vec.NewChunk(ts, vec.ChunkSize)
	for i := range int64(vec.ChunkSize) {
		k := (i * 7919) % 1000
		c.AppendRow([]types.Datum{
			types.DInt(k), types.DInt(i % 997), types.DInt(k * 1000003), types.DInt(i), types.DFloat(float64(k) / 3), types.DFloat(1.5),
			types.DDec(types.NewDecimal(k*100+7, 2)), types.DDec(types.NewDecimal(i+1, 1)), types.DStr(fmt.Sprintf("apple %d", k%50)),
			types.DInt(i * 1234567890),
		}, 1)
	}
	return r, c
}

func BenchmarkEval(b *testing.B) {
	rel, in := benchRelation()
	for _, bm := range benchExprs {
		b.Run(bm.name, func(b *testing.B) {
			ev := benchCompile(b, bm.text, rel)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ev.Eval(nil, in); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(in.Len()), "ns/row")
		})
	}
}

func BenchmarkFilter(b *testing.B) {
	rel, in := benchRelation()
	for _, text := range []string{"a < 500", "a < 500 AND b > 100 AND c <> 7", "s LIKE 'apple%' AND a = 3"} {
		b.Run(text, func(b *testing.B) {
			ev := benchCompile(b, text, rel)
			var sel []int32
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if sel, err = ev.EvalFilter(nil, in, nil, sel[:0]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(in.Len()), "ns/row")
		})
	}
}

func benchCompile(tb testing.TB, text string, rel *catalog.Relation) *Evaluator {
	e, err := bindSQL(text, rel, testEnv())
	if err != nil {
		tb.Fatal(err)
	}
	ev, err := Compile(e, testEnv())
	if err != nil {
		tb.Fatal(err)
	}
	return ev
}

// Kernels of fixed-width types and of predicates allocate nothing once their buffers are there.
func TestNoAllocations(t *testing.T) {
	rel, in := benchRelation()
	for _, bm := range benchExprs {
		switch bm.name {
		case "regex", "cast_text", "lower", "concat":
			continue
		}
		ev := benchCompile(t, bm.text, rel)
		n := testing.AllocsPerRun(10, func() {
			if _, err := ev.Eval(nil, in); err != nil {
				t.Fatal(err)
			}
		})
		if n > 0 {
			t.Errorf("%s: %v allocations a chunk", bm.text, n)
		}
	}
}
