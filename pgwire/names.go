package pgwire

import (
	"sort"

	"github.com/weirdb/weir/sql/sqlerr"
)

// statementEntry is a prepared statement with its name.
type statementEntry struct {
	NamedStatement
	// params is the number of parameters.
	params int
}

// portalEntry is a portal with its name.
type portalEntry struct {
	p Portal
	// sql is the text that positions of errors count in.
	sql string
	// held says that it outlives its transaction.
	held bool
	// running says that it is being executed and must not be closed.
	running bool
	// badFormat is a format code that does not exist, reported when the portal runs, or 0.
	badFormat Format
}

// names holds a connection's prepared statements and portals. The unnamed ones have fields of
// their own: most statements are, and go by without touching a map.
type names struct {
	stmts       map[string]*statementEntry
	stmt        *statementEntry
	portals     map[string]*portalEntry
	portal      portalEntry
	portalInUse bool
}

func (n *names) init() {
	n.stmts = map[string]*statementEntry{}
	n.portals = map[string]*portalEntry{}
}

func (n *names) findStatement(name []byte) *statementEntry {
	if len(name) == 0 {
		return n.stmt
	}
	return n.stmts[string(name)]
}

// addStatement takes over e.Prepared; it closes it if the name is in use.
func (n *names) addStatement(e *statementEntry) error {
	if e.Name == "" {
		n.dropStatement(nil)
		n.stmt = e
		return nil
	}
	if n.stmts[e.Name] != nil {
		e.Prepared.Close()
		return sqlerr.Newf(sqlerr.DuplicatePreparedStatement, "prepared statement %q already exists", e.Name)
	}
	n.stmts[e.Name] = e
	return nil
}

// dropStatement closes a statement; it reports false if there is none.
func (n *names) dropStatement(name []byte) bool {
	e := n.findStatement(name)
	if e == nil {
		return false
	}
	if len(name) == 0 {
		n.stmt = nil
	} else {
		delete(n.stmts, string(name))
	}
	e.Prepared.Close()
	return true
}

func (n *names) dropStatements() {
	n.dropStatement(nil)
	for _, e := range n.list() {
		n.dropStatement([]byte(e.Name))
	}
}

// list gives the named statements in order of name.
func (n *names) list() []NamedStatement {
	list := make([]NamedStatement, 0, len(n.stmts))
	for _, e := range n.stmts {
		list = append(list, e.NamedStatement)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

func (n *names) findPortal(name []byte) *portalEntry {
	if len(name) > 0 {
		return n.portals[string(name)]
	}
	if n.portalInUse {
		return &n.portal
	}
	return nil
}

// checkPortal reports 42P03 if a portal of this name cannot be made.
func (n *names) checkPortal(name []byte) error {
	if len(name) > 0 && n.portals[string(name)] != nil {
		return sqlerr.Newf(sqlerr.DuplicateCursor, "cursor %q already exists", name)
	}
	return nil
}

// addPortal takes over e.p. checkPortal has accepted the name.
func (n *names) addPortal(name []byte, e portalEntry) {
	if len(name) == 0 {
		n.dropPortal(nil)
		n.portal, n.portalInUse = e, true
		return
	}
	// Not &e, which would move e to the heap for the unnamed portal too.
	named := new(portalEntry)
	*named = e
	n.portals[string(name)] = named
}

// dropPortal closes a portal; it reports false if there is none.
func (n *names) dropPortal(name []byte) bool {
	e := n.findPortal(name)
	if e == nil {
		return false
	}
	p := e.p
	if len(name) > 0 {
		delete(n.portals, string(name))
	} else {
		n.portal, n.portalInUse = portalEntry{}, false
	}
	p.Close()
	return true
}

// dropPortals closes the portals that are not running, and only those that are not held unless
// held says so too, in order of name.
func (n *names) dropPortals(held bool) {
	if n.portalInUse && !n.portal.running {
		n.dropPortal(nil)
	}
	if len(n.portals) == 0 {
		return
	}
	var drop []string
	for name, e := range n.portals {
		if !e.running && (held || !e.held) {
			drop = append(drop, name)
		}
	}
	sort.Strings(drop)
	for _, name := range drop {
		n.dropPortal([]byte(name))
	}
}

// closeAll closes everything; nothing is running any more.
func (n *names) closeAll() {
	n.portal.running = false
	for _, e := range n.portals {
		e.running = false
	}
	n.dropPortals(true)
	n.dropStatements()
}

// client is a conn as its session sees it.
type client conn

// Notice implements Client.
func (x *client) Notice(n *Notice) { (*conn)(x).notice(n) }

// Notify implements Client.
func (x *client) Notify(n Notification) bool {
	c := (*conn)(x)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || len(c.notes) >= maxNotifications {
		return false
	}
	c.notes = append(c.notes, n)
	if c.state == idle {
		c.woken = true
		_ = c.nc.SetReadDeadline(longAgo)
	}
	return true
}

// Statement implements Client.
func (x *client) Statement(name string) (Prepared, bool) {
	e := x.names.findStatement([]byte(name))
	if e == nil {
		return nil, false
	}
	return e.Prepared, true
}

// AddStatement implements Client.
func (x *client) AddStatement(name, sql string, p Prepared) error {
	e := &statementEntry{NamedStatement{Name: name, SQL: sql, FromSQL: true, Prepared: p}, len(p.ParamOIDs())}
	return x.names.addStatement(e)
}

// RemoveStatement implements Client.
func (x *client) RemoveStatement(name string) error {
	if !x.names.dropStatement([]byte(name)) {
		return noStatement([]byte(name))
	}
	return nil
}

// RemoveStatements implements Client.
func (x *client) RemoveStatements() { x.names.dropStatements() }

// Statements implements Client.
func (x *client) Statements() []NamedStatement { return x.names.list() }

// Portal implements Client.
func (x *client) Portal(name string) (Portal, bool) {
	e := x.names.findPortal([]byte(name))
	if e == nil {
		return nil, false
	}
	return e.p, true
}

// AddPortal implements Client.
func (x *client) AddPortal(name, sql string, p Portal, held bool) error {
	if err := x.names.checkPortal([]byte(name)); err != nil {
		p.Close()
		return err
	}
	x.names.addPortal([]byte(name), portalEntry{p: p, sql: sql, held: held})
	return nil
}

// RemovePortal implements Client.
func (x *client) RemovePortal(name string) error {
	if e := x.names.findPortal([]byte(name)); e != nil && e.running {
		return sqlerr.Newf(sqlerr.InvalidCursorState, "cannot drop active portal %q", name)
	}
	if !x.names.dropPortal([]byte(name)) {
		return sqlerr.Newf(sqlerr.InvalidCursorName, "cursor %q does not exist", name)
	}
	return nil
}

// Portals implements Client.
func (x *client) Portals() []NamedPortal {
	list := make([]NamedPortal, 0, len(x.names.portals))
	for name, e := range x.names.portals {
		list = append(list, NamedPortal{Name: name, SQL: e.sql, Held: e.held, Portal: e.p})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// RemovePortals implements Client.
func (x *client) RemovePortals(held bool) { x.names.dropPortals(held) }

func noStatement(name []byte) error {
	if len(name) == 0 {
		return sqlerr.Newf(sqlerr.InvalidSQLStatementName, "unnamed prepared statement does not exist")
	}
	return sqlerr.Newf(sqlerr.InvalidSQLStatementName, "prepared statement %q does not exist", name)
}

func noPortal(name []byte) error {
	return sqlerr.Newf(sqlerr.InvalidCursorName, "portal %q does not exist", name)
}
