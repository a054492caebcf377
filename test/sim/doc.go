// Package sim runs a server on a simulated disk and takes the disk away: before every operation that makes
// something durable, and before some others, it copies the disk as a power failure would leave it (what was
// not synced is lost, or half of it), starts another server on the copy, and checks that everything that
// was promised is there and nothing else.
//
// The workload comes from a seed, which the test prints; WEIR_SIM_SEED repeats it. WEIR_SIM_TRANSACTIONS
// says how much each writer does, WEIR_SIM_POINTS how many crashes to check (more are skipped).
package sim
