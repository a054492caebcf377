package checkpoint

import (
	"fmt"
	"math/rand"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestCore runs the scripts of testdata/core. Commands:
//
//	new [actors=(1,2)] [restored=n] [inflight=n]   a coordinator; barriers every 100 ms, checkpoints every 1 s
//	at ms                                          moves the clock, and ticks if a timer is due
//	input | demand epoch=n | checkpoint [epoch=n]  messages
//	mutate [name=x] [add=(..)] [remove=(..)] [checkpoint]
//	collect epoch=n actors=(..) [state=x]
//	committed epoch=n [error]
//	lost actors=(..) | hold [off]                  messages
//	marks                                          injected, completed, durable
func TestCore(t *testing.T) {
	datadriven.Walk(t, "testdata/core", func(t *testing.T, path string) {
		var c *Core
		start := time.Unix(0, 0)
		now := start
		var timer time.Time
		step := func(m Message) string {
			as, err := c.Step(m, now)
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			var b strings.Builder
			for _, a := range as {
				if s, ok := a.(SetTimer); ok {
					timer = s.At
				}
				fmt.Fprintln(&b, printAction(a, start))
			}
			return b.String()
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var epoch uint64
			d.MaybeScanArgs(t, "epoch", &epoch)
			var name string
			d.MaybeScanArgs(t, "name", &name)
			switch d.Cmd {
			case "new":
				var restored uint64
				var inflight, pace int
				d.MaybeScanArgs(t, "restored", &restored)
				d.MaybeScanArgs(t, "inflight", &inflight)
				d.MaybeScanArgs(t, "pace", &pace)
				now, timer = start, time.Time{}
				c = NewCore(Config{
					BarrierInterval: 100 * time.Millisecond, CheckpointInterval: time.Second, MaxInFlight: inflight,
					Pace: time.Duration(pace) * time.Millisecond,
				}, Epoch(restored), actorArg(t, d, "actors"), now)
				return ""
			case "at":
				ms, err := strconv.Atoi(d.CmdArgs[0].Key)
				if err != nil {
					t.Fatal(err)
				}
				now = start.Add(time.Duration(ms) * time.Millisecond)
				if !timer.IsZero() && !now.Before(timer) {
					timer = time.Time{}
					return step(Tick{})
				}
				return ""
			case "input":
				return step(InputArrived{})
			case "demand":
				return step(Demand{Epoch: Epoch(epoch)})
			case "checkpoint":
				return step(CheckpointDemand{Epoch: Epoch(epoch)})
			case "mutate":
				return step(Mutate{
					Mutation: name, Add: actorArg(t, d, "add"), Remove: actorArg(t, d, "remove"), Checkpoint: d.HasArg("checkpoint"),
				})
			case "collect":
				var state string
				d.MaybeScanArgs(t, "state", &state)
				out := ""
				for _, a := range actorArg(t, d, "actors") {
					m := Collected{Actor: a, Epoch: Epoch(epoch)}
					if state != "" {
						m.State = fmt.Sprintf("%s%d", state, a)
					}
					out += step(m)
				}
				return out
			case "committed":
				m := Committed{Epoch: Epoch(epoch)}
				if d.HasArg("error") {
					m.Err = fmt.Errorf("disk full")
				}
				return step(m)
			case "lost":
				return step(Lost{Actors: actorArg(t, d, "actors")})
			case "hold":
				return step(Hold{On: !d.HasArg("off")})
			case "marks":
				return fmt.Sprintf("injected %d, completed %d, durable %d\n", c.Injected(), c.Completed(), c.Durable())
			}
			t.Fatalf("unknown command %q", d.Cmd)
			return ""
		})
	})
}

func actorArg(t *testing.T, d *datadriven.TestData, key string) []ActorID {
	var ids []ActorID
	for _, a := range d.CmdArgs {
		if a.Key != key {
			continue
		}
		for _, v := range a.Vals {
			n, err := strconv.Atoi(v)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, ActorID(n))
		}
	}
	return ids
}

func printAction(a Action, start time.Time) string {
	switch a := a.(type) {
	case Inject:
		s := fmt.Sprintf("inject %d", a.Epoch)
		if a.Checkpoint {
			s += " checkpoint"
		}
		if a.Mutation != nil {
			s += fmt.Sprintf(" mutation=%v", a.Mutation)
		}
		return s
	case Complete:
		return fmt.Sprintf("complete %d", a.Epoch)
	case Commit:
		return fmt.Sprintf("commit %d states=%v", a.Epoch, a.States)
	case Durable:
		return fmt.Sprintf("durable %d", a.Epoch)
	case CommitFailed:
		return fmt.Sprintf("commit failed %d: %v", a.Epoch, a.Err)
	case Gone:
		return fmt.Sprintf("gone %v, completed with them %d, saved %d", a.Actors, a.Completed, a.Saved)
	case Held:
		return fmt.Sprintf("held at %d", a.Durable)
	case Aborted:
		return fmt.Sprintf("aborted %d: %s, waiting for %v", a.Epoch, a.Reason, a.Waiting)
	case SetTimer:
		if a.At.IsZero() {
			return "timer off"
		}
		return fmt.Sprintf("timer at %d", a.At.Sub(start).Milliseconds())
	}
	return fmt.Sprintf("%T", a)
}

