package checkpointpb

import (
	"fmt"
	"time"

	"github.com/weirdb/weir/checkpoint"
)

// ToWire gives the wire form of a message, see Marshal.
func ToWire(m checkpoint.Message) (*Envelope, error) {
	switch m := m.(type) {
	case checkpoint.RegisterCoordinator:
		return wrap(&Envelope_RegisterCoordinator{&RegisterCoordinator{Incarnation: m.Incarnation}}), nil
	case checkpoint.RegisterCoordinatorResponse:
		checkpoints, err := infosToWire(m.Checkpoints)
		if err != nil {
			return nil, err
		}
		return wrap(&Envelope_RegisterCoordinatorResponse{&RegisterCoordinatorResponse{
			Incarnation: m.Incarnation, Status: Status(m.Status), Detail: m.Detail, Term: uint64(m.Term),
			Checkpoints: checkpoints, RestoreTxid: uint64(m.Txid), InProgress: uint64(m.InProgress),
		}}), nil
	case checkpoint.RegisterWorker:
		return wrap(&Envelope_RegisterWorker{&RegisterWorker{
			Worker: string(m.Worker), Incarnation: m.Incarnation,
		}}), nil
	case checkpoint.RegisterWorkerResponse:
		return wrap(&Envelope_RegisterWorkerResponse{&RegisterWorkerResponse{
			Worker: string(m.Worker), Incarnation: m.Incarnation, Status: Status(m.Status), Detail: m.Detail,
			Generation: uint64(m.Generation),
		}}), nil
	case checkpoint.Reconcile:
		return wrap(&Envelope_Reconcile{&Reconcile{Term: uint64(m.Term)}}), nil
	case checkpoint.ListCheckpoints:
		return wrap(&Envelope_ListCheckpoints{&ListCheckpoints{Term: uint64(m.Term), RestoreTxid: uint64(m.Txid)}}), nil
	case checkpoint.CheckpointList:
		checkpoints, err := infosToWire(m.Checkpoints)
		if err != nil {
			return nil, err
		}
		return wrap(&Envelope_CheckpointList{&CheckpointList{
			Term: uint64(m.Term), RestoreTxid: uint64(m.Txid), Status: Status(m.Status), Detail: m.Detail,
			Checkpoints: checkpoints,
		}}), nil
	case checkpoint.RestoreTopologyState:
		return wrap(&Envelope_RestoreTopologyState{&RestoreTopologyState{
			Term: uint64(m.Term), RestoreTxid: uint64(m.Txid), Generation: uint64(m.Generation),
			Checkpoint: uint64(m.Checkpoint), Actors: convert(m.Actors, placementToWire), Base: uint64(m.Base),
			LastMutation: m.LastMutation,
		}}), nil
	case checkpoint.RestoreTopologyStateResponse:
		return wrap(&Envelope_RestoreTopologyStateResponse{&RestoreTopologyStateResponse{
			Worker: string(m.Worker), Generation: uint64(m.Generation), RestoreTxid: uint64(m.Txid),
			Checkpoint: uint64(m.Checkpoint), Status: Status(m.Status), Detail: m.Detail,
			Actors: convert(m.Actors, placementToWire),
		}}), nil
	case checkpoint.GetInstanceState:
		return wrap(&Envelope_GetInstanceState{&GetInstanceState{
			Worker: string(m.Worker), Generation: uint64(m.Generation), RestoreTxid: uint64(m.Txid),
			Actor: uint32(m.Actor), Checkpoint: uint64(m.Checkpoint),
		}}), nil
	case checkpoint.GetInstanceStateResponse:
		states, err := convertErr(m.States, stateToWire)
		if err != nil {
			return nil, err
		}
		return wrap(&Envelope_GetInstanceStateResponse{&GetInstanceStateResponse{
			Worker: string(m.Worker), RestoreTxid: uint64(m.Txid), Actor: uint32(m.Actor),
			Checkpoint: uint64(m.Checkpoint), Status: Status(m.Status), Detail: m.Detail, States: states,
		}}), nil
	case checkpoint.RestoreInstanceState:
		states, err := convertErr(m.States, stateToWire)
		if err != nil {
			return nil, err
		}
		return wrap(&Envelope_RestoreInstanceState{&RestoreInstanceState{
			Actor: uint32(m.Actor), Attempt: uint64(m.Attempt), Number: m.Number, RestoreTxid: uint64(m.Txid),
			Checkpoint: uint64(m.Checkpoint), States: states,
		}}), nil
	case checkpoint.RestoreInstanceStateResponse:
		return wrap(&Envelope_RestoreInstanceStateResponse{&RestoreInstanceStateResponse{
			Actor: uint32(m.Actor), Attempt: uint64(m.Attempt), Status: Status(m.Status), Detail: m.Detail,
		}}), nil
	case checkpoint.StartProcessing:
		return wrap(&Envelope_StartProcessing{&StartProcessing{
			Term: uint64(m.Term), RestoreTxid: uint64(m.Txid), Checkpoint: uint64(m.Checkpoint),
		}}), nil
	case checkpoint.StartInstanceProcessing:
		return wrap(&Envelope_StartInstanceProcessing{&StartInstanceProcessing{
			Actor: uint32(m.Actor), Attempt: uint64(m.Attempt),
		}}), nil
	case checkpoint.StopInstance:
		return wrap(&Envelope_StopInstance{&StopInstance{Actor: uint32(m.Actor), Attempt: uint64(m.Attempt)}}), nil
	case checkpoint.InstanceEnded:
		return wrap(&Envelope_InstanceEnded{&InstanceEnded{
			Actor: uint32(m.Actor), Attempt: uint64(m.Attempt), State: ActorState(m.State), Detail: m.Detail,
		}}), nil
	case checkpoint.StartCheckpoint:
		mutation, err := mutationToWire(m.Mutation)
		if err != nil {
			return nil, err
		}
		return wrap(&Envelope_StartCheckpoint{&StartCheckpoint{
			Term: uint64(m.Term), RestoreTxid: uint64(m.Txid), Epoch: uint64(m.Epoch), Kind: Kind(m.Kind),
			MutationId: m.MutationID, Mutation: mutation, Add: convert(m.Add, placementToWire),
			Remove: actorsToWire(m.Remove),
		}}), nil
	case checkpoint.InitiateCheckpoint:
		mutation, err := mutationToWire(m.Mutation)
		if err != nil {
			return nil, err
		}
		return wrap(&Envelope_InitiateCheckpoint{&InitiateCheckpoint{
			Actors: actorsToWire(m.Actors), Epoch: uint64(m.Epoch), Kind: Kind(m.Kind), Mutation: mutation,
		}}), nil
	case checkpoint.DownstreamMarker:
		return wrap(&Envelope_DownstreamMarker{&DownstreamMarker{
			Origin: uint32(m.Origin), Destination: uint32(m.Destination), Generation: uint64(m.Generation),
			Epoch: uint64(m.Epoch), Kind: Kind(m.Kind), Seq: m.Seq,
		}}), nil
	case checkpoint.StoreInstanceState:
		state, err := stateOrNil(m.State)
		if err != nil {
			return nil, err
		}
		return wrap(&Envelope_StoreInstanceState{&StoreInstanceState{
			Actor: uint32(m.Actor), Attempt: uint64(m.Attempt), Epoch: uint64(m.Epoch), State: state,
			Inputs: convert(m.Inputs, positionToWire), Outputs: convert(m.Outputs, positionToWire),
		}}), nil
	case checkpoint.SaveInstanceState:
		state, err := stateToWire(m.State)
		if err != nil {
			return nil, err
		}
		return wrap(&Envelope_SaveInstanceState{&SaveInstanceState{
			Worker: string(m.Worker), Generation: uint64(m.Generation), RestoreTxid: uint64(m.Txid),
			State: state,
		}}), nil
	case checkpoint.SaveInstanceStateResponse:
		return wrap(&Envelope_SaveInstanceStateResponse{&SaveInstanceStateResponse{
			Worker: string(m.Worker), RestoreTxid: uint64(m.Txid), Actor: uint32(m.Actor),
			Epoch: uint64(m.Epoch), Status: Status(m.Status), Detail: m.Detail, Location: m.Location,
		}}), nil
	case checkpoint.InstanceStateStored:
		state, err := stateOrNil(m.State)
		if err != nil {
			return nil, err
		}
		return wrap(&Envelope_InstanceStateStored{&InstanceStateStored{
			Worker: string(m.Worker), Generation: uint64(m.Generation), RestoreTxid: uint64(m.Txid),
			Actor: uint32(m.Actor), Attempt: uint64(m.Attempt), Epoch: uint64(m.Epoch), State: state,
			Pending: m.Pending,
		}}), nil
	case checkpoint.EpochCompleted:
		return wrap(&Envelope_EpochCompleted{&EpochCompleted{
			Term: uint64(m.Term), RestoreTxid: uint64(m.Txid), Epoch: uint64(m.Epoch),
		}}), nil
	case checkpoint.RecordCheckpoint:
		checkpoint, err := infoToWire(m.Checkpoint)
		if err != nil {
			return nil, err
		}
		return wrap(&Envelope_RecordCheckpoint{&RecordCheckpoint{Term: uint64(m.Term), Checkpoint: checkpoint}}), nil
	case checkpoint.CheckpointRecorded:
		return wrap(&Envelope_CheckpointRecorded{&CheckpointRecorded{
			Term: uint64(m.Term), RestoreTxid: uint64(m.Txid), Epoch: uint64(m.Epoch), Status: Status(m.Status),
			Detail: m.Detail,
		}}), nil
	case checkpoint.CheckpointSaved:
		return wrap(&Envelope_CheckpointSaved{&CheckpointSaved{
			Term: uint64(m.Term), RestoreTxid: uint64(m.Txid), Epoch: uint64(m.Epoch),
		}}), nil
	case checkpoint.InstanceCheckpointSaved:
		return wrap(&Envelope_InstanceCheckpointSaved{&InstanceCheckpointSaved{
			Actors: actorsToWire(m.Actors), Epoch: uint64(m.Epoch),
		}}), nil
	case checkpoint.CheckpointAborted:
		return wrap(&Envelope_CheckpointAborted{&CheckpointAborted{
			Term: uint64(m.Term), RestoreTxid: uint64(m.Txid), Epoch: uint64(m.Epoch), Reason: m.Reason,
		}}), nil
	case checkpoint.CleanResponse:
		return wrap(&Envelope_CleanResponse{&CleanResponse{
			Term: uint64(m.Term), Status: Status(m.Status), Detail: m.Detail, Cleaned: epochsToWire(m.Cleaned),
		}}), nil
	case checkpoint.ResetTopologyState:
		return wrap(&Envelope_ResetTopologyState{&ResetTopologyState{
			DeadWorker: string(m.DeadWorker), DeadActor: uint32(m.DeadActor), RestoreTxid: uint64(m.Txid),
			Reason: m.Reason,
		}}), nil
	case checkpoint.UpdateActorState:
		return wrap(&Envelope_UpdateActorState{&UpdateActorState{
			Worker: string(m.Worker), Generation: uint64(m.Generation), RestoreTxid: uint64(m.Txid),
			Actor: uint32(m.Actor), Attempt: uint64(m.Attempt), State: ActorState(m.State), Detail: m.Detail,
			Passed: uint64(m.Passed),
		}}), nil
	case checkpoint.AckActorState:
		return wrap(&Envelope_AckActorState{&AckActorState{
			Term:     uint64(m.Term),
			Attempts: convert(m.Attempts, func(a checkpoint.AttemptID) uint64 { return uint64(a) }),
		}}), nil
	case checkpoint.ForgetActors:
		return wrap(&Envelope_ForgetActors{&ForgetActors{Term: uint64(m.Term), RestoreTxid: uint64(m.Txid), Actors: actorsToWire(m.Actors)}}), nil
	case checkpoint.WorkerReport:
		rounds, err := convertErr(m.Rounds, roundToWire)
		if err != nil {
			return nil, err
		}
		actors, err := convertErr(m.Actors, actorToWire)
		if err != nil {
			return nil, err
		}
		return wrap(&Envelope_WorkerReport{&WorkerReport{
			Term: uint64(m.Term), Worker: string(m.Worker), Generation: uint64(m.Generation),
			Phase: Phase(m.Phase), RestoreTxid: uint64(m.Txid), Checkpoint: uint64(m.Checkpoint),
			Started: uint64(m.Started), Completed: uint64(m.Completed), Saved: uint64(m.Saved),
			LastMutation: m.LastMutation, Dirty: m.Dirty, Rounds: rounds, Actors: actors,
		}}), nil
	case checkpoint.RetryLater:
		return wrap(&Envelope_RetryLater{&RetryLater{Term: uint64(m.Term), After: int64(m.After)}}), nil
	case checkpoint.InputArrived:
		return wrap(&Envelope_InputArrived{&InputArrived{}}), nil
	case checkpoint.Demand:
		return wrap(&Envelope_Demand{&Demand{Epoch: uint64(m.Epoch)}}), nil
	case checkpoint.CheckpointDemand:
		return wrap(&Envelope_CheckpointDemand{&CheckpointDemand{Epoch: uint64(m.Epoch), Savepoint: m.Savepoint}}), nil
	case checkpoint.Abort:
		return wrap(&Envelope_Abort{&Abort{Epoch: uint64(m.Epoch), Reason: m.Reason}}), nil
	case checkpoint.Lost:
		return wrap(&Envelope_Lost{&Lost{Actors: actorsToWire(m.Actors), Version: uint64(m.Version)}}), nil
	case checkpoint.Hold:
		return wrap(&Envelope_Hold{&Hold{On: m.On}}), nil
	case checkpoint.Clean:
		c := &Clean{Term: uint64(m.Term)}
		if m.All {
			c.What = &Clean_All{true}
		} else {
			c.What = &Clean_OldestPreserved{uint64(m.OldestPreserved)}
		}
		return wrap(&Envelope_Clean{c}), nil
	case checkpoint.Mutate:
		mutation, err := mutationToWire(m.Mutation)
		if err != nil {
			return nil, err
		}
		return wrap(&Envelope_Mutate{&Mutate{
			Id: m.ID, Mutation: mutation, Add: places(m), Remove: actorsToWire(m.Remove),
			Checkpoint: m.Checkpoint, Version: uint64(m.Version),
		}}), nil
	}
	return nil, fmt.Errorf("checkpoint message: a %T never leaves its process", m)
}

