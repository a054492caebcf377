package pgwire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/weirdb/weir/sql/sqlerr"
)

const (
	// readBuffer is the usual size of a connection's read buffer.
	readBuffer = 8 << 10
	// copyBuffer is its size while the client sends COPY data.
	copyBuffer = 64 << 10
	// firstBuffer is the size that it has until a message does not fit, so that many idle clients cost little.
	firstBuffer = 512
	// keepBuffer is the size from which an output buffer is given back when it is empty.
	keepBuffer = 256 << 10
	// shortMessage limits the messages that carry no text or values of the user's, as PostgreSQL
	// limits them, so that a garbled length is noticed early.
	shortMessage = 10000
)

// reader cuts the bytes of a connection into messages. It consumes nothing until a message is
// complete, so a read that was interrupted can simply be tried again.
type reader struct {
	src io.Reader
	// buf[r:w] is what was read and not yet consumed.
	buf  []byte
	r, w int
	// size is the length of buf that is aimed at: a buffer that is smaller, or much larger, is
	// replaced when it is empty.
	size int
	// skip counts the bytes of a CopyData message that are still to come and that nobody wants.
	skip int
	// limit is the largest message body, with its length word, that is accepted.
	limit int
	// total counts the bytes read.
	total int64
}

func newReader(src io.Reader, limit int) *reader {
	return &reader{src: src, buf: make([]byte, firstBuffer), size: firstBuffer, limit: limit}
}

// next gives the next message if it is complete in the buffer. The body is valid until fill. An
// error means that the stream makes no sense from here on.
//
// It drops CopyData messages: outside of COPY they are what a client still sends after its COPY
// failed.
func (r *reader) next() (typ byte, body []byte, ok bool, err error) {
	for {
		n := min(r.skip, r.w-r.r)
		r.r += n
		r.skip -= n
		if r.skip > 0 {
			return 0, nil, false, nil
		}
		if r.w-r.r < 5 {
			// A wrong type is reported at once: what follows it may never come.
			if r.w > r.r {
				err = checkType(r.buf[r.r])
			}
			return 0, nil, false, err
		}
		typ, n, err = r.header()
		if err != nil {
			return 0, nil, false, err
		}
		if typ == 'd' {
			r.r += 5
			r.skip = n - 4
			continue
		}
		if r.w-r.r < 1+n {
			return 0, nil, false, nil
		}
		body = r.buf[r.r+5 : r.r+1+n]
		r.r += 1 + n
		return typ, body, true, nil
	}
}

// header reads and checks type and length of the message at the front, of which five bytes are
// there. The length includes its own four bytes.
func (r *reader) header() (typ byte, n int, err error) {
	typ = r.buf[r.r]
	if err := checkType(typ); err != nil {
		return 0, 0, err
	}
	size := binary.BigEndian.Uint32(r.buf[r.r+1:])
	limit := r.limit
	switch typ {
	case 'S', 'H', 'X', 'c', 'C', 'D', 'E':
		limit = shortMessage
	case 'd':
		limit = math.MaxInt32
	}
	if size < 4 || int64(size) > int64(limit) {
		return 0, 0, sqlerr.Newf(sqlerr.ProtocolViolation, "invalid message length").
			WithDetail("A message of type %q has a length of %d bytes; at least 4 and at most %d are accepted.", typ, size, limit)
	}
	return typ, int(size), nil
}

// checkType refuses the message types that no client sends.
func checkType(typ byte) error {
	switch typ {
	case 'B', 'C', 'D', 'E', 'F', 'H', 'P', 'Q', 'S', 'X', 'c', 'd', 'f', 'p':
		return nil
	}
	return sqlerr.Newf(sqlerr.ProtocolViolation, "invalid frontend message type %d", typ)
}

// partial tells whether a message has begun to come and is not complete.
func (r *reader) partial() bool { return r.w > r.r }

// fill reads more bytes, once, making room as needed: it at most doubles the buffer, so that a
// length that a client only claims costs nothing.
func (r *reader) fill() error {
	if r.r == r.w {
		r.r, r.w = 0, 0
		if len(r.buf) < r.size || len(r.buf) >= 8*max(r.size, readBuffer) {
			r.buf = make([]byte, r.size)
		}
	}
	if r.w == len(r.buf) {
		if r.r > 0 {
			r.w = copy(r.buf, r.buf[r.r:r.w])
			r.r = 0
		} else {
			buf := make([]byte, max(readBuffer, 2*len(r.buf)))
			copy(buf, r.buf)
			r.buf = buf
		}
	}
	n, err := r.src.Read(r.buf[r.w:])
	r.w += n
	r.total += int64(n)
	if n > 0 {
		// An error that came with bytes comes again without.
		return nil
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// copyPart gives what there is of the data of a CopyData message: the front of the buffer if that
// is one, or the rest of the one that the last call began. It gives nil if there is nothing, with
// other saying that a message of another type, complete, is next.
func (r *reader) copyPart(limit int) (part []byte, other bool, err error) {
	for r.skip == 0 {
		if r.w-r.r < 5 {
			if r.w > r.r {
				err = checkType(r.buf[r.r])
			}
			return nil, false, err
		}
		typ, n, err := r.header()
		if err != nil {
			return nil, false, err
		}
		if typ != 'd' {
			return nil, r.w-r.r >= 1+n, nil
		}
		r.r += 5
		r.skip = n - 4
	}
	n := min(r.skip, r.w-r.r, limit)
	if n == 0 {
		return nil, false, nil
	}
	part = r.buf[r.r : r.r+n]
	r.r += n
	r.skip -= n
	return part, false, nil
}

// cursor decodes a message body. The first error sticks.
type cursor struct {
	b   []byte
	err error
	// enc is the encoding of texts, nil for UTF-8.
	enc *Encoding
}

func (c *cursor) fail(text string) {
	if c.err == nil {
		c.err = sqlerr.Newf(sqlerr.ProtocolViolation, "%s", text)
	}
	c.b = nil
}

// take gives the next n bytes.
func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.fail("insufficient data left in message")
		return nil
	}
	b := c.b[:n:n]
	c.b = c.b[n:]
	return b
}

func (c *cursor) byte() byte {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) int16() int {
	if b := c.take(2); b != nil {
		return int(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (c *cursor) int32() int32 {
	if b := c.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// text gives the bytes of a zero-terminated string as UTF-8.
func (c *cursor) text() []byte {
	i := bytes.IndexByte(c.b, 0)
	if i < 0 {
		c.fail("invalid string in message")
		return nil
	}
	s := c.b[:i]
	c.b = c.b[i+1:]
	s, err := c.enc.decode(s)
	if err != nil && c.err == nil {
		c.err = err
	}
	return s
}

// end gives the first error; bytes that are left over are one.
func (c *cursor) end() error {
	if c.err == nil && len(c.b) > 0 {
		c.fail("invalid message format")
	}
	return c.err
}

// checkUTF8 reports the first bytes of b that are not UTF-8.
func checkUTF8(b []byte) error {
	if utf8.Valid(b) {
		return nil
	}
	i := 0
	for {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	n := 1
	switch c := b[i]; {
	case c&0xe0 == 0xc0:
		n = 2
	case c&0xf0 == 0xe0:
		n = 3
	case c&0xf8 == 0xf0:
		n = 4
	}
	var s strings.Builder
	for _, c := range b[i:min(i+n, len(b))] {
		fmt.Fprintf(&s, " 0x%02x", c)
	}
	return sqlerr.Newf(sqlerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\":%s", s.String())
}
