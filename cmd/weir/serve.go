package main

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirdb/weir/server"
)

func serveCommand() *cobra.Command {
	var cfg server.Config
	var memory, level, alignment string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: "Run the server. Each flag can also be given as an environment variable: --data-dir as\n" +
			"WEIR_DATA_DIR, and so on; the flag wins.",
		Args: cobra.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			return fromEnvironment(cmd.Flags())
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if cfg.MemoryLimit, err = parseBytes(memory); err != nil {
				return fmt.Errorf("--memory-limit: %w", err)
			}
			if cfg.CheckpointsInFlight < 1 {
				return fmt.Errorf("--checkpoints-in-flight: %d is less than 1", cfg.CheckpointsInFlight)
			}
			if cfg.CheckpointTimeout < 0 {
				return fmt.Errorf("--checkpoint-timeout: %s is negative", cfg.CheckpointTimeout)
			}
			if cfg.StuckAfter <= 0 {
				return fmt.Errorf("--barrier-stuck-after: %s is not positive", cfg.StuckAfter)
			}
			if cfg.CheckpointsRetained == 0 {
				cfg.CheckpointsRetained = -1
			}
			var lv slog.Level
			if err := lv.UnmarshalText([]byte(level)); err != nil {
				return fmt.Errorf("--log-level: %w", err)
			}
			switch alignment {
			case "buffered", "blocking":
				cfg.BlockingAlignment = alignment == "blocking"
			default:
				return fmt.Errorf("--barrier-alignment: %q is neither buffered nor blocking", alignment)
			}
			cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: lv}))
			start := time.Now()
			s, err := server.Open(cfg)
			if err != nil {
				return err
			}
			fmt.Printf("Weir is ready on %s (data in %s, %d ms)\n", s.Addr(), cfg.DataDir, time.Since(start).Milliseconds())
			if a := s.HTTPAddr(); a != nil {
				fmt.Printf("Health and metrics: http://%s/\n", a)
			}
			host, port, _ := strings.Cut(s.Addr().String(), ":")
			fmt.Printf("Connect with: psql -h %s -p %s\n", strings.Replace(host, "127.0.0.1", "localhost", 1), port)
			return s.Run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.DataDir, "data-dir", "./weir-data", "directory for everything durable")
	f.StringVar(&cfg.Listen, "listen", "127.0.0.1:9347", "address for clients (Postgres protocol)")
	f.StringVar(&cfg.HTTP, "http", "127.0.0.1:9348", "address for health, metrics and profiles; off for none")
	f.IntVar(&cfg.MaxConnections, "max-connections", 5000, "clients that may be connected at a time")
	f.StringVar(&memory, "memory-limit", "0", "memory that the process may use, for example 4GB; 0 means 70 % of the machine's")
	f.IntVar(&cfg.Parallelism, "parallelism", 0, "actors per parallel fragment of new jobs; 0 means the number of cores")
	f.DurationVar(&cfg.BarrierInterval, "barrier-interval", 100*time.Millisecond, "longest time that input waits for its epoch to end")
	f.IntVar(&cfg.MaxRecursion, "max-recursion", 0, "iterations after which a recursive view is taken for one without end; 0 means 100000")
	f.StringVar(&alignment, "barrier-alignment", "buffered",
		"what is sent behind a barrier before other producers have sent theirs: buffered (kept in memory, then on disk) or blocking (its producer waits)")
	f.StringVar(&cfg.FailoverStrategy, "failover-strategy", "restart-region",
		"what is started again when a job fails: restart-region (it and what it feeds) or restart-all")
	f.IntVar(&cfg.RestartAttempts, "restart-attempts", 0, "failures in a row after which a job is stalled; 0 means 5, -1 never")
	f.DurationVar(&cfg.RestartDelayMax, "restart-delay-max", 2*time.Second, "longest pause before a job is started again")
	f.DurationVar(&cfg.CheckpointInterval, "checkpoint-interval", time.Second, "time between checkpoints while there is input")
	f.DurationVar(&cfg.CheckpointTimeout, "checkpoint-timeout", 0,
		"time after which a checkpoint that some actor has not reached is given up for the next one, which gets twice as long; 0 means never")
	f.IntVar(&cfg.CheckpointsInFlight, "checkpoints-in-flight", 2, "checkpoints that may be on their way through the dataflow at a time")
	f.DurationVar(&cfg.StuckAfter, "barrier-stuck-after", 10*time.Second,
		"time after which the log names the actors that a barrier waits for")
	f.IntVar(&cfg.CheckpointsRetained, "checkpoints-retained", 2,
		"earlier checkpoints that are kept, to go back to if the newest one is damaged")
	f.DurationVar(&cfg.CheckpointRetentionInterval, "checkpoint-retention-interval", time.Minute,
		"least time between two checkpoints that are kept")
	f.StringVar(&level, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&cfg.TLS, "tls", "off", "off, or auto: encrypt with a certificate that the server makes and keeps in the data directory")
	f.StringVar(&cfg.TLSCert, "tls-cert", "", "file with a certificate of your own (PEM); encrypts")
	f.StringVar(&cfg.TLSKey, "tls-key", "", "file with the key of --tls-cert")
	f.StringVar(&cfg.Auth, "auth", "trust", "trust: clients of this machine need no password; scram: everybody does")
	f.BoolVar(&cfg.Insecure, "insecure", false, "serve other machines without passwords")
	return cmd
}

// fromEnvironment sets the flags that were not given from WEIR_ variables.
func fromEnvironment(fs *pflag.FlagSet) error {
	var err error
	fs.VisitAll(func(f *pflag.Flag) {
		name := "WEIR_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		v, ok := os.LookupEnv(name)
		if !ok || f.Changed || err != nil {
			return
		}
		if serr := fs.Set(f.Name, v); serr != nil {
			err = fmt.Errorf("%s: %w", name, serr)
		}
	})
	return err
}

// parseBytes reads a size such as 512MB or 4GB (powers of 1024); a bare number is bytes.
func parseBytes(s string) (int64, error) {
	u := strings.ToUpper(strings.TrimSpace(s))
	shift := 0
	for _, x := range []struct {
		suffix string
		shift  int
	}{{"KB", 10}, {"MB", 20}, {"GB", 30}, {"TB", 40}, {"B", 0}} {
		if rest, ok := strings.CutSuffix(u, x.suffix); ok {
			u, shift = strings.TrimSpace(rest), x.shift
			break
		}
	}
	n, err := strconv.ParseInt(u, 10, 64)
	if err != nil || n < 0 || n > 1<<62>>shift {
		return 0, fmt.Errorf("%q is not a size", s)
	}
	return n << shift, nil
}
