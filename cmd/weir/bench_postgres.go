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

func benchPostgres() *cobra.Command {
	cfg := runner.PostgresConfig{}
	var works string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "postgres",
		Short: "Measure Weir beside a PostgreSQL",
		Long: "Start a server and a PostgreSQL 15 on loopback, have both do the same in turn, and print the medians and how many times\n" +
			"as fast Weir is: point reads and inserts by pgbench, COPY, reads of a whole view, and the queries of TPC-H, whose answers must be equal.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Works = strings.Split(works, ",")
			exe, err := os.Executable()
			if err != nil {
				return err
			}
			cfg.Command = func(ctx context.Context, dir string) *exec.Cmd {
				return exec.CommandContext(ctx, exe, "serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--http", "off", "--log-level", "error")
			}
			cfg.Progress = func(s string) { fmt.Fprintln(os.Stderr, s) }
			if !asJSON {
				fmt.Printf("%-46s %12s %12s %-3s %8s\n", "", "Weir", "PostgreSQL", "", "ratio")
			}
			return runner.Postgres(cmd.Context(), cfg, func(r runner.PostgresResult) {
				switch {
				case asJSON:
					if b, err := json.Marshal(r); err == nil {
						fmt.Println(string(b))
					}
				case r.Unit == "":
					fmt.Printf("%-46s %12s %12s %-3s %8.2f\n", r.Work, "", "", "", r.Ratio)
				default:
					fmt.Printf("%-46s %12.1f %12.1f %-3s %8.2f\n", r.Work, r.Weir, r.Postgres, r.Unit, r.Ratio)
				}
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&works, "works", strings.Join(runner.PostgresWorks(), ","), "what is measured")
	f.IntVar(&cfg.Rounds, "rounds", 3, "how often each side does each")
	f.DurationVar(&cfg.Slice, "slice", 5*time.Second, "how long clients read or insert in a round")
	f.IntVar(&cfg.Rows, "rows", 1_000_000, "rows that are copied, and that a view has")
	f.StringVar(&cfg.ScaleFactor, "scale-factor", "0.1", "scale factor of TPC-H")
	f.StringVar(&cfg.Bin, "postgres-bin", "/usr/lib/postgresql/15/bin", "where the programs of PostgreSQL are")
	f.StringVar(&cfg.Dir, "dir", "", "where the data directories are made")
	f.BoolVar(&asJSON, "json", false, "print one JSON object a result")
	return cmd
}
