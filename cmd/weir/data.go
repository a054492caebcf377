package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weirdb/weir/server"
)

// restoreCommand makes a data directory from a backup.
func restoreCommand() *cobra.Command {
	var from, dir string
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Make a data directory from a backup",
		Long: "Make a data directory from a backup that BACKUP TO 'directory' has made. The backup is verified\n" +
			"first. The data directory must not exist or be empty.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := server.Restore(from, dir)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Restored checkpoint %d into %s (%d files, %d bytes).\n", b.Epoch, dir, b.Files, b.Bytes)
			return nil
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "directory of the backup")
	cmd.Flags().StringVar(&dir, "data-dir", "./weir-data", "data directory to make")
	_ = cmd.MarkFlagRequired("from") // fails only for a flag that does not exist
	return cmd
}

var errDamaged = errors.New("the data directory is damaged")

// checkCommand verifies a data directory.
func checkCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Verify a data directory that no server uses, or a backup",
		Long: "Verify a data directory that no server uses, or a backup, and change nothing in it: checksums of all files, the\n" +
			"catalog, the rows of all tables, views and indexes, operator state, the log, and retained checkpoints.\n" +
			"The exit code is 0 if all is well.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := server.Check(dir)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			for _, c := range r.Checked {
				fmt.Fprintf(out, "%s\n", c)
			}
			for _, p := range r.Problems {
				fmt.Fprintf(out, "PROBLEM in %s: %s\n", p.Where, p.What)
			}
			if n := len(r.Problems); n > 0 {
				return fmt.Errorf("%w: %d problems", errDamaged, n)
			}
			fmt.Fprintln(out, "No problems found.")
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "data-dir", "./weir-data", "data directory, or directory of a backup")
	return cmd
}
