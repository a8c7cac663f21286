// Package probe finds out whether a store does what leases stand on. It is the
// part of Verify that all backends share.
//
// # Objects
//
// A run needs one object. It picks a name out of a fixed number, so that what
// is left behind has a bound although nothing is deleted, and prefers one that
// does not exist yet, so that creating can be tried. The object is a free record,
// whose holder is the run: so a run notices another one on the same object, and
// begins again on another. See docs/adr.
//
// # The race
//
// Conditions that are checked first and obeyed later look right until two requests
// meet. So eight writers, each over connections of its own, replace one version
// at once, and at most one of them may be told that it did. A store that fails in
// a share p of such rounds passes n rounds with probability (1−p)^n. To find it with
// probability c takes
//
//	n = ⌈ log(1−c) / log(1−p) ⌉
//
// rounds: 21 for p = 20 % and c = 99 %. A store that fails in one round of a
// hundred passes four times of five. A round in which nobody won, because the
// store was busy or an answer was lost, tells nothing, and is repeated.
package probe
