// Package fence is the check at the resource, which a lease needs beside it.
//
// A lease cannot stop a write that is on its way. Its holder may look at the lease,
// be stopped for a minute, and write when another has long taken over: whatever it
// looks at before the write, it can be stopped between the look and the write. Only
// the resource can refuse that write, and this is how it tells:
//
// A resource remembers the highest token that it has seen, and of which lock. It
// accepts a token that is not lower, and remembers it, in one step with the effect.
// A lower one is refused with ErrStale, a token of another lock with ErrOtherLock.
// The same token is good again: a leader writes more than once. The first token
// claims a resource that has seen none, and so decides for which lock it is.
//
// # Which fence
//
//   - Gate: the resource is in the memory of one process.
//   - Row: the resource is anything in a SQL database that one transaction changes.
//     A row of a table of its own is its fence.
//   - Column: the resource is one row, changed by one statement. Two columns of it
//     are its fence.
//
// What cannot compare tokens may still know whether it has seen a request before.
// Row.Once keeps such keys in the transaction of the effect.
//
// # How to use one
//
// A new leader calls Raise before it reads the state that it builds on. Without that
// an older one may change what was just read. Raise returns when every accepted
// write of older leaders has had its effect, and none will be accepted any more.
//
// Then each write goes through the fence, with the token of the lease: the fence
// does not ask the lease, and holds whatever the clocks do. A write that is refused
// as stale means that another leads: stop.
//
// A lock whose name changes does not get past the fences that its old name has
// claimed. That is for an operator to decide, who changes or deletes the row.
//
// All errors are of one line. What is none of this package's comes from the database
// driver and can be asked for with errors.As. After such an error of a transaction
// nothing is known but what a new transaction reads.
package fence
