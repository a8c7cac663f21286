//go:build race

package s3lease_test

// raced says that the race detector is on, which allocates on its own account.
const raced = true
