package channel

import "fmt"

// Stamp is one producer's end of one channel: it numbers the messages. The zero Stamp is not valid; it starts as the
// Position of the first message, with Seq 1 in a channel that was never used.
type Stamp struct{ next Position }

// NewStamp continues at a position.
func NewStamp(at Position) Stamp { return Stamp{next: at} }

// Data gives the header of the next message of the current version.
func (s *Stamp) Data() Header {
	h := s.next
	s.next.Seq++
	return h
}

// Marker gives the header of the marker of the current version, and begins the next one.
func (s *Stamp) Marker() Header {
	h := s.next
	s.next.Seq++
	s.next.Version++
	return h
}

// Position is the header of the next message. Behind a marker it is what the checkpoint of the marker's version
// keeps of the producer.
func (s *Stamp) Position() Position { return s.next }

// Message is a message with all that it carries.
type Message[M any] struct {
	Header
	Kind    Kind
	Payload M
}

// Producer is one producer's end of one channel that can lose its connection: a Stamp that keeps what is not
// acknowledged.
type Producer[M any] struct {
	Stamp
	// kept are the messages that may have to be sent again, oldest first, without gaps.
	// Invariant: the last one's Seq is next.Seq-1.
	kept []Message[M]
}

// NewProducer continues at a position; a new generation begins with Restored.
func NewProducer[M any](at Position) *Producer[M] { return &Producer[M]{Stamp: NewStamp(at)} }

// Send numbers a message and keeps it.
func (p *Producer[M]) Send(k Kind, payload M) Message[M] {
	m := Message[M]{Kind: k, Payload: payload}
	if k == Marker {
		m.Header = p.Marker()
	} else {
		m.Header = p.Data()
	}
	p.kept = append(p.kept, m)
	return m
}

// Acknowledged says that every message up to seq has arrived and need not be kept. Acknowledgements may come late
// and repeatedly; those to another generation are not for this producer and have no effect.
func (p *Producer[M]) Acknowledged(g Generation, seq Seq) {
	if g != p.next.Generation {
		return
	}
	n := 0
	for n < len(p.kept) && p.kept[n].Seq <= seq {
		n++
	}
	if n == len(p.kept) {
		p.kept = nil
		return
	}
	p.kept = p.kept[n:]
}

// Unacknowledged is the number of messages that are kept.
func (p *Producer[M]) Unacknowledged() int { return len(p.kept) }

// Resend gives what a gate that wants the message numbered from next has to be sent, oldest first, after a
// connection was lost. An error means that it was acknowledged and is gone: the gate has lost its state, and both have to be
// restored.
func (p *Producer[M]) Resend(g Generation, next Seq) ([]Message[M], error) {
	if g != p.next.Generation {
		return nil, fmt.Errorf("channel: producer %d: generation %d is asked to resend, this is %d: %w",
			p.next.Producer, g, p.next.Generation, ErrGeneration)
	}
	if next > p.next.Seq {
		return nil, fmt.Errorf("channel: producer %d: asked for message %d, %d is the next: %w", p.next.Producer, next, p.next.Seq, ErrGap)
	}
	first := p.next.Seq - Seq(len(p.kept))
	if next < first {
		return nil, fmt.Errorf("channel: producer %d: asked for message %d, kept are those from %d: %w", p.next.Producer, next, first, ErrGap)
	}
	return p.kept[next-first:], nil
}
