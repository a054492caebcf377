package storage

import (
	"context"
	"encoding/binary"
	"math/rand"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestConcurrentReaders moves money between accounts of two tables while readers add them up: at
// every epoch, through commits and while versions are released, the sum over both tables is the
// same in each snapshot, and so is a second read of it.
func TestConcurrentReaders(t *testing.T) {
	const accounts, total, epochs = 50, 2 * 50 * 100, 150
	s := testStore(t, vfs.NewMem())
	balance := map[TableID][]int{1: make([]int, accounts), 2: make([]int, accounts)}
	num := func(v int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }
	for id, b := range balance {
		for i := range b {
			b[i] = 100
			s.Arrangement(id).Apply([]Change{{Key: num(i), Value: num(100)}})
		}
		s.Arrangement(id).Seal(1, true)
	}
	s.SetCompleted(1)

	sum := func(sn *Snapshot) int {
		n := 0
		for id := TableID(1); id <= 2; id++ {
			it := sn.Table(id).Iterator(nil, nil, id == 1)
			for it.Next() {
				n += int(binary.BigEndian.Uint64(it.Value()))
			}
			if err := it.Close(); err != nil {
				t.Error(err)
			}
		}
		return n
	}
	stop := make(chan struct{})
	commits := make(chan Epoch, 4) // a few checkpoints may wait for their commit
	var wg sync.WaitGroup
	for r := range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewSource(int64(r)))
			var held []*Snapshot
			for {
				select {
				case <-stop:
					for _, sn := range held {
						sn.Release()
					}
					return
				default:
				}
				sn, err := s.Latest()
				if err != nil {
					t.Error(err)
					return
				}
				if got := sum(sn); got != total {
					t.Errorf("epoch %d: sum %d, want %d", sn.Epoch(), got, total)
				}
				held = append(held, sn)
				if len(held) > 3 {
					i := rng.Intn(len(held))
					if got := sum(held[i]); got != total {
						t.Errorf("epoch %d, held: sum %d, want %d", held[i].Epoch(), got, total)
					}
					held[i].Release()
					held = append(held[:i], held[i+1:]...)
				}
				if _, _, err := s.Arrangement(1).HeadGet(num(rng.Intn(accounts))); err != nil {
					t.Error(err)
				}
				s.Metrics()
			}
		}()
	}
	wg.Add(1)
	go func() {
		defer wg.Done()
		for e := range commits {
			if err := s.Commit(context.Background(), Commit{Epoch: e}); err != nil {
				t.Error(err)
			}
		}
	}()
	rng := rand.New(rand.NewSource(9))
	for e := Epoch(2); e < epochs; e++ {
		for range 20 {
			from, to := TableID(1+rng.Intn(2)), TableID(1+rng.Intn(2))
			i, j, n := rng.Intn(accounts), rng.Intn(accounts), rng.Intn(10)
			balance[from][i] -= n
			s.Arrangement(from).Apply([]Change{{Key: num(i), Value: num(balance[from][i])}})
			balance[to][j] += n
			s.Arrangement(to).Apply([]Change{{Key: num(j), Value: num(balance[to][j])}})
		}
		checkpoint := e%3 == 0
		for id := TableID(1); id <= 2; id++ {
			s.Arrangement(id).Seal(e, checkpoint)
		}
		s.SetCompleted(e)
		if checkpoint {
			commits <- e
		}
	}
	close(commits)
	close(stop)
	wg.Wait()
	if m := s.Metrics(); m.Pins != 0 {
		t.Errorf("%d pins left", m.Pins)
	}
	mustClose(t, s)
}
