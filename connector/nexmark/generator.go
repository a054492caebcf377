// Package nexmark is the source of the Nexmark benchmark: persons, auctions and bids of an online
// auction, in the standard proportions and distributions.
//
// Every value is a pure function of the settings, the event number and the column. There is no
// state, so that a reader can start anywhere, splits need nothing of each other, and a column that
// nobody asks for costs nothing. The three tables, read by different sources, are parts of one
// history: a bid's bidder is a person of table person.
//
// Event n belongs to group n/50 and is there a person (the first), an auction (the next three) or
// a bid. Its time is Start + n/EventRate seconds, cut to milliseconds. Ids count from 1000. Bids go
// to one of the InFlightAuctions newest auctions (or up to 10 that are yet to come), half of them
// to the hot one, which changes every 100 auctions; bidders and sellers are among the ActivePeople
// newest persons, three quarters of them the hot one, which changes every 100 persons. Prices are
// 10^(2+6u) for u uniform in [0, 1). Half of the bids come through four big channels, the others
// through one of 10,000; each channel has its URL. Strings of random letters are cut from a fixed
// text of the seed, extra columns fill a row to about 200 (person), 500 (auction) and 100 (bid) bytes.
package nexmark

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
	"sync"

	"github.com/weirdb/weir/connector/arena"
	"github.com/weirdb/weir/exec/vec"
)

const (
	firstID       = 1000
	firstCategory = 10
	categories    = 5
	// idLead is how many ids, not yet in existence, a reference may run ahead.
	idLead = 10
	// hotEvery is how many auctions or persons share one hot one.
	hotEvery = 100

	channels    = 10_000
	hotChannels = 4

	// poolSize is the length of the random text; poolSlack the longest string cut from it.
	poolSize  = 1 << 16
	poolSlack = 512

	extraPerson  = 137 // mean lengths, so that rows have the sizes of the package comment
	extraAuction = 390
	extraBid     = 68
)

// Salts tell the draws for different columns apart.
const (
	saltBidAuction = iota + 1
	saltBidBidder
	saltPrice
	saltChannel
	saltBidExtra
	saltItemName
	saltDescription
	saltReserve
	saltExpires
	saltSeller
	saltCategory
	saltAuctionExtra
	saltName
	saltEmail
	saltCard
	saltCity
	saltPersonExtra
	saltPool
	saltURL
	saltCount
)

var (
	usStates = [...]string{"AZ", "CA", "ID", "OR", "WA", "WY"}
	usCities = [...]string{
		"Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle",
		"Kent", "Cheyenne",
	}
	firstNames = [...]string{
		"Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter",
	}
	lastNames = [...]string{
		"Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris",
	}
	hotChannelNames = [hotChannels]string{"Google", "Facebook", "Baidu", "Apple"}
)

// Generator computes columns of events. It is immutable and may be used by several goroutines.
type Generator struct {
	s     Settings
	salts [saltCount]uint64
	// interMicros is the time between two events if that is a whole number, else 0.
	interMicros int64
	// powHi, powMid and powLo give 10^(2+6u) for the three bytes of a 24-bit u.
	powHi, powMid, powLo [256]float64
	// pool is random letters and blanks, poolSize+poolSlack long.
	pool  func() string
	names []string
	// channelTab and urlTab hold the hot channels and then the others.
	channelTab, urlTab func() []string
}

// NewGenerator makes the generator of a history. The settings must be in the ranges of the
// connector's options.
func NewGenerator(s Settings) *Generator {
	g := &Generator{s: s}
	for i := range g.salts {
		g.salts[i] = wymix(uint64(s.Seed)+0x2d358dccaa6c78a5*uint64(i+1), 0x8bb84b93962eacc9)
	}
	if 1_000_000%s.EventRate == 0 {
		g.interMicros = 1_000_000 / s.EventRate
	}
	for i := range 256 {
		g.powHi[i] = math.Pow(10, 2+6*float64(i)/256)
		g.powMid[i] = math.Pow(10, 6*float64(i)/(1<<16))
		g.powLo[i] = math.Pow(10, 6*float64(i)/(1<<24))
	}
	for _, f := range firstNames {
		for _, l := range lastNames {
			g.names = append(g.names, f+" "+l)
		}
	}
	g.pool = sync.OnceValue(g.makePool)
	g.channelTab = sync.OnceValue(g.makeChannels)
	g.urlTab = sync.OnceValue(g.makeURLs)
	return g
}

