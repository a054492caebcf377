package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirdb/weir/bench/nexmark"
	"github.com/weirdb/weir/bench/runner"
)

func benchCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "bench", Short: "Measure Weir on this machine"}
	cmd.AddCommand(benchNexmark(), benchLatency(), benchCheckpoint(), benchSide(), benchRestart(), benchUpdates(), benchPostgres())
	return cmd
}

func benchNexmark() *cobra.Command {
	cfg := runner.NexmarkConfig{}
	var list, target, profile string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "nexmark",
		Short: "Run Nexmark queries, beside programs written by hand",
		Long: "Run Nexmark queries over generated events into a blackhole sink or a materialized view, and print\n" +
			"events per second. With --by-hand the same is computed by a hand-written program on one core, the\n" +
			"ratio is printed, and the two answers are compared.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Queries = nexmark.Names()
			if list != "" {
				cfg.Queries = strings.Split(list, ",")
			}
			switch target {
			case "blackhole":
			case "view":
				cfg.View = true
			case "file":
				cfg.File = true
			default:
				return fmt.Errorf("--sink must be blackhole, view or file, not %q", target)
			}
			if profile != "" {
				f, err := os.Create(profile)
				if err != nil {
					return err
				}
				defer f.Close()
				if err := pprof.StartCPUProfile(f); err != nil {
					return err
				}
				defer pprof.StopCPUProfile()
			}
			if !asJSON {
				fmt.Printf("Nexmark, %d events, parallelism %d, into %s\n", cfg.Events, cfg.Parallelism, target)
				fmt.Printf("%-6s %14s %14s %8s %16s %16s %8s  %s\n", "query", "weir ev/s", "by hand ev/s", "ratio", "weir ev/CPU s", "by hand", "ratio", "answer")
			}
			product, cpu, n := 0.0, 0.0, 0
			err := runner.Nexmark(cmd.Context(), cfg, func(r runner.NexmarkResult) {
				if asJSON {
					b, err := json.Marshal(r)
					if err == nil {
						fmt.Println(string(b))
					}
					return
				}
				if !cfg.ByHand {
					fmt.Printf("%-6s %14.0f %14s %8s %16.0f\n", r.Query, r.EventsPerSec, "", "", r.EventsPerCPU)
					return
				}
				product += math.Log(r.Ratio)
				cpu += math.Log(r.CPURatio)
				n++
				fmt.Printf("%-6s %14.0f %14.0f %8.3f %16.0f %16.0f %8.3f  %s\n", r.Query, r.EventsPerSec, r.ByHandPerSec, r.Ratio,
					r.EventsPerCPU, r.ByHandPerCPU, r.CPURatio, map[bool]string{true: "equal"}[r.Verified])
			})
			if err == nil && n > 0 && !asJSON {
				fmt.Printf("geometric mean of the ratios: %.3f by the clock, %.3f by CPU time\n", math.Exp(product/float64(n)), math.Exp(cpu/float64(n)))
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&list, "queries", "", "queries, separated by commas; empty means all that there are")
	f.Int64Var(&cfg.Events, "events", 1_000_000, "events of all three kinds")
	f.StringVar(&target, "sink", "blackhole", "where the rows go: blackhole, view, or file (for queries whose rows do not change, as q10)")
	f.IntVar(&cfg.Parallelism, "parallelism", 1, "cores to use")
	f.IntVar(&cfg.Runs, "runs", 1, "runs of each query; the median is printed")
	f.BoolVar(&cfg.ByHand, "by-hand", false, "also run the hand-written programs, print ratios and compare answers")
	f.BoolVar(&asJSON, "json", false, "print one JSON object a query")
	f.DurationVar(&cfg.CheckpointInterval, "checkpoint-interval", time.Second, "time between checkpoints")
	f.StringVar(&profile, "cpu-profile", "", "write a CPU profile to this file")
	return cmd
}

func benchLatency() *cobra.Command {
	var writes int
	cmd := &cobra.Command{
		Use:   "latency",
		Short: "Measure commit to visible on an idle server, with fsync",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := runner.MeasureLatency(cmd.Context(), writes)
			if err != nil {
				return err
			}
			fmt.Printf("commit            p50 %7.3f ms   p99 %7.3f ms\n", l.CommitP50, l.CommitP99)
			fmt.Printf("commit to visible p50 %7.3f ms   p99 %7.3f ms   (%d writes, view over view over join)\n", l.VisibleP50, l.VisibleP99, l.Writes)
			return nil
		},
	}
	cmd.Flags().IntVar(&writes, "writes", 2000, "number of writes")
	return cmd
}
