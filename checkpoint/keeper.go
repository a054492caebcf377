package checkpoint

import (
	"fmt"
	"slices"
	"time"
)

// KeeperState is what the store's role must not forget. It is written whole.
type KeeperState struct {
	Term Term
	// Coordinators are the incarnations that have had terms, the newest last: it has Term. As many are
	// remembered as may have a message on the way.
	Coordinators []uint64
	// Txid is the newest attempt that was announced.
	Txid    RestoreTxid
	Workers []RegisteredWorker
	// Checkpoints are the consistent ones, newest first, with their states.
	Checkpoints []CheckpointInfo
}

// RegisteredWorker is a worker with its newest life.
type RegisteredWorker struct {
	Worker WorkerID
	// Incarnations are as for coordinators.
	Incarnations []uint64
	Generation   Generation
}

// remembered is how many incarnations of one party are told apart.
const remembered = 16

// live adds an incarnation to those of a party: isNew if it was not there. Otherwise old tells whether it
// is one of the past, whose request has come late.
func live(of []uint64, inc uint64) (_ []uint64, isNew, old bool) {
	if i := slices.Index(of, inc); i >= 0 {
		return of, false, i < len(of)-1
	}
	of = append(slices.Clone(of), inc)
	return of[max(0, len(of)-remembered):], true, false
}

// What the medium behind a Keeper answers.
type (
	// Persisted answers Persist.
	Persisted struct{ Err error }
	// BlobWritten answers WriteBlob.
	BlobWritten struct {
		Location string
		Err      error
	}
	// BlobsRead answers ReadBlobs with the data of each location. An error says that one of them cannot be
	// read, or is not what was written.
	BlobsRead struct {
		Request uint64
		Data    [][]byte
		Err     error
	}
)

func (Persisted) message()   {}
func (BlobWritten) message() {}
func (BlobsRead) message()   {}

// What a Keeper wants of its medium.
type (
	// Persist replaces the KeeperState on the medium, whole or not at all. Never issued while another is
	// unanswered.
	Persist struct{ State KeeperState }
	// WriteBlob writes data under a name that is not in use.
	WriteBlob struct {
		Location string
		Data     []byte
	}
	// ReadBlobs reads and verifies.
	ReadBlobs struct {
		Request   uint64
		Locations []string
	}
	// DeleteBlobs deletes what no checkpoint has any more. It needs no answer: what is left after a crash
	// is deleted by the next Keeper.
	DeleteBlobs struct{ Locations []string }
)

func (Persist) action()     {}
func (WriteBlob) action()   {}
func (ReadBlobs) action()   {}
func (DeleteBlobs) action() {}

// Keeper is the machine of the store's role: terms, generations, the list of consistent checkpoints and the
// states that they consist of. The medium below it writes one small record atomically and blobs by name.
// In the server package storage is the store, and this machine is what it has to be equal to.
//
// Its actions are Send, and those on the medium.
type Keeper struct {
	st KeeperState
	// blobs are those that are on the medium, sorted by location.
	blobs []blob
	// writing are the blobs on their way.
	writing []blobWrite
	// ops wait for the record on the medium, which is written by one at a time; the first is under way if busy.
	ops  []keeperOp
	busy bool
	next KeeperState
	// reads are the requests for states that wait for the medium.
	reads   []keeperRead
	request uint64
	actions []Action
}

type blob struct {
	location string
	actor    ActorID
	epoch    Epoch
	txid     RestoreTxid
}

type blobWrite struct {
	blob
	from WorkerID
}

// keeperOp changes the state: apply makes the next one, or says with an answer that there is nothing to
// change; done answers when it is on the medium.
type keeperOp struct {
	apply func(*KeeperState) (answer *Send)
	done  func(err error) Send
}

type keeperRead struct {
	id     uint64
	req    GetInstanceState
	states []StateRef
	at     []int // which of states are read
}

// NewKeeper makes the store's role of what is on its medium: the newest record, and the names of all
// blobs. Start gives its first actions.
func NewKeeper(st KeeperState, locations []string) *Keeper {
	k := &Keeper{st: st.clone()}
	for _, l := range locations {
		b := blob{location: l}
		if _, err := fmt.Sscanf(l, locationFormat, &b.txid, &b.actor, &b.epoch); err == nil {
			k.blobs = append(k.blobs, b)
		}
	}
	slices.SortFunc(k.blobs, compareBlobs)
	return k
}

// locationFormat names a blob: attempt, actor, epoch.
const locationFormat = "%d-%d-%d"

func compareBlobs(a, b blob) int {
	switch {
	case a.location < b.location:
		return -1
	case a.location > b.location:
		return 1
	}
	return 0
}

func (st KeeperState) clone() KeeperState {
	st.Workers = slices.Clone(st.Workers)
	st.Checkpoints = slices.Clone(st.Checkpoints)
	return st
}

