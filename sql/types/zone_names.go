package types

import (
	_ "embed"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
)

// zoneNames are the names of the tz database, one a line.
//
//go:embed zone_names.txt
var zoneNames string

// Zone is a time zone at some moment.
type Zone struct {
	Name, Abbrev string
	// Offset is how far it is east of UTC; DST: that is summer time.
	Offset Span
	DST    bool
}

// Zones gives the zones of the tz database as they are at a moment, by name.
func Zones(at time.Time) iter.Seq[Zone] {
	return func(yield func(Zone) bool) {
		for name := range strings.Lines(zoneNames) {
			name = strings.TrimSuffix(name, "\n")
			loc, ok := namedZone(name)
			if !ok {
				continue
			}
			t := at.In(loc)
			abbrev, offset := t.Zone()
			if !yield(Zone{name, abbrev, Span{Micros: int64(offset) * 1e6}, t.IsDST()}) {
				return
			}
		}
	}
}

// ZoneAbbrevs gives the abbreviations of zones, in capitals, by name.
func ZoneAbbrevs() iter.Seq[Zone] {
	return func(yield func(Zone) bool) {
		for _, name := range slices.Sorted(maps.Keys(zoneAbbrevs)) {
			a := zoneAbbrevs[name]
			if !yield(Zone{Abbrev: strings.ToUpper(name), Offset: Span{Micros: a.offset * 1e6}, DST: a.dst}) {
				return
			}
		}
	}
}
