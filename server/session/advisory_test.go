package session

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/weirdb/weir/server/syscat"
	"github.com/weirdb/weir/sql/sqlerr"
)

func TestAdvisoryLocksAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m advisoryLocks
		key := syscat.AdvisoryKey{ObjID: 7, ObjSubID: 1}
		a, b, c := &advisoryHolder{pid: 1}, &advisoryHolder{pid: 2}, &advisoryHolder{pid: 3}
		for range 2 {
			if ok, err := m.lock(t.Context(), a, key, true, true); !ok || err != nil {
				t.Fatal("a cannot lock", ok, err)
			}
		}
		order := make(chan int32, 2)
		for _, h := range []*advisoryHolder{b, c} {
			go func() {
				if ok, err := m.lock(t.Context(), h, key, h == c, true); ok && err == nil {
					order <- h.pid
				}
			}()
			synctest.Wait()
		}
		if ok, _ := m.lock(t.Context(), &advisoryHolder{pid: 4}, key, false, false); ok {
			t.Fatal("a lock that another has was given")
		}
		m.unlock(a, key, true)
		synctest.Wait()
		if len(order) != 0 {
			t.Fatal("a has it once more")
		}
		m.unlockAll(a)
		synctest.Wait()
		if got := <-order; got != 2 || len(order) != 0 {
			t.Fatal("the second is to be served, alone", got)
		}
		m.unlock(b, key, false)
		if got := <-order; got != 3 {
			t.Fatal("the third is to be served", got)
		}
		m.unlockAll(c)
		if len(m.locks) != 0 || len(m.waiting) != 0 {
			t.Fatal("something is left", m.rows())
		}
	})
}

func TestAdvisoryDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m advisoryLocks
		keys := []syscat.AdvisoryKey{{ObjID: 1}, {ObjID: 2}, {ObjID: 3}}
		hs := []*advisoryHolder{{pid: 1}, {pid: 2}, {pid: 3}}
		for i, h := range hs {
			if ok, err := m.lock(t.Context(), h, keys[i], true, true); !ok || err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error, 2)
		for i, h := range hs[:2] {
			go func() {
				_, err := m.lock(ctx, h, keys[i+1], i == 0, true)
				ended <- err
			}()
			synctest.Wait()
		}
		_, err := m.lock(t.Context(), hs[2], keys[0], false, true)
		if e := (*sqlerr.Error)(nil); !errors.As(err, &e) || e.Code != sqlerr.DeadlockDetected {
			t.Fatal("no deadlock was found", err)
		}
		// The others wait still, and can be cancelled.
		synctest.Wait()
		if len(ended) != 0 {
			t.Fatal("the others were disturbed")
		}
		why := errors.New("cancelled")
		cancel(why)
		for range 2 {
			if err := <-ended; !errors.Is(err, why) {
				t.Fatal(err)
			}
		}
		for _, h := range hs {
			m.unlockAll(h)
		}
		if len(m.locks) != 0 || len(m.waiting) != 0 {
			t.Fatal("something is left", m.rows())
		}
	})
}
