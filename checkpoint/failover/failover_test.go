package failover

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestScripts runs the scripts of testdata. Commands:
//
//	graph                                 the jobs, one a line: id [<- inputs] [once] [vital] [all | region]
//	region job=n [strategy=all]           how far a failure reaches
//	new [strategy=all] [attempts=n]       a manager; delays from 100 ms to 1 s, healthy after 10 s, stops within 5 s
//	failed job=n [version=n] [stays]      messages; stays: the job cannot be stalled
//	stopped|deployed|deployfailed|running region=n
//	abandon region=n
//	started | global | stalled job=n | resumed jobs=(..) | forget jobs=(..)
//	at ms                                 moves the clock, and ticks if a timer is due
//	status                                all jobs of which something is known
//	current region=n | version
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var g []Job
		var m *Manager
		start := time.Unix(0, 0)
		now := start
		var timer time.Time
		step := func(ev Event) string {
			var b strings.Builder
			for _, a := range m.Step(ev, now) {
				if s, ok := a.(SetTimer); ok {
					timer = s.At
				}
				fmt.Fprintln(&b, printAction(a, start))
			}
			return b.String()
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var region, version uint64
			var job, attempts int
			var strategy string
			d.MaybeScanArgs(t, "region", &region)
			d.MaybeScanArgs(t, "version", &version)
			d.MaybeScanArgs(t, "job", &job)
			d.MaybeScanArgs(t, "attempts", &attempts)
			d.MaybeScanArgs(t, "strategy", &strategy)
			r := RegionID(region)
			switch d.Cmd {
			case "graph":
				g = parseGraph(t, d.Input)
				return ""
			case "region":
				s, err := Parse("restart-region")
				if strategy != "" {
					s, err = Parse(strategy)
				}
				if err != nil {
					return err.Error() + "\n"
				}
				jobs, all := s.Region(g, JobID(job))
				if all {
					return "all\n"
				}
				return fmt.Sprintln(jobs)
			case "new":
				cfg := Config{
					Attempts: attempts, FirstDelay: 100 * time.Millisecond, MaxDelay: time.Second, Healthy: 10 * time.Second,
					StopTimeout: 5 * time.Second,
				}
				if strategy != "" {
					s, err := Parse(strategy)
					if err != nil {
						t.Fatal(err)
					}
					cfg.Strategy = s
				}
				m, now, timer = NewManager(cfg), start, time.Time{}
				return ""
			case "failed":
				if version == 0 {
					version = m.Version()
				}
				return step(Failed{
					Version: version, Job: JobID(job), Err: fmt.Errorf("%d broke", job), Graph: g, MayStall: !d.HasArg("stays"),
				})
			case "stopped":
				return step(Stopped{r})
			case "deployed":
				return step(Deployed{r})
			case "deployfailed":
				return step(DeployFailed{Region: r, Err: errors.New("no plan")})
			case "running":
				return step(Running{r})
			case "started":
				return step(Started{})
			case "global":
				return step(Global{})
			case "stalled":
				return step(StalledAlready{Job: JobID(job), Err: errors.New("from before")})
			case "resumed":
				return step(Resumed{jobsArg(t, d)})
			case "abandon":
				return step(Abandon{r, errors.New("nobody wants it")})
			case "forget":
				return step(Forget{jobsArg(t, d)})
			case "at":
				ms, err := strconv.Atoi(d.CmdArgs[0].Key)
				if err != nil {
					t.Fatal(err)
				}
				now = start.Add(time.Duration(ms) * time.Millisecond)
				if !timer.IsZero() && !now.Before(timer) {
					return step(Tick{})
				}
				return ""
			case "status":
				var b strings.Builder
				for _, id := range slices.Sorted(maps.Keys(m.jobs)) {
					s := m.Status(id)
					fmt.Fprintf(&b, "%d %s attempts=%d", id, s.State, s.Attempts)
					if s.Err != nil {
						fmt.Fprintf(&b, " because of %d: %v", s.Cause, s.Err)
					}
					b.WriteByte('\n')
				}
				return b.String()
			case "current":
				return fmt.Sprintln(m.Current(r))
			case "version":
				return fmt.Sprintln(m.Version())
			}
			t.Fatalf("unknown command %q", d.Cmd)
			return ""
		})
	})
}

