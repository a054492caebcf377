package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirdb/weir/bench/runner"
)

func benchRestart() *cobra.Command {
	cfg := runner.RestartConfig{}
	var size, level string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "restart",
		Short: "Measure the time from kill -9 to the first right answer",
		Long: "Fill a server (a table, a join over it, an aggregate over that) until its state has the size, then kill it with\n" +
			"SIGKILL and start it again, idle and under load in turn, and print how long it takes until a client has the first\n" +
			"answer, which must have every acknowledged write.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if cfg.Size, err = parseBytes(size); err != nil {
				return fmt.Errorf("--size: %w", err)
			}
			exe, err := os.Executable()
			if err != nil {
				return err
			}
			cfg.Command = func(ctx context.Context, dir string) *exec.Cmd {
				return exec.CommandContext(ctx, exe, "serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--http", "off", "--log-level", level)
			}
			cfg.Progress = func(s string) { fmt.Fprintln(os.Stderr, s) }
			if !asJSON {
				fmt.Printf("%-6s %10s %8s %9s %9s %9s %9s\n", "killed", "state MB", "log MB", "ready s", "answer s", "CPU s", "point s")
			}
			return runner.Restart(cmd.Context(), cfg, func(r runner.RestartResult) {
				if asJSON {
					if b, err := json.Marshal(r); err == nil {
						fmt.Println(string(b))
					}
					return
				}
				fmt.Printf("%-6s %10d %8d %9.3f %9.3f %9.3f %9.3f\n", map[bool]string{false: "idle", true: "loaded"}[r.Loaded],
					r.Bytes>>20, r.LogBytes>>20, r.Ready, r.Answer, r.CPU, r.Point)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&size, "size", "1GB", "how large the state is to be")
	f.IntVar(&cfg.Kills, "kills", 3, "how often the server is killed, idle and under load each")
	f.DurationVar(&cfg.Load, "load", 5*time.Second, "how long it runs before it is killed")
	f.IntVar(&cfg.Writers, "writers", 8, "clients that write when it is under load")
	f.StringVar(&cfg.Dir, "dir", "", "where the data directory is made")
	f.BoolVar(&cfg.Keep, "keep", false, "kill it under load once more, and leave the data directory")
	f.StringVar(&level, "log-level", "error", "what the servers log")
	f.BoolVar(&asJSON, "json", false, "print one JSON object a restart")
	return cmd
}
