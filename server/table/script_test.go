package table

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestScripts runs testdata/tx. A script's command is "run", with one step a line:
//
//	x share|lock table          transaction x locks a table (share: with others)
//	x insert table value...     locks the key and inserts a row
//	x delete table value...     deletes a row, given in full
//	x truncate table            deletes all rows
//	x save, x restore           sets a savepoint, goes back to it
//	x commit, x rollback        ends it
//	cancel x                    cancels what x waits for
//	rows table, index table     prints the rows, or counts the entries of the unique index
//	drop table                  marks the table as dropped
//	checkpoint                  makes a checkpoint
//	crash                       opens the store again without one
//
// The result of a step is printed when it is done. "x waits" follows for each step that waits for a lock.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/tx", func(t *testing.T, path string) {
		w := newWorld(t)
		defer func() { w.close() }()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w.t = t
			if d.Cmd != "run" {
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				if line = strings.TrimSpace(line); line != "" {
					w.line(&out, line)
				}
			}
			return out.String()
		})
	})
}
