package pgwire

import (
	"context"
	"errors"

	"github.com/weirdb/weir/sql/sqlerr"
)

// query runs a simple query string: all of its statements, up to the first error, and then the
// end of the implicit transaction.
func (c *conn) query(body []byte) {
	cur := cursor{b: body, enc: c.enc}
	sql := string(cur.text())
	if err := cur.end(); err != nil {
		c.failed(err, "")
		c.endGroup()
		return
	}
	c.names.dropStatement(nil)
	c.names.dropPortal(nil)
	synced, err := c.runQuery(sql)
	if err != nil {
		c.failed(err, sql)
	}
	c.leave()
	if synced {
		c.afterSync()
		return
	}
	c.endGroup()
}

// runQuery runs the statements of sql. It leaves the running state to its caller, which reports
// the error first. synced says that Session.Sync was called.
func (c *conn) runQuery(sql string) (synced bool, err error) {
	ctx := c.enter()
	units, err := c.session.Split(ctx, sql)
	if err != nil {
		return false, err
	}
	if len(units) == 0 {
		c.empty('I')
	}
	for i, u := range units {
		if i > 0 && ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if len(c.rows.buf) >= c.rows.limit {
			if err := c.flush(); err != nil {
				return false, err
			}
		}
		w := c.stmt.start(ctx, true)
		res, err := u.Run(ctx, w)
		if err = c.stmt.finish(err); err != nil {
			return false, err
		}
		if i == len(units)-1 {
			if err := c.session.Sync(c.base); err != nil {
				return true, err
			}
			synced = true
		}
		if res.Empty {
			c.empty('I')
		} else {
			c.commandComplete(res.Tag)
		}
	}
	return synced, nil
}

// sync handles a Sync message.
func (c *conn) sync(body []byte) {
	c.skipping = false
	if len(body) > 0 {
		c.failed(sqlerr.Newf(sqlerr.ProtocolViolation, "invalid message format"), "")
	}
	c.endGroup()
}

// endGroup ends a group of statements: the implicit transaction, then ReadyForQuery.
func (c *conn) endGroup() {
	if c.lost != nil || c.dead != nil {
		return
	}
	if err := c.session.Sync(c.base); err != nil {
		c.failed(err, "")
	}
	c.afterSync()
}

// afterSync follows Session.Sync.
func (c *conn) afterSync() {
	if c.session.TxStatus() == 'I' {
		c.names.dropPortals(false)
	}
	c.sendReady()
}

// sendReady sends what belongs before ReadyForQuery, and that.
func (c *conn) sendReady() {
	if c.lost != nil || c.dead != nil {
		return
	}
	for _, p := range c.session.ChangedParams() {
		c.parameterStatus(p)
	}
	c.status = c.session.TxStatus()
	c.ready = true
	c.mu.Lock()
	notes := c.takeNotes()
	c.mu.Unlock()
	for _, n := range notes {
		c.notification(n)
	}
	c.rows.buf = append(c.rows.buf, 'Z', 0, 0, 0, 5, c.status)
	_ = c.flush() // c.lost has it
}

// failed reports an error of a session's call, or of a message, found in the text sql, and tells
// the session. It is called before leave, which forgets why a statement was cancelled.
func (c *conn) failed(err error, sql string) {
	c.rows.abandonRow()
	if c.lost == nil {
		e := c.reason(err)
		if c.dead == nil && c.term.Load() == e {
			c.dead = e
		} else {
			c.srv.stats.Errors.Add(1)
			if e.Code == sqlerr.InternalError {
				c.log.Error("internal error", "pid", c.pid, "err", err)
			}
			if t, ok := c.session.(ErrorTexter); ok {
				e = t.ErrorText(e)
			}
			c.errorResponse(sevError, e, sql)
		}
	}
	c.session.Abort()
}

// reason finds the error to report for err: if the statement was cancelled and err follows from
// that, what cancelled it.
func (c *conn) reason(err error) *sqlerr.Error {
	if errors.Is(err, context.Canceled) {
		if cause := c.interrupted(); cause != nil {
			err = cause
		}
	}
	if errors.Is(err, context.Canceled) {
		return sqlerr.Newf(sqlerr.QueryCanceled, "canceling statement due to user request")
	}
	return sqlerr.From(err)
}
