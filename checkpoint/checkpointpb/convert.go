package checkpointpb

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirdb/weir/checkpoint"
)

// Marshal gives the wire form of a message. States and mutations by reference cannot travel: a message that has one is an
// error, and so is one that has no wire form because it never leaves its process.
func Marshal(m checkpoint.Message) ([]byte, error) {
	e, err := ToWire(m)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(e)
}

// Unmarshal reads what Marshal has written.
func Unmarshal(b []byte) (checkpoint.Message, error) {
	var e Envelope
	if err := proto.Unmarshal(b, &e); err != nil {
		return nil, fmt.Errorf("checkpoint message: %w", err)
	}
	return FromWire(&e)
}

// MarshalList gives the form in which a list of checkpoints is kept.
func MarshalList(list []checkpoint.CheckpointInfo) ([]byte, error) {
	infos, err := infosToWire(list)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(&Checkpoints{Checkpoints: infos})
}

// UnmarshalList reads what MarshalList has written.
func UnmarshalList(b []byte) ([]checkpoint.CheckpointInfo, error) {
	var l Checkpoints
	if err := proto.Unmarshal(b, &l); err != nil {
		return nil, fmt.Errorf("list of checkpoints: %w", err)
	}
	return infosFromWire(l.GetCheckpoints()), nil
}

var (
	errNative   = errors.New("checkpoint message: a state by reference cannot leave its process")
	errMutation = errors.New("checkpoint message: a mutation by reference cannot leave its process")
)

func convert[A, B any](as []A, f func(A) B) []B {
	if len(as) == 0 {
		return nil
	}
	bs := make([]B, len(as))
	for i, a := range as {
		bs[i] = f(a)
	}
	return bs
}

func convertErr[A, B any](as []A, f func(A) (B, error)) ([]B, error) {
	if len(as) == 0 {
		return nil, nil
	}
	bs := make([]B, len(as))
	for i, a := range as {
		var err error
		if bs[i], err = f(a); err != nil {
			return nil, err
		}
	}
	return bs, nil
}

func actorsToWire(as []checkpoint.ActorID) []uint32 {
	return convert(as, func(a checkpoint.ActorID) uint32 { return uint32(a) })
}

func actorsFromWire(as []uint32) []checkpoint.ActorID {
	return convert(as, func(a uint32) checkpoint.ActorID { return checkpoint.ActorID(a) })
}

func epochsToWire(es []checkpoint.Epoch) []uint64 {
	return convert(es, func(e checkpoint.Epoch) uint64 { return uint64(e) })
}

func epochsFromWire(es []uint64) []checkpoint.Epoch {
	return convert(es, func(e uint64) checkpoint.Epoch { return checkpoint.Epoch(e) })
}

func stateToWire(s checkpoint.StateRef) (*State, error) {
	if s.Native != nil {
		return nil, errNative
	}
	w := &State{Actor: uint32(s.Actor), Epoch: uint64(s.Epoch), Full: s.Full}
	switch {
	case s.Location != "":
		w.Place = &State_Location{s.Location}
	case s.Inline != nil:
		w.Place = &State_Inline{s.Inline}
	}
	return w, nil
}

func stateFromWire(w *State) checkpoint.StateRef {
	return checkpoint.StateRef{
		Actor: checkpoint.ActorID(w.GetActor()), Epoch: checkpoint.Epoch(w.GetEpoch()), Full: w.GetFull(), Inline: w.GetInline(), Location: w.GetLocation(),
	}
}

func stateOrNil(s *checkpoint.StateRef) (*State, error) {
	if s == nil {
		return nil, nil
	}
	return stateToWire(*s)
}

func stateOrNilFromWire(w *State) *checkpoint.StateRef {
	if w == nil {
		return nil
	}
	s := stateFromWire(w)
	return &s
}

func placementToWire(p checkpoint.Placement) *Placement {
	return &Placement{Actor: uint32(p.Actor), Worker: string(p.Worker), Source: p.Source}
}

func placementFromWire(w *Placement) checkpoint.Placement {
	return checkpoint.Placement{Actor: checkpoint.ActorID(w.GetActor()), Worker: checkpoint.WorkerID(w.GetWorker()), Source: w.GetSource()}
}

func positionToWire(p checkpoint.ChannelPosition) *ChannelPosition {
	return &ChannelPosition{Peer: uint32(p.Peer), Generation: uint64(p.Generation), Epoch: uint64(p.Epoch), Seq: p.Seq}
}

