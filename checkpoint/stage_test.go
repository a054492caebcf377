package checkpoint

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"
)

// stage is a cluster in a bottle: the machines of all roles, actors that do nothing but pass barriers on,
// a medium in memory, and messages that wait until the script delivers them.
type stage struct {
	start, now time.Time
	cfg        CoordinatorConfig
	wcfg       map[WorkerID]WorkerConfig
	edges      [][2]ActorID
	hosts      map[ActorID]WorkerID

	coordinator *Coordinator
	zombie      *Coordinator
	workers     map[WorkerID]*Worker
	keeper      *Keeper
	record      KeeperState
	blobs       map[string][]byte
	corrupt     map[string]bool
	diskFull    bool

	actors map[ActorID]*stageActor
	queue  []parcel
	// held are messages that match one of holds, kept back.
	held   []parcel
	holds  []string
	refuse string // the status that actors give to a restore

	incarnation uint64
	timers      map[string]time.Time
	out         strings.Builder
	quiet       bool
}

type parcel struct {
	from, to Party
	m        Message
}

// stageActor passes a barrier when it has come from all its inputs.
type stageActor struct {
	id      ActorID
	attempt AttemptID
	running bool
	slow    bool
	large   bool
	passed  Epoch
	// got counts the inputs that each barrier has come from.
	got   map[Epoch]int
	kinds map[Epoch]Kind
	// begun are the barriers that its worker has started, if it is a source.
	begun Epoch
}

func newStage(cfg CoordinatorConfig, wcfg map[WorkerID]WorkerConfig, edges [][2]ActorID) *stage {
	s := &stage{
		start: time.Unix(0, 0), now: time.Unix(0, 0), cfg: cfg, wcfg: wcfg, edges: edges, hosts: map[ActorID]WorkerID{},
		workers: map[WorkerID]*Worker{}, blobs: map[string][]byte{}, corrupt: map[string]bool{},
		actors: map[ActorID]*stageActor{}, timers: map[string]time.Time{}, incarnation: 100,
	}
	for w, c := range wcfg {
		for _, a := range c.Actors {
			s.hosts[a.Actor] = w
		}
	}
	return s
}

func (s *stage) printf(format string, args ...any) { fmt.Fprintf(&s.out, format+"\n", args...) }

func name(p Party) string {
	switch p.Role {
	case RoleWorker:
		return string(p.Worker)
	case RoleActor:
		return fmt.Sprintf("actor %d", p.Actor)
	}
	return p.String()
}

// startRole starts a role, or its next life.
func (s *stage) startRole(what string) {
	s.incarnation++
	switch what {
	case "store":
		var locations []string
		for l := range s.blobs {
			locations = append(locations, l)
		}
		s.keeper = NewKeeper(s.record, locations)
		s.actions(Party{Role: RoleStore}, s.keeper.Start(s.now), nil)
	case "coordinator":
		cfg := s.cfg
		cfg.Incarnation = s.incarnation
		s.coordinator = NewCoordinator(cfg)
		s.actions(Party{Role: RoleCoordinator}, s.coordinator.Start(s.now), nil)
	default:
		cfg := s.wcfg[WorkerID(what)]
		cfg.Incarnation = s.incarnation
		w := NewWorker(cfg)
		s.workers[WorkerID(what)] = w
		s.actions(Party{Role: RoleWorker, Worker: WorkerID(what)}, w.Start(s.now), nil)
	}
}

// kill ends a role; what it has sent stays on its way.
func (s *stage) kill(what string) {
	delete(s.timers, what)
	switch what {
	case "store":
		s.keeper = nil
	case "coordinator":
		s.coordinator = nil
	default:
		delete(s.workers, WorkerID(what))
		for a, w := range s.hosts {
			if w == WorkerID(what) {
				delete(s.actors, a)
			}
		}
	}
}

// give lets a party take a message at once.
func (s *stage) give(to Party, m Message) {
	var as []Action
	var err error
	switch to.Role {
	case RoleCoordinator:
		if s.coordinator == nil {
			return
		}
		as, err = s.coordinator.Step(m, s.now)
	case RoleWorker:
		w := s.workers[to.Worker]
		if w == nil {
			return
		}
		as, err = w.Step(m, s.now)
	case RoleStore:
		if s.keeper == nil {
			return
		}
		as, err = s.keeper.Step(m, s.now)
	case RoleActor:
		s.actorTakes(to, m)
		return
	case RoleClient:
		return
	}
	s.actions(to, as, err)
}

func (s *stage) actions(of Party, as []Action, err error) {
	if err != nil {
		s.printf("%s: error: %v", name(of), err)
		return
	}
	for _, a := range slices.Clone(as) {
		s.action(of, a)
	}
}

