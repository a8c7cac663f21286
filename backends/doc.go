// Package backends is the contract between a lease's holder and the store that
// grants it.
//
// Most programs need only two things from here: the errors ([ErrHeld],
// [ErrLost] and their kin, which package mutex passes on) and [Token]. They
// take a backend from a package such as backends/filelease, and give it to
// mutex.New. Whoever writes a backend implements [Backend] — or, for a store
// that has nothing but conditional writes, the smaller cas.Store — and proves
// it with backends/backendtest.
//
// Two questions of time are kept apart. "May I take this lease over?" is
// answered by the backend, by the store's reckoning. "Do I still hold it?" is
// answered by package mutex, by the holder's own clocks.
package backends
