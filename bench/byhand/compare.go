package byhand

import (
	"runtime"
	"slices"
	"time"

	"github.com/weirdb/weir/connector/blackhole"
	"github.com/weirdb/weir/exec/vec"
)

// Same tells whether a sink or a view holds exactly the rows of r: as many, with the same values
// (1.0 and 1.00 are the same), in any order.
func (r *Result) Same(got blackhole.Checksum) bool {
	return got.Rows == r.Checksum.Rows && got.Sum == r.Checksum.Sum
}

// ChecksumOf gives the checksum of the rows of chunks, to be compared by Same.
func ChecksumOf(chunks ...*vec.Chunk) blackhole.Checksum {
	var a blackhole.Adder
	for _, c := range chunks {
		a.Add(c)
	}
	return a.Checksum
}

// Diff lists what is different between r and the rows of chunks: "- row" for a row of r that is missing
// and "+ row" for one that is too many, sorted, each as often as that. It gives nothing for a result
// without rows.
func (r *Result) Diff(chunks ...*vec.Chunk) []string {
	if r.Rows == nil {
		return nil
	}
	count := map[string]int64{}
	for _, line := range r.Text() {
		count[line]--
	}
	for _, c := range chunks {
		for i := range c.Len() {
			count[vec.FormatRow(c, i)] += c.Diff(i)
		}
	}
	var out []string
	for line, n := range count {
		for ; n < 0; n++ {
			out = append(out, "- "+line)
		}
		for ; n > 0; n-- {
			out = append(out, "+ "+line)
		}
	}
	slices.Sort(out)
	return out
}

// Measure answers a query runs times, on one core, and gives the answer and the median time. It changes
// GOMAXPROCS while it runs.
func Measure(name string, o Options, runs int) (*Result, time.Duration, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var r *Result
	times := make([]time.Duration, max(runs, 1))
	for i := range times {
		runtime.GC() // the garbage of the last run is not this one's
		start := time.Now()
		var err error
		if r, err = Run(name, o); err != nil {
			return nil, 0, err
		}
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	return r, times[len(times)/2], nil
}
