package session

import (
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
)

// taken are the values of sequences that the session got last.
type taken struct {
	values map[catalog.ID]int64
	// last is the sequence of the newest of values; 0: there is none.
	last catalog.ID
}

// note keeps a value that the session got.
func (k *taken) note(seq catalog.ID, value int64) {
	k.keep(seq, value)
	k.last = seq
}

func (k *taken) keep(seq catalog.ID, value int64) {
	if k.values == nil {
		k.values = map[catalog.ID]int64{}
	}
	k.values[seq] = value
}

// sequences are the functions of sequences in a transaction (syscat.Sequences).
type sequences struct {
	s *session
	t *tx
}

// allowed refuses the use of a sequence to who has none of the privileges on it.
func (q sequences) allowed(seq *catalog.Relation, any catalog.Privileges) error {
	cat, user := q.t.catalog(), q.s.user()
	if q.s.trusted(cat, user) {
		return nil
	}
	if has, _ := cat.Allowed(user, seq.Owner, seq.ACL, any); has == 0 || gone(cat, user) {
		return sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied for sequence %s", seq.Name)
	}
	return nil
}

// writable is allowed for a function that changes the sequence.
func (q sequences) writable(function string, seq *catalog.Relation, any catalog.Privileges) error {
	if err := q.allowed(seq, any); err != nil {
		return err
	}
	if q.t.readOnly {
		return sqlerr.Newf(sqlerr.ReadOnlySQLTransaction, "cannot execute %s() in a read-only transaction", function)
	}
	return nil
}

// Next is nextval.
func (q sequences) Next(seq *catalog.Relation) (int64, error) {
	if err := q.writable("nextval", seq, catalog.Usage|catalog.Update); err != nil {
		return 0, err
	}
	vs, err := q.s.standing(q.t, seq).NextValues(seq, 1)
	if err != nil {
		return 0, err
	}
	q.s.taken.note(seq.ID, vs[0])
	return vs[0], nil
}

// Current is currval.
func (q sequences) Current(seq *catalog.Relation) (int64, error) {
	if err := q.allowed(seq, catalog.Select|catalog.Usage); err != nil {
		return 0, err
	}
	v, ok := q.s.taken.values[seq.ID]
	if !ok {
		return 0, sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "currval of sequence \"%s\" is not yet defined in this session", seq.Name)
	}
	return v, nil
}

// Set is setval.
func (q sequences) Set(seq *catalog.Relation, value int64, called bool) error {
	if err := q.writable("setval", seq, catalog.Update); err != nil {
		return err
	}
	if d := seq.Seq; value < d.Min || value > d.Max {
		return sqlerr.Newf(sqlerr.NumericValueOutOfRange, "setval: value %d is out of bounds for sequence \"%s\" (%d..%d)", value, seq.Name, d.Min, d.Max)
	}
	if err := q.s.standing(q.t, seq).SetSequence(seq, value, called); err != nil || !called {
		return err
	}
	q.s.taken.keep(seq.ID, value)
	return nil
}

// Last is lastval.
func (q sequences) Last() (int64, error) {
	k := &q.s.taken
	seq := q.t.catalog().RelationByID(k.last)
	if k.last == 0 || seq == nil {
		return 0, sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "lastval is not yet defined in this session")
	}
	if err := q.allowed(seq, catalog.Select|catalog.Usage); err != nil {
		return 0, err
	}
	return k.values[k.last], nil
}

// Standing tells where a sequence is.
func (q sequences) Standing(seq *catalog.Relation) (last, logged int64, called bool, err error) {
	st, err := q.s.standing(q.t, seq).SequenceStanding(seq)
	return st.Last, st.LogCount, st.Called, err
}

// Readable tells whether the user may know where a sequence is.
func (q sequences) Readable(seq *catalog.Relation) bool {
	return q.allowed(seq, catalog.Select|catalog.Usage) == nil
}

// fillSequence gives the values of a serial or identity column where they miss, or all.
func (w *write) fillSequence(col int, from *vec.Vector, n int) (*vec.Vector, error) {
	c := w.tab.Rel.Columns[col]
	seq := w.t.catalog().RelationByID(c.Sequence)
	if seq == nil {
		return nil, sqlerr.Newf(sqlerr.UndefinedTable, "could not open relation with OID %d", uint32(c.Sequence))
	}
	if c.Identity == "" {
		if err := (sequences{w.s, w.t}).writable("nextval", seq, catalog.Usage|catalog.Update); err != nil {
			return nil, err
		}
	}
	v, last, ok, err := w.s.standing(w.t, seq).FillColumn(seq, from, n, w.d.OverridingUser)
	if err != nil {
		return nil, err
	}
	if ok {
		w.s.taken.note(seq.ID, last)
	}
	if lo, hi := catalog.TypeLimits(c.Type); seq.Seq.Min < lo || seq.Seq.Max > hi {
		for i := range n {
			if !v.IsNull(i) && (v.Int[i] < lo || v.Int[i] > hi) {
				return nil, sqlerr.Newf(sqlerr.NumericValueOutOfRange, "%s out of range", c.Type)
			}
		}
	}
	return v, nil
}
