package op

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// A shared side of a HashJoin has no state: its rows are those of the arrangement of a relation, whose changes are the
// side's input. What the join has of it in memory is a cache, and the algorithm is that of other sides:
//
//  1. The rows of a key are read when the key is first asked for, from the version at the last barrier. So what is read is
//     what the side's input added up to at that barrier.
//  2. The first change of a key in an epoch reads the key before it is applied, and the key is then kept until the
//     barrier (touched): the version does not have the changes of the epoch.
//  3. At the barrier the version of its epoch takes the place of the one before. All producers of the side have
//     passed the barrier, so it is sealed, and it contains the changes that were seen; nothing is touched any more.
//
// Invariant: at every moment the rows of a key are those of the version, filtered and projected, plus the changes of
// the epoch so far; for a key that is not in memory these changes are none.
//
// Before the first barrier nothing can be read. What comes then (of operators that emit when they start, as
// VALUES does) is kept, and joined at that barrier. What the side has at that time depends on how the job begins: SharedStart.

// SharedStart says what a shared side has when its job begins.
type SharedStart uint8

const (
	// SharedAll: the side has, from the first barrier on, all rows of that epoch; none of them comes as a change. For a
	// new job, in which the other side brings the rows to join them with.
	SharedAll SharedStart = iota
	// SharedNone: the side has no rows; all come as changes, and Seen tells which have.
	SharedNone
	// SharedCheckpoint: the side has the rows of the last checkpoint, and all changes since come.
	SharedCheckpoint
	// SharedCatchUp is SharedCheckpoint for a relation that runs already: what it has changed between the checkpoint and the
	// first barrier comes, all of it, between the first barrier and the second.
	SharedCatchUp
)

// SharedSide configures a side of a HashJoin that is kept by a relation.
type SharedSide struct {
	// Relation has the types of the relation's columns, Cols lists those that its changes have.
	Relation []types.Type
	Cols     []int
	// Steps are what turns the changes of the relation into the side's input, in order: filters and projections. They
	// are this side's own.
	Steps []exec.Operator
	// Key has the first columns of the arrangement's key; Col counts the pairs of join keys. Unique: it is the whole key;
	// otherwise all pairs are among them.
	Key    []SortKey
	Unique bool
	// VersionAt opens the version of the relation at an epoch whose barrier has come from it.
	VersionAt func(storage.Epoch) (*storage.Version, error)
	Start     SharedStart
	// Seen, for SharedNone, gives up to which key of the arrangement rows have come, as far as they did not come as
	// changes of relations that begin together; all: all of them. It is asked at barriers. Nil: all.
	Seen func() (upto []byte, all bool)
}

// sharedRows reads the rows of a shared side.
type sharedRows struct {
	SharedSide
	started bool
	// version is what is read; nil: nothing is there. upto bounds the keys that count, unless all do.
	version *storage.Version
	upto    []byte
	all     bool
	// touched are the entries that the epoch has changed; list has them.
	touched bitset
	list    []uint32
	// room is how many entries touched has room for.
	room uint32
	// ahead is how far keys were read in the order of the relation: see readAhead.
	ahead struct {
		next []byte
		done bool
	}
	// more are the pairs of join keys that are not among Key: rows that are read may differ in them.
	more []int

	row  *vec.Chunk
	leaf *vec.Chunk
	// got is the side's input for leaf.
	got  *vec.Chunk
	key  []byte
	ends []int
	keys [][]byte
}

// heldChunk came before the first barrier.
type heldChunk struct {
	port  int
	chunk *vec.Chunk
}

func newSharedRows(cfg *SharedSide, in []types.Type, keys int) (*sharedRows, error) {
	s := &sharedRows{SharedSide: *cfg}
	if len(cfg.Key) == 0 || cfg.VersionAt == nil {
		return nil, errors.New("HashJoin: a shared side without a key")
	}
	has := make([]bool, keys)
	for _, k := range cfg.Key {
		if k.Col < 0 || k.Col >= keys {
			return nil, fmt.Errorf("HashJoin: shared side: there is no join key %d", k.Col)
		}
		has[k.Col] = true
	}
	for k, ok := range has {
		if !ok {
			s.more = append(s.more, k)
		}
	}
	if len(s.more) > 0 && !cfg.Unique {
		return nil, errors.New("HashJoin: a join key is not in the key of a shared side")
	}
	if err := checkCols("HashJoin.Shared.Cols", cfg.Cols, len(cfg.Relation)); err != nil {
		return nil, err
	}
	have := pickTypes(cfg.Relation, cfg.Cols)
	if len(cfg.Steps) > 0 {
		have = cfg.Steps[len(cfg.Steps)-1].Schema()
	}
	if len(have) != len(in) {
		return nil, fmt.Errorf("HashJoin: a shared side gives %d columns, its input has %d", len(have), len(in))
	}
	s.row = vec.NewChunk(cfg.Relation, 1)
	s.leaf = vec.NewChunk(pickTypes(cfg.Relation, cfg.Cols), 0)
	s.got = vec.NewChunk(in, 0)
	return s, nil
}

