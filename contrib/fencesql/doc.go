// Package fencesql holds the tests of package fence on SQLite, PostgreSQL and MariaDB.
// It is a module of its own so that nobody who uses the library meets the drivers.
//
// PostgreSQL and MariaDB are those of the system; package dbserver starts them. Where
// one is missing its tests are skipped, unless BLOBLEASE_REQUIRE_SQL is set.
package fencesql
