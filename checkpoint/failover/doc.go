// Package failover decides what is restarted when a job fails, and when. It decides and does nothing else:
// time and the graph of jobs are passed in.
//
// # Regions
//
// A job that fails takes with it what cannot go on without it: every job that is fed by it, and a job that
// feeds it and cannot give again what it gave since the last checkpoint. Everything else is behind a durable
// boundary and runs on. A Strategy (strategy.go) says how large that region is; restart-all, under which it is
// always everything, is the one that cannot go wrong.
//
// # The course of a restart
//
// Manager (manager.go) is the pure machine for all regions. For one of them:
//
//  1. Failed: Stop names the jobs whose actors must be stopped. Regions that meet become one.
//  2. Stopped: all their actors have ended (somebody has joined their termination futures), and their state is
//     that of the last checkpoint. The manager waits for the delay, which grows with each attempt and
//     has a limit, or gives the region up when there were too many: Stall.
//  3. Deploy names the jobs that are to be started again. Deployed or DeployFailed is the answer.
//  4. Running: they have caught up with the rest. A job that runs well for some time has its attempts
//     halved.
//
// # Global against local
//
// The global modification version counts the restarts of everything. An event of a region, and what was decided
// for it, hold only as long as the version is the one in which it began: a restart of everything makes
// every local one that is under way void, wherever it is (Manager.Current).
package failover
