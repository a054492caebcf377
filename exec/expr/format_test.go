package expr

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/types"
)

// TestConstantTemplate: to_char with a constant template, which keeps the texts that it has made, gives what it gives with a template from a
// column.
func TestConstantTemplate(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	rel := &catalog.Relation{Schema: "public", Name: "t", Columns: []catalog.Column{
		{Name: "ts", Type: types.T(types.Timestamp)}, {Name: "s", Type: types.T(types.Text)},
	}}
	const day = 86_400_000_000
	for _, tmpl := range []string{
		"YYYY-MM-DD", "HH24:MI", "HH12 am", "SS", "SSSS", "MS", "US", "FF3", "Day DDth \"x\"", "AD", "J", "FMMonth", "IYYY-IW-ID", "YYYY TZ OF TZH:TZM",
		"", "no pattern", "P.M.", "Q W WW", "MI:SS.MS", "CC D FX RM",
	} {
		in := vec.NewChunk([]types.Type{types.T(types.Timestamp), types.T(types.Text)}, 0)
		at := int64(0)
		for range 3000 {
			switch r.IntN(6) {
			case 0:
				at = r.Int64N(40_000*day) - 20_000*day
			case 1:
				at = at / day * day // a border, and what is around it
			case 2:
				at += r.Int64N(3) - 1
			default:
				at += r.Int64N(100_000_000)
			}
			d := types.DInt(at)
			switch r.IntN(40) {
			case 0:
				d = types.Null
			case 1:
				d = types.DInt(types.PosInfinity)
			case 2:
				d = types.DInt(types.NegInfinity)
			}
			in.AppendRow([]types.Datum{d, types.DStr(tmpl)}, 1)
		}
		want, err := benchCompile(t, "to_char(ts, s)", rel).Eval(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := benchCompile(t, fmt.Sprintf("to_char(ts, '%s')", tmpl), rel).Eval(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		for i := range in.Len() {
			if g, w := got.Datum(i), want.Datum(i); g.Valid != w.Valid || g.S != w.S {
				t.Fatalf("%q of %s: %v, want %v", tmpl, vec.FormatRow(in, i), g, w)
			}
		}
	}
}
