package syscat_test

import (
	"fmt"
	"os"
	"testing"
)

func TestDbg(t *testing.T) {
	q := os.Getenv("Q")
	if q == "" {
		t.Skip()
	}
	c := &client{cat: shop(), path: []string{"public"}, user: "app"}
	r, err := c.query(q)
	if err != nil {
		fmt.Println(describe(err))
		return
	}
	fmt.Println(r)
}
