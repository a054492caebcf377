package pgwire

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgproto3/v2"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Severities of ErrorResponse.
const (
	sevError = "ERROR"
	sevFatal = "FATAL"
)

// empty appends a message without a body.
func (c *conn) empty(typ byte) { c.rows.buf = append(c.rows.buf, typ, 0, 0, 0, 4) }

// beginMessage appends the head of a message and gives the offset for finishMessage.
func (c *conn) beginMessage(typ byte) int {
	start := len(c.rows.buf)
	c.rows.buf = append(c.rows.buf, typ, 0, 0, 0, 0)
	return start
}

// finishMessage sets the length of the message at start.
func (c *conn) finishMessage(start int) {
	binary.BigEndian.PutUint32(c.rows.buf[start+1:], uint32(len(c.rows.buf)-start-1))
}

// encode appends a message in pgproto3's form; what cannot be encoded is left out and logged.
func (c *conn) encode(m pgproto3.BackendMessage) {
	buf, err := m.Encode(c.rows.buf)
	if err != nil {
		c.log.Error("message cannot be encoded", "err", err)
		return
	}
	c.rows.buf = buf
}

// cstring appends s and its zero. A zero inside would cut the message: it is dropped.
func (c *conn) cstring(s string) {
	if strings.IndexByte(s, 0) >= 0 || c.enc != nil {
		s = c.enc.message(s)
	}
	c.rows.buf = append(append(c.rows.buf, s...), 0)
}

// clean drops the zero bytes of s, which the protocol cannot carry in a string.
func clean(s string) string { return strings.ReplaceAll(s, "\x00", "") }

func (c *conn) commandComplete(tag string) {
	m := c.beginMessage('C')
	c.cstring(tag)
	c.finishMessage(m)
}

func (c *conn) parameterStatus(p ParameterStatus) {
	if p.Name == "client_encoding" {
		c.setEncoding(p.Value)
	}
	if v, ok := c.known[p.Name]; ok && v == p.Value {
		return
	}
	c.known[p.Name] = p.Value
	m := c.beginMessage('S')
	c.cstring(p.Name)
	c.cstring(p.Value)
	c.finishMessage(m)
}

func (c *conn) notification(n Notification) {
	m := c.beginMessage('A')
	c.rows.buf = binary.BigEndian.AppendUint32(c.rows.buf, uint32(n.PID))
	c.cstring(n.Channel)
	c.cstring(n.Payload)
	c.finishMessage(m)
}

func (c *conn) rowDescription(cols []Column) {
	m := c.beginMessage('T')
	c.rows.buf = binary.BigEndian.AppendUint16(c.rows.buf, uint16(len(cols)))
	for i := range cols {
		col := &cols[i]
		c.cstring(col.Name)
		b := binary.BigEndian.AppendUint32(c.rows.buf, col.TableOID)
		b = binary.BigEndian.AppendUint16(b, uint16(col.Number))
		b = binary.BigEndian.AppendUint32(b, col.TypeOID)
		b = binary.BigEndian.AppendUint16(b, uint16(col.TypeLen))
		b = binary.BigEndian.AppendUint32(b, uint32(col.TypeMod))
		c.rows.buf = binary.BigEndian.AppendUint16(b, uint16(col.Format))
	}
	c.finishMessage(m)
}

func (c *conn) parameterDescription(oids []uint32) {
	m := c.beginMessage('t')
	c.rows.buf = binary.BigEndian.AppendUint16(c.rows.buf, uint16(len(oids)))
	for _, oid := range oids {
		c.rows.buf = binary.BigEndian.AppendUint32(c.rows.buf, oid)
	}
	c.finishMessage(m)
}

// copyResponse starts COPY: 'G' for in, 'H' for out.
func (c *conn) copyResponse(typ byte, format Format, columns int) {
	m := c.beginMessage(typ)
	c.rows.buf = append(c.rows.buf, byte(format))
	c.rows.buf = binary.BigEndian.AppendUint16(c.rows.buf, uint16(columns))
	for range columns {
		c.rows.buf = binary.BigEndian.AppendUint16(c.rows.buf, uint16(format))
	}
	c.finishMessage(m)
}

