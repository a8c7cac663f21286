package record

import (
	"crypto/rand"
	"encoding/binary"
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
func NextToken(prev, floor backends.Token, now time.Time) backends.Token {
	t := max(prev+1, floor)
	if byDate := dateToken(now); byDate <= backends.MaxToken { // else the date is a lie
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

func dateToken(now time.Time) backends.Token {
	if now.Unix() <= 0 || now.Unix() > int64(backends.MaxToken>>20) {
		return 0
	}
	return backends.Token(now.Unix())<<20 | backends.Token(randomBits()&(1<<20-1)) //nolint:gosec // positive, as checked
}

func randomBits() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails, says its doc
	return binary.LittleEndian.Uint32(b[:])
}

// NewNonce returns 128 random bits in hexadecimal.
func NewNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, says its doc
	return hex.EncodeToString(b[:])
}