// open prepares the steps: each gives what it makes to the next one, and the last one to got.
func (s *sharedRows) open(ctx *exec.Context) error {
	own := *ctx
	own.State, own.Due, own.Memory = nil, nil, nil
	// The same rows go through the operators of the input, which report their errors.
	own.RowError = func(exec.RowFailure) error { return nil }
	var to exec.Output = sharedOutput{s}
	for i := len(s.Steps) - 1; i >= 0; i-- {
		if err := s.Steps[i].Open(&own, to); err != nil {
			return err
		}
		to = stepOutput{s.Steps[i]}
	}
	return nil
}

// sharedOutput collects what comes out of the steps.
type sharedOutput struct{ s *sharedRows }

func (o sharedOutput) Chunk(c *vec.Chunk) error {
	o.s.got.AppendRange(c, 0, c.Len())
	return nil
}
func (sharedOutput) Watermark(exec.Watermark) error { return nil }
func (sharedOutput) Barrier(exec.Barrier) error     { return nil }

// stepOutput passes on to an operator.
type stepOutput struct{ exec.Operator }

func (o stepOutput) Chunk(c *vec.Chunk) error         { return o.Operator.Chunk(0, c) }
func (o stepOutput) Watermark(w exec.Watermark) error { return nil }
func (o stepOutput) Barrier(bar exec.Barrier) error   { return nil }

func (s *sharedRows) close() {
	s.release()
	for _, o := range s.Steps {
		o.Close()
	}
}

func (s *sharedRows) release() {
	if s.version != nil {
		s.version.Release()
		s.version = nil
	}
}

// touch notes that the epoch changes an entry.
func (s *sharedRows) touch(e uint32) {
	s.touched.ensure(e + 1)
	s.room = max(s.room, e+1)
	if !s.touched.get(e) {
		s.touched.set(e)
		s.list = append(s.list, e)
	}
}

func (s *sharedRows) isTouched(e uint32) bool {
	return e < s.room && s.touched.get(e)
}

// settle forgets what the epoch has changed.
func (s *sharedRows) settle() {
	for _, e := range s.list {
		s.touched.clear(e)
	}
	s.list = s.list[:0]
}

// begin opens what the side has before the first barrier, whose epoch is given.
func (s *sharedRows) begin(e storage.Epoch) error {
	if s.Start == SharedNone {
		return nil
	}
	v, err := s.VersionAt(e)
	if err != nil {
		return fmt.Errorf("join: %w", err)
	}
	s.version, s.all = v, true
	if s.Start != SharedAll {
		s.version = v.Committed()
		v.Release()
	}
	return nil
}

// next opens the version at a barrier.
func (s *sharedRows) next(e storage.Epoch) error {
	first := !s.started
	s.started = true
	if first && s.Start == SharedCatchUp {
		return nil
	}
	v, err := s.VersionAt(e)
	if err != nil {
		return fmt.Errorf("join: %w", err)
	}
	s.release()
	s.version, s.upto, s.all = v, nil, true
	if s.Start == SharedNone && s.Seen != nil {
		upto, all := s.Seen()
		s.upto, s.all = append([]byte(nil), upto...), all
		if !all && upto == nil {
			s.release() // nothing has come
		}
	}
	return nil
}

