package channel

import (
	"encoding/binary"
	"fmt"
)

// ProducerID identifies a producer for as long as the system lives, over its generations.
type ProducerID uint32

// Generation counts the lives of a producer, from 1. It grows with each incarnation.
type Generation uint64

// Version numbers the snapshots from 1; a message of version V is included in snapshot V and all later ones.
type Version uint64

// Seq numbers the messages of one producer in one channel, from 1.
type Seq uint64

// Kind is the kind of a message.
type Kind uint8

// The kinds of messages.
const (
	// Data is anything that changes the consumer's state.
	Data Kind = iota
	// Marker is the last message of its version.
	Marker
	// Restored is the first message of a new generation: its producer has gone back to the checkpoint of the version
	// before its own. It revokes what earlier generations sent after that checkpoint.
	Restored
)

func (k Kind) String() string {
	switch k {
	case Data:
		return "data"
	case Marker:
		return "marker"
	case Restored:
		return "restored"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Header is what every message between actors carries.
type Header struct {
	Producer   ProducerID
	Generation Generation
	// Version is what the message belongs to. A producer's versions never fall, and rise by one behind each marker.
	Version Version
	// Seq is one more than that of the producer's message before, in this channel.
	Seq Seq
}

func (h Header) String() string {
	return fmt.Sprintf("p%d g%d v%d #%d", h.Producer, h.Generation, h.Version, h.Seq)
}

// HeaderSize is the size of an encoded header with its kind.
const HeaderSize = 1 + 4 + 8 + 8 + 8

// Append encodes the header and the kind behind dst, in HeaderSize bytes.
func (h Header) Append(dst []byte, k Kind) []byte {
	dst = append(dst, byte(k))
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.Producer))
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.Generation))
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.Version))
	return binary.BigEndian.AppendUint64(dst, uint64(h.Seq))
}

// ParseHeader decodes what Append wrote and gives what is behind it.
func ParseHeader(b []byte) (h Header, k Kind, rest []byte, err error) {
	if len(b) < HeaderSize {
		return h, 0, nil, fmt.Errorf("channel: header of %d bytes", len(b))
	}
	k = Kind(b[0])
	if k > Restored {
		return h, 0, nil, fmt.Errorf("channel: message of unknown %v", k)
	}
	h = Header{
		Producer:   ProducerID(binary.BigEndian.Uint32(b[1:])),
		Generation: Generation(binary.BigEndian.Uint64(b[5:])),
		Version:    Version(binary.BigEndian.Uint64(b[13:])),
		Seq:        Seq(binary.BigEndian.Uint64(b[21:])),
	}
	if h.Generation == 0 || h.Version == 0 || h.Seq == 0 {
		return h, 0, nil, fmt.Errorf("channel: header %v has a zero", h)
	}
	return h, k, b[HeaderSize:], nil
}

// Position is where a producer stands in a channel: the header of its next message. Version 0 is not known yet:
// the first message says it.
type Position = Header
