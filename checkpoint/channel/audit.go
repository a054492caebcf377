package channel

import "fmt"

// Channel names a channel in an Audit.
type Channel uint32

// Audit checks from the outside that the snapshots of consumers are valid: it is told what producers send, what consumers
// work off and when they take snapshots. It knows nothing of gates, so that it can find what is wrong with them. What it
// finds is an error that names the condition.
type Audit struct {
	sent map[sender]*sentLog
	done map[Channel][]progress
}

type sender struct {
	to Channel
	p  ProducerID
	g  Generation
}

// sentLog is what one generation of a producer has sent to a channel.
type sentLog struct {
	last Seq
	// markers has the sequence number of the marker of each version from first on.
	first   Version
	markers []Seq
}

// progress is how much of a producer a consumer has worked off.
type progress struct {
	at Position // of the next message
	// newest is the newest version of what was worked off, markers not counted.
	newest Version
}

// NewAudit makes an audit of no channels.
func NewAudit() *Audit { return &Audit{sent: map[sender]*sentLog{}, done: map[Channel][]progress{}} }

// Consumer says that the consumer of a channel begins, or begins again, at these positions.
func (a *Audit) Consumer(to Channel, at []Position) {
	ps := a.done[to][:0]
	for _, p := range at {
		ps = append(ps, progress{at: p, newest: max(p.Version, 1) - 1})
	}
	a.done[to] = ps
}

// Sent says that a message was sent for the first time.
func (a *Audit) Sent(to Channel, h Header, k Kind) error {
	key := sender{to, h.Producer, h.Generation}
	s := a.sent[key]
	if s == nil {
		s = &sentLog{last: h.Seq - 1, first: h.Version}
		a.sent[key] = s
	}
	if h.Seq != s.last+1 {
		return fmt.Errorf("audit: %v was sent to channel %d behind #%d", h, to, s.last)
	}
	s.last = h.Seq
	if open := s.first + Version(len(s.markers)); h.Version != open {
		return fmt.Errorf("audit: %v was sent to channel %d while version %d is open", h, to, open)
	}
	if k == Marker {
		s.markers = append(s.markers, h.Seq)
	}
	return nil
}

// Processed says that the consumer has worked off a message, or passed a marker.
func (a *Audit) Processed(to Channel, h Header, k Kind) error {
	p := a.find(to, h.Producer)
	if p == nil {
		return fmt.Errorf("audit: channel %d has no producer %d", to, h.Producer)
	}
	if h.Generation != p.at.Generation {
		return fmt.Errorf("audit: channel %d: %v was worked off, alive is generation %d", to, h, p.at.Generation)
	}
	if h.Seq != p.at.Seq {
		return fmt.Errorf("audit: channel %d: %v was worked off where #%d is the next", to, h, p.at.Seq)
	}
	if s := a.sent[sender{to, h.Producer, h.Generation}]; s == nil || s.last < h.Seq {
		return fmt.Errorf("audit: channel %d: %v was worked off and never sent", to, h)
	}
	p.at.Seq++
	if k != Marker {
		p.newest = max(p.newest, h.Version)
	}
	return nil
}

func (a *Audit) find(to Channel, id ProducerID) *progress {
	ps := a.done[to]
	for i := range ps {
		if ps[i].at.Producer == id {
			return &ps[i]
		}
	}
	return nil
}

// Snapshot checks the two conditions for the consumer's snapshot of a version, taken now.
func (a *Audit) Snapshot(to Channel, v Version) error {
	for _, p := range a.done[to] {
		s := a.sent[sender{to, p.at.Producer, p.at.Generation}]
		if s == nil || v < s.first || v >= s.first+Version(len(s.markers)) {
			return fmt.Errorf("audit: channel %d: snapshot %d: condition 1: producer %d has not sent its marker", to, v, p.at.Producer)
		}
		if m := s.markers[v-s.first]; p.at.Seq < m {
			return fmt.Errorf("audit: channel %d: snapshot %d: condition 1: messages #%d to #%d of producer %d, before its marker, are not included",
				to, v, p.at.Seq, m-1, p.at.Producer)
		}
		if p.newest > v {
			return fmt.Errorf("audit: channel %d: snapshot %d: condition 2: it includes messages of version %d of producer %d",
				to, v, p.newest, p.at.Producer)
		}
	}
	return nil
}