func jobsArg(t *testing.T, d *datadriven.TestData) []JobID {
	var ids []JobID
	for _, a := range d.CmdArgs {
		if a.Key != "jobs" {
			continue
		}
		for _, v := range a.Vals {
			n, err := strconv.Atoi(v)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, JobID(n))
		}
	}
	return ids
}

func parseGraph(t *testing.T, text string) []Job {
	var g []Job
	for line := range strings.Lines(text) {
		j := Job{Replayable: true}
		for i, f := range strings.Fields(line) {
			switch f {
			case "<-":
			case "once":
				j.Replayable = false
			case "vital":
				j.Vital = true
			case "all", "region":
				j.Strategy = f
			default:
				n, err := strconv.Atoi(f)
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					j.ID = JobID(n)
				} else {
					j.Inputs = append(j.Inputs, JobID(n))
				}
			}
		}
		g = append(g, j)
	}
	return g
}

func printAction(a Action, start time.Time) string {
	switch a := a.(type) {
	case Stop:
		s := fmt.Sprintf("stop %v as region %d", a.Jobs, a.Region)
		if len(a.Absorbed) > 0 {
			s += fmt.Sprintf(", which absorbs %v", a.Absorbed)
		}
		return s
	case Deploy:
		return fmt.Sprintf("deploy %v of region %d", a.Jobs, a.Region)
	case Stall:
		return fmt.Sprintf("stall %v of region %d because of %d: %v", a.Jobs, a.Region, a.Job, a.Err)
	case RestartAll:
		s := fmt.Sprintf("restart all in version %d after %v because of %d", a.Version, a.Delay, a.Job)
		if a.Stalled {
			s += ", which is stalled"
		}
		return s
	case SetTimer:
		if a.At.IsZero() {
			return "timer off"
		}
		return fmt.Sprintf("timer at %d", a.At.Sub(start).Milliseconds())
	}
	return fmt.Sprintf("%T", a)
}

