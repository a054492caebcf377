package sim

import (
	"fmt"
	"strings"

	"github.com/weirdb/weir/checkpoint"
)

// describe writes a message as a trace shows it.
func describe(m checkpoint.Message) string {
	name := strings.TrimPrefix(fmt.Sprintf("%T", m), "checkpoint.")
	switch m := m.(type) {
	case checkpoint.RegisterCoordinatorResponse:
		return fmt.Sprintf("%s %s term %d", name, m.Status, m.Term)
	case checkpoint.RegisterWorkerResponse:
		return fmt.Sprintf("%s %s generation %d", name, m.Status, m.Generation)
	case checkpoint.RestoreTopologyState:
		return fmt.Sprintf("%s %s to checkpoint %d", name, m.Txid, m.Checkpoint)
	case checkpoint.RestoreTopologyStateResponse:
		return strings.TrimRight(fmt.Sprintf("%s %s checkpoint %d %s %s", name, m.Txid, m.Checkpoint, m.Status, m.Detail), " ")
	case checkpoint.StartProcessing:
		return fmt.Sprintf("%s %s", name, m.Txid)
	case checkpoint.StartCheckpoint:
		return fmt.Sprintf("%s %d %s", name, m.Epoch, m.Kind)
	case checkpoint.InstanceStateStored:
		s := fmt.Sprintf("%s %d of actor %d", name, m.Epoch, m.Actor)
		if m.Pending {
			s += ", its state follows"
		}
		if m.State != nil && m.State.Location != "" {
			s += ", its state is at " + m.State.Location
		}
		return s
	case checkpoint.SaveInstanceState:
		return fmt.Sprintf("%s %d of actor %d", name, m.State.Epoch, m.State.Actor)
	case checkpoint.SaveInstanceStateResponse:
		return strings.TrimRight(fmt.Sprintf("%s %d of actor %d %s %s", name, m.Epoch, m.Actor, m.Status, m.Detail), " ")
	case checkpoint.EpochCompleted:
		return fmt.Sprintf("%s %d", name, m.Epoch)
	case checkpoint.RecordCheckpoint:
		return fmt.Sprintf("%s %d, %d states", name, m.Checkpoint.Epoch, len(m.Checkpoint.States))
	case checkpoint.CheckpointRecorded:
		return strings.TrimRight(fmt.Sprintf("%s %d %s %s", name, m.Epoch, m.Status, m.Detail), " ")
	case checkpoint.CheckpointSaved:
		return fmt.Sprintf("%s %d", name, m.Epoch)
	case checkpoint.CheckpointAborted:
		return fmt.Sprintf("%s %d: %s", name, m.Epoch, m.Reason)
	case checkpoint.Clean:
		return fmt.Sprintf("%s older than %d", name, m.OldestPreserved)
	case checkpoint.CleanResponse:
		return fmt.Sprintf("%s %v", name, m.Cleaned)
	case checkpoint.UpdateActorState:
		return fmt.Sprintf("%s %d %s: %s", name, m.Actor, m.State, m.Detail)
	case checkpoint.WorkerReport:
		return fmt.Sprintf("%s of %s, generation %d: %s in %s, started %d, completed %d, saved %d", name, m.Worker, m.Generation, m.Phase, m.Txid, m.Started, m.Completed, m.Saved)
	case checkpoint.GetInstanceState:
		return fmt.Sprintf("%s of actor %d at %d", name, m.Actor, m.Checkpoint)
	case checkpoint.GetInstanceStateResponse:
		return strings.TrimRight(fmt.Sprintf("%s of actor %d at %d %s %s", name, m.Actor, m.Checkpoint, m.Status, m.Detail), " ")
	case checkpoint.Demand:
		return fmt.Sprintf("%s %d", name, m.Epoch)
	case checkpoint.CheckpointDemand:
		if m.Savepoint {
			return name + " for a savepoint"
		}
	case checkpoint.Abort:
		return fmt.Sprintf("%s %d", name, m.Epoch)
	}
	return name
}
