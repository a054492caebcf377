package connector_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/connector/builtin"
	"github.com/weirdb/weir/sql/sqlerr"
)

// describe prints an error as psql would.
func describe(err error) string {
	e := sqlerr.From(err)
	out := fmt.Sprintf("ERROR %s at %d: %s\n", e.Code, e.Pos, e.Message)
	if e.Detail != "" {
		out += "DETAIL: " + e.Detail + "\n"
	}
	if e.Hint != "" {
		out += "HINT: " + e.Hint + "\n"
	}
	return out
}

// options reads a line an option: name, or name=value. The position is the number of the line.
func options(input string) []connector.Option {
	var opts []connector.Option
	for i, line := range strings.Split(input, "\n") {
		if line == "" {
			continue
		}
		name, value, set := strings.Cut(line, "=")
		opts = append(opts, connector.Option{Name: name, Value: value, IsSet: set, Pos: i})
	}
	return opts
}

// TestOptions runs testdata/options: parse reads one option of each kind.
func TestOptions(t *testing.T) {
	datadriven.RunTest(t, "testdata/options", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "parse":
			p := connector.Parse(`connector "test"`, options(d.Input))
			out := fmt.Sprintf("text=%q required=%q flag=%t small=%d big=%d color=%s mark=%c\n",
				p.Text("text", "none"), p.Required("required"), p.Bool("flag", false), p.Int("small", 5, 1, 10),
				p.Int("big", 7, 0, math.MaxInt64), p.OneOf("color", "red", "red", "green", "blue"), p.Byte("mark", ','))
			if err := p.Done(); err != nil {
				return describe(err)
			}
			return out
		case "source":
			_, err := builtin.New().NewSource(connector.Config{Options: options(d.Input)})
			if err != nil {
				return describe(err)
			}
			return "ok\n"
		case "sink":
			_, err := builtin.New().NewSink(connector.Config{Options: options(d.Input)})
			if err != nil {
				return describe(err)
			}
			return "ok\n"
		}
		t.Fatalf("unknown command %s", d.Cmd)
		return ""
	})
}