// Start deletes what a crash has left.
func (k *Keeper) Start(time.Time) []Action {
	k.actions = k.actions[:0]
	k.collect()
	return k.actions
}

// State is what is durable.
func (k *Keeper) State() KeeperState { return k.st }

// Step takes one message, from the other roles or the medium. The result is valid until the next Step. An
// error means that the medium broke the contract.
func (k *Keeper) Step(m Message, _ time.Time) ([]Action, error) {
	k.actions = k.actions[:0]
	switch m := m.(type) {
	case RegisterCoordinator:
		k.change(k.registerCoordinator(m))
	case RegisterWorker:
		k.change(k.registerWorker(m))
	case ListCheckpoints:
		k.change(k.listCheckpoints(m))
	case RecordCheckpoint:
		k.change(k.record(m))
	case Clean:
		k.change(k.clean(m))
	case SaveInstanceState:
		k.save(m)
	case GetInstanceState:
		k.get(m)
	case Persisted:
		if !k.busy {
			return nil, fmt.Errorf("checkpoint: the store's record was written without being asked for")
		}
		k.persisted(m.Err)
	case BlobWritten:
		k.written(m)
	case BlobsRead:
		k.read(m)
	default:
		return nil, fmt.Errorf("checkpoint: a message %T is not for the store", m)
	}
	return k.actions, nil
}

func (k *Keeper) send(s Send) { k.actions = append(k.actions, s) }

func toCoordinator(m Message) Send { return Send{Party{Role: RoleCoordinator}, m} }
func toWorker(w WorkerID, m Message) Send {
	return Send{Party{Role: RoleWorker, Worker: w}, m}
}

func (k *Keeper) change(op keeperOp) {
	k.ops = append(k.ops, op)
	k.advance()
}

// advance begins the next change, and answers those that change nothing.
func (k *Keeper) advance() {
	for !k.busy && len(k.ops) > 0 {
		next := k.st.clone()
		if answer := k.ops[0].apply(&next); answer != nil {
			k.send(*answer)
			k.ops = k.ops[1:]
			continue
		}
		k.busy, k.next = true, next
		k.actions = append(k.actions, Persist{State: next})
	}
}

func (k *Keeper) persisted(err error) {
	op := k.ops[0]
	k.ops = k.ops[1:]
	k.busy = false
	if err == nil {
		k.st = k.next
	}
	k.next = KeeperState{}
	k.send(op.done(err))
	k.collect()
	k.advance()
}

func failure(err error) (Status, string) {
	if err != nil {
		return StatusFailed, err.Error()
	}
	return StatusOK, ""
}

// summary is the list without what the checkpoints consist of.
func (st KeeperState) summary() []CheckpointInfo {
	list := slices.Clone(st.Checkpoints)
	for i := range list {
		list[i].States = nil
	}
	return list
}

func (k *Keeper) registerCoordinator(m RegisterCoordinator) keeperOp {
	answer := func(err error) Send {
		r := RegisterCoordinatorResponse{Incarnation: m.Incarnation}
		if r.Status, r.Detail = failure(err); err == nil {
			r.Term, r.Txid, r.Checkpoints = k.st.Term, k.st.Txid, k.st.summary()
		}
		return toCoordinator(r)
	}
	return keeperOp{
		apply: func(st *KeeperState) *Send {
			all, isNew, old := live(st.Coordinators, m.Incarnation)
			if old {
				s := toCoordinator(RegisterCoordinatorResponse{
					Incarnation: m.Incarnation, Status: StatusFenced, Detail: "there is a later coordinator",
				})
				return &s
			}
			if !isNew {
				s := answer(nil)
				return &s
			}
			st.Term++
			st.Coordinators = all
			return nil
		},
		done: answer,
	}
}

func (k *Keeper) registerWorker(m RegisterWorker) keeperOp {
	answer := func(err error) Send {
		r := RegisterWorkerResponse{Worker: m.Worker, Incarnation: m.Incarnation}
		r.Status, r.Detail = failure(err)
		for _, w := range k.st.Workers {
			if err == nil && w.Worker == m.Worker {
				r.Generation = w.Generation
			}
		}
		return toWorker(m.Worker, r)
	}
	return keeperOp{
		apply: func(st *KeeperState) *Send {
			for i, w := range st.Workers {
				if w.Worker != m.Worker {
					continue
				}
				all, isNew, old := live(w.Incarnations, m.Incarnation)
				if old {
					s := toWorker(m.Worker, RegisterWorkerResponse{
						Worker: m.Worker, Incarnation: m.Incarnation, Status: StatusFenced, Detail: "there is a later life of the worker",
					})
					return &s
				}
				if !isNew {
					s := answer(nil)
					return &s
				}
				st.Workers[i].Incarnations, st.Workers[i].Generation = all, w.Generation+1
				return nil
			}
			st.Workers = append(st.Workers, RegisteredWorker{m.Worker, []uint64{m.Incarnation}, 1})
			return nil
		},
		done: answer,
	}
}

