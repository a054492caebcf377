package pgwire

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Many clients, statements cancelled and connections ended at random moments: every answer that
// comes is the right one, a cancelled statement fails with the right code, and at the end of the
// server nothing is left.
func TestCancelAndTerminateAtRandom(t *testing.T) {
	const (
		seed    = 7
		clients = 6
		rounds  = 150
	)
	s := startScript(t, Config{ClientCheck: time.Millisecond, WriteBuffer: 500, StopGrace: time.Second})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var running, trouble sync.WaitGroup
	done := make(chan struct{})
	for i := range clients {
		running.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			var db *pgx.Conn
			for round := range rounds {
				if db == nil || db.IsClosed() {
					var err error
					if db, err = pgx.Connect(ctx, "postgres://u@"+s.addr+"/d"); err != nil {
						if !ended(err) {
							t.Errorf("connect: %v", err)
							return
						}
						continue
					}
				}
				if err := stressStep(ctx, db, rnd, round); err != nil && !ended(err) {
					t.Errorf("client %d round %d seed %d: %v", i, round, seed, err)
				}
			}
			if db != nil {
				_ = db.Close(ctx)
			}
		})
	}
	trouble.Go(func() {
		rnd := rand.New(rand.NewPCG(seed, 1000))
		for {
			select {
			case <-done:
				return
			case <-s.fake.entered: // never let one sleep
			case <-time.After(50 * time.Microsecond): // a pace, nothing is waited for
			}
			for _, c := range s.srv.list() {
				if rnd.IntN(40) == 0 {
					s.srv.Terminate(c.pid)
				} else {
					s.srv.Cancel(c.pid)
				}
			}
		}
	})
	running.Wait()
	close(done)
	trouble.Wait()
	if n := s.srv.stats.Cancels.Load(); n < 10 {
		t.Errorf("only %d statements were cancelled", n)
	}
	s.end()
}

// ended says that err is what a client may see when it is cancelled or sent away.
func ended(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code == "57014" || e.Code == "57P01" || e.Code == "25P02"
	}
	// The rest is how a closed connection shows itself.
	return !strings.Contains(err.Error(), "wrong")
}

func stressStep(ctx context.Context, db *pgx.Conn, rnd *rand.Rand, round int) error {
	switch rnd.IntN(5) {
	case 0:
		var x int
		if err := db.QueryRow(ctx, "select $1::int", round).Scan(&x); err != nil {
			return err
		}
		if x != round {
			return fmt.Errorf("wrong: %d", x)
		}
	case 1:
		rows, _ := db.Query(ctx, "select generate_series(1,2000)")
		got, err := pgx.CollectRows(rows, pgx.RowTo[int])
		if err != nil {
			return err
		}
		if len(got) != 2000 || got[1999] != 2000 {
			return fmt.Errorf("wrong: %d rows", len(got))
		}
	case 2:
		_, err := db.PgConn().Exec(ctx, "select 1; select pg_sleep(1)").ReadAll()
		if err == nil {
			return errors.New("wrong: the sleep ended")
		}
		return err
	case 3:
		_, err := db.PgConn().CopyFrom(ctx, strings.NewReader(strings.Repeat("line\n", 5000)), "copy wire_t from stdin")
		return err
	case 4:
		b := &pgx.Batch{}
		for i := range 20 {
			b.Queue("select $1::int", i)
		}
		r := db.SendBatch(ctx, b)
		for i := range 20 {
			var x int
			if err := r.QueryRow().Scan(&x); err != nil {
				_ = r.Close()
				return err
			}
			if x != i {
				return fmt.Errorf("wrong: %d in a batch", x)
			}
		}
		return r.Close()
	}
	return nil
}
