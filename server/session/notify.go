package session

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// LISTEN, UNLISTEN and NOTIFY take effect at the commit, as in PostgreSQL. A channel that has the name of a materialized
// view is, besides, notified of each epoch that changes the view.

// The bounds of PostgreSQL: a payload is shorter than maxPayload, a channel's name than maxChannel.
const (
	maxPayload = 8000
	maxChannel = 64
)

// hub brings notifications to the sessions that listen. The zero hub is ready.
type hub struct {
	mu       sync.Mutex
	channels map[string]map[*session]bool
	// views are the views that somebody listens to.
	views map[catalog.ID]*viewWatch
}

// viewWatch notifies a channel of the changes of a view.
type viewWatch struct {
	channel string
	cancel  context.CancelFunc
	// ready is closed once every later change is seen, or there will be none.
	ready chan struct{}
}

// listening is what a transaction does to the channels of its session.
type listening struct {
	channel string
	// on: LISTEN; off: UNLISTEN, of all channels if channel is "".
	on bool
	// view is the view of this name, 0 for none.
	view catalog.ID
}

// note is a notification of a transaction.
type note struct{ channel, payload string }

func checkChannel(name string) error {
	switch {
	case name == "":
		return sqlerr.Newf(sqlerr.InvalidParameterValue, "channel name cannot be empty")
	case len(name) >= maxChannel:
		return sqlerr.Newf(sqlerr.InvalidParameterValue, "channel name too long")
	}
	return nil
}

// notify is NOTIFY and pg_notify.
func (s *session) notify(t *tx, channel, payload string) error {
	if err := checkChannel(channel); err != nil {
		return err
	}
	if len(payload) >= maxPayload {
		return sqlerr.Newf(sqlerr.InvalidParameterValue, "payload string too long")
	}
	n := note{channel, payload}
	if !slices.Contains(t.notes, n) {
		t.notes = append(t.notes, n)
	}
	return nil
}

// listen runs LISTEN and UNLISTEN.
func (s *session) listen(t *tx, st ast.Statement) (pgwire.Result, error) {
	switch st := st.(type) {
	case *ast.Listen:
		if err := checkChannel(st.Channel); err != nil {
			return pgwire.Result{}, err
		}
		l := listening{channel: st.Channel, on: true}
		for _, schema := range s.vars.searchPath(s.user()) {
			if r := t.catalog().Relation(schema, st.Channel); r != nil {
				if r.Kind == catalog.MatView && s.authorize(t.catalog())(r, catalog.Select, "") == nil {
					l.view = r.ID
				}
				break
			}
		}
		t.listens = append(t.listens, l)
		return pgwire.Result{Tag: "LISTEN"}, nil
	case *ast.Unlisten:
		t.listens = append(t.listens, listening{channel: st.Channel})
		return pgwire.Result{Tag: "UNLISTEN"}, nil
	}
	n := st.(*ast.Notify)
	return pgwire.Result{Tag: "NOTIFY"}, s.notify(t, n.Channel, n.Payload)
}

// notifications does what the transaction said about channels, once it is committed.
func (s *session) notifications(t *tx) {
	if len(t.listens) == 0 && len(t.notes) == 0 {
		return
	}
	var ready []chan struct{}
	defer func() {
		for _, r := range ready {
			<-r
		}
	}()
	h := &s.b.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range t.listens {
		switch {
		case l.on:
			h.listen(s, l)
			if v := h.views[l.view]; v != nil {
				ready = append(ready, v.ready)
			}
		case l.channel != "":
			h.unlisten(s, l.channel)
		default:
			h.leave(s)
		}
	}
	for _, n := range t.notes {
		h.send(n, s.pid)
	}
}

// send is called with mu held.
func (h *hub) send(n note, from int32) {
	for s := range h.channels[n.channel] {
		// A client that takes none for a very long time loses some.
		s.client.Notify(pgwire.Notification{PID: from, Channel: n.channel, Payload: n.payload})
	}
}