func (g *Generator) makePool() string {
	b := make([]byte, poolSize+poolSlack)
	for i := range b {
		h := g.hash(int64(i), saltPool)
		if below(h>>32, 13) == 0 {
			b[i] = ' '
		} else {
			b[i] = 'a' + byte(below(h&math.MaxUint32, 26))
		}
	}
	return string(b)
}

func (g *Generator) makeChannels() []string {
	tab := append([]string(nil), hotChannelNames[:]...)
	for i := range channels {
		tab = append(tab, "channel-"+strconv.Itoa(i))
	}
	return tab
}

func (g *Generator) makeURLs() []string {
	tab := make([]string, 0, hotChannels+channels)
	for i := range int64(hotChannels + channels) {
		url := "https://www.nexmark.com/" + g.word(3*i, 5) + "/" + g.word(3*i+1, 5) + "/" + g.word(3*i+2, 5) +
			"/item.htm?query=1"
		h := g.hash(i, saltURL)
		if i >= hotChannels && below(h>>32, 10) > 0 {
			url += "&channel_id=" + strconv.Itoa(int(bits.Reverse32(uint32(i-hotChannels))>>1))
		}
		tab = append(tab, url)
	}
	return tab
}

// word gives 3 to most-1 letters without blanks.
func (g *Generator) word(n, most int64) string {
	return strings.ReplaceAll(g.cut(g.pool(), g.hash(n, saltURL), 3, most-3), " ", "_")
}

// wymix multiplies to 128 bits and folds.
func wymix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// hash gives 64 random bits for an event and a purpose.
func (g *Generator) hash(n int64, salt int) uint64 { return hashSalted(n, g.salts[salt]) }

func hashSalted(n int64, salt uint64) uint64 {
	x := uint64(n)*0xa0761d6478bd642f + salt
	return wymix(x, x^0xe7037ed1a0b428db)
}

// below maps 32 random bits to [0, n), n < 2^31.
func below(bits32 uint64, n int64) int64 { return int64(bits32 * uint64(n) >> 32) }

// cut gives between lo and lo+spread-1 bytes of the pool.
func (g *Generator) cut(pool string, h uint64, lo, spread int64) string {
	off := int64(h >> 48) // poolSize positions
	n := lo + below(h&math.MaxUint32, spread)
	return pool[off : off+n]
}

// Time gives the time of event n as a timestamp value.
func (g *Generator) Time(n int64) int64 {
	var us int64
	if g.interMicros != 0 {
		us = n * g.interMicros
	} else {
		us = n/g.s.EventRate*1_000_000 + n%g.s.EventRate*1_000_000/g.s.EventRate
	}
	return g.s.Start + us - us%1000
}

// price gives a price for random bits.
func (g *Generator) price(h uint64) int64 {
	return int64(float64(g.powHi[h>>56]*g.powMid[h>>48&255]*g.powLo[h>>40&255]) + 0.5)
}

// lastPerson and lastAuction give the newest id, counted from 0, up to event n; lastAuction is -1
// before the first.
func lastPerson(n int64) int64 { return n / groupSize }

func lastAuction(n int64) int64 {
	group, off := n/groupSize, n%groupSize
	return group*3 + min(max(off, 0), 3) - 1
}

// references holds what events of one group choose from: cold ids min to min+span-1, and the hot id.
type references struct{ min, span, hot int64 }

func (g *Generator) personRefs(n, hotOffset int64) references {
	last := lastPerson(n)
	active := min(last+1, g.s.ActivePeople)
	return references{
		min:  firstID + last + 1 - active,
		span: active + idLead,
		hot:  firstID + last/hotEvery*hotEvery + hotOffset,
	}
}

