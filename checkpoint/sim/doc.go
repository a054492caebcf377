// Package sim runs the whole checkpoint protocol in a simulation: coordinator, workers with actors, channels that
// producers share, a loop, local failover, the store, and sinks with transactions. Everything that can go wrong goes wrong at
// random, and a seed decides everything, so that a run can be repeated exactly.
//
// The machines are those of package checkpoint and its parts; around them are a network that delays, repeats, loses and
// reorders, a disk that fails, and processes that die or are taken for dead and live on. Actors count rows. What they
// count is no function of the rows alone: each row that is sent carries a random mark, so that an incarnation that
// produces a row again does not produce the same (as in reality, where the order of inputs is another one). Two
// states that do not belong together cannot look as if they did.
//
// What must hold (docs/protocol.md has the numbers):
//
//   - Each input is counted exactly once in every state of every checkpoint that is recorded, and in the output of the
//     sinks, and all of them have the same incarnation's mark of it.
//   - Every snapshot of every consumer meets the two conditions of package channel, as channel.Audit sees them.
//   - Both ends of every channel are at the same place in every checkpoint.
//   - A row in a loop is in one place of it.
//   - A transaction is committed only if a recorded checkpoint has it, and never twice.
//   - The store never misses anything that a recorded checkpoint needs.
//   - When faults stop, everything is read, counted, saved and committed within bounded time.
//
// Bug (bugs.go) plants faults in the protocol, to show that the simulation finds them.
package sim
