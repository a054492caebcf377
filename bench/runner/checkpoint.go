package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// CheckpointConfig says how the cost of checkpoints is measured.
type CheckpointConfig struct {
	// Queries run together in one server, each over sources of its own.
	Queries []string
	// Events is how many each query reads in a pass; it decides how large the state grows.
	Events      int64
	Parallelism int
	// Interval is the time between checkpoints on the side that has them.
	Interval time.Duration
	// Duration is how long each side runs at least; passes are made until then.
	Duration time.Duration
	// Slice is how long one side runs before the other one does.
	Slice time.Duration
	View  bool
	Dir   string
	// Profile is where CPU profiles of the last pass go, with .with and .without; "" for none.
	Profile string
	// Command makes the process of a side, which must call RunSide with the configuration.
	Command func(ctx context.Context, cfg SideConfig) (*exec.Cmd, error)
}

// CheckpointSide is what one side took.
type CheckpointSide struct {
	// Wall is how long it ran, in seconds; what it was stopped for does not count. RestCPU is what the background used
	// after the end.
	Wall    float64 `json:"wall_seconds"`
	RestCPU float64 `json:"rest_cpu_seconds"`
	SideResult
}

// CheckpointPass compares the two sides over the same events.
type CheckpointPass struct {
	// Events were read by each of the queries.
	Events        int64          `json:"events"`
	With, Without CheckpointSide `json:",omitempty"`
}

// WallRatio is the throughput with checkpoints over that without, CPURatio the same for events per CPU second,
// RestRatio with what the background used after the end, too.
func (p CheckpointPass) WallRatio() float64 { return p.Without.Wall / p.With.Wall }

// CPURatio is the ratio of events per CPU second.
func (p CheckpointPass) CPURatio() float64 { return p.Without.CPU / p.With.CPU }

// RestRatio is CPURatio with what the background used after the end, too.
func (p CheckpointPass) RestRatio() float64 {
	return (p.Without.CPU + p.Without.RestCPU) / (p.With.CPU + p.With.RestCPU)
}

// add adds up what can be added, and keeps the largest of the sizes.
func (p *CheckpointPass) add(q CheckpointPass) {
	p.Events += q.Events
	p.With.add(q.With)
	p.Without.add(q.Without)
}

func (s *CheckpointSide) add(t CheckpointSide) {
	s.Wall, s.CPU, s.RestCPU = s.Wall+t.Wall, s.CPU+t.CPU, s.RestCPU+t.RestCPU
	s.Checkpoints, s.CheckpointBytes, s.Waits = s.Checkpoints+t.Checkpoints, s.CheckpointBytes+t.CheckpointBytes, s.Waits+t.Waits
	s.StateBytes, s.DiskBytes = max(s.StateBytes, t.StateBytes), max(s.DiskBytes, t.DiskBytes)
	s.UnfoldedBytes = max(s.UnfoldedBytes, t.UnfoldedBytes)
}

// noCheckpoints is an interval that is never over.
const noCheckpoints = 1000 * time.Hour

// sideMemory is the memory limit of both sides: so high that what no checkpoint has written never demands one, which it
// does when it is a sixteenth of this.
const sideMemory = 128 << 30

// Checkpoint runs the same queries in two processes, one with checkpoints and one without, in turn for a slice of time each
// while the other one is stopped, so that both see the same machine. It reports each pass, and gives the sum.
func Checkpoint(ctx context.Context, cfg CheckpointConfig, report func(CheckpointPass)) (sum CheckpointPass, err error) {
	for n := int64(1); n == 1 || min(sum.With.Wall, sum.Without.Wall) < cfg.Duration.Seconds(); n++ {
		p, err := checkpointPass(ctx, cfg, n)
		if err != nil {
			return sum, err
		}
		report(p)
		sum.add(p)
	}
	return sum, nil
}

