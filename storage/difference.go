package storage

// Difference is what an arrangement changed between a checkpoint and one of its versions, for a reader that
// is at the checkpoint and wants to be at the version without reading everything. It pins the state
// of the checkpoint and must be released. One goroutine may use it.
type Difference struct {
	id   TableID
	base *base
	// over has the last change of each key since base.
	over *layer
}

// Difference gives what lies between the committed checkpoint that the version is built on and the version. That
// checkpoint is the store's last one, as long as none has been committed since the version was sealed.
//
// Cost: constant if there was no checkpoint that is not committed; otherwise that of inserting what these
// changed into a tree.
func (v *Version) Difference() *Difference {
	d := &Difference{id: v.l.id, base: v.l.base.ref(), over: v.l.root}
	switch {
	case len(v.l.frozen) == 0 && d.over == nil:
		d.over = newLayer()
	case len(v.l.frozen) == 1 && d.over == nil:
		d.over = v.l.frozen[0].layer
	case len(v.l.frozen) > 0:
		all := newLayer()
		add := func(e entry) bool {
			all.set(e)
			return true
		}
		for _, f := range v.l.frozen {
			f.tree.Scan(add)
		}
		if d.over != nil {
			d.over.tree.Scan(add)
		}
		d.over = all
	}
	return d
}

// Len is the number of keys that were touched.
func (d *Difference) Len() int { return d.over.len() }

// Touched tells whether a key was set or deleted since the checkpoint, be it to what it was.
func (d *Difference) Touched(key []byte) bool {
	_, ok := d.over.get(key)
	return ok
}

// Old gives the value of a key at the checkpoint. It stays valid.
func (d *Difference) Old(key []byte) (val []byte, ok bool, err error) { return d.base.get(d.id, key) }

// Keys calls fn for the touched keys from lo on (nil: all), in order, until it returns false. Keys stay valid and
// must not be modified.
func (d *Difference) Keys(lo []byte, fn func(key []byte) bool) {
	c := newTreeCursor(d.over, lo, nil, false)
	for c.next() {
		if !fn(c.key()) {
			return
		}
	}
}

// Release gives the checkpoint back. It may be called again.
func (d *Difference) Release() {
	if d.base != nil {
		d.base.unref()
		d.base = nil
	}
}
