package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestScenarios runs the scripts of testdata/scenarios, which tell the scenarios of docs/protocol.md. Each has
// its number there. Commands:
//
//	cluster actors=(1@a,2@b) edges=(1-2) [keep=n] [checkpoints=n] [options]
//	                                 workers are those that host actors; an actor without edges to it is a source;
//	                                 [checkpoint-timeout, restore-timeout, restore-delay, worker-timeout, report]=ms,
//	                                 local-failover
//	start [who]                      everything, or coordinator, store or a worker; then delivers all messages
//	kill who                         ends it at once
//	run                              delivers all messages
//	quiet | loud                     do not print messages, only what happens; do again
//	at ms                            moves the clock, with what timers do on the way
//	hold text=(..) | release | drop  keep back messages that contain a text; deliver them; lose them
//	repeat                           deliver a copy of what is held
//	input | demand epoch=n | checkpoint | savepoint | abort epoch=n reason=x
//	mutate id=n [add=(3@a)] [remove=(..)] [checkpoint] [version=old]
//	reset reason=x [worker=x] | lost actors=(..) [version=old] | pause | resume (of checkpoints)
//	slow actor=n | fast actor=n      an actor holds barriers up; does not any more
//	large actor=n                    its states go to the store
//	fail actor=n | finish actor=n    an actor ends
//	refuse reason=x                  the next actor cannot be restored
//	corrupt actor=n epoch=n          a state on the medium
//	disk full | ok
//	succeed                          a second coordinator takes over from the first, which lives
//	zombie checkpoint                the first one tries to go on
//	state                            of everybody
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		var s *stage
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "cluster" {
				s = stageFor(t, d)
				return ""
			}
			s.out.Reset()
			s.command(t, d)
			return s.out.String()
		})
	})
}

// TestEveryScenarioIsTold looks for the script of each scenario of the specification. A heading may name the package
// that tells it instead.
func TestEveryScenarioIsTold(t *testing.T) {
	spec, err := os.ReadFile("../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^##+ S(\d+) ([^(\n]*)(\(.(?:checkpoint|test)/)?`).FindAllStringSubmatch(string(spec), -1)
	if len(found) < 25 {
		t.Fatalf("%d scenarios", len(found))
	}
	for i, m := range found {
		if m[1] != strconv.Itoa(i+1) {
			t.Errorf("S%s is number %d", m[1], i+1)
		}
		scripts, err := filepath.Glob(fmt.Sprintf("testdata/scenarios/%02d_*", i+1))
		if err != nil {
			t.Fatal(err)
		}
		if m[3] == "" && len(scripts) != 1 {
			t.Errorf("S%s %s: %d scripts", m[1], m[2], len(scripts))
		}
	}
}

func stageFor(t *testing.T, d *datadriven.TestData) *stage {
	ms := func(key string) time.Duration {
		var n int
		d.MaybeScanArgs(t, key, &n)
		return time.Duration(n) * time.Millisecond
	}
	cfg := CoordinatorConfig{
		Config: Config{
			BarrierInterval: 100 * time.Millisecond, CheckpointInterval: time.Second, CheckpointTimeout: ms("checkpoint-timeout"),
		},
		RestoreTimeout: ms("restore-timeout"), RestoreDelay: ms("restore-delay"), WorkerTimeout: ms("worker-timeout"),
		LocalFailover: d.HasArg("local-failover"),
	}
	d.MaybeScanArgs(t, "keep", &cfg.Keep)
	d.MaybeScanArgs(t, "checkpoints", &cfg.MaxCheckpoints)
	var edges [][2]ActorID
	target := map[ActorID]bool{}
	for _, v := range values(d, "edges") {
		if v == "" {
			continue
		}
		from, to, _ := strings.Cut(v, "-")
		edges = append(edges, [2]ActorID{number(t, from), number(t, to)})
		target[number(t, to)] = true
	}
	wcfg := map[WorkerID]WorkerConfig{}
	for _, v := range values(d, "actors") {
		id, host, _ := strings.Cut(v, "@")
		c, ok := wcfg[WorkerID(host)]
		if !ok {
			cfg.Workers = append(cfg.Workers, WorkerID(host))
			c = WorkerConfig{Worker: WorkerID(host), InlineLimit: 8, ReportInterval: ms("report")}
		}
		a := number(t, id)
		c.Actors = append(c.Actors, HostedActor{Actor: a, Source: !target[a]})
		wcfg[WorkerID(host)] = c
	}
	return newStage(cfg, wcfg, edges)
}

func values(d *datadriven.TestData, key string) []string {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			return a.Vals
		}
	}
	return nil
}

func number(t *testing.T, s string) ActorID {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return ActorID(n)
}