func (s *stage) action(of Party, a Action) {
	switch a := a.(type) {
	case Send:
		if a.To.Role == RoleActor {
			// Within a process nothing is lost.
			s.give(a.To, a.Message)
			return
		}
		s.post(parcel{of, a.To, a.Message})
	case SetTimer:
		s.timers[name(of)] = a.At
	case PersistNumbers:
		err := s.disk()
		if err == nil {
			s.record.KeeperNumbers = a.Numbers
		}
		s.queue = append(s.queue, parcel{of, of, Persisted{Err: err}})
	case PersistList:
		err := s.disk()
		if err == nil {
			s.record.Checkpoints = a.Checkpoints
		}
		s.queue = append(s.queue, parcel{of, of, Persisted{List: true, Err: err}})
	case WriteBlob:
		err := s.disk()
		if err == nil {
			s.blobs[a.Location] = a.Data
		}
		s.queue = append(s.queue, parcel{of, of, BlobWritten{Location: a.Location, Err: err}})
	case ReadBlobs:
		m := BlobsRead{Request: a.Request}
		for _, l := range a.Locations {
			if s.corrupt[l] {
				m.Err = fmt.Errorf("state %s: checksum mismatch", l)
			}
			m.Data = append(m.Data, s.blobs[l])
		}
		s.queue = append(s.queue, parcel{of, of, m})
	case DeleteBlobs:
		for _, l := range a.Locations {
			delete(s.blobs, l)
		}
		s.printf("store: deleted %s", strings.Join(a.Locations, " "))
	default:
		s.printf("%s: %s", name(of), announce(a, s.start))
	}
}

func (s *stage) disk() error {
	if s.diskFull {
		return errors.New("no space left on device")
	}
	return nil
}

func (s *stage) post(p parcel) {
	if s.coordinator == nil && p.to.Role == RoleCoordinator {
		return
	}
	line := describe(p.m)
	for _, h := range s.holds {
		if strings.Contains(fmt.Sprintf("%s to %s: %s", name(p.from), name(p.to), line), h) {
			s.held = append(s.held, p)
			return
		}
	}
	s.queue = append(s.queue, p)
}

// run delivers until nothing is on its way.
func (s *stage) run() {
	for steps := 0; len(s.queue) > 0 && steps < 10000; steps++ {
		p := s.queue[0]
		s.queue = s.queue[1:]
		switch p.m.(type) {
		case Persisted, BlobWritten, BlobsRead:
		default:
			if !s.quiet {
				s.printf("%s to %s: %s", name(p.from), name(p.to), describe(p.m))
			}
		}
		s.give(p.to, p.m)
	}
}

// at moves the clock, and ticks who asked for it, in order of their times.
func (s *stage) at(t time.Time) {
	for {
		var who string
		var first time.Time
		names := make([]string, 0, len(s.timers))
		for n := range s.timers {
			names = append(names, n)
		}
		sort.Strings(names)
		for _, n := range names {
			if at := s.timers[n]; !at.IsZero() && !at.After(t) && (first.IsZero() || at.Before(first)) {
				who, first = n, at
			}
		}
		if who == "" {
			break
		}
		s.now = first
		delete(s.timers, who)
		p := Party{Role: RoleWorker, Worker: WorkerID(who)}
		if who == "coordinator" {
			p = Party{Role: RoleCoordinator}
		}
		s.give(p, Tick{})
		s.run()
	}
	s.now = t
}

// actorTakes is what an actor does with what its worker says.
func (s *stage) actorTakes(to Party, m Message) {
	worker := Party{Role: RoleWorker, Worker: to.Worker}
	switch m := m.(type) {
	case RestoreInstanceState:
		a := &stageActor{id: m.Actor, attempt: m.Attempt, passed: s.workers[to.Worker].byID[m.Actor].Passed, got: map[Epoch]int{}, kinds: map[Epoch]Kind{}}
		if old := s.actors[m.Actor]; old != nil {
			a.slow, a.large = old.slow, old.large
		}
		s.actors[m.Actor] = a
		s.hosts[m.Actor] = to.Worker
		var from []string
		for _, st := range m.States {
			from = append(from, string(st.Inline))
		}
		if m.Checkpoint > 0 {
			s.printf("actor %d: restored from [%s], execution %d", m.Actor, strings.Join(from, " "), m.Number)
		}
		r := RestoreInstanceStateResponse{Actor: m.Actor, Attempt: m.Attempt}
		if s.refuse != "" {
			r.Status, r.Detail, s.refuse = StatusFailed, s.refuse, ""
		}
		s.queue = append(s.queue, parcel{to, worker, r})
	case StartInstanceProcessing:
		if a := s.actors[m.Actor]; a != nil && a.attempt == m.Attempt {
			a.running = true
		}
	case StopInstance:
		s.queue = append(s.queue, parcel{to, worker, InstanceEnded{Actor: m.Actor, Attempt: m.Attempt, State: ActorCanceled}})
		if a := s.actors[m.Actor]; a != nil && a.attempt == m.Attempt {
			a.running = false
		}
	case InitiateCheckpoint:
		for _, id := range m.Actors {
			if a := s.actors[id]; a != nil {
				a.begun = m.Epoch
				a.kinds[m.Epoch] = m.Kind
				s.move(a)
			}
		}
	case InstanceCheckpointSaved:
		if len(m.Actors) > 0 {
			s.printf("actors %v of %s: what was prepared up to %d may be committed", m.Actors, to.Worker, m.Epoch)
		}
	}
}

