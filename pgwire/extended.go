package pgwire

import (
	"encoding/binary"

	"github.com/weirdb/weir/sql/sqlerr"
)

// extended ends the handling of a message of the extended protocol: an error is reported, and
// everything up to the next Sync is skipped.
func (c *conn) extended(err error, sql string) {
	if err == nil {
		c.leave()
		return
	}
	c.failed(err, sql)
	c.skipping = true
	c.leave()
	// Clients that wait after a Flush would wait for ever: their Flush is skipped.
	_ = c.flush() // c.lost has it
}

// parse handles Parse.
func (c *conn) parse(body []byte) {
	cur := cursor{b: body, enc: c.enc}
	name := string(cur.text())
	sql := string(cur.text())
	var oids []uint32
	if list := cur.take(4 * cur.int16()); len(list) > 0 {
		oids = make([]uint32, 0, len(list)/4)
		for ; len(list) > 0; list = list[4:] {
			oids = append(oids, binary.BigEndian.Uint32(list))
		}
	}
	if err := cur.end(); err != nil {
		c.extended(err, "")
		return
	}
	if name == "" {
		c.names.dropStatement(nil)
	}
	p, err := c.session.Prepare(c.enter(), sql, oids)
	if err == nil {
		e := &statementEntry{NamedStatement{Name: name, SQL: sql, Prepared: p}, len(p.ParamOIDs())}
		err = c.names.addStatement(e)
	}
	if err == nil {
		c.empty('1')
	}
	c.extended(err, sql)
}

// bind handles Bind.
func (c *conn) bind(body []byte) {
	cur := cursor{b: body, enc: c.enc}
	portal, name := cur.text(), cur.text()
	if cur.err != nil {
		c.extended(cur.err, "")
		return
	}
	st := c.names.findStatement(name)
	if st == nil {
		c.extended(noStatement(name), "")
		return
	}
	err := c.bindTo(st, portal, &cur)
	if err == nil {
		c.empty('2')
	}
	c.extended(err, st.SQL)
}

// bindTo makes a portal of st from the rest of a Bind message.
func (c *conn) bindTo(st *statementEntry, portal []byte, cur *cursor) error {
	// The formats of parameters and of results share one array.
	c.formats = c.formats[:0]
	nf := cur.int16()
	for i := 0; i < nf && cur.err == nil; i++ {
		c.formats = append(c.formats, Format(cur.int16()))
	}
	n := cur.int16()
	if cur.err != nil {
		return cur.err
	}
	if nf > 1 && nf != n {
		return sqlerr.Newf(sqlerr.ProtocolViolation, "bind message has %d parameter formats but %d parameters", nf, n)
	}
	if n != st.params {
		return sqlerr.Newf(sqlerr.ProtocolViolation,
			"bind message supplies %d parameters, but prepared statement \"%s\" requires %d", n, st.Name, st.params)
	}
	if err := c.names.checkPortal(portal); err != nil {
		return err
	}
	if err := c.bindParams(st, n, cur); err != nil {
		return err
	}
	results := len(c.formats)
	nr := cur.int16()
	for i := 0; i < nr && cur.err == nil; i++ {
		c.formats = append(c.formats, Format(cur.int16()))
	}
	if err := cur.end(); err != nil {
		return err
	}
	formats := c.formats[results:]
	e := portalEntry{sql: st.SQL}
	for i, f := range formats {
		if f != Text && f != Binary {
			e.badFormat, formats[i] = f, Text
		}
	}
	ctx := c.enter()
	if nr > 1 {
		cols, err := st.Prepared.Columns(ctx)
		if err != nil {
			return err
		}
		if cols != nil && nr != len(cols) {
			return sqlerr.Newf(sqlerr.ProtocolViolation, "bind message has %d result formats but query has %d columns", nr, len(cols))
		}
		if cols == nil {
			formats = nil
		}
	}
	if len(portal) == 0 {
		c.names.dropPortal(nil)
	}
	p, err := st.Prepared.Bind(ctx, c.params, formats)
	if err != nil {
		return err
	}
	e.p = p
	c.names.addPortal(portal, e)
	return nil
}

