package types

import (
	"math/rand"
	"testing"
	"time"
)

func TestDateStyleSetting(t *testing.T) {
	for _, c := range []struct{ in, want, problem string }{
		{"SQL", "SQL, DMY", ""}, {"german", "German, DMY", ""}, {"ISO, MDY", "ISO, MDY", ""}, {"postgres,us", "Postgres, MDY", ""}, {"ymd", "ISO, YMD", ""},
		{"default", "ISO, MDY", ""}, {"european, sql", "SQL, DMY", ""}, {"iso, sql", "", `Conflicting "datestyle" specifications.`},
		{"mdy, dmy", "", `Conflicting "datestyle" specifications.`}, {"x", "", `Unrecognized key word: "x".`},
	} {
		style, order, problem := ParseDateStyle(c.in, DateISO, DMY)
		if got := DateStyleText(style, order); problem != c.problem || problem == "" && got != c.want {
			t.Errorf("%s: %s, %s", c.in, got, problem)
		}
	}
}

// What is written in a style is read back in it.
func TestStylesRoundTrip(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	const seed = 7
	r := rand.New(rand.NewSource(seed))
	for i := range 20000 {
		env := &Env{TimeZone: zone, DateStyle: DateStyle(r.Intn(4)), DateOrder: DateOrder(r.Intn(2)), IntervalStyle: IntervalStyle(r.Intn(4))}
		if env.DateStyle == DateGerman {
			env.DateOrder = DMY // it writes so whatever the order is
		}
		ts := r.Int63n(200*365*usecPerDay) - 100*365*usecPerDay
		if i%3 == 0 {
			ts = ts / usecPerSec * usecPerSec
		}
		vals := []struct {
			t Type
			d Datum
		}{{T(Date), DInt(ts / usecPerDay)}, {T(Timestamp), DInt(ts)}}
		// A sign of its own for each field, within what every style can say.
		span := Span{Months: int32(r.Intn(50) - 25), Days: int32(r.Intn(50) - 25), Micros: r.Int63n(1e11) - 5e10}
		vals = append(vals, struct {
			t Type
			d Datum
		}{T(Interval), DSpan(span)})
		for _, v := range vals {
			text := Format(v.t, v.d, env)
			got, err := ParseText(v.t, text, env)
			if err != nil || got != v.d {
				t.Fatalf("%s in style %d, %d, order %d: %q is read as %+v, %v; seed %d", v.t, env.DateStyle, env.IntervalStyle, env.DateOrder, text, got, err, seed)
			}
		}
	}
}
