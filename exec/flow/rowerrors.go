package flow

import (
	"github.com/weirdb/weir/exec"
)

// RowErrors takes the row errors of one actor, which alone uses it.
type RowErrors interface {
	// Failed takes what operator op of a fragment reports of the epoch that its actor is in; see exec.Context.RowError.
	Failed(fragment int, op string, f exec.RowFailure) error
	// Barrier is called once all operators of the actor have passed the barrier, and before anybody is told. What an
	// iteration of a loop reports after its barrier belongs to the next epoch, as the state that it changes does.
	Barrier(b exec.Barrier) error
}

// rowError makes the RowError of an operator. Without Job.RowErrors every error ends the work.
func (a *actor) rowError(op string) func(exec.RowFailure) error {
	return func(f exec.RowFailure) error {
		if a.rowErrors == nil {
			return f.Err
		}
		if a.loop != nil && a.rowErrorsDue == nil {
			// The barrier may have passed: the next one is wanted at once, also by reads that are waiting for this one.
			a.rowErrorsDue = a.rt.time.register()
		}
		return a.rowErrors.Failed(a.frag.ID, op, f)
	}
}

// endRowErrors ends an epoch for the actor's row errors.
func (a *actor) endRowErrors(b exec.Barrier) error {
	if a.rowErrors == nil {
		return nil
	}
	a.forgetRowErrors()
	return a.rowErrors.Barrier(b)
}

func (a *actor) forgetRowErrors() {
	if a.rowErrorsDue != nil {
		a.rowErrorsDue.forget()
		a.rowErrorsDue = nil
	}
}
