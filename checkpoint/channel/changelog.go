package channel

import "fmt"

// LogKind is the kind of a record of a change log.
type LogKind uint8

// The kinds of records.
const (
	// LogChange is a change of one key, not committed yet.
	LogChange LogKind = iota
	// LogCommit commits the generation's changes since its last commit, as the snapshot of a version.
	LogCommit
	// LogAbort takes them back: their writer has gone back to its last commit.
	LogAbort
)

// LogRecord is one record of a change log.
type LogRecord struct {
	Kind LogKind
	// Generation is that of the consumer that wrote the record.
	Generation Generation
	// Key and Value are those of a change; Deleted says that the key is gone.
	Key, Value string
	Deleted    bool
	// Version, Inputs and Outputs are those of a commit: the snapshot, and where the consumer stands in the channels that
	// it reads and writes.
	Version         Version
	Inputs, Outputs []Position
}

// ChangeLog is a change log and the fence in front of it. It is the truth of its writer's state: what is not
// committed in it was never there.
type ChangeLog struct {
	records []LogRecord
	// generation is the newest one that has begun; what an older one writes is refused.
	generation Generation
}

// Begin starts a generation; it aborts what earlier ones wrote and did not commit.
func (l *ChangeLog) Begin(g Generation) error {
	if g <= l.generation {
		return fmt.Errorf("channel: change log: generation %d after %d: %w", g, l.generation, ErrGeneration)
	}
	l.generation = g
	l.records = append(l.records, LogRecord{Kind: LogAbort, Generation: g})
	return nil
}

// Append writes a record. It refuses those of a generation that is not the newest.
func (l *ChangeLog) Append(r LogRecord) error {
	if r.Generation != l.generation {
		return fmt.Errorf("channel: change log: record of generation %d, the newest is %d: %w", r.Generation, l.generation, ErrGeneration)
	}
	l.records = append(l.records, r)
	return nil
}

// Records are all records, oldest first. They must not be changed.
func (l *ChangeLog) Records() []LogRecord { return l.records }

// KeyOrdered is the part of a state that can be read by key: what the committed changes up to an offset of the log make. The zero
// value is the state before the first record.
type KeyOrdered struct {
	Keys map[string]string
	// Offset is the number of records that are in Keys, or were aborted. It stands behind a commit.
	Offset int
	// Commit is the last commit.
	Commit LogRecord
}

// Rebuild brings a state up to the last commit of a log. What follows it is not in the state. Whoever
// wrote records of an older generation behind a newer one's did so without a fence in front: they are ignored.
func (s *KeyOrdered) Rebuild(log []LogRecord) {
	if s.Keys == nil {
		s.Keys = map[string]string{}
	}
	var pending []LogRecord
	generation := s.Commit.Generation
	for i := s.Offset; i < len(log); i++ {
		r := log[i]
		if r.Generation < generation {
			continue
		}
		if r.Generation > generation {
			// The life before ended without a commit, and maybe without having been aborted.
			pending, generation = pending[:0], r.Generation
		}
		switch r.Kind {
		case LogChange:
			pending = append(pending, r)
		case LogAbort:
			pending = pending[:0]
		case LogCommit:
			for _, c := range pending {
				if c.Deleted {
					delete(s.Keys, c.Key)
				} else {
					s.Keys[c.Key] = c.Value
				}
			}
			pending = pending[:0]
			s.Offset, s.Commit = i+1, r
		}
	}
}
