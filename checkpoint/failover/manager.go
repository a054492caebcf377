package failover

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// RegionID identifies a region from its failure until it runs again; it is never used again.
type RegionID uint64

// Config says how failures are dealt with. Zero values mean the defaults.
type Config struct {
	// Strategy is that of jobs that have none of their own; nil means restart-region.
	Strategy Strategy
	// Attempts is how often a job may fail in a row; with the last one it is stalled. 0 means 5, a negative
	// number that it is never stalled.
	Attempts int
	// The pause before a restart: none the first time, then FirstDelay, twice as long each time, up to
	// MaxDelay. 0 means 100 ms, and 2 s.
	FirstDelay, MaxDelay time.Duration
	// Healthy is how long a job must run before its failures count half. 0 means 20 s.
	Healthy time.Duration
	// StopTimeout is how long the actors of a region may take to end before it is stalled, since
	// checkpoints wait for it. 0 means 20 s.
	StopTimeout time.Duration
}

func (c *Config) defaults() {
	if c.Strategy == nil {
		c.Strategy = restartRegion{}
	}
	if c.Attempts == 0 {
		c.Attempts = 5
	}
	for d, v := range map[*time.Duration]time.Duration{
		&c.FirstDelay: 100 * time.Millisecond, &c.MaxDelay: 2 * time.Second, &c.Healthy: 20 * time.Second,
		&c.StopTimeout: 20 * time.Second,
	} {
		if *d == 0 {
			*d = v
		}
	}
}

// Event is what the manager is told.
type Event interface{ event() }

// The events.
type (
	// Failed says that a job of g has failed, in the global version Version. MayStall: everything else can
	// do without it.
	Failed struct {
		Version  uint64
		Job      JobID
		Err      error
		Graph    []Job
		MayStall bool
	}
	// Stopped says that all actors of a region have ended and its state is that of the last checkpoint.
	Stopped struct{ Region RegionID }
	// Deployed is an answer to Deploy: the jobs run, and catch up.
	Deployed struct{ Region RegionID }
	// DeployFailed is the other one. It counts as a failure of the job that failed before.
	DeployFailed struct {
		Region RegionID
		Err    error
	}
	// Running says that a deployed region has caught up.
	Running struct{ Region RegionID }
	// Started says that everything was started again, but for the stalled jobs, after RestartAll or because
	// a stalled job was resumed by itself.
	Started struct{}
	// Global says that everything is restarted for another reason than a job: all regions are void.
	Global struct{}
	// StalledAlready says that a job does not run since before, or cannot be started, and why. If a region has it, what becomes of
	// the region does not start it.
	StalledAlready struct {
		Job JobID
		Err error
	}
	// Resumed says that jobs that were stalled run again.
	Resumed struct{ Jobs []JobID }
	// Abandon says that nobody wants the jobs of a region any more: it is stalled as soon as it has stopped, or at once if it
	// is catching up.
	Abandon struct {
		Region RegionID
		Err    error
	}
	// Forget says that jobs are gone.
	Forget struct{ Jobs []JobID }
	// Tick says that the time of a SetTimer has come.
	Tick struct{}
)

func (Failed) event()         {}
func (Stopped) event()        {}
func (Deployed) event()       {}
func (DeployFailed) event()   {}
func (Running) event()        {}
func (Started) event()        {}
func (Global) event()         {}
func (StalledAlready) event() {}
func (Resumed) event()        {}
func (Abandon) event()        {}
func (Forget) event()         {}
func (Tick) event()           {}

// Action is what the manager wants done, in the order given.
type Action interface{ action() }

