package vec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/types"
)

func formatValue(t types.Type, d types.Datum) string {
	switch t.Phys() {
	case types.PhysBool:
		return strconv.FormatBool(d.I != 0)[:1]
	case types.PhysInt:
		return strconv.FormatInt(d.I, 10)
	case types.PhysFloat:
		return strconv.FormatFloat(d.F, 'g', -1, 64)
	case types.PhysStr:
		return d.S
	case types.PhysDec:
		c, s, _ := d.Dec.Small()
		neg := ""
		if c < 0 {
			neg, c = "-", -c
		}
		x := fmt.Sprintf("%0*d", s+1, c)
		if s > 0 {
			x = x[:len(x)-s] + "." + x[len(x)-s:]
		}
		return neg + x
	default:
		return fmt.Sprintf("%dm%dd%dus", d.Span.Months, d.Span.Days, d.Span.Micros)
	}
}

func parseValue(t types.Type, s string) (types.Datum, error) {
	switch t.Phys() {
	case types.PhysBool:
		b, err := strconv.ParseBool(s)
		return types.DBool(b), err
	case types.PhysInt:
		i, err := strconv.ParseInt(s, 10, 64)
		return types.DInt(i), err
	case types.PhysFloat:
		f, err := strconv.ParseFloat(s, 64)
		return types.DFloat(f), err
	case types.PhysStr:
		return types.DStr(s), nil
	case types.PhysDec:
		i := strings.IndexByte(s, '.')
		sc := 0
		if i >= 0 {
			sc = len(s) - i - 1
			s = s[:i] + s[i+1:]
		}
		c, err := strconv.ParseInt(s, 10, 64)
		return types.DDec(types.NewDecimal(c, sc)), err
	default:
		var sp types.Span
		_, err := fmt.Sscanf(s, "%dm%dd%dus", &sp.Months, &sp.Days, &sp.Micros)
		return types.DSpan(sp), err
	}
}
