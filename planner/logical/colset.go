package logical

import "slices"

// ColSet is a set of columns.
type ColSet map[ColID]struct{}

// SetOf makes a set.
func SetOf(ids ...ColID) ColSet {
	s := make(ColSet, len(ids))
	for _, id := range ids {
		s[id] = struct{}{}
	}
	return s
}

// Add adds a column.
func (s ColSet) Add(id ColID) { s[id] = struct{}{} }

// AddSet adds all of o.
func (s ColSet) AddSet(o ColSet) {
	for id := range o {
		s[id] = struct{}{}
	}
}

// Has tells whether id is in s.
func (s ColSet) Has(id ColID) bool { _, ok := s[id]; return ok }

// Within tells whether all of s is in o.
func (s ColSet) Within(o ColSet) bool {
	for id := range s {
		if !o.Has(id) {
			return false
		}
	}
	return true
}

// Meets tells whether s and o have a column in common.
func (s ColSet) Meets(o ColSet) bool {
	for id := range s {
		if o.Has(id) {
			return true
		}
	}
	return false
}

// Sorted lists the columns in rising order.
func (s ColSet) Sorted() []ColID {
	ids := make([]ColID, 0, len(s))
	for id := range s {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// And gives the columns in both.
func (s ColSet) And(o ColSet) ColSet {
	r := ColSet{}
	for id := range s {
		if o.Has(id) {
			r.Add(id)
		}
	}
	return r
}

// OutSet gives the output columns of n as a set.
func OutSet(n Node) ColSet { return SetOf(n.Cols()...) }