// The actions.
type (
	// Stop asks that all actors of these jobs be stopped, those that still run. Absorbed are regions
	// that became part of this one: nothing more is decided for them. Answered by Stopped.
	Stop struct {
		Region   RegionID
		Jobs     []JobID
		Absorbed []RegionID
	}
	// Deploy asks that the jobs be started again from the last checkpoint. Answered by Deployed or
	// DeployFailed.
	Deploy struct {
		Region RegionID
		Jobs   []JobID
	}
	// Stall asks that the jobs of a stopped region, or one that does not stop, be taken out of the graph:
	// Job has failed too often.
	Stall struct {
		Region RegionID
		Jobs   []JobID
		Job    JobID
		Err    error
	}
	// RestartAll asks that everything be stopped and, after the delay, started, but for the stalled jobs;
	// Stalled tells that Job has become one of them. Answered by Started.
	RestartAll struct {
		Version uint64
		Delay   time.Duration
		Job     JobID
		Stalled bool
	}
	// SetTimer asks for a Tick at At; it replaces an earlier timer. The zero time cancels it.
	SetTimer struct{ At time.Time }
)

func (Stop) action()       {}
func (Deploy) action()     {}
func (Stall) action()      {}
func (RestartAll) action() {}
func (SetTimer) action()   {}

// State is that of a job, as users see it.
type State string

// The states of a job.
const (
	StateRunning    State = "running"
	StateRestarting State = "restarting"
	StateStalled    State = "stalled"
)

// Status is what is known of a job.
type Status struct {
	State State
	// Err is the last failure, also of a job that runs again; nil if there was none. Cause is the job that
	// failed: the job itself, or one that it depends on.
	Err   error
	Cause JobID
	// Attempts counts the failures in a row.
	Attempts int
	// Since is when the job came into this state; zero for one that has run from the start.
	Since time.Time
}

// phase is where a region is.
type phase int

const (
	stopping phase = iota
	waiting
	deploying
	catching
)

type region struct {
	id    RegionID
	jobs  []JobID
	cause JobID
	err   error
	phase phase
	// at is when the wait is over, or stopping has lasted too long.
	at time.Time
	// delay is how long it waits once it has stopped; stall: it is not started again.
	delay time.Duration
	stall bool
}

// Manager is the machine. It reads no clock and starts nothing; one goroutine at a time may use it.
type Manager struct {
	cfg     Config
	version uint64
	next    RegionID
	regions map[RegionID]*region
	jobs    map[JobID]*Status
	// lastFailure is when each job failed last.
	lastFailure map[JobID]time.Time
	timer       time.Time
	actions     []Action
}

// NewManager makes a manager in global version 1.
func NewManager(cfg Config) *Manager {
	cfg.defaults()
	return &Manager{
		cfg: cfg, version: 1, regions: map[RegionID]*region{}, jobs: map[JobID]*Status{}, lastFailure: map[JobID]time.Time{},
	}
}

// Version is the global modification version.
func (m *Manager) Version() uint64 { return m.version }

// Current tells whether a region is still one: whoever works for it asks before each step.
func (m *Manager) Current(id RegionID) bool { return m.regions[id] != nil }

// Status gives what is known of a job; a job of which nothing is known runs.
func (m *Manager) Status(id JobID) Status {
	if s := m.jobs[id]; s != nil {
		return *s
	}
	return Status{State: StateRunning}
}

// Stalled lists the jobs that are stalled by a failure of their own, with the reason.
func (m *Manager) Stalled() map[JobID]error {
	out := map[JobID]error{}
	for id, s := range m.jobs {
		if s.State == StateStalled && s.Cause == id {
			out[id] = s.Err
		}
	}
	return out
}

