package fence

import (
	"context"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/bloblease/bloblease/backends"
)

// Token is a fencing token; see [backends.Token].
type Token = backends.Token

// WithToken returns a context that carries t, as the context of a lease carries the
// token of that lease; see [backends.WithToken].
func WithToken(ctx context.Context, t Token) context.Context { return backends.WithToken(ctx, t) }

// TokenFrom returns the token that ctx carries, if it carries one: that of the lease
// whose Context it comes from, or that of the last WithToken.
func TokenFrom(ctx context.Context) (t Token, ok bool) { return backends.TokenFrom(ctx) }

// A mark is what a resource remembers. The zero mark is that of a resource that has
// seen no token.
type mark struct {
	lock  string
	token Token
}

// admit is the rule of every fence.
func (m mark) admit(lock string, t Token) error {
	switch {
	case m.token == 0:
		return nil
	case m.lock != lock:
		return &OtherLockError{Lock: lock, Owner: m.lock}
	case t < m.token:
		return &StaleError{Lock: lock, Token: t, Highest: m.token}
	default:
		return nil
	}
}

// check refuses what is no token of a lock.
func check(lock string, t Token) error {
	if t == 0 {
		return fmt.Errorf("token 0 of lock %.40q is none: tokens start at 1", lock)
	}
	if t > backends.MaxToken {
		return fmt.Errorf("token %d is above the highest token, %d", t, backends.MaxToken)
	}
	return backends.CheckName(lock)
}

// checkText refuses names that a database cannot keep, or that cannot be told apart
// when they are read.
func checkText(what, s string, longest int) error {
	switch {
	case s == "":
		return fmt.Errorf("%s is empty: it needs 1 to %d bytes", what, longest)
	case len(s) > longest:
		return fmt.Errorf("%s %.20q… has %d bytes: at most %d are allowed", what, s, len(s), longest)
	case !utf8.ValidString(s):
		return fmt.Errorf("%s %.40q is not valid UTF-8", what, s)
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return fmt.Errorf("%s %.40q has the control character %U", what, s, r)
		}
	}
	return nil
}
