// Package op holds the relational operators: each implements exec.Operator over columnar delta
// chunks, for streams (state tables, barriers) and for batch reads (no state tables, one epoch) alike.
//
// # State in memory
//
// State is flat and typed, so that the garbage collector has almost nothing to scan:
//
//   - a rowStore keeps rows as paged typed columns, strings in an arena (store.go),
//   - a keyIndex finds the entry of a key by open addressing over many small sub-tables, a chunk of
//     keys at a time (index.go),
//   - what belongs to an entry (counts, sums, chain heads) lies in pages of 64-bit words.
//
// # State on disk
//
// Changed entries are marked dirty and written to the state table at checkpoint barriers; the key is the
// vnode byte and the encoding of the key columns (statekey.go), the value is a row in vec's codec.
// After a restart nothing is loaded: an entry that is asked for and not in memory is read from the
// state table, unless the table said at the start that it is empty and nothing was evicted since.
// Over the memory budget clean entries are evicted.
//
// # Determinism
//
// Output depends on the ordered input events only. Groups are emitted in the order in which an
// epoch first touched them, join matches in the order of their chains; no Go map is iterated.
package op
