// Package filelease keeps leases in a directory that the processes of one
// machine share. It needs no server and no account: use it for development, for
// tests, and where several processes of one machine must not do the same work at
// once.
//
// # Not for several machines
//
// Never give it a directory that more than one machine can see: no NFS, no SMB,
// no folder shared with a virtual machine, no volume mounted by several hosts.
// Two things that exclusion stands on end at the machine's edge there. The lock
// that makes a write a compare-and-swap (flock) is local on many of these file
// systems, or is dropped when the connection to the server is; and what was
// renamed on one machine may be seen late, or not at all, on another, whose
// cache still has the old file. On Linux [New] refuses the network file systems
// that it knows, but it does not know all. For several machines take an object
// store.
//
// # What is in the directory
//
// A lease named "reports/daily" is three files:
//
//	reports%2fdaily.lease        the record: JSON, and below it a line with
//	                             the time of the writing
//	reports%2fdaily.lease.lock   empty; whoever writes the record holds an
//	                             flock on it, for a few milliseconds
//	reports%2fdaily.lease.tmp    the next record, while it is being written
//
// Letters a–z, digits and ". _ -" stand for themselves, every other byte is
// percent-encoded, and what would become too long is cut and ends in a hash.
// So different names are different files, on file systems that ignore case
// or normalise Unicode too, and none is outside the directory.
//
// Users share leases if all may write to the directory, and it has no sticky
// bit: that, as on /tmp, lets nobody replace another's files.
//
// The records are replaced, never changed in place, and never deleted: a released
// lease leaves a record that says "free", so that tokens go on growing. The
// lock files are empty and stay, too.
//
// # Time
//
// The last line of a record says how long the machine had been up when it was
// written, suspended time included, and the kernel's boot ID. A contender on the
// same machine can thus tell the record's age at its first look, and take a dead
// process's lease over without having watched it. After a reboot, and on
// systems without such a clock, it has to watch the record for a TTL. The dates
// of the files, which follow the wall clock, mean nothing.
//
// # What survives a crash
//
// A write is acknowledged when the record has been written to a temporary file,
// synced, renamed over the old one, and the directory has been synced. A process
// that is killed at any instant therefore leaves the old record or the new one,
// whole, and so does a power failure, as far as the disk keeps its promises. A
// temporary file that is left behind is harmless; the next writer of that lease
// removes it. The kernel frees the lock of a process that dies. A process that
// is stopped (SIGSTOP) in the milliseconds in which it holds that lock keeps all
// others from writing this lease until it is continued or killed.
//
// # What does not
//
// Whoever deletes these files, restores old ones, or puts another directory
// in this one's place, ends the exclusion: the holder learns of it at its next
// renewal, and until a TTL has passed two processes may believe that they hold
// the lease. Keep the directory away from what cleans /tmp.
package filelease
