package sim

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	// ciSeeds is how many runs belong to the tests, soakSeeds to the long ones.
	ciSeeds   = 500
	soakSeeds = 100_000
)

// traceEnd is how much of a trace a failed run shows.
const traceEnd = 80

// show fails the test with the end of the run's trace.
func show(t *testing.T, cfg Config, r Result) {
	t.Helper()
	cfg.Trace = true
	lines := Run(cfg).Trace
	if len(lines) > traceEnd {
		lines = lines[len(lines)-traceEnd:]
	}
	t.Fatalf("%s\nseed %d: %v\nfor the whole of it: WEIR_SEED=%d go test ./checkpoint/sim -run TestSimulation -v",
		strings.Join(lines, "\n"), cfg.Seed, r.Err, cfg.Seed)
}

// TestCalm: without faults everything goes right, and at once.
func TestCalm(t *testing.T) {
	for seed := range int64(50) {
		cfg := Config{Seed: seed, Calm: true}
		r := Run(cfg)
		if r.Err != nil {
			show(t, cfg, r)
		}
		if r.Restores != 1 || r.Took > 10*time.Second {
			t.Fatalf("seed %d: %d restores, took %v", seed, r.Restores, r.Took)
		}
	}
}

// TestSimulation makes runs with faults. With WEIR_SEED it makes one, and prints it.
func TestSimulation(t *testing.T) {
	if s := os.Getenv("WEIR_SEED"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		r := Run(Config{Seed: n, Trace: true})
		fmt.Println(strings.Join(r.Trace, "\n"))
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		return
	}
	for _, seed := range foundSeeds {
		cfg := Config{Seed: seed, Plain: true}
		if r := Run(cfg); r.Err != nil {
			show(t, cfg, r)
		}
		runs(t, seed, 1)
	}
	if testing.Short() {
		runs(t, 0, ciSeeds/10)
		return
	}
	all := runs(t, 0, ciSeeds)
	if m := all.Missing(); len(m) > 0 {
		t.Fatalf("the runs are too tame, these never happened: %v", m)
	}
	t.Logf("%+v", all)
}

// TestSoakSimulation makes many more, if WEIR_SOAK is set; those of TestSimulation otherwise, so that the test is
// always run.
func TestSoakSimulation(t *testing.T) {
	if os.Getenv("WEIR_SOAK") == "" {
		runs(t, ciSeeds, 20)
		return
	}
	start := time.Now()
	all := runs(t, ciSeeds, soakSeeds)
	t.Logf("%.0f seeds a second, %+v", soakSeeds/time.Since(start).Seconds(), all)
}

// foundSeeds are those that have shown faults of the protocol.
var foundSeeds = []int64{3545, 4149, 6769, 11805, 89371}

func runs(t *testing.T, from, n int64) Counts {
	var all Counts
	for seed := from; seed < from+n; seed++ {
		cfg := Config{Seed: seed}
		r := Run(cfg)
		if r.Err != nil {
			show(t, cfg, r)
		}
		all.Add(r.Counts)
	}
	return all
}

// TestDeterminism: a seed is one run, whatever else is going on, and whether it is traced or not.
func TestDeterminism(t *testing.T) {
	for seed := range int64(40) {
		a, b := Run(Config{Seed: seed}), Run(Config{Seed: seed, Trace: true})
		if a.Hash != b.Hash || a.Counts != b.Counts || a.Took != b.Took {
			t.Fatalf("seed %d: two runs differ: %+v and %+v", seed, a.Counts, b.Counts)
		}
	}
}
