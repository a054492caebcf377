package storage

// Nowhere makes arrangements that belong to no store: they hold nothing, and nothing can be put into them. They stand for the
// rows of what exists for one transaction, or one session, whose rows are elsewhere.
type Nowhere struct{}

// Arrangement gives an arrangement with an id and nothing in it.
func (Nowhere) Arrangement(id TableID) *Arrangement { return &Arrangement{id: id, dropped: 1} }
