// Package walls holds the tests that keep the rooms of this repository apart:
// who may import whom, where time comes from, and what a library must not do
// to the program it is part of.
package walls
