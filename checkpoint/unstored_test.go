package checkpoint

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A completed checkpoint that waits for a state which a lost actor has announced is no checkpoint any more, nor is what comes
// behind it; what the others have handed over is in the next one. One before it, which has all its states, stands.
func TestLostActorTakesItsUnstoredCheckpointAlong(t *testing.T) {
	now := time.Unix(0, 0)
	c := NewCore(Config{MaxCheckpoints: 4}, 0, []ActorID{1, 2}, now)
	step := func(m Message) string {
		as, err := c.Step(m, now)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, a := range as {
			switch a := a.(type) {
			case Commit:
				fmt.Fprintf(&b, "commit %d %v; ", a.Epoch, a.States)
			case Aborted:
				fmt.Fprintf(&b, "aborted %d; ", a.Epoch)
			case Gone:
				fmt.Fprintf(&b, "gone, saved %d; ", a.Saved)
			}
		}
		return b.String()
	}
	for e := Epoch(1); e <= 3; e++ {
		step(CheckpointDemand{})
	}
	for e := Epoch(1); e <= 3; e++ {
		step(Collected{Actor: 1, Epoch: e, State: fmt.Sprint("a", e)})
		got := step(Collected{Actor: 2, Epoch: e, State: nilUnless(e != 2, fmt.Sprint("b", e)), Pending: e == 2})
		if want := map[Epoch]string{1: "commit 1 [a1 b1]; "}[e]; got != want {
			t.Fatalf("epoch %d: %q, want %q", e, got, want)
		}
	}
	if got, want := step(Lost{Actors: []ActorID{2}}), "aborted 2; aborted 3; gone, saved 1; "; got != want {
		t.Fatalf("%q, want %q", got, want)
	}
	step(Committed{Epoch: 1})
	if got, want := step(Collected{Actor: 1, Epoch: 4, State: "a4"}), "commit 4 [a2 a3 a4]; "; got != want {
		t.Fatalf("%q, want %q", got, want)
	}
}

func nilUnless(ok bool, s string) any {
	if !ok {
		return nil
	}
	return s
}
