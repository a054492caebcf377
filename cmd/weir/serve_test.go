package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestFlagsInReadme: the README has a line for every flag of weir serve, with its variable.
func TestFlagsInReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	serveCommand().Flags().VisitAll(func(f *pflag.Flag) {
		variable := "WEIR_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if f.Name != "help" && !strings.Contains(string(readme), "| `--"+f.Name+"` | `"+variable+"` |") {
			t.Errorf("no line for --%s and %s", f.Name, variable)
		}
	})
}
