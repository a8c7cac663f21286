//go:build !linux

package clock

func boot() (Boot, bool) { return Boot{}, false }
