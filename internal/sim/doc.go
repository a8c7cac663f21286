// Package sim runs the shipped code of mutex, leader and cas in a hostile world:
// machines whose clocks run at different rates, jump and stand still, processes
// that are paused and killed, and a network that loses, delays and repeats
// requests and answers. It runs in a testing/synctest bubble, whose time is the
// true time of that world, so that a day takes about a second.
//
// One seed makes one world. What went wrong in it is told by the names of the
// rules in [Report].
package sim
