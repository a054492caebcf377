package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirdb/weir/bench/runner"
)

func benchCheckpoint() *cobra.Command {
	cfg := runner.CheckpointConfig{Command: sideCommand}
	var list, target string
	var together, asJSON bool
	cmd := &cobra.Command{
		Use:   "checkpoint",
		Short: "Measure what checkpoints cost",
		Long: "Run Nexmark queries in two processes, one with checkpoints and one without, and print the throughput of\n" +
			"both and the ratio, by the clock and by CPU seconds. The two run in turn, a slice of time each, while the\n" +
			"other one is stopped, so that they see the same machine. A pass runs until all events are read; then the next\n" +
			"one begins with nothing, until each side has run for --duration. \"Rest\" is what is folded and compacted\n" +
			"after the end of a pass. On a machine that does other things the CPU ratio is the honest one.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch target {
			case "blackhole", "view":
				cfg.View = target == "view"
			default:
				return fmt.Errorf("--sink must be blackhole or view, not %q", target)
			}
			names := strings.Split(list, ",")
			groups := [][]string{names}
			if !together {
				groups = nil
				for _, n := range names {
					groups = append(groups, []string{n})
				}
			}
			if !asJSON {
				fmt.Printf("Checkpoints every %v against none, %d events a pass, parallelism %d, into %s, slices of %v\n",
					cfg.Interval, cfg.Events, cfg.Parallelism, target, cfg.Slice)
				fmt.Printf("%-16s %5s %10s %10s %6s %10s %10s %6s %6s  %s\n", "queries", "pass", "ev/s with", "without", "ratio",
					"per CPU s", "without", "ratio", "rest", "state, on disk, unfolded (MB), checkpoints (MB written)")
			}
			for _, g := range groups {
				cfg.Queries = g
				n := 0
				sum, err := runner.Checkpoint(cmd.Context(), cfg, func(p runner.CheckpointPass) {
					n++
					printCheckpointPass(strings.Join(g, ","), fmt.Sprint(n), p, asJSON)
				})
				if err != nil {
					return err
				}
				printCheckpointPass(strings.Join(g, ","), "all", sum, asJSON)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&list, "queries", "q5,q9,q17,q18", "queries, separated by commas")
	f.BoolVar(&together, "together", false, "all queries in one server, instead of one after the other")
	f.Int64Var(&cfg.Events, "events", 10_000_000, "events of all three kinds that a query reads in a pass")
	f.DurationVar(&cfg.Duration, "duration", 10*time.Minute, "how long each side runs at least, for each query or all together")
	f.DurationVar(&cfg.Slice, "slice", 5*time.Second, "how long one side runs before the other one does")
	f.DurationVar(&cfg.Interval, "checkpoint-interval", time.Second, "time between checkpoints")
	f.IntVar(&cfg.Parallelism, "parallelism", 1, "cores to use")
	f.StringVar(&target, "sink", "blackhole", "where the rows go: blackhole or view")
	f.StringVar(&cfg.Dir, "dir", "", "where the data directories are made")
	f.StringVar(&cfg.Profile, "cpu-profile", "", "write CPU profiles of both sides, to files that begin with this")
	f.BoolVar(&asJSON, "json", false, "print one JSON object a pass")
	return cmd
}

func printCheckpointPass(queries, pass string, p runner.CheckpointPass, asJSON bool) {
	if asJSON {
		b, err := json.Marshal(struct {
			Queries, Pass string
			runner.CheckpointPass
			WallRatio, CPURatio, RestRatio float64
		}{queries, pass, p, p.WallRatio(), p.CPURatio(), p.RestRatio()})
		if err == nil {
			fmt.Println(string(b))
		}
		return
	}
	n, mb := float64(p.Events), func(b int64) int64 { return b >> 20 }
	fmt.Printf("%-16s %5s %10.0f %10.0f %6.3f %10.0f %10.0f %6.3f %6.3f  %d/%d, %d/%d, %d, %d (%d) / %d\n", queries, pass,
		n/p.With.Wall, n/p.Without.Wall, p.WallRatio(), n/p.With.CPU, n/p.Without.CPU, p.CPURatio(), p.RestRatio(),
		mb(p.With.StateBytes), mb(p.Without.StateBytes), mb(p.With.DiskBytes), mb(p.Without.DiskBytes), mb(p.With.UnfoldedBytes),
		p.With.Checkpoints, mb(p.With.CheckpointBytes), p.Without.Checkpoints)
}

// sideCommand is this program as one side of a comparison.
func sideCommand(ctx context.Context, cfg runner.SideConfig) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, exe, "bench", "checkpoint-side", string(b)), nil
}

func benchSide() *cobra.Command {
	return &cobra.Command{
		Use: "checkpoint-side config", Short: "One of the processes of bench checkpoint", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var cfg runner.SideConfig
			if err := json.Unmarshal([]byte(args[0]), &cfg); err != nil {
				return err
			}
			return runner.RunSide(cmd.Context(), cfg, os.Stdin, os.Stdout)
		},
	}
}
