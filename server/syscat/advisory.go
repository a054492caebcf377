package syscat

import (
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// Advisory takes and gives back advisory locks.
type Advisory interface {
	// Lock takes a lock, for the transaction if local is set, and tells whether it has it; without wait it may not.
	Lock(key AdvisoryKey, exclusive, wait, local bool) (bool, error)
	// Unlock gives back a lock of the session once, and tells whether the session had it.
	Unlock(key AdvisoryKey, exclusive bool) bool
	// UnlockAll gives back all locks of the session.
	UnlockAll()
}

// AdvisoryKey is what an advisory lock locks, as pg_locks shows it: a bigint in two halves with ObjSubID 1, or two integers with 2.
type AdvisoryKey struct {
	ClassID, ObjID uint32
	ObjSubID       int16
}

// AdvisoryLock is a row of pg_locks.
type AdvisoryLock struct {
	AdvisoryKey
	PID                int32
	Exclusive, Granted bool
}

// advisoryFuncs are the functions of advisory locks.
const advisoryFuncs = `
[pg_advisory_lock pg_advisory_lock_shared pg_advisory_xact_lock pg_advisory_xact_lock_shared] @(int8) void volatile fail
[pg_advisory_lock pg_advisory_lock_shared pg_advisory_xact_lock pg_advisory_xact_lock_shared] @(int4,int4) void volatile fail
[pg_try_advisory_lock pg_try_advisory_lock_shared pg_try_advisory_xact_lock pg_try_advisory_xact_lock_shared] @(int8) bool volatile fail
[pg_try_advisory_lock pg_try_advisory_lock_shared pg_try_advisory_xact_lock pg_try_advisory_xact_lock_shared] @(int4,int4) bool volatile fail
[pg_advisory_unlock pg_advisory_unlock_shared] @(int8) bool volatile fail
[pg_advisory_unlock pg_advisory_unlock_shared] @(int4,int4) bool volatile fail
pg_advisory_unlock_all() void volatile fail
`

// advisoryKey is the key of a call with one bigint or two integers.
func (c *call) advisoryKey() AdvisoryKey {
	if len(c.args) == 2 {
		return AdvisoryKey{uint32(c.args[0].I), uint32(c.args[1].I), 2}
	}
	return AdvisoryKey{uint32(uint64(c.args[0].I) >> 32), uint32(c.args[0].I), 1}
}

func (t implTable) advisory() {
	refused := sqlerr.Newf(sqlerr.FeatureNotSupported, "advisory locks are not supported here")
	for _, args := range []string{"(int8)", "(int4,int4)"} {
		for _, shared := range []string{"", "_shared"} {
			for _, local := range []string{"", "xact_"} {
				t.set(func(c *call) (types.Datum, error) {
					if c.Advisory == nil {
						return types.Null, refused
					}
					_, err := c.Advisory.Lock(c.advisoryKey(), shared == "", true, local != "")
					return types.DStr(""), err
				}, "pg_advisory_"+local+"lock"+shared+args)
				t.set(func(c *call) (types.Datum, error) {
					if c.Advisory == nil {
						return types.Null, refused
					}
					ok, err := c.Advisory.Lock(c.advisoryKey(), shared == "", false, local != "")
					return types.DBool(ok), err
				}, "pg_try_advisory_"+local+"lock"+shared+args)
			}
			t.set(func(c *call) (types.Datum, error) {
				if c.Advisory == nil {
					return types.Null, refused
				}
				return types.DBool(c.Advisory.Unlock(c.advisoryKey(), shared == "")), nil
			}, "pg_advisory_unlock"+shared+args)
		}
	}
	t.set(func(c *call) (types.Datum, error) {
		if c.Advisory != nil {
			c.Advisory.UnlockAll()
		}
		return types.DStr(""), nil
	}, "pg_advisory_unlock_all()")
}

// LockWait is a wait for the lock of a table or of one of its rows, a row of pg_locks.
type LockWait struct {
	PID      int32
	Relation uint32
	Row      bool
	Mode     string
}

func lockRows(c *content) {
	if c.env.LockWaits != nil {
		c.columns("locktype", "database", "relation", "virtualtransaction", "pid", "mode", "granted", "fastpath")
		for _, l := range c.env.LockWaits() {
			what := "relation"
			if l.Row {
				what = "tuple"
			}
			c.add(what, databaseID, int64(l.Relation), "", int64(l.PID), l.Mode, false, false)
		}
	}
	if c.env.AdvisoryLocks == nil {
		return
	}
	c.columns("locktype", "database", "classid", "objid", "objsubid", "virtualtransaction", "pid", "mode", "granted", "fastpath")
	for _, l := range c.env.AdvisoryLocks() {
		mode := "ShareLock"
		if l.Exclusive {
			mode = "ExclusiveLock"
		}
		c.add("advisory", databaseID, int64(l.ClassID), int64(l.ObjID), int64(l.ObjSubID), "", int64(l.PID), mode, l.Granted, false)
	}
}
