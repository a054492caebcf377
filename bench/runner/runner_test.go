package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/weirdb/weir/server"
)

// What this program is in the processes that the tests start: a side, with its configuration, or a server on a directory.
const (
	sideEnv  = "WEIR_TEST_SIDE"
	serveEnv = "WEIR_TEST_SERVE"
)

func TestMain(m *testing.M) {
	if err := child(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// child does what the environment says, and ends the process if that was something.
func child() error {
	if text, ok := os.LookupEnv(sideEnv); ok {
		var cfg SideConfig
		if err := json.Unmarshal([]byte(text), &cfg); err != nil {
			return err
		}
		if err := RunSide(context.Background(), cfg, os.Stdin, os.Stdout); err != nil {
			return err
		}
		os.Exit(0)
	}
	if dir, ok := os.LookupEnv(serveEnv); ok {
		s, err := server.Open(server.Config{DataDir: dir, Listen: "127.0.0.1:0", HTTP: "off"})
		if err != nil {
			return err
		}
		fmt.Printf("ready on %s (test)\n", s.Addr())
		return s.Run(context.Background())
	}
	return nil
}

func self(ctx context.Context, env, value string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), env+"="+value)
	return cmd
}

func isEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// TestCheckpoint: both sides come to the end of the same events, one of them with checkpoints, and nothing is left.
func TestCheckpoint(t *testing.T) {
	dir := t.TempDir()
	var passes []CheckpointPass
	sum, err := Checkpoint(t.Context(), CheckpointConfig{
		Queries: []string{"q9", "q17"}, Events: 100_000, Parallelism: 1, Interval: 10 * time.Millisecond,
		Slice: 20 * time.Millisecond, Dir: dir,
		Command: func(ctx context.Context, cfg SideConfig) (*exec.Cmd, error) {
			b, err := json.Marshal(cfg)
			return self(ctx, sideEnv, string(b)), err
		},
	}, func(p CheckpointPass) { passes = append(passes, p) })
	if err != nil {
		t.Fatal(err)
	}
	if len(passes) != 1 || sum.Events != 100_000 {
		t.Errorf("%d passes, %d events", len(passes), sum.Events)
	}
	for name, s := range map[string]CheckpointSide{"with": sum.With, "without": sum.Without} {
		if s.Wall <= 0 || s.CPU <= 0 || s.StateBytes <= 0 {
			t.Errorf("%s checkpoints: %+v", name, s)
		}
	}
	// A definition is a checkpoint, too.
	if sum.Without.Checkpoints > 2 {
		t.Errorf("%d checkpoints on the side without", sum.Without.Checkpoints)
	}
	if sum.With.Checkpoints < sum.Without.Checkpoints || sum.CPURatio() <= 0 || sum.WallRatio() <= 0 || sum.RestRatio() <= 0 {
		t.Errorf("with checkpoints %+v, without %+v", sum.With, sum.Without)
	}
	isEmpty(t, dir)
}

// TestRestart: the server is killed idle and under load, and has every acknowledged write afterwards; otherwise Restart fails.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	var results []RestartResult
	err := Restart(t.Context(), RestartConfig{
		Size: 1 << 20, Kills: 1, Load: 300 * time.Millisecond, Writers: 2, Dir: dir, Progress: func(string) {},
		Command: func(ctx context.Context, dataDir string) *exec.Cmd { return self(ctx, serveEnv, dataDir) },
	}, func(r RestartResult) { results = append(results, r) })
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 2 || results[0].Loaded || !results[1].Loaded {
		t.Fatalf("restarts %+v", results)
	}
	for _, r := range results {
		if r.Bytes < 1<<20 || r.Ready <= 0 || r.Answer < r.Ready || r.CPU <= 0 {
			t.Errorf("restart %+v", r)
		}
	}
	isEmpty(t, dir)
}
