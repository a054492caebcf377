package fn

import "testing"

func TestX(t *testing.T) {
	t.Log(len(Default().All()))
}
