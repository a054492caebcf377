package failover

import (
	"fmt"
	"slices"
)

// JobID identifies a job.
type JobID uint32

// Job is what a strategy knows of a job.
type Job struct {
	ID JobID
	// Inputs are the jobs that feed it.
	Inputs []JobID
	// Replayable says that what the job sends can be given again to a consumer that begins at the last
	// checkpoint: it is a durable boundary.
	Replayable bool
	// Vital says that the job cannot be stopped alone.
	Vital bool
	// Strategy names the job's own strategy; empty: the server's.
	Strategy string
}

// Strategy says how far a failure reaches.
type Strategy interface {
	// Name is what users call it.
	Name() string
	// Region gives the jobs that must be stopped and started again when one of g has failed, sorted;
	// all says that it is everything there is.
	Region(g []Job, failed JobID) (jobs []JobID, all bool)
}

// The names of the strategies.
const (
	All    = "restart-all"
	Region = "restart-region"
)

// Parse gives the strategy of a name, with or without its "restart-".
func Parse(name string) (Strategy, error) {
	switch name {
	case All, "all":
		return restartAll{}, nil
	case Region, "region":
		return restartRegion{}, nil
	}
	return nil, fmt.Errorf("unknown failover strategy %q: it is %s or %s", name, Region, All)
}

type restartAll struct{}

func (restartAll) Name() string                        { return All }
func (restartAll) Region([]Job, JobID) ([]JobID, bool) { return nil, true }

type restartRegion struct{}

func (restartRegion) Name() string { return Region }

// Region is the smallest set with the failed job that has with a job all that it feeds, and those of its
// inputs that cannot be given again. It is everything if a vital job is in it, or the failed one is unknown.
func (restartRegion) Region(g []Job, failed JobID) ([]JobID, bool) {
	by := make(map[JobID]*Job, len(g))
	feeds := make(map[JobID][]JobID, len(g))
	for k := range g {
		by[g[k].ID] = &g[k]
		for _, in := range g[k].Inputs {
			feeds[in] = append(feeds[in], g[k].ID)
		}
	}
	if by[failed] == nil {
		return nil, true
	}
	in := map[JobID]bool{failed: true}
	jobs := []JobID{failed}
	add := func(id JobID) {
		if !in[id] {
			in[id] = true
			jobs = append(jobs, id)
		}
	}
	for k := 0; k < len(jobs); k++ {
		j := by[jobs[k]]
		if j.Vital {
			return nil, true
		}
		for _, id := range feeds[j.ID] {
			add(id)
		}
		for _, id := range j.Inputs {
			if up := by[id]; up != nil && !up.Replayable {
				add(id)
			}
		}
	}
	slices.Sort(jobs)
	return jobs, false
}