// TestRandomFailures runs a manager against a naive world: jobs fail at any time, regions stop and are
// deployed or not, and everything is restarted now and then. What must hold: a job is in one region at
// most; what is deployed was stopped and is not running; nothing is decided for a region that was absorbed
// or is of an earlier version; a region has with a job all that it feeds; in the end everything runs or is
// stalled.
func TestRandomFailures(t *testing.T) {
	for seed := range int64(300) {
		if err := simulate(seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func simulate(seed int64) error {
	rng := rand.New(rand.NewSource(seed))
	now := time.Unix(0, 0)
	m := NewManager(Config{Attempts: 2 + rng.Intn(6)})
	n := 3 + rng.Intn(8)
	var g []Job
	for id := 1; id <= n; id++ {
		j := Job{ID: JobID(id), Replayable: rng.Intn(4) > 0, Strategy: []string{"", "", "", "", "region", "all"}[rng.Intn(6)]}
		for in := 1; in < id; in++ {
			if rng.Intn(4) == 0 {
				j.Inputs = append(j.Inputs, JobID(in))
			}
		}
		g = append(g, j)
	}
	const (
		runs = iota
		stopped
		stalled
	)
	state := map[JobID]int{}
	regions := map[RegionID][]JobID{}
	phase := map[RegionID]string{}
	var timer time.Time
	restarting := false
	var handle func(as []Action) error
	step := func(ev Event) error { return handle(slices.Clone(m.Step(ev, now))) }
	handle = func(as []Action) error {
		for _, a := range as {
			switch a := a.(type) {
			case Stop:
				for _, id := range a.Absorbed {
					if regions[id] == nil {
						return fmt.Errorf("region %d was absorbed, but is none", id)
					}
					delete(regions, id)
				}
				for id, jobs := range regions {
					for _, j := range jobs {
						if slices.Contains(a.Jobs, j) {
							return fmt.Errorf("job %d is in regions %d and %d", j, id, a.Region)
						}
					}
				}
				for _, j := range g {
					for _, in := range j.Inputs {
						if slices.Contains(a.Jobs, in) && !slices.Contains(a.Jobs, j.ID) && state[j.ID] != stalled {
							return fmt.Errorf("region %v has %d, but not %d behind it", a.Jobs, in, j.ID)
						}
					}
				}
				for _, j := range a.Jobs {
					state[j] = stopped
				}
				regions[a.Region], phase[a.Region] = a.Jobs, "stopping"
			case Deploy:
				if phase[a.Region] != "stopped" || !slices.Equal(regions[a.Region], a.Jobs) {
					return fmt.Errorf("deploy of region %d, which is %s", a.Region, phase[a.Region])
				}
				phase[a.Region] = "deploying"
			case Stall:
				if regions[a.Region] == nil {
					return fmt.Errorf("region %d is stalled, but is none", a.Region)
				}
				for _, j := range a.Jobs {
					state[j] = stalled
				}
				delete(regions, a.Region)
			case RestartAll:
				if a.Version != m.Version() {
					return fmt.Errorf("version %d, not %d", a.Version, m.Version())
				}
				clear(regions)
				restarting = true
			case SetTimer:
				timer = a.At
			}
		}
		for id := range regions {
			if !m.Current(id) {
				return fmt.Errorf("region %d is not current", id)
			}
		}
		return nil
	}
	graph := func() []Job { // stalled jobs are in no graph
		return slices.DeleteFunc(slices.Clone(g), func(j Job) bool { return state[j.ID] == stalled })
	}
	restart := func() error {
		restarting = false
		roots := m.Stalled()
		for _, j := range g {
			_, bad := roots[j.ID]
			for _, in := range j.Inputs {
				bad = bad || state[in] == stalled
			}
			state[j.ID] = runs
			if bad {
				state[j.ID] = stalled
			}
		}
		return step(Started{})
	}
	move := func(fail bool) error {
		for _, id := range slices.Sorted(maps.Keys(regions)) {
			switch phase[id] {
			case "stopping":
				phase[id] = "stopped"
				return step(Stopped{id})
			case "deploying":
				if fail {
					phase[id] = "stopped"
					return step(DeployFailed{Region: id, Err: errors.New("no plan")})
				}
				phase[id] = "catching"
				for _, j := range regions[id] {
					state[j] = runs
				}
				return step(Deployed{id})
			case "catching":
				delete(regions, id)
				return step(Running{id})
			}
		}
		return nil
	}
	for range 300 {
		now = now.Add(time.Duration(rng.Intn(3000)) * time.Millisecond)
		var err error
		switch rng.Intn(6) {
		case 0, 1:
			if j := g[rng.Intn(n)]; state[j.ID] == runs && !restarting {
				err = step(Failed{Version: m.Version(), Job: j.ID, Err: errors.New("broke"), Graph: graph(), MayStall: rng.Intn(5) > 0})
			}
		case 2:
			// A message of a version that is over.
			err = step(Failed{Version: m.Version() - 1, Job: 1, Err: errors.New("late"), Graph: graph(), MayStall: true})
		case 3:
			err = move(rng.Intn(4) == 0)
		case 4:
			if !timer.IsZero() && !now.Before(timer) {
				err = step(Tick{})
			}
		case 5:
			if restarting {
				err = restart()
			} else if rng.Intn(20) == 0 {
				clear(regions)
				restarting = true
				err = step(Global{})
			}
		}
		if err != nil {
			return err
		}
	}
	for range 1000 {
		if restarting {
			if err := restart(); err != nil {
				return err
			}
		}
		if err := move(false); err != nil {
			return err
		}
		if !timer.IsZero() {
			now = timer
			if err := step(Tick{}); err != nil {
				return err
			}
		}
	}
	for _, j := range g {
		want := StateRunning
		if state[j.ID] == stalled {
			want = StateStalled
		} else if state[j.ID] != runs {
			return fmt.Errorf("job %d neither runs nor is it stalled", j.ID)
		}
		if _, own := m.Stalled()[j.ID]; own && want != StateStalled {
			return fmt.Errorf("job %d runs, and is stalled for the manager", j.ID)
		}
	}
	return nil
}
