package storage

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirdb/weir/storage/keycodec"
)

func benchStore(b *testing.B) *Store {
	b.Helper()
	s, err := Open(Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { mustClose(b, s) })
	return s
}

// BenchmarkGroupCommit measures durable commits a second with 1 and 16 writers.
func BenchmarkGroupCommit(b *testing.B) {
	for _, writers := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := benchStore(b)
			rec := make([]byte, 120)
			var wg sync.WaitGroup
			b.ResetTimer()
			for w := range writers {
				wg.Add(1)
				go func() {
					defer wg.Done()
					done := make(chan error, 1)
					for i := w; i < b.N; i += writers {
						s.Log().Submit(rec, true, func(_ LogPos, err error) { done <- err })
						if err := <-done; err != nil {
							b.Error(err)
						}
					}
				}()
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
			m := s.Metrics().Log
			b.ReportMetric(float64(m.Records)/float64(m.Blocks), "records/sync")
		})
	}
}

// intKey makes the key of an int8 column.
func intKey(dst []byte, i int) []byte {
	return keycodec.AppendInt(keycodec.AppendNotNull(dst[:0]), int64(i), false)
}

// BenchmarkArrangementPoint is one epoch of one row: Apply, Seal, Snapshot, Get.
func BenchmarkArrangementPoint(b *testing.B) {
	for _, head := range []int{0, 1_000_000} {
		b.Run(fmt.Sprintf("head=%d", head), func(b *testing.B) {
			s := benchStore(b)
			a := s.Arrangement(1)
			val := make([]byte, 50)
			rng := rand.New(rand.NewSource(1))
			for i := range head {
				a.Apply([]Change{{Key: intKey(nil, i), Value: val}})
			}
			keys := max(head, 1000)
			k := make([]byte, 8)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				k = intKey(k, rng.Intn(keys))
				a.Apply([]Change{{Key: k, Value: val}})
				a.Seal(Epoch(i+1), false)
				s.SetCompleted(Epoch(i + 1))
				sn, err := s.Latest()
				if err != nil {
					b.Fatal(err)
				}
				if _, ok, err := sn.Table(1).Get(k); !ok || err != nil {
					b.Fatal(ok, err)
				}
				sn.Release()
			}
		})
	}
}

// BenchmarkApply is a bulk load: rows in random order over a million keys, and in key order.
func BenchmarkApply(b *testing.B) {
	for _, order := range []string{"random", "sorted"} {
		b.Run(order, func(b *testing.B) {
			s := benchStore(b)
			a := s.Arrangement(1)
			val := make([]byte, 50)
			rng := rand.New(rand.NewSource(1))
			changes := make([]Change, 1024)
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += len(changes) {
				for j := range changes {
					k := i + j
					if order == "random" {
						k = rng.Intn(1 << 20)
					}
					changes[j] = Change{Key: intKey(changes[j].Key, k), Value: val}
				}
				a.Apply(changes)
				if i/1024%100 == 99 {
					a.Seal(Epoch(i+1), false)
					s.SetCompleted(Epoch(i + 1))
				}
			}
		})
	}
}

