package storage

// Difference is what an arrangement changed between a checkpoint and one of its versions, for a reader that
// is at the checkpoint and wants to be at the version without reading everything. It pins the state
// of the checkpoint and must be released. One goroutine may use it.
type Difference struct{ l layers }

// Difference gives what lies between the committed checkpoint that the version is built on and the version. That
// checkpoint is the store's last one, as long as none has been committed since the version was sealed.
func (v *Version) Difference() *Difference {
	d := &Difference{l: v.l}
	d.l.base.ref()
	return d
}

// Committed gives the state of the committed checkpoint that the version is built on, as another version, which must be
// released too: what Difference.Old gives, to be read like any version.
func (v *Version) Committed() *Version {
	return &Version{l: layers{id: v.l.id, base: v.l.base.ref(), blocks: v.l.blocks}, epoch: v.epoch, owned: true}
}

// Touched tells whether a key was set or deleted since the checkpoint, be it to what it was.
func (d *Difference) Touched(key []byte) bool {
	_, ok := d.l.getOver(key)
	return ok
}

// Old gives the value of a key at the checkpoint. It stays valid.
func (d *Difference) Old(key []byte) (val []byte, ok bool, err error) {
	return d.l.base.get(d.l.id, d.l.blocks, key)
}

// Keys calls fn for the touched keys from lo on (nil: all), in order and each once, until it returns false. fn must
// not keep the key.
func (d *Difference) Keys(lo []byte, fn func(key []byte) bool) {
	var cs []cursor
	if d.l.root != nil {
		cs = d.l.root.cursors(cs, lo, nil, false)
	}
	for i := len(d.l.frozen) - 1; i >= 0; i-- {
		cs = d.l.frozen[i].cursors(cs, lo, nil, false)
	}
	for it := newChangeIter(cs); it.next(); {
		if !fn(it.cursor().key()) {
			return
		}
	}
}

// Release gives the checkpoint back. It may be called again.
func (d *Difference) Release() {
	if d.l.base != nil {
		d.l.base.unref()
		d.l.base = nil
	}
}