func checkpointPass(ctx context.Context, cfg CheckpointConfig, n int64) (p CheckpointPass, err error) {
	p.Events = cfg.Events
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var sides []*side
	defer func() {
		for _, s := range sides {
			err = errors.Join(err, s.end())
		}
	}()
	for _, with := range []bool{true, false} {
		sc := SideConfig{
			Queries: cfg.Queries, Events: cfg.Events, Seed: n, Parallelism: cfg.Parallelism, View: cfg.View,
			MemoryLimit: sideMemory, CheckpointInterval: noCheckpoints,
		}
		name := "without"
		if with {
			sc.CheckpointInterval, name = cfg.Interval, "with"
		}
		if cfg.Profile != "" {
			sc.Profile = cfg.Profile + "." + name
		}
		s, err := startSide(ctx, cfg, sc, name)
		if err != nil {
			return p, err
		}
		sides = append(sides, s)
	}
	if n%2 == 0 {
		slices.Reverse(sides)
	}
	for _, s := range sides {
		if err := s.tell(sideGo); err != nil {
			return p, err
		}
	}
	// In turn, until both are at the end.
	for running := len(sides); running > 0; {
		for _, s := range sides {
			if s.done {
				continue
			}
			if err := s.slice(ctx, cfg.Slice, running == 1); err != nil {
				return p, fmt.Errorf("%s checkpoints: %w", s.name, err)
			}
			if s.done {
				running--
			}
		}
	}
	for _, s := range sides {
		if err := s.rest(); err != nil {
			return p, fmt.Errorf("%s checkpoints: %w", s.name, err)
		}
		if s.name == "with" {
			p.With = s.CheckpointSide
		} else {
			p.Without = s.CheckpointSide
		}
	}
	return p, nil
}

// side is one of the two processes; it is stopped but for its slices.
type side struct {
	CheckpointSide
	name string
	dir  string
	cmd  *exec.Cmd
	in   io.WriteCloser
	// lines gets what it says, and is closed when it has ended.
	lines chan []byte
	done  bool
}

func startSide(ctx context.Context, cfg CheckpointConfig, sc SideConfig, name string) (s *side, err error) {
	s = &side{name: name, lines: make(chan []byte, 4)}
	if s.dir, err = os.MkdirTemp(cfg.Dir, "weir-bench-"); err != nil {
		return nil, err
	}
	sc.Dir = s.dir
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(s.dir))
		}
	}()
	if s.cmd, err = cfg.Command(ctx, sc); err != nil {
		return nil, err
	}
	s.cmd.Stderr = os.Stderr
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(s.lines)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			s.lines <- slices.Clone(sc.Bytes())
		}
	}()
	line, ok := <-s.lines
	if !ok || string(line) != sideReady {
		return nil, errors.Join(fmt.Errorf("the process said %q", line), s.kill())
	}
	return s, s.cmd.Process.Signal(syscall.SIGSTOP)
}

func (s *side) tell(what string) error {
	_, err := fmt.Fprintln(s.in, what)
	return err
}

// slice lets the process run for a while, or to the end.
func (s *side) slice(ctx context.Context, d time.Duration, toTheEnd bool) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	expired := timer.C
	if toTheEnd {
		expired = nil
	}
	begin := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	select {
	case <-expired:
	case line, ok := <-s.lines:
		if !ok {
			return errors.New("the process has ended")
		}
		if err := json.Unmarshal(line, &s.SideResult); err != nil {
			return err
		}
		s.done = true
	case <-ctx.Done():
		return ctx.Err()
	}
	err := s.cmd.Process.Signal(syscall.SIGSTOP)
	s.Wall += time.Since(begin).Seconds()
	return err
}

// rest lets the process do what it has to do in the background.
func (s *side) rest() error {
	if err := s.tell(sideRests); err != nil {
		return err
	}
	if err := s.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	line, ok := <-s.lines
	if !ok {
		return errors.New("the process has ended")
	}
	var r sideRest
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	s.RestCPU = r.CPU
	return s.cmd.Process.Signal(syscall.SIGSTOP)
}

func (s *side) kill() error {
	err := s.cmd.Process.Kill()
	for range s.lines { // nothing that it says matters any more
	}
	_ = s.cmd.Wait() // it says that it was killed
	return err
}

// endLimit is how long a process may take to end by itself.
const endLimit = 5 * time.Second

// end ends the process and removes its files.
func (s *side) end() error {
	err := s.in.Close() // it may write its profile now
	cerr := s.cmd.Process.Signal(syscall.SIGCONT)
	timer := time.AfterFunc(endLimit, func() { _ = s.cmd.Process.Kill() })
	defer timer.Stop()
	for range s.lines { // nothing that it says matters any more
	}
	_ = s.cmd.Wait() // it may have been killed
	return errors.Join(err, cerr, os.RemoveAll(s.dir))
}
