package flow

import (
	"testing"

	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/storage"
)

// The bytes of all actors are added up by epoch, and forgotten after many epochs.
func TestAlignmentStats(t *testing.T) {
	r := &Runtime{}
	r.aligned.add(7, 1, channel.Stats{})
	r.aligned.add(7, 2, channel.Stats{Aligned: 10, Buffered: 5})
	r.aligned.add(7, 3, channel.Stats{Buffered: 40, Spilled: 30})
	r.aligned.add(8, 1, channel.Stats{Aligned: 1})
	if got, want := r.AlignmentStats(7), (AlignmentStats{Epoch: 7, Aligned: 10, Buffered: 45, Spilled: 30, Most: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := r.AlignmentStats(9), (AlignmentStats{Epoch: 9}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	r.aligned.add(7+keptAlignments, 1, channel.Stats{Aligned: 2})
	r.aligned.add(7, 4, channel.Stats{Aligned: 100})
	if got, want := r.AlignmentStats(7), (AlignmentStats{Epoch: 7}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := r.AlignmentStats(storage.Epoch(7 + keptAlignments)); got.Aligned != 2 {
		t.Errorf("%+v", got)
	}
}
