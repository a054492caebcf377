package types

import "testing"

// TestSessionZone has what PostgreSQL 15 shows after SET TIME ZONE and the offset on 2020-01-01.
func TestSessionZone(t *testing.T) {
	for _, c := range []struct {
		value, name string
		offset      int64
	}{
		{"5", "<+05>-05", 5 * 3600}, {"-3.5", "<-03:30>+03:30", -12600}, {"+02", "<+02>-02", 7200},
		{"0", "<+00>-00", 0}, {"EST", "EST", -18000}, {"foo5", "FOO5", -18000}, {"+02:30", "+02:30", -9000},
		{"utc", "UTC", 0}, {"America/New_york", "America/New_York", -18000}, {"Etc/GMT+5", "Etc/GMT+5", -18000},
		{"europe/vienna", "Europe/Vienna", 3600}, {"<a>3", "<A>3", -10800},
	} {
		loc, name, ok := SessionZone(c.value)
		if !ok || name != c.name || offsetAt(631152000000000, loc) != c.offset {
			t.Errorf("%s: %s, %v", c.value, name, ok)
		}
	}
	for _, s := range []string{"cest", "", "nowhere/city", "../etc/passwd", "local", "200", "America"} {
		if _, name, ok := SessionZone(s); ok {
			t.Errorf("%q is taken for the zone %s", s, name)
		}
	}
}