func positionFromWire(w *ChannelPosition) checkpoint.ChannelPosition {
	return checkpoint.ChannelPosition{
		Peer: checkpoint.ActorID(w.GetPeer()), Generation: checkpoint.Generation(w.GetGeneration()), Epoch: checkpoint.Epoch(w.GetEpoch()), Seq: w.GetSeq(),
	}
}

func infoToWire(i checkpoint.CheckpointInfo) (*CheckpointInfo, error) {
	states, err := convertErr(i.States, stateToWire)
	return &CheckpointInfo{
		Epoch: uint64(i.Epoch), Kind: Kind(i.Kind), RestoreTxid: uint64(i.Txid), Parent: uint64(i.Parent), States: states,
		Actors: convert(i.Actors, placementToWire), LastMutation: i.LastMutation,
	}, err
}

func infoFromWire(w *CheckpointInfo) checkpoint.CheckpointInfo {
	return checkpoint.CheckpointInfo{
		Epoch: checkpoint.Epoch(w.GetEpoch()), Kind: checkpoint.Kind(w.GetKind()), Txid: checkpoint.RestoreTxid(w.GetRestoreTxid()), Parent: checkpoint.Epoch(w.GetParent()),
		States: convert(w.GetStates(), stateFromWire), Actors: convert(w.GetActors(), placementFromWire), LastMutation: w.GetLastMutation(),
	}
}

func infosToWire(list []checkpoint.CheckpointInfo) ([]*CheckpointInfo, error) {
	return convertErr(list, infoToWire)
}

func infosFromWire(list []*CheckpointInfo) []checkpoint.CheckpointInfo {
	return convert(list, infoFromWire)
}

// mutationToWire takes a mutation that is bytes already: what a change of the graph looks like is the business of
// who makes it.
func mutationToWire(m any) ([]byte, error) {
	switch m := m.(type) {
	case nil:
		return nil, nil
	case []byte:
		return m, nil
	}
	return nil, errMutation
}

func mutationFromWire(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

func roundToWire(r checkpoint.RoundReport) (*RoundReport, error) {
	mut, err := mutationToWire(r.Mutation)
	return &RoundReport{
		Epoch: uint64(r.Epoch), Kind: Kind(r.Kind), MutationId: r.MutationID, Mutation: mut, Add: convert(r.Add, placementToWire), Remove: actorsToWire(r.Remove),
	}, err
}

func roundFromWire(w *RoundReport) checkpoint.RoundReport {
	return checkpoint.RoundReport{
		Epoch: checkpoint.Epoch(w.GetEpoch()), Kind: checkpoint.Kind(w.GetKind()), MutationID: w.GetMutationId(), Mutation: mutationFromWire(w.GetMutation()),
		Add: convert(w.GetAdd(), placementFromWire), Remove: actorsFromWire(w.GetRemove()),
	}
}

func actorToWire(a checkpoint.ActorReport) (*ActorReport, error) {
	states, err := convertErr(a.States, stateToWire)
	w := &ActorReport{
		Actor: uint32(a.Actor), Attempt: uint64(a.Attempt), Number: a.Number, State: ActorState(a.State), Detail: a.Detail,
		Source: a.Source, First: uint64(a.First), Last: uint64(a.Last), Passed: uint64(a.Passed), States: states,
		Inputs: convert(a.Inputs, positionToWire), Outputs: convert(a.Outputs, positionToWire),
	}
	if !a.Start.IsZero() {
		w.Start = a.Start.UnixNano()
	}
	return w, err
}

func actorFromWire(w *ActorReport) checkpoint.ActorReport {
	a := checkpoint.ActorReport{
		Actor: checkpoint.ActorID(w.GetActor()), Attempt: checkpoint.AttemptID(w.GetAttempt()), Number: w.GetNumber(),
		State: checkpoint.ActorState(w.GetState()), Detail: w.GetDetail(), Source: w.GetSource(), First: checkpoint.Epoch(w.GetFirst()),
		Last: checkpoint.Epoch(w.GetLast()), Passed: checkpoint.Epoch(w.GetPassed()), States: convert(w.GetStates(), stateFromWire),
		Inputs: convert(w.GetInputs(), positionFromWire), Outputs: convert(w.GetOutputs(), positionFromWire),
	}
	if w.GetStart() != 0 {
		a.Start = time.Unix(0, w.GetStart())
	}
	return a
}

// places says where the actors of a mutation live; one that it does not name lives on the only worker, whose name is
// not known here.
func places(m checkpoint.Mutate) []*Placement {
	return convert(m.Add, func(a checkpoint.ActorID) *Placement {
		for _, p := range m.Place {
			if p.Actor == a {
				return placementToWire(p)
			}
		}
		return &Placement{Actor: uint32(a)}
	})
}
