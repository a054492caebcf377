package weir_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// operations is where events and metrics are described.
const operations = "docs/operations.md"

// TestEvents: the events that the log can have are those that docs/operations.md lists, sorted, each with its level.
func TestEvents(t *testing.T) {
	text, err := os.ReadFile(operations)
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## Events\n")
	if !ok {
		t.Fatalf("%s has no section about events", operations)
	}
	type event struct{ name, level string }
	var listed []string
	documented := map[event]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z]+) \\|").FindAllStringSubmatch(section, -1) {
		listed = append(listed, m[1])
		documented[event{m[1], m[2]}] = true
	}
	if !slices.IsSorted(listed) || len(listed) != len(documented) {
		t.Errorf("%s: events are not sorted, or one is there twice: %v", operations, listed)
	}
	logged := map[event]string{}
	call := regexp.MustCompile(`\.(Debug|Info|Warn|Error)\(.*"event", "([^"]*)"`)
	attribute := regexp.MustCompile(`"event", "`)
	for _, f := range load(t).files {
		// In the parser it is a keyword.
		if f.test || f.generated || f.dir == "sql/parse" {
			continue
		}
		calls := call.FindAllSubmatch(f.src, -1)
		if n := len(attribute.FindAll(f.src, -1)); n != len(calls) {
			t.Errorf("%s: %d events, %d of them in the line of their call", f.path, n, len(calls))
		}
		for _, m := range calls {
			logged[event{string(m[2]), strings.ToLower(string(m[1]))}] = f.path
		}
	}
	for e, path := range logged {
		if !documented[e] {
			t.Errorf("%s: event %s with level %s is not in %s", path, e.name, e.level, operations)
		}
	}
	for e := range documented {
		if logged[e] == "" {
			t.Errorf("%s: no code logs event %s with level %s", operations, e.name, e.level)
		}
	}
}