// Step takes one event at time now and returns what to do. The result is valid until the next Step. Events of
// regions that are not current, and failures of earlier versions, are passed over.
func (m *Manager) Step(ev Event, now time.Time) []Action {
	m.actions = m.actions[:0]
	switch ev := ev.(type) {
	case Failed:
		if ev.Version == m.version {
			m.failed(ev, now)
		}
	case Stopped:
		if r := m.regions[ev.Region]; r != nil && r.phase == stopping {
			r.phase, r.at = waiting, now.Add(r.delay)
		}
	case Deployed:
		if r := m.regions[ev.Region]; r != nil && r.phase == deploying {
			if r.phase = catching; r.stall {
				m.stall(r, now)
			}
		}
	case DeployFailed:
		if r := m.regions[ev.Region]; r != nil && r.phase == deploying {
			r.err = ev.Err
			m.attempt(r, true, now)
			r.phase, r.at = waiting, now.Add(r.delay)
		}
	case Running:
		if r := m.regions[ev.Region]; r != nil && r.phase == catching {
			m.running(r, now)
		}
	case Started:
		for _, s := range m.jobs {
			if s.State == StateRestarting {
				s.State, s.Since = StateRunning, now
			}
		}
	case Global:
		m.global(now)
	case StalledAlready:
		m.set([]JobID{ev.Job}, StateStalled, ev.Err, ev.Job, now)
	case Resumed:
		for _, id := range ev.Jobs {
			delete(m.lastFailure, id)
			m.jobs[id] = &Status{State: StateRunning, Since: now}
		}
	case Abandon:
		if r := m.regions[ev.Region]; r != nil {
			r.stall, r.err, r.delay = true, ev.Err, 0
			switch r.phase {
			case waiting:
				r.at = now
			case catching:
				m.stall(r, now)
			}
		}
	case Forget:
		for _, id := range ev.Jobs {
			delete(m.jobs, id)
			delete(m.lastFailure, id)
		}
	case Tick:
		m.timer = time.Time{}
	default:
		panic(fmt.Sprintf("failover: unknown event %T", ev))
	}
	m.advance(now)
	return m.actions
}

func (m *Manager) do(a Action) { m.actions = append(m.actions, a) }

// set puts jobs into a state; without an error the last one is kept.
func (m *Manager) set(ids []JobID, st State, err error, cause JobID, now time.Time) {
	for _, id := range ids {
		s := m.jobs[id]
		if s == nil {
			s = &Status{}
			m.jobs[id] = s
		}
		s.State, s.Since = st, now
		if err != nil {
			s.Err, s.Cause = err, cause
		}
	}
}

// count notes a failure of a job, and gives the number in a row.
func (m *Manager) count(id JobID, now time.Time) int {
	s := m.jobs[id]
	if s == nil {
		s = &Status{State: StateRunning}
		m.jobs[id] = s
	}
	if last, ok := m.lastFailure[id]; ok {
		s.Attempts >>= min(int64(now.Sub(last)/m.cfg.Healthy), 62)
	}
	m.lastFailure[id] = now
	s.Attempts++
	return s.Attempts
}

// delay is the pause before the restart that follows failure number n in a row.
func (m *Manager) delay(n int) time.Duration {
	if n <= 1 {
		return 0
	}
	d := m.cfg.FirstDelay
	for ; n > 2 && d < m.cfg.MaxDelay; n-- {
		d *= 2
	}
	return min(d, m.cfg.MaxDelay)
}

// attempt decides how a region goes on after one more failure of its cause.
func (m *Manager) attempt(r *region, mayStall bool, now time.Time) {
	n := m.count(r.cause, now)
	r.delay = m.delay(n)
	r.stall = r.stall || mayStall && m.cfg.Attempts > 0 && n >= m.cfg.Attempts
	if r.stall {
		r.delay = 0
	}
}

// strategy is what a failed job follows.
func (m *Manager) strategy(g []Job, id JobID) Strategy {
	for _, j := range g {
		if j.ID == id && j.Strategy != "" {
			if s, err := Parse(j.Strategy); err == nil {
				return s
			}
		}
	}
	return m.cfg.Strategy
}

