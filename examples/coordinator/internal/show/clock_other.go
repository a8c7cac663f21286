//go:build !linux

package show

import "time"

// uptime is the same clock in every process of a machine. Here it is the wall
// clock, so setting that during the demo spoils what is reported.
func uptime() time.Duration { return time.Duration(time.Now().UnixNano()) }