func (k *Keeper) listCheckpoints(m ListCheckpoints) keeperOp {
	answer := func(s Status, detail string) Send {
		r := CheckpointList{Term: m.Term, Txid: m.Txid, Status: s, Detail: detail}
		if s == StatusOK {
			r.Checkpoints = k.st.summary()
		}
		return toCoordinator(r)
	}
	return keeperOp{
		apply: func(st *KeeperState) *Send {
			if m.Term != st.Term || m.Txid < st.Txid {
				s := answer(StatusFenced, "there is a later coordinator")
				return &s
			}
			if m.Txid == st.Txid {
				s := answer(StatusOK, "")
				return &s
			}
			st.Txid = m.Txid
			return nil
		},
		done: func(err error) Send { return answer(failure(err)) },
	}
}

// record makes a checkpoint the newest of the list.
func (k *Keeper) record(m RecordCheckpoint) keeperOp {
	c := m.Checkpoint
	answer := func(s Status, detail string) *Send {
		a := toCoordinator(CheckpointRecorded{Term: m.Term, Txid: c.Txid, Epoch: c.Epoch, Status: s, Detail: detail})
		return &a
	}
	return keeperOp{
		apply: func(st *KeeperState) *Send {
			if m.Term != st.Term || c.Txid != st.Txid {
				return answer(StatusFenced, "there is a later coordinator or attempt")
			}
			if len(st.Checkpoints) > 0 && c.Epoch <= st.Checkpoints[0].Epoch {
				// It was recorded before, and the answer got lost.
				return answer(StatusOK, "")
			}
			for _, s := range c.States {
				if s.Location != "" && !k.has(s.Location) {
					return answer(StatusFailed, fmt.Sprintf("there is no state %s", s.Location))
				}
			}
			st.Checkpoints = slices.Insert(st.Checkpoints, 0, c)
			return nil
		},
		done: func(err error) Send { return *answer(failure(err)) },
	}
}

// clean takes checkpoints from the list. What younger ones need of them becomes theirs.
func (k *Keeper) clean(m Clean) keeperOp {
	var cleaned []Epoch
	answer := func(s Status, detail string) Send {
		r := CleanResponse{Term: m.Term, Status: s, Detail: detail}
		if s == StatusOK {
			r.Cleaned = cleaned
		}
		return toCoordinator(r)
	}
	return keeperOp{
		apply: func(st *KeeperState) *Send {
			if m.Term != st.Term {
				s := answer(StatusFenced, "there is a later coordinator")
				return &s
			}
			var kept []CheckpointInfo
			for i := len(st.Checkpoints) - 1; i >= 0; i-- {
				c := st.Checkpoints[i]
				if !m.All && (c.Epoch >= m.OldestPreserved || c.Kind == KindSavepoint || i == 0) {
					kept = append(kept, c)
					continue
				}
				cleaned = append(cleaned, c.Epoch)
				for j := range st.Checkpoints[:i] {
					if child := &st.Checkpoints[j]; child.Parent == c.Epoch {
						child.Parent = c.Parent
						child.States = effective(slices.Concat(c.States, child.States))
					}
				}
			}
			slices.Reverse(cleaned)
			if len(cleaned) == 0 {
				s := answer(StatusOK, "")
				return &s
			}
			slices.Reverse(kept)
			st.Checkpoints = kept
			return nil
		},
		done: func(err error) Send { return answer(failure(err)) },
	}
}

// effective leaves out of states, oldest first, what a full state of the same actor supersedes.
func effective(states []StateRef) []StateRef {
	full := map[ActorID]Epoch{}
	for _, s := range states {
		if s.Full {
			full[s.Actor] = max(full[s.Actor], s.Epoch)
		}
	}
	return slices.DeleteFunc(slices.Clone(states), func(s StateRef) bool { return s.Epoch < full[s.Actor] })
}

func (k *Keeper) has(location string) bool {
	_, ok := slices.BinarySearchFunc(k.blobs, blob{location: location}, compareBlobs)
	return ok
}

