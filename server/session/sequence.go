package session

import (
	"math"

	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
)

// sequenceOf names a sequence by the column that it belongs to.
type sequenceOf struct {
	rel catalog.ID
	col int
}

// taken are the values of sequences that the session got last.
type taken struct {
	values map[sequenceOf]int64
	// last is the newest of values; nil: there is none.
	last *sequenceOf
}

// note keeps a value that the session got.
func (k *taken) note(rel *catalog.Relation, col int, value int64) {
	if rel.Columns[col].Hidden {
		return
	}
	if k.values == nil {
		k.values = map[sequenceOf]int64{}
	}
	of := sequenceOf{rel.ID, col}
	k.values[of], k.last = value, &of
}

// sequences are the functions of sequences in a transaction (syscat.Sequences).
type sequences struct {
	s *session
	t *tx
}

func sequenceName(rel *catalog.Relation, col int) string {
	return rel.Name + "_" + rel.Columns[col].Name + "_seq"
}

// open finds a sequence for a function that needs one of the privileges on the table.
func (q sequences) open(function string, rel *catalog.Relation, col int, need catalog.Privileges) (*table.Sequence, error) {
	name := sequenceName(rel, col)
	cat, user := q.t.inc.Catalog(), q.s.user()
	if !q.s.trusted(cat, user) {
		if has, _ := cat.Allowed(user, rel.Owner, rel.ACL, need); has == 0 || gone(cat, user) {
			return nil, sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied for sequence %s", name)
		}
	}
	if function != "currval" && q.t.readOnly {
		return nil, sqlerr.Newf(sqlerr.ReadOnlySQLTransaction, "cannot execute %s() in a read-only transaction", function)
	}
	if tab := q.t.inc.Table(rel.ID); tab != nil {
		if x := tab.Sequence(col); x != nil {
			return x, nil
		}
	}
	return nil, sqlerr.Newf(sqlerr.UndefinedTable, "relation %q does not exist", name)
}

// Next is nextval.
func (q sequences) Next(rel *catalog.Relation, col int) (int64, error) {
	x, err := q.open("nextval", rel, col, catalog.Insert|catalog.Update)
	if err != nil {
		return 0, err
	}
	v, err := x.Take(1)
	if err == nil {
		q.s.taken.note(rel, col, v)
	}
	return v, err
}

// Current is currval.
func (q sequences) Current(rel *catalog.Relation, col int) (int64, error) {
	if _, err := q.open("currval", rel, col, catalog.Insert|catalog.Select); err != nil {
		return 0, err
	}
	v, ok := q.s.taken.values[sequenceOf{rel.ID, col}]
	if !ok {
		return 0, sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "currval of sequence %q is not yet defined in this session", sequenceName(rel, col))
	}
	return v, nil
}

// Set is setval.
func (q sequences) Set(rel *catalog.Relation, col int, value int64, called bool) error {
	x, err := q.open("setval", rel, col, catalog.Insert|catalog.Update)
	if err != nil {
		return err
	}
	if value < 1 || value > x.Max() {
		return sqlerr.Newf(sqlerr.NumericValueOutOfRange, "setval: value %d is out of bounds for sequence %q (1..%d)", value, sequenceName(rel, col), x.Max())
	}
	next := value
	of := sequenceOf{rel.ID, col}
	if called {
		if value == math.MaxInt64 {
			return sqlerr.Newf(sqlerr.FeatureNotSupported, "setval to the last value of a bigint sequence is not supported")
		}
		next++
	}
	if err := x.Set(next); err != nil || !called {
		return err
	}
	if q.s.taken.values == nil {
		q.s.taken.values = map[sequenceOf]int64{}
	}
	q.s.taken.values[of] = value
	return nil
}

// Last is lastval.
func (q sequences) Last() (int64, error) {
	k := &q.s.taken
	if k.last == nil || q.t.inc.Table(k.last.rel) == nil {
		return 0, sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "lastval is not yet defined in this session")
	}
	return k.values[*k.last], nil
}
