package checkpoint

import (
	"fmt"
	"slices"
	"time"
)

// KeeperState is what the store's role must not forget: two records, each of which is written whole.
type KeeperState struct {
	KeeperNumbers
	// Checkpoints are the consistent ones, newest first, with their states; those by reference are left out once they
	// are on the medium.
	Checkpoints []CheckpointInfo
}

// KeeperNumbers are what only grows, and who has been given it.
type KeeperNumbers struct {
	Term Term
	// Coordinators are the incarnations that have had terms, the newest last: it has Term. As many are
	// remembered as may have a message on the way.
	Coordinators []uint64
	// Txid is the newest attempt that was announced.
	Txid    RestoreTxid
	Workers []RegisteredWorker
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
	// Persisted answers PersistNumbers, or with List PersistList.
	Persisted struct {
		List bool
		Err  error
	}
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
	// PersistNumbers replaces the record of the numbers on the medium, whole or not at all. Never issued while another
	// is unanswered.
	PersistNumbers struct{ Numbers KeeperNumbers }
	// PersistList does the same with the list of checkpoints. A checkpoint may take its time, so numbers are written
	// meanwhile.
	PersistList struct{ Checkpoints []CheckpointInfo }
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

func (PersistNumbers) action() {}
func (PersistList) action()    {}
func (WriteBlob) action()      {}
func (ReadBlobs) action()      {}
func (DeleteBlobs) action()    {}

// Keeper is the machine of the store's role: terms, generations, the list of consistent checkpoints and the
// states that they consist of. The medium below it writes two small records, each of them atomically, and blobs by name. In
// the server the driver is the medium, with package storage below: states come by reference, and go into the record of
// their checkpoint.
//
// Its actions are Send, and those on the medium.
type Keeper struct {
	st KeeperState
	// blobs are those that are on the medium, sorted by location.
	blobs []blob
	// writing are the blobs on their way.
	writing       []blobWrite
	numbers, list lane
	// recording is the checkpoint that the list is being written with, 0 for none.
	recording Epoch
	// listing are questions for the list that wait until it does not change.
	listing []ListCheckpoints
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

// lane has the changes of one record, which is written by one at a time; the first is under way if busy.
type lane struct {
	ops  []keeperOp
	busy bool
	next KeeperState
}

// keeperOp changes the state: apply makes the next one, or answers and says that there is nothing to
// change; done answers when it is on the medium.
type keeperOp struct {
	apply func(*KeeperState) (change bool)
	done  func(err error)
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
		k.change(&k.numbers, k.registerCoordinator(m))
	case RegisterWorker:
		k.change(&k.numbers, k.registerWorker(m))
	case ListCheckpoints:
		k.change(&k.numbers, k.listCheckpoints(m))
	case RecordCheckpoint:
		k.change(&k.list, k.record(m))
	case Clean:
		k.change(&k.list, k.clean(m))
	case SaveInstanceState:
		k.save(m)
	case GetInstanceState:
		k.get(m)
	case Persisted:
		if !k.numbers.busy && !m.List || !k.list.busy && m.List {
			return nil, fmt.Errorf("checkpoint: a record of the store was written without being asked for")
		}
		k.persisted(m)
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

func (k *Keeper) change(l *lane, op keeperOp) {
	l.ops = append(l.ops, op)
	k.advance()
}

// advance begins the next changes, and answers those that change nothing.
func (k *Keeper) advance() {
	for _, l := range []*lane{&k.numbers, &k.list} {
		for !l.busy && len(l.ops) > 0 {
			next := k.st.clone()
			if !l.ops[0].apply(&next) {
				l.ops = l.ops[1:]
				continue
			}
			l.busy, l.next = true, next
			if l == &k.list {
				k.actions = append(k.actions, PersistList{Checkpoints: next.Checkpoints})
			} else {
				k.actions = append(k.actions, PersistNumbers{Numbers: next.KeeperNumbers})
			}
		}
	}
	if k.list.busy {
		return
	}
	for _, m := range k.listing {
		k.sendList(m, StatusOK, "")
	}
	k.listing = nil
}

func (k *Keeper) persisted(m Persisted) {
	l := &k.numbers
	if m.List {
		l, k.recording = &k.list, 0
	}
	op := l.ops[0]
	l.ops = l.ops[1:]
	l.busy = false
	switch {
	case m.Err != nil:
	case m.List:
		k.st.Checkpoints = l.next.Checkpoints
		k.dropReferences()
	default:
		k.st.KeeperNumbers = l.next.KeeperNumbers
	}
	l.next = KeeperState{}
	op.done(m.Err)
	k.collect()
	k.advance()
}

// dropReferences lets go of the states by reference: the medium has them.
func (k *Keeper) dropReferences() {
	for i := range k.st.Checkpoints {
		c := &k.st.Checkpoints[i]
		if slices.ContainsFunc(c.States, func(s StateRef) bool { return s.Native != nil }) {
			c.States = slices.DeleteFunc(slices.Clone(c.States), func(s StateRef) bool { return s.Native != nil })
		}
	}
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
	answer := func(err error) {
		r := RegisterCoordinatorResponse{Incarnation: m.Incarnation}
		if r.Status, r.Detail = failure(err); err == nil {
			r.Term, r.Txid, r.Checkpoints, r.InProgress = k.st.Term, k.st.Txid, k.st.summary(), k.recording
		}
		k.send(toCoordinator(r))
	}
	return keeperOp{
		apply: func(st *KeeperState) bool {
			all, isNew, old := live(st.Coordinators, m.Incarnation)
			if old {
				k.send(toCoordinator(RegisterCoordinatorResponse{
					Incarnation: m.Incarnation, Status: StatusFenced, Detail: "there is a later coordinator",
				}))
				return false
			}
			if !isNew {
				answer(nil)
				return false
			}
			st.Term++
			st.Coordinators = all
			return true
		},
		done: answer,
	}
}

func (k *Keeper) registerWorker(m RegisterWorker) keeperOp {
	answer := func(err error) {
		r := RegisterWorkerResponse{Worker: m.Worker, Incarnation: m.Incarnation}
		r.Status, r.Detail = failure(err)
		for _, w := range k.st.Workers {
			if err == nil && w.Worker == m.Worker {
				r.Generation = w.Generation
			}
		}
		k.send(toWorker(m.Worker, r))
	}
	return keeperOp{
		apply: func(st *KeeperState) bool {
			for i, w := range st.Workers {
				if w.Worker != m.Worker {
					continue
				}
				all, isNew, old := live(w.Incarnations, m.Incarnation)
				if old {
					k.send(toWorker(m.Worker, RegisterWorkerResponse{
						Worker: m.Worker, Incarnation: m.Incarnation, Status: StatusFenced, Detail: "there is a later life of the worker",
					}))
					return false
				}
				if !isNew {
					answer(nil)
					return false
				}
				st.Workers[i].Incarnations, st.Workers[i].Generation = all, w.Generation+1
				return true
			}
			st.Workers = append(st.Workers, RegisteredWorker{m.Worker, []uint64{m.Incarnation}, 1})
			return true
		},
		done: answer,
	}
}

func (k *Keeper) sendList(m ListCheckpoints, s Status, detail string) {
	r := CheckpointList{Term: m.Term, Txid: m.Txid, Status: s, Detail: detail}
	if s == StatusOK {
		r.Checkpoints = k.st.summary()
	}
	k.send(toCoordinator(r))
}

// listCheckpoints begins an attempt. A checkpoint of the one before that is being recorded is in the list or will never be:
// so the answer waits for it.
func (k *Keeper) listCheckpoints(m ListCheckpoints) keeperOp {
	return keeperOp{
		apply: func(st *KeeperState) bool {
			if m.Term != st.Term || m.Txid < st.Txid {
				k.sendList(m, StatusFenced, "there is a later coordinator")
				return false
			}
			if m.Txid == st.Txid {
				k.listing = append(k.listing, m)
				return false
			}
			st.Txid = m.Txid
			return true
		},
		done: func(err error) {
			if err != nil {
				k.sendList(m, StatusFailed, err.Error())
				return
			}
			k.listing = append(k.listing, m)
		},
	}
}

// record makes a checkpoint the newest of the list.
func (k *Keeper) record(m RecordCheckpoint) keeperOp {
	c := m.Checkpoint
	answer := func(s Status, detail string, cause error) {
		k.send(toCoordinator(CheckpointRecorded{Term: m.Term, Txid: c.Txid, Epoch: c.Epoch, Status: s, Detail: detail, Cause: cause}))
	}
	return keeperOp{
		apply: func(st *KeeperState) bool {
			if m.Term != st.Term || c.Txid != st.Txid {
				answer(StatusFenced, "there is a later coordinator or attempt", nil)
				return false
			}
			if len(st.Checkpoints) > 0 && c.Epoch <= st.Checkpoints[0].Epoch {
				// It was recorded before, and the answer got lost.
				answer(StatusOK, "", nil)
				return false
			}
			for _, s := range c.States {
				if s.Location != "" && !k.has(s.Location) {
					answer(StatusFailed, fmt.Sprintf("there is no state %s", s.Location), nil)
					return false
				}
			}
			st.Checkpoints = slices.Insert(st.Checkpoints, 0, c)
			k.recording = c.Epoch
			return true
		},
		done: func(err error) {
			s, detail := failure(err)
			answer(s, detail, err)
		},
	}
}

// clean takes checkpoints from the list. What younger ones need of them becomes theirs.
func (k *Keeper) clean(m Clean) keeperOp {
	var cleaned []Epoch
	answer := func(s Status, detail string) {
		r := CleanResponse{Term: m.Term, Status: s, Detail: detail}
		if s == StatusOK {
			r.Cleaned = cleaned
		}
		k.send(toCoordinator(r))
	}
	return keeperOp{
		apply: func(st *KeeperState) bool {
			if m.Term != st.Term {
				answer(StatusFenced, "there is a later coordinator")
				return false
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
				answer(StatusOK, "")
				return false
			}
			slices.Reverse(kept)
			st.Checkpoints = kept
			return true
		},
		done: func(err error) {
			s, detail := failure(err)
			answer(s, detail)
		},
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
	// The list that is on its way has its states too.
	for _, list := range [][]CheckpointInfo{k.st.Checkpoints, k.list.next.Checkpoints} {
		for _, c := range list {
			for _, s := range c.States {
				used[s.Location] = true
			}
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
