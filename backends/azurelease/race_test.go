//go:build race

package azurelease_test

// raced says that the race detector is on, which allocates on its own account.
const raced = true