// TestCoreRandom runs a coordinator with actors that report in any order, and a store that sometimes
// fails, and checks the invariants: epochs complete in order and only when every actor of the
// epoch has reported; each state is in exactly one committed checkpoint, which is not older than
// the state; marks are ordered; everything that was demanded completes in the end. Actors are lost,
// with reports of theirs on the way: their states are in no checkpoint that was not complete by then,
// and never in part of one; while a hold is on nothing becomes durable once it was answered.
func TestCoreRandom(t *testing.T) {
	seeds := 300
	if testing.Short() {
		seeds = 50
	}
	for seed := range int64(seeds) {
		if err := simulate(seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

type simRound struct {
	ckpt   bool
	actors []ActorID
	// lost has the actors that were lost before the epoch was complete.
	lost map[ActorID]bool
}

func simulate(seed int64) error {
	rng := rand.New(rand.NewSource(seed))
	now := time.Unix(0, 0)
	actors := map[ActorID]bool{1: true, 2: true}
	next := ActorID(3)
	c := NewCore(Config{
		BarrierInterval: 10 * time.Millisecond, CheckpointInterval: 50 * time.Millisecond, MaxInFlight: 1 + rng.Intn(4),
	}, 0, []ActorID{1, 2}, now)
	rounds := map[Epoch]*simRound{}
	muts := []Mutate{}
	at := map[ActorID][]Epoch{} // barriers on their way to each actor
	states := map[string]Epoch{}
	var committing *Commit
	var timer time.Time
	var demanded, completed, durable Epoch
	lost := map[ActorID]bool{}
	late := []Collected{} // reports of lost actors
	holds := 0
	held := false // the hold was answered
	apply := func(as []Action) error {
		for _, a := range as {
			switch a := a.(type) {
			case Inject:
				if a.Checkpoint && holds > 0 {
					return fmt.Errorf("checkpoint %d during a hold", a.Epoch)
				}
				r := &simRound{ckpt: a.Checkpoint, lost: map[ActorID]bool{}}
				var remove []ActorID
				if a.Mutation != nil {
					for _, id := range muts[0].Add {
						if !lost[id] {
							actors[id] = true
						}
					}
					remove = muts[0].Remove
					muts = muts[1:]
				}
				for id := range actors {
					r.actors = append(r.actors, id)
				}
				sort.Slice(r.actors, func(i, j int) bool { return r.actors[i] < r.actors[j] })
				for _, id := range r.actors {
					at[id] = append(at[id], a.Epoch)
				}
				for _, id := range remove {
					delete(actors, id)
				}
				rounds[a.Epoch] = r
			case Complete:
				if a.Epoch != completed+1 {
					return fmt.Errorf("completed %d after %d", a.Epoch, completed)
				}
				completed = a.Epoch
				for id, es := range at {
					if slices.Contains(es, a.Epoch) {
						return fmt.Errorf("epoch %d is complete, but actor %d has not passed it", a.Epoch, id)
					}
				}
			case Commit:
				if committing != nil {
					return fmt.Errorf("two commits at once")
				}
				if a.Epoch > completed {
					return fmt.Errorf("commit of %d, completed is %d", a.Epoch, completed)
				}
				committing = &a
			case Durable:
				if held && holds > 0 {
					return fmt.Errorf("checkpoint %d is durable during a hold", a.Epoch)
				}
				durable = a.Epoch
			case Gone:
				if a.Completed > completed || a.Saved > a.Completed {
					return fmt.Errorf("gone with epoch %d complete, but that is %d", a.Completed, completed)
				}
				for e, r := range rounds {
					if e > a.Completed {
						for _, id := range a.Actors {
							r.lost[id] = true
						}
					}
				}
			case Held:
				if a.Durable != durable {
					return fmt.Errorf("held at %d, durable is %d", a.Durable, durable)
				}
				held = true
			case SetTimer:
				timer = a.At
			}
		}
		if !(c.Durable() <= c.Completed() && c.Completed() <= c.Injected() && durable == c.Durable()) {
			return fmt.Errorf("marks: %d %d %d", c.Durable(), c.Completed(), c.Injected())
		}
		return nil
	}
	step := func(m Message) error {
		as, err := c.Step(m, now)
		if err != nil {
			return err
		}
		return apply(slices.Clone(as))
	}
	settle := func() (bool, error) {
		var ready []ActorID
		for id, es := range at {
			if len(es) > 0 {
				ready = append(ready, id)
			}
		}
		if len(ready) == 0 {
			return false, nil
		}
		sort.Slice(ready, func(i, j int) bool { return ready[i] < ready[j] })
		id := ready[rng.Intn(len(ready))]
		e := at[id][0]
		at[id] = at[id][1:]
		m := Collected{Actor: id, Epoch: e}
		if rounds[e].ckpt {
			s := fmt.Sprintf("%d/%d", id, e)
			states[s] = e
			m.State = s
		}
		return true, step(m)
	}
	answer := func(fail bool) error {
		if committing == nil {
			return nil
		}
		a := *committing
		committing = nil
		if fail {
			return step(Committed{Epoch: a.Epoch, Err: fmt.Errorf("disk")})
		}
		if r := rounds[a.Epoch]; len(r.lost) > 0 {
			for _, id := range r.actors {
				if r.lost[id] {
					return fmt.Errorf("checkpoint %d was not complete when actor %d was lost", a.Epoch, id)
				}
			}
		}
		for _, s := range a.States {
			e, ok := states[s.(string)]
			if !ok || e > a.Epoch {
				return fmt.Errorf("state %v in the checkpoint of %d", s, a.Epoch)
			}
			var id ActorID
			if _, err := fmt.Sscanf(s.(string), "%d/", &id); err != nil {
				return err
			}
			if rounds[e].lost[id] {
				return fmt.Errorf("state %v of a lost actor in the checkpoint of %d", s, a.Epoch)
			}
			delete(states, s.(string))
		}
		return step(Committed{Epoch: a.Epoch})
	}
	lose := func() error {
		var victims []ActorID
		for id := range actors {
			if id > 2 {
				victims = append(victims, id)
			}
		}
		for _, m := range muts {
			victims = append(victims, m.Add...) // deployed, but their barrier is not injected yet
		}
		if len(victims) == 0 {
			return nil
		}
		slices.Sort(victims)
		victims = victims[rng.Intn(len(victims)):]
		for _, id := range victims {
			lost[id] = true
			delete(actors, id)
			for _, e := range at[id] {
				m := Collected{Actor: id, Epoch: e}
				if rounds[e].ckpt {
					m.State = fmt.Sprintf("%d/%d", id, e)
				}
				late = append(late, m)
			}
			delete(at, id)
		}
		return step(Lost{Actors: victims})
	}
	for range 400 {
		var err error
		switch rng.Intn(11) {
		case 0, 1:
			err = step(InputArrived{})
		case 2:
			demanded = c.Injected() + 1
			err = step(Demand{Epoch: demanded})
		case 3:
			err = step(CheckpointDemand{})
		case 4:
			m := Mutate{Mutation: "m", Add: []ActorID{next}, Checkpoint: rng.Intn(2) == 0}
			next++
			if rng.Intn(2) == 0 && len(muts) == 0 {
				for id := range actors {
					if id > 2 {
						m.Remove = append(m.Remove, id)
					}
				}
			}
			muts = append(muts, m)
			err = step(m)
		case 5, 6:
			_, err = settle()
		case 7:
			err = answer(rng.Intn(3) == 0)
		case 8:
			now = now.Add(time.Duration(rng.Intn(40)) * time.Millisecond)
			if !timer.IsZero() && !now.Before(timer) {
				err = step(Tick{})
			}
		case 9:
			err = lose()
		case 10:
			switch {
			case len(late) > 0:
				err = step(late[0])
				late = late[1:]
			case holds > 0 && rng.Intn(3) > 0:
				holds--
				held = held && holds > 0
				err = step(Hold{})
			case rng.Intn(3) == 0:
				holds++
				held = false
				err = step(Hold{On: true})
			}
		}
		if err != nil {
			return err
		}
	}
	for holds > 0 {
		holds--
		held = false
		if err := step(Hold{}); err != nil {
			return err
		}
	}
	// Faults stop: everything must come to an end.
	for range 10000 {
		more, err := settle()
		if err != nil {
			return err
		}
		if committing != nil {
			more = true
			if err := answer(false); err != nil {
				return err
			}
		}
		if !timer.IsZero() {
			more = true
			now = now.Add(time.Second)
			if err := step(Tick{}); err != nil {
				return err
			}
		}
		if !more {
			break
		}
	}
	if completed < demanded || completed != c.Injected() {
		return fmt.Errorf("completed %d, demanded %d, injected %d", completed, demanded, c.Injected())
	}
	for s, e := range states {
		var id ActorID
		if _, err := fmt.Sscanf(s, "%d/", &id); err != nil {
			return err
		}
		if !lost[id] {
			return fmt.Errorf("state %s of epoch %d, which no checkpoint has", s, e)
		}
	}
	return nil
}
