package types

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestCompare runs testdata/compare.txt: "cmp TYPE" compares the two values of each line. Values
// that compare equal must hash equal.
func TestCompare(t *testing.T) {
	env := testEnv("UTC")
	runOracleFile(t, "testdata/compare.txt", func(d *datadriven.TestData, line string) string {
		typ := mustType(t, typeArg(d))
		args := splitArgs(line)
		var v [2]Datum
		for i := range v {
			var err error
			if v[i], err = ParseText(typ, unescapeLine.Replace(args[i]), env); err != nil {
				return errText(err)
			}
		}
		c := Compare(typ, v[0], v[1])
		if (c == 0) != Equal(typ, v[0], v[1]) || c == 0 && Hash(typ, v[0]) != Hash(typ, v[1]) {
			t.Errorf("%s: Compare gives %d, Equal and Hash differ", line, c)
		}
		return strconv.Itoa(c)
	}, func(d *datadriven.TestData, line string) string {
		typ := mustType(t, typeArg(d))
		args := splitArgs(line)
		var e [2]string
		for i := range e {
			e[i] = fmt.Sprintf("%s::%s", quoted(unescapeLine.Replace(args[i])), typeArg(d))
			if typ.Kind.IsString() || typ.Kind == Array && typ.Elem.IsString() {
				e[i] += ` collate "C"`
			}
		}
		return fmt.Sprintf("set timezone = 'UTC'; select case when %[1]s < %[2]s then -1 when %[1]s > %[2]s then 1 when %[1]s = %[2]s then 0 end", e[0], e[1])
	})
}
