package syscat_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSweep(t *testing.T) {
	pat := os.Getenv("SWEEP")
	if pat == "" {
		t.Skip()
	}
	c := &client{cat: shop(), path: []string{"public"}, user: "app"}
	fs, _ := filepath.Glob(pat)
	ok, bad := 0, 0
	seen := map[string]bool{}
	for _, f := range fs {
		fh, _ := os.Open(f)
		sc := bufio.NewScanner(fh)
		sc.Buffer(nil, 1<<24)
		for sc.Scan() {
			var l struct {
				SQL string
				Err any
				Tag string
			}
			if err := json.Unmarshal(sc.Bytes(), &l); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(l.Tag, "SELECT") || !(strings.Contains(l.SQL, "pg_") || strings.Contains(l.SQL, "information_schema")) || l.Err != nil || seen[l.SQL] {
				continue
			}
			seen[l.SQL] = true
			err := func() (err error) {
				defer func() {
					if r := recover(); r != nil {
						err = fmt.Errorf("PANIC %v", r)
					}
				}()
				if strings.Contains(l.SQL, "$1") {
					_, _, _, _, err = c.bind(l.SQL)
					return err
				}
				_, err = c.query(l.SQL)
				return err
			}()
			if err != nil {
				bad++
				s := l.SQL
				if len(s) > 700 {
					s = s[:700]
				}
				fmt.Printf("%s\t%s\n", filepath.Base(f), strings.ReplaceAll(describe(err), "\n", " "))
				if os.Getenv("SWEEPV") != "" {
					fmt.Println("      ", strings.ReplaceAll(s, "\n", " "))
				}
			} else {
				ok++
			}
		}
		fh.Close()
	}
	fmt.Println("ok", ok, "bad", bad)
}
