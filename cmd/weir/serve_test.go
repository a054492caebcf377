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

// TestFlagsAreChecked: a value that makes no sense is refused before anything is opened.
func TestFlagsAreChecked(t *testing.T) {
	for _, arg := range []string{
		"--checkpoints-in-flight=0", "--checkpoint-timeout=-1s", "--barrier-stuck-after=0s", "--barrier-alignment=none", "--memory-limit=much",
		"--log-level=loud",
	} {
		dir := t.TempDir()
		cmd := serveCommand()
		cmd.SetArgs([]string{arg, "--data-dir", dir + "/data", "--listen", "127.0.0.1:0", "--http", "off"})
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		name, _, _ := strings.Cut(arg, "=")
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", arg, err)
		}
		if _, err := os.Stat(dir + "/data"); err == nil {
			t.Errorf("%s: the data directory was made", arg)
		}
	}
}
