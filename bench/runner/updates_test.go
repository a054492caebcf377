package runner

import "testing"

// TestUpdates: every view is measured with every size.
func TestUpdates(t *testing.T) {
	n := 0
	err := MeasureUpdates(t.Context(), []int{10, 1000}, 4, func(r UpdatesResult) {
		n++
		if r.View == "" || r.Rows < 10 || r.Wall <= 0 || r.CPU <= 0 {
			t.Errorf("%+v", r)
		}
	})
	if err != nil || n != 2*len(updateViews) {
		t.Error(n, err)
	}
}
