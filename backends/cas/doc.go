// Package cas turns a store that can do no more than compare-and-swap into a
// backend: it knows when a lease may be taken over, what a record looks like,
// how tokens grow, and what to make of a write whose answer was lost. It is
// written once, for every such store; a store adds the few methods of [Store].
//
// # The record
//
// Each lease is one object: indented JSON, with the fields
//
//	bloblease  the version of this form, 1
//	state      "held" or "free"
//	token      the fencing token of the term, or of the last one
//	holder     who holds it, for people
//	id         the term, 128 random bits in hexadecimal
//	ttl_ms     how long the lease lasts without a renewal
//	nonce      128 random bits, fresh for each write
//	done       the mark that the last release recorded
//	meta       what the holder wants to be known
//
// Fields that this version does not know are carried along by every writer.
// Objects are never deleted: a release writes "free", so that the token goes on.
//
// # Taking over
//
// A contender may replace a record that is free; or held, but unchanged for
// T(1+ε) on its own monotonic clock, counted from the answer that first showed
// it (the stopwatch); or held, and by the store's own dates not written for
// T(1+2ε), plus what those dates may be off. T is the longer of the
// record's TTL and the contender's, and ε = 1 % bounds how far a clock's rate
// may be off. No process's wall clock is stored or compared with another's. The
// takeover is a compare-and-swap on the very version that was judged, which is
// what makes late renewals, stale reads and duplicates harmless.
//
// # Unknown outcomes
//
// After any answer but success the engine reads the object. It finds the nonce
// of this very call: the write was applied. It finds the version that it
// wrote against: the same bytes go out again under the same condition, at most
// once more in a call. It finds anything else: refused. If it cannot read,
// the outcome stays unknown, and the nonce is kept: within a term in the
// Grant, where a later call takes a record with that nonce as the condition of
// a new write, and of an acquisition in the engine, where a later Acquire takes
// such a record over with a new term, since its token was never handed out.
package cas
