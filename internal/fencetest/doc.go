// Package fencetest is what every fence has to do, as one table of behaviours. Each
// fence, in memory or on a database, gives it a way to make fresh resources.
package fencetest
