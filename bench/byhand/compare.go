package byhand

import (
	"runtime"
	"slices"
	"syscall"
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

// Cost is what a run took.
type Cost struct {
	Wall time.Duration
	// CPU is what the process used meanwhile: the honest figure on a machine that does other things, too.
	CPU time.Duration
}

// Timed runs f and gives its cost.
func Timed(f func() error) (Cost, error) {
	cpu, start := CPUTime(), time.Now()
	err := f()
	return Cost{time.Since(start), CPUTime() - cpu}, err
}

// CPUTime is what this process has used, in all of its threads.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Median gives the median of the wall clock times and that of the CPU times.
func Median(costs []Cost) Cost {
	median := func(of func(Cost) time.Duration) time.Duration {
		ds := make([]time.Duration, len(costs))
		for i, c := range costs {
			ds[i] = of(c)
		}
		slices.Sort(ds)
		return ds[len(ds)/2]
	}
	return Cost{median(func(c Cost) time.Duration { return c.Wall }), median(func(c Cost) time.Duration { return c.CPU })}
}

// Measure answers a query runs times, on one core, and gives the answer and the median cost. It changes
// GOMAXPROCS while it runs.
func Measure(name string, o Options, runs int) (*Result, Cost, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var r *Result
	costs := make([]Cost, max(runs, 1))
	for i := range costs {
		runtime.GC() // the garbage of the last run is not this one's
		var err error
		costs[i], err = Timed(func() (err error) {
			r, err = Run(name, o)
			return err
		})
		if err != nil {
			return nil, Cost{}, err
		}
	}
	return r, Median(costs), nil
}