func wrap(m isEnvelope_Message) *Envelope { return &Envelope{Message: m} }

// FromWire gives the message of a wire form.
func FromWire(e *Envelope) (checkpoint.Message, error) {
	switch w := e.GetMessage().(type) {
	case *Envelope_RegisterCoordinator:
		x := w.RegisterCoordinator
		return checkpoint.RegisterCoordinator{Incarnation: x.GetIncarnation()}, nil
	case *Envelope_RegisterCoordinatorResponse:
		x := w.RegisterCoordinatorResponse
		return checkpoint.RegisterCoordinatorResponse{
			Incarnation: x.GetIncarnation(), Status: checkpoint.Status(x.GetStatus()), Detail: x.GetDetail(),
			Term: checkpoint.Term(x.GetTerm()), Checkpoints: infosFromWire(x.GetCheckpoints()),
			Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()), InProgress: checkpoint.Epoch(x.GetInProgress()),
		}, nil
	case *Envelope_RegisterWorker:
		x := w.RegisterWorker
		return checkpoint.RegisterWorker{
			Worker: checkpoint.WorkerID(x.GetWorker()), Incarnation: x.GetIncarnation(),
		}, nil
	case *Envelope_RegisterWorkerResponse:
		x := w.RegisterWorkerResponse
		return checkpoint.RegisterWorkerResponse{
			Worker: checkpoint.WorkerID(x.GetWorker()), Incarnation: x.GetIncarnation(),
			Status: checkpoint.Status(x.GetStatus()), Detail: x.GetDetail(),
			Generation: checkpoint.Generation(x.GetGeneration()),
		}, nil
	case *Envelope_Reconcile:
		x := w.Reconcile
		return checkpoint.Reconcile{Term: checkpoint.Term(x.GetTerm())}, nil
	case *Envelope_ListCheckpoints:
		x := w.ListCheckpoints
		return checkpoint.ListCheckpoints{
			Term: checkpoint.Term(x.GetTerm()), Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()),
		}, nil
	case *Envelope_CheckpointList:
		x := w.CheckpointList
		return checkpoint.CheckpointList{
			Term: checkpoint.Term(x.GetTerm()), Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()),
			Status: checkpoint.Status(x.GetStatus()), Detail: x.GetDetail(),
			Checkpoints: infosFromWire(x.GetCheckpoints()),
		}, nil
	case *Envelope_RestoreTopologyState:
		x := w.RestoreTopologyState
		return checkpoint.RestoreTopologyState{
			Term: checkpoint.Term(x.GetTerm()), Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()),
			Generation: checkpoint.Generation(x.GetGeneration()),
			Checkpoint: checkpoint.Epoch(x.GetCheckpoint()), Actors: convert(x.GetActors(), placementFromWire),
			Base: checkpoint.Epoch(x.GetBase()), LastMutation: x.GetLastMutation(),
		}, nil
	case *Envelope_RestoreTopologyStateResponse:
		x := w.RestoreTopologyStateResponse
		return checkpoint.RestoreTopologyStateResponse{
			Worker: checkpoint.WorkerID(x.GetWorker()), Generation: checkpoint.Generation(x.GetGeneration()),
			Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()), Checkpoint: checkpoint.Epoch(x.GetCheckpoint()),
			Status: checkpoint.Status(x.GetStatus()), Detail: x.GetDetail(),
			Actors: convert(x.GetActors(), placementFromWire),
		}, nil
	case *Envelope_GetInstanceState:
		x := w.GetInstanceState
		return checkpoint.GetInstanceState{
			Worker: checkpoint.WorkerID(x.GetWorker()), Generation: checkpoint.Generation(x.GetGeneration()),
			Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()), Actor: checkpoint.ActorID(x.GetActor()),
			Checkpoint: checkpoint.Epoch(x.GetCheckpoint()),
		}, nil
	case *Envelope_GetInstanceStateResponse:
		x := w.GetInstanceStateResponse
		return checkpoint.GetInstanceStateResponse{
			Worker: checkpoint.WorkerID(x.GetWorker()), Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()),
			Actor: checkpoint.ActorID(x.GetActor()), Checkpoint: checkpoint.Epoch(x.GetCheckpoint()),
			Status: checkpoint.Status(x.GetStatus()), Detail: x.GetDetail(),
			States: convert(x.GetStates(), stateFromWire),
		}, nil
	case *Envelope_RestoreInstanceState:
		x := w.RestoreInstanceState
		return checkpoint.RestoreInstanceState{
			Actor: checkpoint.ActorID(x.GetActor()), Attempt: checkpoint.AttemptID(x.GetAttempt()),
			Number: x.GetNumber(), Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()),
			Checkpoint: checkpoint.Epoch(x.GetCheckpoint()), States: convert(x.GetStates(), stateFromWire),
		}, nil
	case *Envelope_RestoreInstanceStateResponse:
		x := w.RestoreInstanceStateResponse
		return checkpoint.RestoreInstanceStateResponse{
			Actor: checkpoint.ActorID(x.GetActor()), Attempt: checkpoint.AttemptID(x.GetAttempt()),
			Status: checkpoint.Status(x.GetStatus()), Detail: x.GetDetail(),
		}, nil
	case *Envelope_StartProcessing:
		x := w.StartProcessing
		return checkpoint.StartProcessing{
			Term: checkpoint.Term(x.GetTerm()), Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()),
			Checkpoint: checkpoint.Epoch(x.GetCheckpoint()),
		}, nil
	case *Envelope_StartInstanceProcessing:
		x := w.StartInstanceProcessing
		return checkpoint.StartInstanceProcessing{
			Actor: checkpoint.ActorID(x.GetActor()), Attempt: checkpoint.AttemptID(x.GetAttempt()),
		}, nil
	case *Envelope_StopInstance:
		x := w.StopInstance
		return checkpoint.StopInstance{
			Actor: checkpoint.ActorID(x.GetActor()), Attempt: checkpoint.AttemptID(x.GetAttempt()),
		}, nil
	case *Envelope_InstanceEnded:
		x := w.InstanceEnded
		return checkpoint.InstanceEnded{
			Actor: checkpoint.ActorID(x.GetActor()), Attempt: checkpoint.AttemptID(x.GetAttempt()),
			State: checkpoint.ActorState(x.GetState()), Detail: x.GetDetail(),
		}, nil
	case *Envelope_StartCheckpoint:
		x := w.StartCheckpoint
		return checkpoint.StartCheckpoint{
			Term: checkpoint.Term(x.GetTerm()), Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()),
			Epoch: checkpoint.Epoch(x.GetEpoch()), Kind: checkpoint.Kind(x.GetKind()),
			MutationID: x.GetMutationId(), Mutation: mutationFromWire(x.GetMutation()),
			Add: convert(x.GetAdd(), placementFromWire), Remove: actorsFromWire(x.GetRemove()),
		}, nil
	case *Envelope_InitiateCheckpoint:
		x := w.InitiateCheckpoint
		return checkpoint.InitiateCheckpoint{
			Actors: actorsFromWire(x.GetActors()), Epoch: checkpoint.Epoch(x.GetEpoch()),
			Kind: checkpoint.Kind(x.GetKind()), Mutation: mutationFromWire(x.GetMutation()),
		}, nil
	case *Envelope_DownstreamMarker:
		x := w.DownstreamMarker
		return checkpoint.DownstreamMarker{
			Origin: checkpoint.ActorID(x.GetOrigin()), Destination: checkpoint.ActorID(x.GetDestination()),
			Generation: checkpoint.Generation(x.GetGeneration()), Epoch: checkpoint.Epoch(x.GetEpoch()),
			Kind: checkpoint.Kind(x.GetKind()), Seq: x.GetSeq(),
		}, nil
	case *Envelope_StoreInstanceState:
		x := w.StoreInstanceState
		return checkpoint.StoreInstanceState{
			Actor: checkpoint.ActorID(x.GetActor()), Attempt: checkpoint.AttemptID(x.GetAttempt()),
			Epoch: checkpoint.Epoch(x.GetEpoch()), State: stateOrNilFromWire(x.GetState()),
			Inputs: convert(x.GetInputs(), positionFromWire), Outputs: convert(x.GetOutputs(), positionFromWire),
		}, nil
	case *Envelope_SaveInstanceState:
		x := w.SaveInstanceState
		return checkpoint.SaveInstanceState{
			Worker: checkpoint.WorkerID(x.GetWorker()), Generation: checkpoint.Generation(x.GetGeneration()),
			Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()), State: stateFromWire(x.GetState()),
		}, nil
	case *Envelope_SaveInstanceStateResponse:
		x := w.SaveInstanceStateResponse
		return checkpoint.SaveInstanceStateResponse{
			Worker: checkpoint.WorkerID(x.GetWorker()), Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()),
			Actor: checkpoint.ActorID(x.GetActor()), Epoch: checkpoint.Epoch(x.GetEpoch()),
			Status: checkpoint.Status(x.GetStatus()), Detail: x.GetDetail(), Location: x.GetLocation(),
		}, nil
	case *Envelope_InstanceStateStored:
		x := w.InstanceStateStored
		return checkpoint.InstanceStateStored{
			Worker: checkpoint.WorkerID(x.GetWorker()), Generation: checkpoint.Generation(x.GetGeneration()),
			Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()), Actor: checkpoint.ActorID(x.GetActor()),
			Attempt: checkpoint.AttemptID(x.GetAttempt()), Epoch: checkpoint.Epoch(x.GetEpoch()),
			State: stateOrNilFromWire(x.GetState()), Pending: x.GetPending(),
		}, nil
	case *Envelope_EpochCompleted:
		x := w.EpochCompleted
		return checkpoint.EpochCompleted{
			Term: checkpoint.Term(x.GetTerm()), Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()),
			Epoch: checkpoint.Epoch(x.GetEpoch()),
		}, nil
	case *Envelope_RecordCheckpoint:
		x := w.RecordCheckpoint
		return checkpoint.RecordCheckpoint{
			Term: checkpoint.Term(x.GetTerm()), Checkpoint: infoFromWire(x.GetCheckpoint()),
		}, nil
	case *Envelope_CheckpointRecorded:
		x := w.CheckpointRecorded
		return checkpoint.CheckpointRecorded{
			Term: checkpoint.Term(x.GetTerm()), Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()),
			Epoch: checkpoint.Epoch(x.GetEpoch()), Status: checkpoint.Status(x.GetStatus()),
			Detail: x.GetDetail(),
		}, nil
	case *Envelope_CheckpointSaved:
		x := w.CheckpointSaved
		return checkpoint.CheckpointSaved{
			Term: checkpoint.Term(x.GetTerm()), Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()),
			Epoch: checkpoint.Epoch(x.GetEpoch()),
		}, nil
	case *Envelope_InstanceCheckpointSaved:
		x := w.InstanceCheckpointSaved
		return checkpoint.InstanceCheckpointSaved{
			Actors: actorsFromWire(x.GetActors()), Epoch: checkpoint.Epoch(x.GetEpoch()),
		}, nil
	case *Envelope_CheckpointAborted:
		x := w.CheckpointAborted
		return checkpoint.CheckpointAborted{
			Term: checkpoint.Term(x.GetTerm()), Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()),
			Epoch: checkpoint.Epoch(x.GetEpoch()), Reason: x.GetReason(),
		}, nil
	case *Envelope_CleanResponse:
		x := w.CleanResponse
		return checkpoint.CleanResponse{
			Term: checkpoint.Term(x.GetTerm()), Status: checkpoint.Status(x.GetStatus()), Detail: x.GetDetail(),
			Cleaned: epochsFromWire(x.GetCleaned()),
		}, nil
	case *Envelope_ResetTopologyState:
		x := w.ResetTopologyState
		return checkpoint.ResetTopologyState{
			DeadWorker: checkpoint.WorkerID(x.GetDeadWorker()), DeadActor: checkpoint.ActorID(x.GetDeadActor()),
			Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()), Reason: x.GetReason(),
		}, nil
	case *Envelope_UpdateActorState:
		x := w.UpdateActorState
		return checkpoint.UpdateActorState{
			Worker: checkpoint.WorkerID(x.GetWorker()), Generation: checkpoint.Generation(x.GetGeneration()),
			Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()), Actor: checkpoint.ActorID(x.GetActor()),
			Attempt: checkpoint.AttemptID(x.GetAttempt()), State: checkpoint.ActorState(x.GetState()),
			Detail: x.GetDetail(), Passed: checkpoint.Epoch(x.GetPassed()),
		}, nil
	case *Envelope_AckActorState:
		x := w.AckActorState
		return checkpoint.AckActorState{
			Term:     checkpoint.Term(x.GetTerm()),
			Attempts: convert(x.GetAttempts(), func(a uint64) checkpoint.AttemptID { return checkpoint.AttemptID(a) }),
		}, nil
	case *Envelope_ForgetActors:
		x := w.ForgetActors
		return checkpoint.ForgetActors{
			Term: checkpoint.Term(x.GetTerm()), Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()), Actors: actorsFromWire(x.GetActors()),
		}, nil
	case *Envelope_WorkerReport:
		x := w.WorkerReport
		return checkpoint.WorkerReport{
			Term: checkpoint.Term(x.GetTerm()), Worker: checkpoint.WorkerID(x.GetWorker()),
			Generation: checkpoint.Generation(x.GetGeneration()), Phase: checkpoint.Phase(x.GetPhase()),
			Txid: checkpoint.RestoreTxid(x.GetRestoreTxid()), Checkpoint: checkpoint.Epoch(x.GetCheckpoint()),
			Started: checkpoint.Epoch(x.GetStarted()), Completed: checkpoint.Epoch(x.GetCompleted()),
			Saved: checkpoint.Epoch(x.GetSaved()), LastMutation: x.GetLastMutation(), Dirty: x.GetDirty(),
			Rounds: convert(x.GetRounds(), roundFromWire), Actors: convert(x.GetActors(), actorFromWire),
		}, nil
	case *Envelope_RetryLater:
		x := w.RetryLater
		return checkpoint.RetryLater{Term: checkpoint.Term(x.GetTerm()), After: time.Duration(x.GetAfter())}, nil
	case *Envelope_InputArrived:
		return checkpoint.InputArrived{}, nil
	case *Envelope_Demand:
		x := w.Demand
		return checkpoint.Demand{Epoch: checkpoint.Epoch(x.GetEpoch())}, nil
	case *Envelope_CheckpointDemand:
		x := w.CheckpointDemand
		return checkpoint.CheckpointDemand{Epoch: checkpoint.Epoch(x.GetEpoch()), Savepoint: x.GetSavepoint()}, nil
	case *Envelope_Abort:
		x := w.Abort
		return checkpoint.Abort{Epoch: checkpoint.Epoch(x.GetEpoch()), Reason: x.GetReason()}, nil
	case *Envelope_Lost:
		x := w.Lost
		return checkpoint.Lost{
			Actors: actorsFromWire(x.GetActors()), Version: checkpoint.RestoreTxid(x.GetVersion()),
		}, nil
	case *Envelope_Hold:
		x := w.Hold
		return checkpoint.Hold{On: x.GetOn()}, nil
	case *Envelope_Clean:
		return checkpoint.Clean{
			Term:            checkpoint.Term(w.Clean.GetTerm()),
			OldestPreserved: checkpoint.Epoch(w.Clean.GetOldestPreserved()), All: w.Clean.GetAll(),
		}, nil
	case *Envelope_Mutate:
		x := w.Mutate
		m := checkpoint.Mutate{
			ID: x.GetId(), Mutation: mutationFromWire(x.GetMutation()), Remove: actorsFromWire(x.GetRemove()),
			Checkpoint: x.GetCheckpoint(), Version: checkpoint.RestoreTxid(x.GetVersion()),
		}
		for _, p := range x.GetAdd() {
			m.Add = append(m.Add, checkpoint.ActorID(p.GetActor()))
			if p.GetWorker() != "" || p.GetSource() {
				m.Place = append(m.Place, placementFromWire(p))
			}
		}
		return m, nil
	}
	return nil, fmt.Errorf("checkpoint message: unknown content %T", e.GetMessage())
}