func (m *Manager) failed(f Failed, now time.Time) {
	jobs, all := m.strategy(f.Graph, f.Job).Region(f.Graph, f.Job)
	for _, id := range jobs {
		for _, j := range f.Graph {
			if j.ID == id && j.Strategy != "" {
				// A job that asked for it takes everything with it, also when it falls for the sake of others.
				if s, err := Parse(j.Strategy); err == nil && s.Name() == All {
					all = true
				}
			}
		}
	}
	if all {
		n := m.count(f.Job, now)
		r := RestartAll{Delay: m.delay(n), Job: f.Job, Stalled: f.MayStall && m.cfg.Attempts > 0 && n >= m.cfg.Attempts}
		m.global(now)
		r.Version = m.version
		if s := m.jobs[f.Job]; s != nil {
			s.State, s.Err, s.Cause = StateRestarting, f.Err, f.Job
			if r.Stalled {
				s.State, r.Delay = StateStalled, 0
			}
		}
		m.do(r)
		return
	}
	m.next++
	r := &region{id: m.next, jobs: jobs, cause: f.Job, err: f.Err, at: now.Add(m.cfg.StopTimeout)}
	var absorbed []RegionID
	for _, id := range slices.Sorted(maps.Keys(m.regions)) {
		old := m.regions[id]
		if !slices.ContainsFunc(old.jobs, func(j JobID) bool { return slices.Contains(r.jobs, j) }) {
			continue
		}
		absorbed = append(absorbed, id)
		for _, j := range old.jobs {
			if !slices.Contains(r.jobs, j) {
				r.jobs = append(r.jobs, j)
			}
		}
		if old.stall {
			// Its job is not to be started again, whatever happens around it.
			r.stall, r.cause, r.err = true, old.cause, old.err
		}
		delete(m.regions, id)
	}
	slices.Sort(r.jobs)
	m.attempt(r, f.MayStall, now)
	m.regions[r.id] = r
	m.set(r.jobs, StateRestarting, r.err, r.cause, now)
	m.do(Stop{Region: r.id, Jobs: r.jobs, Absorbed: absorbed})
}

// global begins a new version: every local restart is void.
func (m *Manager) global(now time.Time) {
	m.version++
	for _, id := range slices.Sorted(maps.Keys(m.regions)) {
		r := m.regions[id]
		if r.stall {
			m.set([]JobID{r.cause}, StateStalled, r.err, r.cause, now)
		}
		delete(m.regions, id)
	}
	for _, s := range m.jobs {
		if s.State == StateRunning {
			s.State, s.Since = StateRestarting, now
		}
	}
}

// running ends a region that has caught up. What was declared stalled meanwhile was not started with it, and what was
// forgotten is gone.
func (m *Manager) running(r *region, now time.Time) {
	for _, id := range r.jobs {
		if s := m.jobs[id]; s != nil && s.State != StateStalled {
			m.set([]JobID{id}, StateRunning, nil, 0, now)
		}
	}
	delete(m.regions, r.id)
}

// stall gives a region up.
func (m *Manager) stall(r *region, now time.Time) {
	m.set(r.jobs, StateStalled, r.err, r.cause, now)
	delete(m.regions, r.id)
	m.do(Stall{Region: r.id, Jobs: r.jobs, Job: r.cause, Err: r.err})
}

// advance does what is due.
func (m *Manager) advance(now time.Time) {
	var next time.Time
	for _, id := range slices.Sorted(maps.Keys(m.regions)) {
		r := m.regions[id]
		if r.phase > waiting {
			continue
		}
		if now.Before(r.at) {
			if next.IsZero() || r.at.Before(next) {
				next = r.at
			}
			continue
		}
		if r.phase == stopping {
			// Its actors do not end, and checkpoints wait for it.
			r.stall, r.err = true, fmt.Errorf("it does not stop after a failure: %w", r.err)
		}
		if r.stall {
			m.stall(r, now)
			continue
		}
		r.phase = deploying
		m.do(Deploy{Region: id, Jobs: r.jobs})
	}
	if !next.Equal(m.timer) {
		m.timer = next
		m.do(SetTimer{At: next})
	}
}