// listen is called with mu held.
func (h *hub) listen(s *session, l listening) {
	if h.channels == nil {
		h.channels, h.views = map[string]map[*session]bool{}, map[catalog.ID]*viewWatch{}
	}
	if h.channels[l.channel] == nil {
		h.channels[l.channel] = map[*session]bool{}
	}
	h.channels[l.channel][s] = true
	if l.view != 0 {
		h.watch(s.b, l.view, l.channel)
	}
}

// watch starts to notify of the changes of a view. It is called with mu held.
func (h *hub) watch(b *Backend, view catalog.ID, channel string) {
	if h.views[view] != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	v := &viewWatch{channel: channel, cancel: cancel, ready: make(chan struct{})}
	h.views[view] = v
	go func() {
		defer cancel()
		ready := sync.OnceFunc(func() { close(v.ready) })
		defer ready()
		h.follow(ctx, b.Engine, view, channel, ready)
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.views[view] == v {
			delete(h.views, view)
		}
	}()
}

// created starts to notify of the changes of a view that is new, if somebody listens to its name already.
func (h *hub) created(b *Backend, rel *catalog.Relation) {
	h.mu.Lock()
	var ready chan struct{}
	if len(h.channels[rel.Name]) > 0 {
		h.watch(b, rel.ID, rel.Name)
		ready = h.views[rel.ID].ready
	}
	h.mu.Unlock()
	if ready != nil {
		<-ready
	}
}

// unlisten is called with mu held.
func (h *hub) unlisten(s *session, channel string) {
	delete(h.channels[channel], s)
	if len(h.channels[channel]) > 0 {
		return
	}
	delete(h.channels, channel)
	for id, v := range h.views {
		if v.channel == channel {
			v.cancel()
			delete(h.views, id)
		}
	}
}

// leave is called with mu held.
func (h *hub) leave(s *session) {
	for channel, ss := range h.channels {
		if ss[s] {
			h.unlisten(s, channel)
		}
	}
}

// close forgets a session.
func (h *hub) close(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leave(s)
}

// listens lists the channels of a session.
func (h *hub) listens(s *session) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, channel := range slices.Sorted(maps.Keys(h.channels)) {
		if h.channels[channel][s] {
			out = append(out, channel)
		}
	}
	return out
}

// follow notifies a channel of the changes of a view, until ctx ends, the view is dropped or the engine is closed. Where a
// failure may have hidden a change it notifies too.
func (h *hub) follow(ctx context.Context, e *engine.Engine, view catalog.ID, channel string, ready func()) {
	tell := func(epoch uint64) {
		h.mu.Lock()
		defer h.mu.Unlock()
		payload := ""
		if epoch > 0 {
			payload = strconv.FormatUint(epoch, 10)
		}
		h.send(note{channel, payload}, 0)
	}
	for again := false; ctx.Err() == nil; again = true {
		inc, release, err := e.Acquire(ctx)
		if err != nil {
			return
		}
		rel := inc.Catalog().RelationByID(view)
		if rel == nil {
			release()
			return
		}
		sub, err := inc.Subscribe(ctx, engine.SubscriptionConfig{Rel: rel, What: "LISTEN " + quoteIdent(channel)})
		ready()
		if err == nil {
			if again {
				tell(0)
			}
			for err == nil {
				var b engine.Batch
				var ok bool
				if b, ok, _, err = sub.Take(); err != nil {
					break
				}
				if ok {
					tell(uint64(b.Epoch))
					continue
				}
				err = sub.Await(ctx)
			}
			_ = sub.Close() // its jobs go with the dataflow otherwise
		}
		release()
		switch code := sqlerr.From(err).Code; {
		case ctx.Err() != nil, code == sqlerr.UndefinedTable:
			return
		case code == sqlerr.SerializationFailure, code == sqlerr.ConfigurationLimitExceeded:
		default:
			// A view that is stalled has no changes. Who resumes it listens again.
			return
		}
	}
}

// listeningChannels are the rows of pg_listening_channels.
func (s *session) listeningChannels() [][]types.Datum {
	var out [][]types.Datum
	for _, c := range s.b.hub.listens(s) {
		out = append(out, []types.Datum{types.DStr(c)})
	}
	return out
}