func (s *stage) inputs(a ActorID) int {
	n := 0
	for _, e := range s.edges {
		// An edge from an actor that is not there carries nothing.
		if p := s.actors[e[0]]; e[1] == a && p != nil {
			n++
		}
	}
	return n
}

// move lets an actor pass every barrier that has come to it.
func (s *stage) move(a *stageActor) {
	for a.running && !a.slow {
		next := a.passed + 1
		if n := s.inputs(a.id); n == 0 && a.begun < next || n > 0 && a.got[next] < n {
			return
		}
		a.passed = next
		m := StoreInstanceState{Actor: a.id, Attempt: a.attempt, Epoch: next}
		if a.kinds[next] != KindEpoch {
			st := StateRef{Inline: fmt.Appendf(nil, "%d@%d", a.id, next)}
			if a.large {
				st.Inline = fmt.Appendf(nil, "%d@%d-large", a.id, next)
			}
			m.State = &st
		}
		w := s.hosts[a.id]
		s.give(Party{Role: RoleWorker, Worker: w}, m)
		for _, e := range s.edges {
			if b := s.actors[e[1]]; e[0] == a.id && b != nil {
				b.got[next]++
				b.kinds[next] = max(b.kinds[next], a.kinds[next])
				s.move(b)
			}
		}
		if x := s.workers[w].byID[a.id]; x != nil && x.Last == next {
			a.running = false
			s.give(Party{Role: RoleWorker, Worker: w}, InstanceEnded{Actor: a.id, Attempt: a.attempt, State: ActorFinished})
		}
	}
}

func stateList(states []StateRef) string {
	var b []string
	for _, st := range states {
		if st.Location != "" {
			b = append(b, "at "+st.Location)
		} else {
			b = append(b, string(st.Inline))
		}
	}
	return "[" + strings.Join(b, " ") + "]"
}

