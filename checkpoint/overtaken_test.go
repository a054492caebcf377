package checkpoint

import (
	"testing"
	"time"
)

// An abort that overtakes the start of its checkpoint makes a plain epoch of it; a coordinator that takes over would otherwise record it.
// The number may come again, of another coordinator: that one's checkpoint is one.
func TestAbortOvertakesStart(t *testing.T) {
	now := time.Unix(0, 0)
	running := func() *Worker {
		w := NewWorker(WorkerConfig{Worker: "w"})
		w.term, w.txid, w.phase, w.started = 1, RestoreTxid(7), WorkerRunning, 4
		return w
	}
	kind := func(w *Worker, starts ...StartCheckpoint) Kind {
		for _, m := range starts {
			w.term = max(w.term, m.Term)
			if err := w.startCheckpoint(m, now); err != nil {
				t.Fatal(err)
			}
		}
		rounds := w.Report().Rounds
		if len(rounds) != 1 || rounds[0].Epoch != 5 {
			t.Fatalf("%+v", rounds)
		}
		return rounds[0].Kind
	}
	start := StartCheckpoint{Term: 1, Txid: RestoreTxid(7), Epoch: 5, Kind: KindCheckpoint}
	abort := CheckpointAborted{Term: 1, Txid: RestoreTxid(7), Epoch: 5}

	w := running()
	w.aborted(abort)
	if k := kind(w, start); k != KindEpoch {
		t.Errorf("the abort came first: %v", k)
	}
	w = running()
	w.aborted(abort)
	next := start
	next.Term = 2
	if k := kind(w, next); k != KindCheckpoint {
		t.Errorf("another coordinator's checkpoint of the same number: %v", k)
	}
	again := start
	again.Kind = KindEpoch
	if k := kind(running(), start, again); k != KindEpoch {
		t.Errorf("its start was repeated as that of an epoch: %v", k)
	}
}

// A coordinator that takes over after a loss records no checkpoint from before it, though every worker has forgotten who was lost and
// calls it one; what is being recorded already stays.
func TestNoCheckpointFromBeforeALoss(t *testing.T) {
	rounds := func() map[Epoch]RoundReport {
		return map[Epoch]RoundReport{
			4: {Epoch: 4, Kind: KindCheckpoint},
			5: {Epoch: 5, Kind: KindCheckpoint, Add: []Placement{{Actor: 7}, {Actor: 8}}},
		}
	}
	c := &Coordinator{}
	b := rounds()
	c.withoutLost(b, map[ActorID]bool{7: true}, 4)
	if b[4].Kind != KindCheckpoint || b[5].Kind != KindEpoch || len(b[5].Add) != 1 || b[5].Add[0].Actor != 8 {
		t.Errorf("%+v", b)
	}
	b = rounds()
	c.withoutLost(b, nil, 0)
	if b[4].Kind != KindCheckpoint || b[5].Kind != KindCheckpoint {
		t.Errorf("nothing is lost: %+v", b)
	}
}