func (s *stage) command(t *testing.T, d *datadriven.TestData) {
	var epoch, id uint64
	var actor int
	var reason, worker string
	d.MaybeScanArgs(t, "epoch", &epoch)
	d.MaybeScanArgs(t, "id", &id)
	d.MaybeScanArgs(t, "actor", &actor)
	d.MaybeScanArgs(t, "worker", &worker)
	reason = strings.Join(values(d, "reason"), " ")
	coordinator := Party{Role: RoleCoordinator}
	var version RestoreTxid
	if d.HasArg("version") {
		version = 1<<txidShift | 1
	}
	switch d.Cmd {
	case "start":
		if len(d.CmdArgs) == 0 {
			s.startRole("store")
			for _, w := range s.cfg.Workers {
				s.startRole(string(w))
			}
			s.startRole("coordinator")
		}
		for _, a := range d.CmdArgs {
			s.startRole(a.Key)
		}
		s.run()
	case "kill":
		s.kill(d.CmdArgs[0].Key)
	case "run":
		s.run()
	case "quiet":
		s.quiet = true
	case "loud":
		s.quiet = false
	case "at":
		ms, err := strconv.Atoi(d.CmdArgs[0].Key)
		if err != nil {
			t.Fatal(err)
		}
		s.at(s.start.Add(time.Duration(ms) * time.Millisecond))
	case "hold":
		s.holds = append(s.holds, strings.Join(values(d, "text"), " "))
	case "release":
		s.holds = nil
		s.queue = append(s.queue, s.held...)
		s.held = nil
		s.run()
	case "repeat":
		s.queue = append(s.queue, s.held...)
		s.run()
	case "drop":
		for _, p := range s.held {
			s.printf("lost: %s to %s: %s", name(p.from), name(p.to), describe(p.m))
		}
		s.holds, s.held = nil, nil
	case "input":
		s.give(coordinator, InputArrived{})
		s.run()
	case "demand":
		s.give(coordinator, Demand{Epoch: Epoch(epoch)})
		s.run()
	case "checkpoint", "savepoint":
		s.give(coordinator, CheckpointDemand{Savepoint: d.Cmd == "savepoint"})
		s.run()
	case "abort":
		s.give(coordinator, Abort{Epoch: Epoch(epoch), Reason: reason})
		s.run()
	case "mutate":
		m := Mutate{ID: id, Remove: actorArg(t, d, "remove"), Checkpoint: d.HasArg("checkpoint"), Version: version}
		for _, v := range values(d, "add") {
			id, host, _ := strings.Cut(v, "@")
			p := Placement{Actor: number(t, id), Worker: WorkerID(host), Source: true}
			for _, e := range s.edges {
				p.Source = p.Source && e[1] != p.Actor
			}
			m.Add, m.Place = append(m.Add, p.Actor), append(m.Place, p)
		}
		s.give(coordinator, m)
		s.run()
	case "reset":
		s.give(coordinator, ResetTopologyState{DeadWorker: WorkerID(worker), Reason: reason})
		s.run()
	case "lost":
		s.give(coordinator, Lost{Actors: actorArg(t, d, "actors"), Version: version})
		s.run()
	case "pause", "resume":
		s.give(coordinator, Hold{On: d.Cmd == "pause"})
		s.run()
	case "slow":
		s.actors[ActorID(actor)].slow = true
	case "large":
		s.actors[ActorID(actor)].large = true
	case "fast":
		a := s.actors[ActorID(actor)]
		a.slow = false
		s.move(a)
		s.run()
	case "fail", "finish":
		a := s.actors[ActorID(actor)]
		a.running = false
		m := InstanceEnded{Actor: a.id, Attempt: a.attempt, State: ActorFinished}
		if d.Cmd == "fail" {
			m.State, m.Detail = ActorFailed, reason
		}
		s.give(Party{Role: RoleWorker, Worker: s.hosts[a.id]}, m)
		s.run()
	case "refuse":
		s.refuse = reason
	case "corrupt":
		for l := range s.blobs {
			if strings.HasSuffix(l, fmt.Sprintf("-%d-%d", actor, epoch)) {
				s.corrupt[l] = true
				s.printf("%s is damaged", l)
			}
		}
	case "disk":
		s.diskFull = d.CmdArgs[0].Key == "full"
	case "succeed":
		zombie := s.coordinator
		s.startRole("coordinator")
		s.run()
		s.zombie = zombie
	case "zombie":
		s.zombieStep()
	case "state":
		s.printState()
	default:
		t.Fatalf("unknown command %q", d.Cmd)
	}
}

func (s *stage) printState() {
	if c := s.coordinator; c != nil {
		line := fmt.Sprintf("coordinator: %s, term %d, attempt %s", c.State(), c.Term(), c.Txid())
		if c.Core() != nil {
			line += fmt.Sprintf(", injected %d completed %d durable %d", c.Core().Injected(), c.Core().Completed(), c.Core().Durable())
		}
		s.printf("%s", line)
	}
	for _, id := range s.cfg.Workers {
		w := s.workers[id]
		if w == nil {
			s.printf("%s: dead", id)
			continue
		}
		s.printf("%s: %s, generation %d, attempt %s, started %d completed %d saved %d", id, w.Phase(), w.Generation(), w.Txid(), w.Started(), w.Completed(), w.Saved())
	}
	s.printf("store: checkpoints %v", epochsIn(s.keeper.State().Checkpoints))
}

// zombieStep lets the first coordinator, which knows nothing of the second, try to complete its checkpoint.
func (s *stage) zombieStep() {
	live := s.coordinator
	s.coordinator = s.zombie
	for _, a := range []ActorID{1, 2} {
		s.give(Party{Role: RoleCoordinator}, InstanceStateStored{
			Worker: s.hosts[a], Generation: 1, Txid: s.zombie.Txid(), Actor: a, Epoch: 1, State: &StateRef{Actor: a, Epoch: 1, Inline: []byte("zombie")},
		})
	}
	s.run()
	s.printState()
	s.coordinator = live
}
