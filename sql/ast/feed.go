package ast

import "math"

// Cursors, notifications and change feeds.
type (
	// DeclareCursor is DECLARE name [options] CURSOR [WITH HOLD] FOR query.
	DeclareCursor struct {
		Name string
		// Scroll and NoScroll are both false if nothing was said.
		Binary, Scroll, NoScroll, Hold bool
		// Query is a Select or a Subscribe.
		Query Statement
		Pos   int
	}
	// Fetch is FETCH, or MOVE.
	Fetch struct {
		Move bool
		Name string
		Dir  FetchDirection
		// Count is how many rows, or for FetchAbsolute and FetchRelative which one; FetchAll for ALL.
		Count int64
		// Options are those of WITH (...): "timeout", for a subscription.
		Options []Option
		Pos     int
	}
	// CloseCursor is CLOSE name; Name "" for ALL.
	CloseCursor struct {
		Name string
		Pos  int
	}
	// Listen is LISTEN channel.
	Listen struct {
		Channel string
		Pos     int
	}
	// Unlisten is UNLISTEN channel; Channel "" for *.
	Unlisten struct {
		Channel string
		Pos     int
	}
	// Notify is NOTIFY channel [, payload].
	Notify struct {
		Channel, Payload string
		Pos              int
	}
	// Subscribe is SUBSCRIBE [TO] relation | (query) [WITH (options)].
	Subscribe struct {
		Name *Name
		// Query is nil if Name is not.
		Query *Select
		// QueryText is Query as written, without the parentheses around it.
		QueryText string
		// Options are "snapshot", "progress" and "up to".
		Options []Option
		Pos     int
	}
	// Verify is VERIFY MATERIALIZED VIEW name.
	Verify struct {
		Name Name
		Pos  int
	}
)

// FetchDirection is the direction of FETCH and MOVE.
type FetchDirection uint8

// The directions.
const (
	FetchForward FetchDirection = iota
	FetchBackward
	FetchAbsolute
	FetchRelative
)

// FetchAll is the count of FETCH ALL.
const FetchAll = math.MaxInt64

func (*DeclareCursor) stmt() {}
func (*Fetch) stmt()         {}
func (*CloseCursor) stmt()   {}
func (*Listen) stmt()        {}
func (*Unlisten) stmt()      {}
func (*Notify) stmt()        {}
func (*Subscribe) stmt()     {}
func (*Verify) stmt()        {}
