package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weirdb/weir/bench/runner"
)

func benchUpdates() *cobra.Command {
	var sizes []int
	var changes int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "updates",
		Short: "Measure what a change of one row costs in large partitions",
		Long: "Change single rows of a table with one partition, under a view with window functions, one with min and max, and one with\n" +
			"the first ten rows, and print what a change costs, from its statement until the view shows it: it should hardly grow\n" +
			"with the partition.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !asJSON {
				fmt.Printf("%-18s %10s %14s %14s\n", "view", "rows", "us a change", "CPU us")
			}
			return runner.MeasureUpdates(cmd.Context(), sizes, changes, func(r runner.UpdatesResult) {
				if asJSON {
					if b, err := json.Marshal(r); err == nil {
						fmt.Println(string(b))
					}
					return
				}
				fmt.Printf("%-18s %10d %14.0f %14.0f\n", r.View, r.Rows, r.Wall, r.CPU)
			})
		},
	}
	f := cmd.Flags()
	f.IntSliceVar(&sizes, "rows", []int{1_000, 10_000, 100_000}, "how many rows the partition has, one after the other")
	f.IntVar(&changes, "changes", 1000, "changes to measure")
	f.BoolVar(&asJSON, "json", false, "print one JSON object a measurement")
	return cmd
}
