package runner

import (
	"fmt"
	"os"
	"slices"
	"testing"

	queries "github.com/weirdb/weir/bench/nexmark"
)

// TestNexmark: every query gives what its hand-written program gives, as a sink on one core and as a view on two; q10 also in the
// file that it is for. With WEIR_SOAK over a million events, and also as a view on one core and as a sink on two.
func TestNexmark(t *testing.T) {
	cfg := NexmarkConfig{Queries: queries.Names(), Events: 20_000, Dir: t.TempDir()}
	soak := os.Getenv("WEIR_SOAK") != ""
	if soak {
		cfg.Events = 1_000_000
	}
	for _, cores := range []int{1, 2} {
		for _, view := range []bool{false, true} {
			if view != (cores == 2) && !soak {
				continue
			}
			for _, q := range cfg.Queries {
				t.Run(fmt.Sprintf("%s/cores=%d,view=%t", q, cores, view), func(t *testing.T) {
					c := cfg
					c.Queries, c.Parallelism, c.View = []string{q}, cores, view
					if err := VerifyNexmark(t.Context(), c); err != nil {
						t.Error(err)
					}
				})
			}
		}
		t.Run(fmt.Sprintf("q10/cores=%d,file", cores), func(t *testing.T) {
			c := cfg
			c.Queries, c.Parallelism, c.File = []string{"q10"}, cores, true
			if err := VerifyNexmark(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	}
	isEmpty(t, cfg.Dir)
}

// TestNexmarkFigures: what is reported is there, and a file sink is refused where rows change.
func TestNexmarkFigures(t *testing.T) {
	cfg := NexmarkConfig{Queries: []string{"q2", "q10"}, Events: 20_000, Parallelism: 1, ByHand: true, File: true, Dir: t.TempDir()}
	var got []string
	err := Nexmark(t.Context(), cfg, func(r NexmarkResult) {
		got = append(got, r.Query)
		if !r.Verified || r.Target != "file" || r.EventsPerSec <= 0 || r.EventsPerCPU <= 0 || r.ByHandPerSec <= 0 || r.ByHandPerCPU <= 0 || r.Ratio <= 0 || r.CPURatio <= 0 {
			t.Errorf("%+v", r)
		}
	})
	if err != nil || !slices.Equal(got, cfg.Queries) {
		t.Error(got, err)
	}
	cfg.Queries = []string{"q4"}
	if err := Nexmark(t.Context(), cfg, func(NexmarkResult) {}); err == nil {
		t.Error("the rows of q4 change, and a file took them")
	}
	isEmpty(t, cfg.Dir)
}