func (g *Generator) auctionRefs(n int64) references {
	last := max(lastAuction(n), 0)
	lowest := max(last-g.s.InFlightAuctions, 0)
	return references{
		min:  firstID + lowest,
		span: last - lowest + 1 + idLead,
		hot:  firstID + last/hotEvery*hotEvery,
	}
}

// pick chooses by 64 random bits: the hot id in all but one of ratio cases.
func (r *references) pick(h uint64, ratio int64) int64 {
	id := r.min + below(h>>32, r.span)
	// A branch would be mispredicted half of the time: all ones if the draw is not 0.
	isHot := -int64(h&math.MaxUint32*uint64(ratio)>>32) >> 63
	return id ^ (id^r.hot)&isHot
}

// run is a range of events of one kind and one group: first to first+n-1.
type run struct{ first, n int64 }

// fill writes column col of the events of runs to v, which has room for all of them.
func (g *Generator) fill(k Kind, col int, runs []run, v *vec.Vector, a *arena.Strings) {
	switch k {
	case Person:
		g.fillPerson(col, runs, v, a)
	case Auction:
		g.fillAuction(col, runs, v)
	default:
		g.fillBid(col, runs, v)
	}
}

func (g *Generator) fillTime(runs []run, out []int64) {
	i := 0
	for _, r := range runs {
		dst := out[i : i+int(r.n)]
		if g.interMicros != 0 {
			us := r.first * g.interMicros
			for j := range dst {
				dst[j] = g.s.Start + us - us%1000
				us += g.interMicros
			}
		} else {
			for j := range dst {
				dst[j] = g.Time(r.first + int64(j))
			}
		}
		i += int(r.n)
	}
}

func (g *Generator) fillBid(col int, runs []run, v *vec.Vector) {
	i := 0
	switch col {
	case BidAuction:
		salt, ratio := g.salts[saltBidAuction], g.s.HotAuctionRatio
		for _, r := range runs {
			refs := g.auctionRefs(r.first)
			dst := v.Int[i : i+int(r.n)]
			for j := range dst {
				dst[j] = refs.pick(hashSalted(r.first+int64(j), salt), ratio)
			}
			i += int(r.n)
		}
	case BidBidder:
		salt, ratio := g.salts[saltBidBidder], g.s.HotBidderRatio
		for _, r := range runs {
			refs := g.personRefs(r.first, 1)
			dst := v.Int[i : i+int(r.n)]
			for j := range dst {
				dst[j] = refs.pick(hashSalted(r.first+int64(j), salt), ratio)
			}
			i += int(r.n)
		}
	case BidPrice:
		salt := g.salts[saltPrice]
		for _, r := range runs {
			dst := v.Int[i : i+int(r.n)]
			for j := range dst {
				dst[j] = g.price(hashSalted(r.first+int64(j), salt))
			}
			i += int(r.n)
		}
	case BidChannel:
		g.fillChannel(runs, v.Str, g.channelTab())
	case BidURL:
		g.fillChannel(runs, v.Str, g.urlTab())
	case BidDateTime:
		g.fillTime(runs, v.Int)
	case BidExtra:
		g.fillCut(runs, v.Str, saltBidExtra, extraBid)
	}
}

func (g *Generator) fillChannel(runs []run, out, tab []string) {
	salt := g.salts[saltChannel]
	tab = tab[:hotChannels+channels]
	i := 0
	for _, r := range runs {
		dst := out[i : i+int(r.n)]
		for j := range dst {
			h := hashSalted(r.first+int64(j), salt)
			idx := hotChannels + below(h>>32, channels)
			isHot := -int64(h & 1)
			dst[j] = tab[idx^(idx^int64(h>>1&(hotChannels-1)))&isHot]
		}
		i += int(r.n)
	}
}

// fillCut fills an extra column with strings of mean length, give or take a fifth.
func (g *Generator) fillCut(runs []run, out []string, salt int, mean int64) {
	pool := g.pool()
	delta := (mean + 2) / 5
	s := g.salts[salt]
	i := 0
	for _, r := range runs {
		dst := out[i : i+int(r.n)]
		for j := range dst {
			dst[j] = g.cut(pool, hashSalted(r.first+int64(j), s), mean-delta, 2*delta)
		}
		i += int(r.n)
	}
}