// fetch reads the rows of the listed keys, in the order of their keys, into got: fn gets those of one key, as the
// range of got that they are.
func (s *sharedRows) fetch(cols []*vec.Vector, rows []int32, fn func(row int32, lo, hi int) error) (err error) {
	if s.version == nil || len(rows) == 0 {
		return nil
	}
	s.key, s.ends, s.keys = s.key[:0], s.ends[:0], s.keys[:0]
	for _, row := range rows {
		s.key = vec.EncodeKey(s.key, cols, int(row), s.Key)
		s.ends = append(s.ends, len(s.key))
	}
	order := make([]int, len(rows))
	at := 0
	for i, end := range s.ends {
		order[i] = i
		s.keys = append(s.keys, s.key[at:end:end])
		at = end
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(s.keys[a], s.keys[b]) })
	read, done := s.reader(s.keys[order[0]], s.keys[order[len(order)-1]], len(order))
	defer func() { err = errors.Join(err, done()) }()
	for _, i := range order {
		s.leaf.Reset()
		s.got.Reset()
		if err := read(s.keys[i]); err != nil {
			return err
		}
		if s.leaf.Len() > 0 {
			if err := s.push(); err != nil {
				return err
			}
		}
		if n := s.got.Len(); n > 0 {
			if err := fn(rows[i], 0, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// push sends leaf through the steps.
func (s *sharedRows) push() error {
	if len(s.Steps) == 0 {
		s.got.AppendRange(s.leaf, 0, s.leaf.Len())
		return nil
	}
	return s.Steps[0].Chunk(0, s.leaf)
}

// fewKeys is up to how many keys are looked up one by one; more are found by an iterator that goes from one to the next.
const fewKeys = 8

// reader gives what appends the rows of a key to leaf, for n keys that ascend from lo to hi.
func (s *sharedRows) reader(lo, hi []byte, n int) (read func(key []byte) error, done func() error) {
	if s.Unique && n <= fewKeys {
		get := s.version.Getter()
		return func(key []byte) error {
			if s.beyond(key) {
				return nil
			}
			val, ok, err := get.Get(key)
			if err != nil || !ok {
				return err
			}
			return s.decode(val)
		}, get.Close
	}
	it := s.version.Iterator(lo, storage.PrefixEnd(hi), false)
	on := false
	return func(key []byte) error {
		if on && bytes.Compare(it.Key(), key) < 0 {
			on = it.Next() // it may be the next one
		}
		for ok := it.SeekGE(key); ok; ok = it.Next() {
			k := it.Key()
			on = true
			if !bytes.HasPrefix(k, key) || s.Unique && len(k) != len(key) || s.beyond(k) {
				break
			}
			if err := s.decode(it.Value()); err != nil {
				return err
			}
			if s.Unique {
				break
			}
			if s.leaf.Len() >= vec.ChunkSize {
				if err := s.push(); err != nil {
					return err
				}
				s.leaf.Reset()
			}
		}
		on = it.Key() != nil
		return it.Err()
	}, it.Close
}

// beyond tells of a key of the arrangement that its row has not come yet.
func (s *sharedRows) beyond(key []byte) bool {
	return !s.all && bytes.Compare(key, s.upto) > 0
}

func (s *sharedRows) decode(val []byte) error {
	s.row.Reset()
	rest, err := vec.DecodeRow(val, s.row.Cols)
	if err == nil && len(rest) > 0 {
		err = vec.ErrCorruptRow
	}
	if err != nil {
		return err
	}
	for k, c := range s.Cols {
		s.leaf.Cols[k].AppendFrom(s.row.Cols[c], 0)
	}
	s.leaf.PushDiff(1)
	return nil
}

// loadShared puts the rows of new entries of a shared side into it.
func (j *HashJoin) loadShared(port int, s *joinSide, cols []*vec.Vector, ents []uint32, added []int32) error {
	return s.shared.fetch(cols, added, func(row int32, lo, hi int) error {
		e := ents[row]
		rec := j.recs.at(e)
		c := s.shared.got
		hashes := s.rowHashes(c)
	rows:
		for i := lo; i < hi; i++ {
			for _, k := range s.shared.more {
				if !j.keyStore.equal(k, e, c.Cols[s.keys[k]], i, false) {
					continue rows
				}
			}
			rec.n[port]++
			if s.multiset {
				if r := s.find(e, rec.head[port], c, i, hashes); r != none {
					*s.mult.at(r)++
					continue
				}
			}
			r := s.alloc(e, &rec.head[port])
			s.put(r, c, i)
			if s.byIdent != nil {
				s.byIdent.insert(r, hashes[i])
			}
		}
		return nil
	})
}

// hold keeps a chunk until the first barrier; false if that has come, or there is no shared side.
func (j *HashJoin) hold(port int, c *vec.Chunk) bool {
	if j.shared == nil || j.shared[0].started {
		return false
	}
	if s := j.sides[port].shared; s != nil && s.Start == SharedAll {
		return true // the version at the barrier has it
	}
	j.held = append(j.held, heldChunk{port, c.Clone()})
	return true
}

// beginShared joins what came before the first barrier.
func (j *HashJoin) beginShared(e storage.Epoch) error {
	for _, s := range j.shared {
		if err := s.begin(e); err != nil {
			return err
		}
		s.started = true
	}
	for _, h := range j.held {
		if err := j.join(h.port, h.chunk); err != nil {
			return err
		}
	}
	j.held = nil
	for _, s := range j.shared {
		s.started = false
	}
	return nil
}

// nextShared goes on to the versions at a barrier. Keys whose rows of a shared side have changed, and that have
// none on the other side, are forgotten: nobody may ever ask for them.
func (j *HashJoin) nextShared(e storage.Epoch) error {
	if j.shared == nil {
		return nil
	}
	if !j.shared[0].started {
		if err := j.beginShared(e); err != nil {
			return err
		}
	}
	for _, s := range j.shared {
		if err := s.next(e); err != nil {
			return err
		}
	}
	for p, side := range j.sides {
		s := side.shared
		if s == nil {
			continue
		}
		if j.sides[1-p].shared == nil {
			var gone []uint32
			for _, e := range s.list {
				if rec := j.recs.at(e); j.keyStore.live.get(e) && rec.head[p] != 0 && rec.head[1-p] == 0 {
					j.forget(e)
					gone = append(gone, e)
				}
			}
			j.dropKeys(gone)
		}
		s.settle()
	}
	j.stuck = false
	return j.readAhead()
}
