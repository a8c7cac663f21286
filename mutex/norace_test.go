//go:build !race

package mutex_test

const raced = false
