package record

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/bloblease/bloblease/backends"
)

// ErrNoToken says that there is no token above the last one. No store gets that far by itself.
var ErrNoToken = fmt.Errorf("%w: no token is left above %d", backends.ErrForeign, backends.MaxToken)

// NextToken is higher than prev and not below floor. It is also not below the
// store's clock in seconds, times 2^20, plus 20 random bits: should the record
// be deleted or an old copy of it restored, tokens go on growing all the same.
// It returns 0 if no token is left.
func NextToken(c Chance, prev, floor backends.Token, now time.Time) backends.Token {
	t := max(prev+1, floor)
	if byDate := dateToken(c, now); byDate <= backends.MaxToken { // else the date is a lie
		t = max(t, byDate)
	}
	if t > backends.MaxToken {
		return 0
	}
	return t
}

// Behind reports whether a token is lower than those that were made a second, of the
// store's clock, before now, or earlier. It is not if now is unknown, or a lie.
func Behind(t backends.Token, now time.Time) bool {
	least := now.Unix() - 1
	return least > 0 && least <= int64(backends.MaxToken>>20) && t < backends.Token(least)<<20
}

func dateToken(c Chance, now time.Time) backends.Token {
	if now.Unix() <= 0 || now.Unix() > int64(backends.MaxToken>>20) {
		return 0
	}
	return backends.Token(now.Unix())<<20 | backends.Token(c.Int64N(1<<20)) //nolint:gosec // positive, as checked
}

// Chance is what the random bits of tokens come from: a clock, so that a simulated
// world has the tokens that its seed says. They keep tokens apart, and are no secret.
type Chance interface{ Int64N(n int64) int64 }

// NewNonce returns 128 random bits in hexadecimal.
func NewNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, says its doc
	return hex.EncodeToString(b[:])
}
