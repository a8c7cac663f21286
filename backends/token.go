package backends

import "context"

// A Token numbers the terms of one lease: a later term has a higher one. A
// resource that remembers the highest token it has seen, and refuses lower ones,
// is safe from a holder that was paused and writes on after its lease has gone.
//
// Tokens grow, but not by one. Tokens of different leases, or of one lease in
// different stores, must not be compared.
type Token uint64

// MaxToken is the highest token: 2^53 − 1, so that JSON, SQL and JavaScript
// carry every token without loss.
const MaxToken Token = 1<<53 - 1

type tokenKey struct{}

// WithToken returns a context that carries t. The contexts of a mutex.Lease
// carry its token already.
func WithToken(ctx context.Context, t Token) context.Context {
	return context.WithValue(ctx, tokenKey{}, t)
}

// TokenFrom returns the token that ctx carries, if it carries one.
func TokenFrom(ctx context.Context) (t Token, ok bool) {
	t, ok = ctx.Value(tokenKey{}).(Token)
	return t, ok
}
