package pgwire

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"

	"github.com/weirdb/weir/sql/sqlerr"
)

// statement is the ResultWriter of the statement that a connection runs. There is one for each
// connection, used again and again.
type statement struct {
	c *conn
	// ctx is the running statement's.
	ctx context.Context
	// simple says that the simple protocol is spoken.
	simple bool
	// copyIn is set from CopyInResponse until the client's data has ended.
	copyIn *copyReader
	// copyOut is set once COPY TO STDOUT has begun.
	copyOut bool
	// copyText says that its data is text.
	copyText bool
	// notices were raised while a row was open, and wait for the statement's end.
	notices []*Notice
}

// start makes the writer ready for a statement.
func (s *statement) start(ctx context.Context, simple bool) ResultWriter {
	s.ctx, s.simple, s.copyIn, s.copyOut = ctx, simple, nil, false
	s.c.rows.count, s.c.rows.raw, s.c.rows.failed = 0, nil, nil
	s.c.borrow()
	s.c.srv.stats.Statements.Add(1)
	return s
}

// finish ends the result of a statement: err is the statement's, and what it comes to.
func (s *statement) finish(err error) error {
	c := s.c
	c.in.size = firstBuffer
	c.rows.abandonRow()
	for _, n := range s.notices {
		c.noticeResponse(n)
	}
	s.notices = nil
	if err != nil {
		return err
	}
	if s.copyIn != nil {
		// Most often only CopyDone is left.
		if _, err := io.Copy(io.Discard, s.copyIn); err != nil {
			return err
		}
	}
	if s.copyOut {
		c.empty('c')
	}
	return nil
}

// Columns implements ResultWriter.
func (s *statement) Columns(cols []Column) {
	s.c.rows.count = 0
	if s.simple {
		if s.c.enc != nil {
			s.c.rows.raw = rawColumns(cols)
		}
		s.c.rowDescription(cols)
	}
}

// Rows implements ResultWriter.
func (s *statement) Rows() *RowWriter { return &s.c.rows }

// Notice implements ResultWriter.
func (s *statement) Notice(n *Notice) { s.c.notice(n) }

// notice sends n now, or after the row that is open.
func (c *conn) notice(n *Notice) {
	if c.rows.row != 0 {
		c.stmt.notices = append(c.stmt.notices, n)
		return
	}
	c.noticeResponse(n)
	if c.session != nil {
		_ = c.flush() // the statement finds out when it writes
	}
}

// Flush implements ResultWriter.
func (s *statement) Flush() error { return s.c.flush() }

// CopyIn implements ResultWriter.
func (s *statement) CopyIn(format Format, columns int) (io.Reader, error) {
	if columns > math.MaxInt16 {
		return nil, sqlerr.Newf(sqlerr.TooManyColumns, "too many columns")
	}
	s.c.copyResponse('G', format, columns)
	s.c.in.size = copyBuffer
	s.copyIn = &copyReader{s: s}
	if format == Text {
		s.copyIn.enc = s.c.enc
	}
	return s.copyIn, s.c.flush()
}

// CopyOut implements ResultWriter.
func (s *statement) CopyOut(format Format, columns int) (CopyWriter, error) {
	if columns > math.MaxInt16 {
		return nil, sqlerr.Newf(sqlerr.TooManyColumns, "too many columns")
	}
	s.c.copyResponse('H', format, columns)
	s.copyOut = true
	s.copyText = format == Text
	return (*copyWriter)(s.c), nil
}

// copyWriter is a conn as the target of COPY TO STDOUT.
type copyWriter conn

// Begin implements CopyWriter.
func (w *copyWriter) Begin() []byte {
	w.rows.row = len(w.rows.buf) + 1
	return append(w.rows.buf, 'd', 0, 0, 0, 0)
}