// bindParams reads n parameter values into c.params; c.formats holds their formats.
func (c *conn) bindParams(st *statementEntry, n int, cur *cursor) error {
	c.params = c.params[:0]
	for i := range n {
		p := Param{Format: FormatOf(c.formats, i)}
		if size := cur.int32(); size >= 0 {
			p.Value = cur.take(int(size))
		} else if size != -1 {
			cur.fail("invalid message format")
		}
		if cur.err != nil {
			return cur.err
		}
		switch p.Format {
		case Text:
			var err error
			if p.Value, err = c.enc.decode(p.Value); err != nil {
				return err
			}
		case Binary:
			if c.enc != nil && isText(st.Prepared.ParamOIDs()[i]) {
				var err error
				if p.Value, err = c.enc.decode(p.Value); err != nil {
					return err
				}
			}
		default:
			return sqlerr.Newf(sqlerr.InvalidParameterValue, "unsupported format code: %d", p.Format)
		}
		c.params = append(c.params, p)
	}
	return nil
}

// describe handles Describe.
func (c *conn) describe(body []byte) {
	cur := cursor{b: body, enc: c.enc}
	kind, name := cur.byte(), cur.text()
	if err := cur.end(); err != nil {
		c.extended(err, "")
		return
	}
	switch kind {
	case 'S':
		st := c.names.findStatement(name)
		if st == nil {
			c.extended(noStatement(name), "")
			return
		}
		cols, err := st.Prepared.Columns(c.enter())
		if err == nil {
			c.parameterDescription(st.Prepared.ParamOIDs())
			c.described(cols, true)
		}
		c.extended(err, st.SQL)
	case 'P':
		p := c.names.findPortal(name)
		if p == nil {
			c.extended(noPortal(name), "")
			return
		}
		c.described(p.p.Columns(), false)
	default:
		c.extended(sqlerr.Newf(sqlerr.ProtocolViolation, "invalid DESCRIBE message subtype %d", kind), "")
	}
}

// described answers Describe. The format of a statement's columns is not known yet: text.
func (c *conn) described(cols []Column, text bool) {
	if cols == nil {
		c.empty('n')
		return
	}
	if text {
		for _, col := range cols {
			if col.Format != Text {
				cols = append([]Column(nil), cols...)
				for i := range cols {
					cols[i].Format = Text
				}
				break
			}
		}
	}
	c.rowDescription(cols)
}

// execute handles Execute.
func (c *conn) execute(body []byte) {
	cur := cursor{b: body, enc: c.enc}
	name := cur.text()
	maxRows := cur.int32()
	if err := cur.end(); err != nil {
		c.extended(err, "")
		return
	}
	p := c.names.findPortal(name)
	if p == nil {
		c.extended(noPortal(name), "")
		return
	}
	if p.badFormat != 0 && p.p.Columns() != nil {
		c.extended(sqlerr.Newf(sqlerr.InvalidParameterValue, "unsupported format code: %d", p.badFormat), "")
		return
	}
	ctx := c.enter()
	w := c.stmt.start(ctx, false)
	if c.enc != nil {
		c.rows.raw = rawColumns(p.p.Columns())
	}
	p.running = true
	res, err := p.p.Execute(ctx, w, int(max(maxRows, 0)))
	p.running = false
	if err = c.stmt.finish(err); err == nil {
		switch {
		case res.Empty:
			c.empty('I')
		case res.Suspended:
			c.empty('s')
		default:
			c.commandComplete(res.Tag)
		}
	}
	c.extended(err, p.sql)
}

// closeName handles Close.
func (c *conn) closeName(body []byte) {
	cur := cursor{b: body, enc: c.enc}
	kind, name := cur.byte(), cur.text()
	if err := cur.end(); err != nil {
		c.extended(err, "")
		return
	}
	switch kind {
	case 'S':
		c.names.dropStatement(name)
	case 'P':
		c.names.dropPortal(name)
	default:
		c.extended(sqlerr.Newf(sqlerr.ProtocolViolation, "invalid CLOSE message subtype %d", kind), "")
		return
	}
	c.empty('3')
}
