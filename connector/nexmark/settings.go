package nexmark

import (
	"math"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/sql/types"
)

// Kind is one of the three event kinds, which are the three tables.
type Kind uint8

// The kinds, in their order within each group of 50 events.
const (
	Person Kind = iota
	Auction
	Bid
)

// String gives the name of the table.
func (k Kind) String() string { return [...]string{"person", "auction", "bid"}[k] }

// KindByName finds a table.
func KindByName(name string) (Kind, bool) {
	for _, k := range []Kind{Person, Auction, Bid} {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}

// Of every groupSize events the first is a person, the next three are auctions, the rest bids.
const groupSize = 50

// kindFirst and kindCount say which events of a group are of a kind.
var (
	kindFirst = [...]int64{Person: 0, Auction: 1, Bid: 4}
	kindCount = [...]int64{Person: 1, Auction: 3, Bid: 46}
)

// The numbers of columns within their tables.
const (
	PersonID = iota
	PersonName
	PersonEmailAddress
	PersonCreditCard
	PersonCity
	PersonState
	PersonDateTime
	PersonExtra
)

// The columns of auction.
const (
	AuctionID = iota
	AuctionItemName
	AuctionDescription
	AuctionInitialBid
	AuctionReserve
	AuctionDateTime
	AuctionExpires
	AuctionSeller
	AuctionCategory
	AuctionExtra
)

// The columns of bid.
const (
	BidAuction = iota
	BidBidder
	BidPrice
	BidChannel
	BidURL
	BidDateTime
	BidExtra
)

// Columns gives the schema of a table.
func Columns(k Kind) []exec.Column {
	var (
		i8   = types.T(types.Int8)
		text = types.T(types.Text)
		ts   = types.T(types.Timestamp)
	)
	switch k {
	case Person:
		return []exec.Column{
			{Name: "id", Type: i8}, {Name: "name", Type: text}, {Name: "email_address", Type: text},
			{Name: "credit_card", Type: text}, {Name: "city", Type: text}, {Name: "state", Type: text},
			{Name: "date_time", Type: ts}, {Name: "extra", Type: text},
		}
	case Auction:
		return []exec.Column{
			{Name: "id", Type: i8}, {Name: "item_name", Type: text}, {Name: "description", Type: text},
			{Name: "initial_bid", Type: i8}, {Name: "reserve", Type: i8}, {Name: "date_time", Type: ts},
			{Name: "expires", Type: ts}, {Name: "seller", Type: i8}, {Name: "category", Type: i8},
			{Name: "extra", Type: text},
		}
	default:
		return []exec.Column{
			{Name: "auction", Type: i8}, {Name: "bidder", Type: i8}, {Name: "price", Type: i8},
			{Name: "channel", Type: text}, {Name: "url", Type: text}, {Name: "date_time", Type: ts},
			{Name: "extra", Type: text},
		}
	}
}

// Settings decide about every value of the history. Two sources with equal Settings tell parts of
// one history.
type Settings struct {
	// Seed chooses one of many histories.
	Seed int64
	// Events is how many events there are, of all kinds; math.MaxInt64 for no end.
	Events int64
	// EventRate is how many events happen in a second of event time.
	EventRate int64
	// Start is the time of the first event, as a timestamp value (microseconds since 2000).
	Start int64
	// ActivePeople is how many of the newest persons bid and sell.
	ActivePeople int64
	// InFlightAuctions is how many of the newest auctions get bids; it also decides how long they
	// stay open.
	InFlightAuctions int64
	// HotAuctionRatio, HotBidderRatio and HotSellerRatio: all but one of so many draws are for the
	// hot auction, bidder or seller; 1 means that there is none.
	HotAuctionRatio, HotBidderRatio, HotSellerRatio int64
}

// Defaults gives the settings of the public benchmark, with seed 0 and without end: 10,000 events a
// second of event time from 2015-07-15 00:00:00 on.
func Defaults() Settings {
	return Settings{
		Events:           math.MaxInt64,
		EventRate:        10_000,
		Start:            490_233_600_000_000, // 2015-07-15 00:00:00
		ActivePeople:     1000,
		InFlightAuctions: 100,
		HotAuctionRatio:  2,
		HotBidderRatio:   4,
		HotSellerRatio:   4,
	}
}