// End implements CopyWriter.
func (w *copyWriter) End(b []byte) error {
	c := (*conn)(w)
	start := c.rows.row - 1
	if c.enc != nil && c.stmt.copyText {
		var err error
		if b, err = c.enc.encodeTail(b, start+5); err != nil {
			c.rows.buf = b
			c.rows.abandonRow()
			return err
		}
	}
	c.rows.buf = b
	if len(b)-start > math.MaxInt32 {
		c.rows.abandonRow()
		return sqlerr.Newf(sqlerr.ProgramLimitExceeded, "row is too large to be sent")
	}
	binary.BigEndian.PutUint32(b[start+1:], uint32(len(b)-start-1))
	c.rows.row = 0
	if len(c.rows.buf) < c.rows.limit {
		return nil
	}
	return c.flush()
}

// Write implements io.Writer.
func (w *copyWriter) Write(p []byte) (int, error) {
	if err := w.End(append(w.Begin(), p...)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// copyReader reads the client's COPY data.
type copyReader struct {
	s *statement
	// err is how the data ended.
	err error
	// enc is the encoding of the data, nil if it is not to be converted; left is what was converted and did not fit.
	enc  *Encoding
	left []byte
}

// Read implements io.Reader.
func (r *copyReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, r.err
	}
	if n := copy(p, r.left); n > 0 {
		r.left = r.left[n:]
		return n, nil
	}
	for r.err == nil {
		part, other, err := r.s.c.in.copyPart(len(p))
		switch {
		case err != nil:
			// The stream of messages makes no sense any more: this is the connection's end.
			if e := (*sqlerr.Error)(nil); errors.As(err, &e) {
				r.s.c.term.CompareAndSwap(nil, e)
			}
			r.end(err)
		case len(part) > 0:
			if r.enc == nil || ascii(part) {
				return copy(p, part), nil
			}
			text, err := r.enc.decode(part)
			if err != nil {
				return 0, err
			}
			n := copy(p, text)
			r.left = text[n:]
			return n, nil
		case other:
			r.message()
		default:
			if err := r.s.c.copyWait(); err != nil {
				// Not the end of the data: the rest is still to come and will be skipped.
				return 0, err
			}
		}
	}
	return 0, r.err
}

// end ends the data.
func (r *copyReader) end(err error) {
	r.err = err
	if r.s.copyIn == r {
		r.s.copyIn = nil
	}
}

// message handles a message that is not CopyData.
func (r *copyReader) message() {
	typ, body, _, err := r.s.c.in.next()
	if err != nil {
		r.end(err)
		return
	}
	r.s.c.messages++
	switch typ {
	case 'c':
		r.end(io.EOF)
	case 'f':
		cur := cursor{b: body, enc: r.s.c.enc}
		reason := string(cur.text())
		if err := cur.end(); err != nil {
			r.end(err)
			return
		}
		r.end(sqlerr.Newf(sqlerr.QueryCanceled, "COPY from stdin failed: %s", reason))
	case 'H', 'S':
		// A client that pipelines sends them before it sees the CopyInResponse; ignored.
	case 'X':
		r.s.c.lost = errQuit
		r.end(errQuit)
	default:
		// The client does not know that it is in COPY: nothing it sends can be trusted any more.
		r.s.c.dead = sqlerr.Newf(sqlerr.ProtocolViolation, "terminating connection because protocol synchronization was lost")
		r.end(sqlerr.Newf(sqlerr.ProtocolViolation, "unexpected message type 0x%02X during COPY from stdin", typ))
	}
}

// copyWait waits for more of the client's COPY data; unlike wait it is part of a statement.
func (c *conn) copyWait() error {
	for {
		if c.lost != nil {
			return c.lost
		}
		if err := c.interrupted(); err != nil {
			return err
		}
		err := c.in.fill()
		switch {
		case err == nil:
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded) && c.interrupted() != nil:
			return c.interrupted()
		case errors.Is(err, io.EOF):
			c.lost = errQuit
		default:
			c.lost = &lostError{err}
		}
	}
}