// errorResponse appends err, found in the text sql.
func (c *conn) errorResponse(severity string, err *sqlerr.Error, sql string) {
	c.encode(&pgproto3.ErrorResponse{
		Severity:            severity,
		SeverityUnlocalized: severity,
		Code:                string(err.Code),
		Message:             c.enc.message(err.Message),
		Detail:              c.enc.message(err.Detail),
		Hint:                c.enc.message(err.Hint),
		Position:            characterPosition(sql, err.Pos),
		Where:               c.enc.message(err.Where),
		InternalQuery:       c.enc.message(err.Query),
		InternalPosition:    internalPosition(err),
		SchemaName:          c.enc.message(err.Schema),
		TableName:           c.enc.message(err.Table),
		ColumnName:          c.enc.message(err.Column),
		ConstraintName:      c.enc.message(err.Constraint),
	})
}

// characterPosition turns a byte offset in sql into the protocol's position: characters, counted
// from 1, or 0 for none.
func characterPosition(sql string, pos int) int32 {
	if pos < 0 || pos > len(sql) {
		return 0
	}
	return int32(utf8.RuneCountInString(sql[:pos])) + 1
}

// internalPosition is the position in the text that an error brings with it.
func internalPosition(err *sqlerr.Error) int32 {
	if err.Query == "" {
		return 0
	}
	return characterPosition(err.Query, err.InternalPos)
}

func (c *conn) noticeResponse(n *Notice) {
	severity, code := n.Severity, n.Code
	if severity == "" {
		severity = "NOTICE"
	}
	if code == "" {
		code = sqlerr.SuccessfulCompletion
		if severity == "WARNING" {
			code = sqlerr.Warning
		}
	}
	c.encode(&pgproto3.NoticeResponse{
		Severity:            severity,
		SeverityUnlocalized: severity,
		Code:                string(code),
		Message:             c.enc.message(n.Message),
		Detail:              c.enc.message(n.Detail),
		Hint:                c.enc.message(n.Hint),
		Where:               c.enc.message(n.Where),
	})
}

// flush writes the output buffer to the client and waits for as long as that takes. Inside a
// statement (c.stmt is set) a cancelled statement ends the wait: what was not yet sent stays in
// the buffer, and the error is the one to report.
func (c *conn) flush() error {
	if c.lost != nil {
		return c.lost
	}
	if c.rows.row != 0 {
		return nil // the session holds the end of the buffer
	}
	if cause := c.interrupted(); cause != nil {
		return cause
	}
	sent := 0
	for sent < len(c.rows.buf) {
		n, err := c.io.Write(c.rows.buf[sent:])
		sent += n
		if err == nil {
			continue
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if cause := c.interrupted(); cause != nil {
				c.written(sent)
				return cause
			}
			if c.session != nil && c.resumeWrites() {
				continue
			}
		}
		c.lost = &lostError{err}
		c.rows.buf = c.rows.buf[:0]
		return c.lost
	}
	c.written(sent)
	return nil
}

// written drops the first n bytes of the output buffer and publishes the counters.
func (c *conn) written(n int) {
	rest := copy(c.rows.buf, c.rows.buf[n:])
	c.rows.buf = c.rows.buf[:rest]
	if rest == 0 && cap(c.rows.buf) > keepBuffer && cap(c.rows.buf) > 2*c.rows.limit {
		c.rows.buf = make([]byte, 0, c.rows.limit)
	}
	st := &c.srv.stats
	st.BytesWritten.Add(int64(n))
	st.BytesRead.Add(c.in.total)
	st.Messages.Add(c.messages)
	c.in.total, c.messages = 0, 0
}

// lostError says that the client is gone.
type lostError struct{ err error }

func (e *lostError) Error() string { return "connection to client lost: " + e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// idleBuffer is the largest output buffer that an idle connection keeps.
const idleBuffer = 4 << 10

// lend gives a large output buffer to those who need one, while nothing is in it.
func (c *conn) lend() {
	if len(c.rows.buf) == 0 && cap(c.rows.buf) > idleBuffer {
		if c.box == nil {
			c.box = new([]byte)
		}
		*c.box = c.rows.buf
		c.srv.buffers.Put(c.box)
		c.rows.buf, c.box = nil, nil
	}
}

// borrow takes an output buffer that another connection has left, if this one has none.
func (c *conn) borrow() {
	if cap(c.rows.buf) > 0 {
		return
	}
	if b, ok := c.srv.buffers.Get().(*[]byte); ok {
		c.rows.buf, c.box = (*b)[:0], b
	}
}