// describe prints a message as a script shows it.
func describe(m Message) string {
	switch m := m.(type) {
	case RegisterCoordinator:
		return "RegisterCoordinator"
	case RegisterCoordinatorResponse:
		s := fmt.Sprintf("RegisterCoordinatorResponse %s term %d, checkpoints %v", m.Status, m.Term, epochsIn(m.Checkpoints))
		if m.InProgress > 0 {
			s += fmt.Sprintf(", %d in progress", m.InProgress)
		}
		return s
	case RegisterWorker:
		return "RegisterWorker"
	case RegisterWorkerResponse:
		return fmt.Sprintf("RegisterWorkerResponse %s generation %d", m.Status, m.Generation)
	case Reconcile:
		return fmt.Sprintf("Reconcile term %d", m.Term)
	case ListCheckpoints:
		return fmt.Sprintf("ListCheckpoints %s", m.Txid)
	case CheckpointList:
		return fmt.Sprintf("CheckpointList %s %s %v", m.Txid, m.Status, epochsIn(m.Checkpoints))
	case RestoreTopologyState:
		return fmt.Sprintf("RestoreTopologyState %s to checkpoint %d", m.Txid, m.Checkpoint)
	case RestoreTopologyStateResponse:
		s := fmt.Sprintf("RestoreTopologyStateResponse %s checkpoint %d %s", m.Txid, m.Checkpoint, m.Status)
		if m.Detail != "" {
			s += ": " + m.Detail
		}
		return s
	case GetInstanceState:
		return fmt.Sprintf("GetInstanceState %d at %d", m.Actor, m.Checkpoint)
	case GetInstanceStateResponse:
		return fmt.Sprintf("GetInstanceStateResponse %d at %d %s", m.Actor, m.Checkpoint, m.Status)
	case RestoreInstanceStateResponse:
		return fmt.Sprintf("RestoreInstanceStateResponse %s", m.Status)
	case StartProcessing:
		return fmt.Sprintf("StartProcessing %s from checkpoint %d", m.Txid, m.Checkpoint)
	case StartCheckpoint:
		s := fmt.Sprintf("StartCheckpoint %d %s", m.Epoch, m.Kind)
		if m.MutationID > 0 {
			s += fmt.Sprintf(", mutation %d", m.MutationID)
		}
		return s
	case SaveInstanceState:
		return fmt.Sprintf("SaveInstanceState %d@%d", m.State.Actor, m.State.Epoch)
	case SaveInstanceStateResponse:
		return fmt.Sprintf("SaveInstanceStateResponse %d@%d %s %s", m.Actor, m.Epoch, m.Status, m.Location)
	case InstanceStateStored:
		s := fmt.Sprintf("InstanceStateStored %d@%d", m.Actor, m.Epoch)
		if m.Pending {
			s += " pending"
		}
		if m.State != nil {
			s += " " + stateList([]StateRef{*m.State})
		}
		return s
	case EpochCompleted:
		return fmt.Sprintf("EpochCompleted %d", m.Epoch)
	case RecordCheckpoint:
		return fmt.Sprintf("RecordCheckpoint %d %s", m.Checkpoint.Epoch, stateList(m.Checkpoint.States))
	case CheckpointRecorded:
		s := fmt.Sprintf("CheckpointRecorded %d %s", m.Epoch, m.Status)
		if m.Detail != "" {
			s += ": " + m.Detail
		}
		return s
	case CheckpointSaved:
		return fmt.Sprintf("CheckpointSaved %d", m.Epoch)
	case CheckpointAborted:
		return fmt.Sprintf("CheckpointAborted %d (%s)", m.Epoch, m.Reason)
	case Clean:
		return fmt.Sprintf("Clean older than %d", m.OldestPreserved)
	case CleanResponse:
		return fmt.Sprintf("CleanResponse %v", m.Cleaned)
	case UpdateActorState:
		return strings.TrimRight(fmt.Sprintf("UpdateActorState %d %s %s", m.Actor, m.State, m.Detail), " ")
	case AckActorState:
		return "AckActorState"
	case ForgetActors:
		return fmt.Sprintf("ForgetActors %v", m.Actors)
	case WorkerReport:
		return describeReport(m)
	case RetryLater:
		return fmt.Sprintf("RetryLater in %s", m.After)
	case InstanceEnded:
		return fmt.Sprintf("InstanceEnded %s", m.State)
	}
	return fmt.Sprintf("%T", m)
}

func describeReport(m WorkerReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "WorkerReport %s", m.Phase)
	if m.Phase != WorkerIdle {
		fmt.Fprintf(&b, " in %s, started %d completed %d saved %d", m.Txid, m.Started, m.Completed, m.Saved)
	}
	for _, a := range m.Actors {
		fmt.Fprintf(&b, "; actor %d %s passed %d", a.Actor, a.State, a.Passed)
		if len(a.States) > 0 {
			fmt.Fprintf(&b, " with %s", stateList(a.States))
		}
	}
	return b.String()
}

func epochsIn(list []CheckpointInfo) []Epoch {
	es := []Epoch{}
	for _, i := range list {
		es = append(es, i.Epoch)
	}
	return es
}

// announce prints what a coordinator gives out.
func announce(a Action, start time.Time) string {
	switch a := a.(type) {
	case StateChanged:
		s := fmt.Sprintf("%s -> %s", a.From, a.To)
		if a.Reason != "" {
			s += " (" + a.Reason + ")"
		}
		return s
	case FellBack:
		return fmt.Sprintf("fell back from checkpoint %d to %d: %s", a.From, a.To, a.Reason)
	case ActorDied:
		return fmt.Sprintf("actor %d died: %s", a.Actor, a.Detail)
	case Stuck:
		return fmt.Sprintf("barrier %d is stuck, it waits for actors %v", a.Epoch, a.Waiting)
	case Cleaned:
		return fmt.Sprintf("checkpoints %v are gone", a.Checkpoints)
	case Forgotten:
		return fmt.Sprintf("actors %v are forgotten by all", a.Actors)
	case Yielded:
		return fmt.Sprintf("local failover of attempt %s came too late", a.Version)
	case Complete:
		return fmt.Sprintf("epoch %d is complete", a.Epoch)
	case Durable:
		return fmt.Sprintf("checkpoint %d is durable", a.Epoch)
	case Held:
		return fmt.Sprintf("held, durable is %d", a.Durable)
	case Gone:
		return fmt.Sprintf("actors %v are gone", a.Actors)
	}
	return printAction(a, start)
}
