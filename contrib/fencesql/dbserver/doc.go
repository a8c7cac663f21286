// Package dbserver starts PostgreSQL and MariaDB for tests, from the programs that the
// system has: as child processes, with data in a temporary directory, reached by a
// socket in there. They end with the process that has started them, however that ends.
// As root they run as the user nobody, since these servers refuse root.
package dbserver
