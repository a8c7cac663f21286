//go:build race

package mutex_test

// raced says that the race detector is on, which makes everything ten times
// slower: what counts runs counts fewer.
const raced = true