// committed makes a table of n committed rows: one by one, or many at a time, so that they are in blocks.
func committed(b *testing.B, s *Store, n int, blocks bool) {
	a := s.Arrangement(1)
	val := make([]byte, 50)
	var cs []Change
	for i := range n {
		cs = append(cs, Change{Key: intKey(nil, i), Value: val})
		if !blocks || len(cs) == 1024 {
			a.Apply(cs)
			cs = cs[:0]
		}
	}
	a.Apply(cs)
	a.Seal(1, true)
	s.SetCompleted(1)
	if err := s.Commit(context.Background(), Commit{Epoch: 1}); err != nil {
		b.Fatal(err)
	}
	if err := s.db.Flush(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkScan walks committed rows, without and with an overlay over them.
func BenchmarkScan(b *testing.B) {
	for _, overlay := range []int{-1, 0, 1, 10_000} {
		b.Run(fmt.Sprintf("overlay=%d blocks=%t", max(overlay, 0), overlay < 0), func(b *testing.B) {
			const rows = 500_000
			s := benchStore(b)
			committed(b, s, rows, overlay < 0)
			a := s.Arrangement(1)
			for i := range overlay {
				a.Apply([]Change{{Key: intKey(nil, i*rows/overlay), Value: []byte("x")}})
			}
			a.Seal(2, false)
			s.SetCompleted(2)
			sn, err := s.Latest()
			if err != nil {
				b.Fatal(err)
			}
			v := sn.Table(1)
			b.ReportAllocs()
			b.ResetTimer()
			n := 0
			for n < b.N {
				it := v.Iterator(nil, nil, false)
				for it.Next() {
					n++
				}
				if err := it.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mrows/s")
			sn.Release()
		})
	}
}

// BenchmarkPointGet reads committed rows by key.
func BenchmarkPointGet(b *testing.B) {
	for _, blocks := range []bool{false, true} {
		b.Run(fmt.Sprintf("blocks=%t", blocks), func(b *testing.B) { benchmarkPointGet(b, blocks) })
	}
}

func benchmarkPointGet(b *testing.B, blocks bool) {
	s := benchStore(b)
	committed(b, s, 500_000, blocks)
	rng := rand.New(rand.NewSource(1))
	sn, err := s.Latest()
	if err != nil {
		b.Fatal(err)
	}
	v := sn.Table(1)
	k := make([]byte, 8)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		k = intKey(k, rng.Intn(500_000))
		if _, ok, err := v.Get(k); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
	sn.Release()
}

// BenchmarkGetter reads a thousand keys in order, spread over part of half a million: one is one key.
func BenchmarkGetter(b *testing.B) {
	for _, spread := range []int{20_000, 500_000} {
		for _, getter := range []bool{false, true} {
			b.Run(fmt.Sprintf("spread=%d/getter=%t", spread, getter), func(b *testing.B) { benchmarkGetter(b, spread, getter) })
		}
	}
}

func benchmarkGetter(b *testing.B, spread int, getter bool) {
	s := benchStore(b)
	committed(b, s, 500_000, true)
	rng := rand.New(rand.NewSource(1))
	sn, err := s.Latest()
	if err != nil {
		b.Fatal(err)
	}
	v := sn.Table(1)
	ks := make([]int, 1000)
	var k []byte
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += len(ks) {
		for i := range ks {
			ks[i] = rng.Intn(spread)
		}
		slices.Sort(ks)
		g := v.Getter()
		get := g.Get
		if !getter {
			get = v.Get
		}
		for _, x := range ks {
			k = intKey(k, x)
			if _, ok, err := get(k); !ok || err != nil {
				b.Fatal(ok, err)
			}
		}
		if err := g.Close(); err != nil {
			b.Fatal(err)
		}
	}
	sn.Release()
}

// BenchmarkStateTable measures what a dirty key costs in memory, and at the commit.
func BenchmarkStateTable(b *testing.B) {
	b.Run("put", func(b *testing.B) {
		s, err := Open(Config{Dir: "db", FS: vfs.NewMem()})
		if err != nil {
			b.Fatal(err)
		}
		defer mustClose(b, s)
		t, err := s.StateTable(1)
		if err != nil {
			b.Fatal(err)
		}
		rng := rand.New(rand.NewSource(1))
		k, v := make([]byte, 16), make([]byte, 32)
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			binary.BigEndian.PutUint64(k, uint64(rng.Intn(200_000)))
			t.Put(k, v)
		}
	})
	for _, dirty := range []int{1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("commit dirty=%d", dirty), func(b *testing.B) {
			s := benchStore(b)
			t, err := s.StateTable(1)
			if err != nil {
				b.Fatal(err)
			}
			rng := rand.New(rand.NewSource(1))
			k, v := make([]byte, 16), make([]byte, 32)
			var spent time.Duration
			b.ResetTimer()
			for i := range b.N {
				for range dirty {
					binary.BigEndian.PutUint64(k, uint64(rng.Intn(5_000_000)))
					t.Put(k, v)
				}
				d := t.Seal()
				start := time.Now()
				if err := s.Commit(context.Background(), Commit{Epoch: Epoch(i + 1), Deltas: []*Delta{d}}); err != nil {
					b.Fatal(err)
				}
				spent += time.Since(start)
			}
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/float64(dirty), "ns/key")
			b.ReportMetric(float64(spent.Milliseconds())/float64(b.N), "ms/commit")
		})
	}
}