// fillWords fills a column with trimmed strings of up to most-1 bytes.
func (g *Generator) fillWords(runs []run, out []string, salt int, most int64) {
	pool := g.pool()
	i := 0
	for _, r := range runs {
		for j := range r.n {
			out[i] = strings.Trim(g.cut(pool, g.hash(r.first+j, salt), 3, most-3), " ")
			i++
		}
	}
}

func (g *Generator) fillAuction(col int, runs []run, v *vec.Vector) {
	switch col {
	case AuctionItemName:
		g.fillWords(runs, v.Str, saltItemName, 20)
		return
	case AuctionDescription:
		g.fillWords(runs, v.Str, saltDescription, 100)
		return
	case AuctionExtra:
		g.fillCut(runs, v.Str, saltAuctionExtra, extraAuction)
		return
	case AuctionDateTime:
		g.fillTime(runs, v.Int)
		return
	}
	i := 0
	for _, r := range runs {
		for n := r.first; n < r.first+r.n; n++ {
			v.Int[i] = g.auctionInt(col, n)
			i++
		}
	}
}

func (g *Generator) auctionInt(col int, n int64) int64 {
	switch col {
	case AuctionID:
		return firstID + lastAuction(n)
	case AuctionInitialBid:
		return g.price(g.hash(n, saltPrice))
	case AuctionReserve:
		return g.price(g.hash(n, saltPrice)) + g.price(g.hash(n, saltReserve))
	case AuctionExpires:
		// About as long as it takes until InFlightAuctions more have come, in the mean.
		horizon := (g.Time(n+g.s.InFlightAuctions*groupSize/3) - g.Time(n)) / 1000
		hi, _ := bits.Mul64(g.hash(n, saltExpires), uint64(max(2*horizon, 1)))
		return g.Time(n) + (1+int64(hi))*1000
	case AuctionSeller:
		refs := g.personRefs(n, 0)
		return refs.pick(g.hash(n, saltSeller), g.s.HotSellerRatio)
	default: // AuctionCategory
		return firstCategory + below(g.hash(n, saltCategory)>>32, categories)
	}
}

func (g *Generator) fillPerson(col int, runs []run, v *vec.Vector, a *arena.Strings) {
	switch col {
	case PersonDateTime:
		g.fillTime(runs, v.Int)
		return
	case PersonExtra:
		g.fillCut(runs, v.Str, saltPersonExtra, extraPerson)
		return
	}
	i := 0
	for _, r := range runs {
		for n := r.first; n < r.first+r.n; n++ {
			if col == PersonID {
				v.Int[i] = firstID + lastPerson(n)
			} else {
				v.Str[i] = g.personText(col, n, a)
			}
			i++
		}
	}
}

func (g *Generator) personText(col int, n int64, a *arena.Strings) string {
	pick := func(tab []string, salt int) string {
		return tab[below(g.hash(n, salt)>>32, int64(len(tab)))]
	}
	switch col {
	case PersonName:
		return pick(g.names, saltName)
	case PersonEmailAddress:
		h := g.hash(n, saltEmail)
		user := strings.Trim(g.cut(g.pool(), h, 3, 4), " ")
		host := strings.Trim(g.cut(g.pool(), wymix(h, 0x4b33a62ed433d4a3), 3, 2), " ")
		return strings.ReplaceAll(a.Join(user, "@", host, ".com"), " ", "_")
	case PersonCreditCard:
		h := g.hash(n, saltCard)
		var b [19]byte
		for i := range b {
			if i%5 == 4 {
				b[i] = ' '
				continue
			}
			hi, lo := bits.Mul64(h, 10)
			b[i], h = '0'+byte(hi), lo
		}
		return a.Copy(b[:])
	case PersonCity:
		return pick(usCities[:], saltCity)
	default: // PersonState
		// Drawn apart from the city, as in the public benchmark: they need not fit.
		h := g.hash(n, saltCity)
		return usStates[below(h&math.MaxUint32, int64(len(usStates)))]
	}
}
