package loop

// Align keeps several producers in step: a producer that has passed a marker is held until all have.
//
// Invariant: between two markers the consumer sees exactly what each producer sent between the same two.
type Align[M any] struct {
	passed  []bool
	missing int
	held    [][]M
}

// Item is a message with its producer.
type Item[M any] struct {
	From    int
	Message M
}

// NewAlign makes an Align for n producers.
func NewAlign[M any](n int) *Align[M] {
	return &Align[M]{passed: make([]bool, n), missing: n, held: make([][]M, n)}
}

// Offer tells whether a message is to be taken now. If not, it is held, and Pass gives it out later.
func (a *Align[M]) Offer(from int, m M) bool {
	if !a.passed[from] {
		return true
	}
	a.held[from] = append(a.held[from], m)
	return false
}

// Pass notes that a producer has passed the marker; all: it was the last one. Then the caller acts on the
// marker and offers what Held gives, before anything else.
func (a *Align[M]) Pass(from int) (all bool) {
	a.passed[from] = true
	a.missing--
	if a.missing > 0 {
		return false
	}
	a.missing = len(a.passed)
	clear(a.passed)
	return true
}

// Held gives the messages that were held, those of a producer in their order, and holds them no longer.
func (a *Align[M]) Held() []Item[M] {
	var out []Item[M]
	for from, ms := range a.held {
		for _, m := range ms {
			out = append(out, Item[M]{from, m})
		}
		a.held[from] = nil
	}
	return out
}

// Passed tells whether a producer has passed the marker that the others have not.
func (a *Align[M]) Passed(from int) bool { return a.passed[from] }
