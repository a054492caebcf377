package sim

import "testing"

// TestPlantedBugs: each of the bugs is found within the seeds that every run of the tests tries.
func TestPlantedBugs(t *testing.T) {
	for _, b := range Bugs {
		t.Run(b.String(), func(t *testing.T) {
			for seed := range int64(ciSeeds) {
				if r := Run(Config{Seed: seed, Bug: b}); r.Err != nil {
					t.Logf("seed %d: %v", seed, r.Err)
					return
				}
			}
			t.Fatalf("not found in %d seeds", ciSeeds)
		})
	}
}