// save writes a state as a blob of its own. A checkpoint that is recorded later may refer to it.
func (k *Keeper) save(m SaveInstanceState) {
	answer := func(s Status, detail, location string) {
		k.send(toWorker(m.Worker, SaveInstanceStateResponse{
			Worker: m.Worker, Txid: m.Txid, Actor: m.State.Actor, Epoch: m.State.Epoch, Status: s, Detail: detail, Location: location,
		}))
	}
	if k.old(m.Worker, m.Generation) {
		answer(StatusFenced, "there is a later generation", "")
		return
	}
	if m.Txid < k.st.Txid {
		// The worker lives; it has not heard of the attempt yet.
		answer(StatusFailed, "there is a later attempt", "")
		return
	}
	b := blob{fmt.Sprintf(locationFormat, uint64(m.Txid), m.State.Actor, m.State.Epoch), m.State.Actor, m.State.Epoch, m.Txid}
	if k.has(b.location) {
		answer(StatusOK, "", b.location)
		return
	}
	for _, w := range k.writing {
		if w.location == b.location {
			// The answer to the first request is one to this as well.
			return
		}
	}
	k.writing = append(k.writing, blobWrite{b, m.Worker})
	k.actions = append(k.actions, WriteBlob{Location: b.location, Data: m.State.Inline})
}

func (k *Keeper) old(w WorkerID, g Generation) bool {
	for _, r := range k.st.Workers {
		if r.Worker == w {
			return g < r.Generation
		}
	}
	return false
}

func (k *Keeper) written(m BlobWritten) {
	i := slices.IndexFunc(k.writing, func(w blobWrite) bool { return w.location == m.Location })
	if i < 0 {
		return
	}
	w := k.writing[i]
	k.writing = slices.Delete(k.writing, i, i+1)
	r := SaveInstanceStateResponse{Worker: w.from, Txid: w.txid, Actor: w.actor, Epoch: w.epoch}
	if r.Status, r.Detail = failure(m.Err); m.Err == nil {
		r.Location = w.location
		at, _ := slices.BinarySearchFunc(k.blobs, w.blob, compareBlobs)
		k.blobs = slices.Insert(k.blobs, at, w.blob)
	}
	k.send(toWorker(w.from, r))
}

// collect deletes the blobs that no checkpoint has and none will: those of attempts that are over, and those
// up to the newest checkpoint of this one, which has what it needs.
func (k *Keeper) collect() {
	used := map[string]bool{}
	for _, c := range k.st.Checkpoints {
		for _, s := range c.States {
			used[s.Location] = true
		}
	}
	var newest CheckpointInfo
	if len(k.st.Checkpoints) > 0 {
		newest = k.st.Checkpoints[0]
	}
	var gone []string
	k.blobs = slices.DeleteFunc(k.blobs, func(b blob) bool {
		over := b.txid < k.st.Txid || b.txid == newest.Txid && b.epoch <= newest.Epoch
		if used[b.location] || !over {
			return false
		}
		gone = append(gone, b.location)
		return true
	})
	if len(gone) > 0 {
		k.actions = append(k.actions, DeleteBlobs{Locations: gone})
	}
}

// get answers with all that an actor has handed over up to a checkpoint since its last full state.
func (k *Keeper) get(m GetInstanceState) {
	var states []StateRef
	at := m.Checkpoint
	for at != 0 {
		i := slices.IndexFunc(k.st.Checkpoints, func(c CheckpointInfo) bool { return c.Epoch == at })
		if i < 0 {
			k.send(getAnswer(m, StatusUnreadable, fmt.Sprintf("there is no checkpoint %d", at), nil))
			return
		}
		c := k.st.Checkpoints[i]
		var own []StateRef
		for _, s := range c.States {
			if s.Actor == m.Actor {
				own = append(own, s)
			}
		}
		states = slices.Concat(own, states)
		at = c.Parent
	}
	states = effective(states)
	r := keeperRead{req: m, states: states}
	var locations []string
	for i, s := range states {
		if s.Location != "" {
			r.at = append(r.at, i)
			locations = append(locations, s.Location)
		}
	}
	if len(locations) == 0 {
		k.send(getAnswer(m, StatusOK, "", states))
		return
	}
	k.request++
	r.id = k.request
	k.reads = append(k.reads, r)
	k.actions = append(k.actions, ReadBlobs{Request: r.id, Locations: locations})
}

func getAnswer(m GetInstanceState, s Status, detail string, states []StateRef) Send {
	return toWorker(m.Worker, GetInstanceStateResponse{
		Worker: m.Worker, Txid: m.Txid, Actor: m.Actor, Checkpoint: m.Checkpoint, Status: s, Detail: detail, States: states,
	})
}

func (k *Keeper) read(m BlobsRead) {
	i := slices.IndexFunc(k.reads, func(r keeperRead) bool { return r.id == m.Request })
	if i < 0 {
		return
	}
	r := k.reads[i]
	k.reads = slices.Delete(k.reads, i, i+1)
	if m.Err != nil || len(m.Data) != len(r.at) {
		k.send(getAnswer(r.req, StatusUnreadable, fmt.Sprint(m.Err), nil))
		return
	}
	for j, at := range r.at {
		r.states[at].Location, r.states[at].Inline = "", m.Data[j]
	}
	k.send(getAnswer(r.req, StatusOK, "", r.states))
}
