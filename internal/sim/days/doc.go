// Package days lets a day go by for four contenders for one lease on a model store,
// through the store's real SDK: their machines' clocks differ, jump and stand still,
// their processes are stopped and killed, the network does all that it can, and an
// operator meddles. Package sim does the same to package cas, event by event and much
// faster; only its machines are used here, since a request has to pass the SDK.
//
// A test runs a day in a testing/synctest bubble, and fails if a [Report] tells of a
// violation.
package days
