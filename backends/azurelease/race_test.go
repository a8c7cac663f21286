//go:build race

package azurelease_test

const raced = true
