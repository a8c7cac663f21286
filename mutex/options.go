package mutex

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"time"

	"github.com/bloblease/bloblease/backends"
)

// Token is a fencing token; see [backends.Token].
type Token = backends.Token

const (
	defaultTTL  = 30 * time.Second
	defaultPoll = 5 * time.Second
	shortestTTL = 500 * time.Millisecond // below this the margins eat the lease
	longestPoll = 24 * time.Hour
)

// Options are the settings of a Mutex. Zero values mean the defaults.
type Options struct {
	// TTL is how long the lease lasts without a renewal, and so about how
	// long the others wait after its holder has died. Default 30 s; the
	// backend's Limits apply. It is renewed every TTL/3. Contenders honour
	// the TTL of the holder if that is longer than their own.
	TTL time.Duration
	// Poll is how long a waiter waits between two looks, give or take 20 %.
	// Default 5 s, or TTL/3 if that is shorter.
	Poll time.Duration
	// Holder names this contender for people; at most 256 bytes. Default
	// "host:pid". It need not be unique, and proves nothing.
	Holder string
	// Meta is stored with the lease and shown to whoever observes it, for
	// example the address of the leader; at most 4,096 bytes in all.
	Meta map[string]string
	// Logger is told what happens: terms begun and ended at Info, trouble at
	// Warn, contention at Debug. Default: nobody.
	Logger *slog.Logger
}

// filled returns o with the defaults for b in place, or an error that names the
// value that breaks a rule, and the rule.
func (o *Options) filled(b backends.Backend) (Options, error) {
	var f Options
	if o != nil {
		f = *o
	}
	f.Meta = maps.Clone(f.Meta)
	limits := b.Limits()
	if f.TTL == 0 {
		f.TTL = defaultTTL
	}
	if f.Poll == 0 {
		f.Poll = max(min(defaultPoll, f.TTL/3), limits.MinPoll)
	}
	if f.Holder == "" {
		f.Holder = defaultHolder()
	}
	if f.Logger == nil {
		f.Logger = slog.New(slog.DiscardHandler)
	}
	return f, f.check(limits)
}

func (o *Options) check(l backends.Limits) error {
	if err := o.claim().Check(l); err != nil {
		return err
	}
	switch {
	case o.TTL < shortestTTL:
		return fmt.Errorf("TTL %v is too short: at least %v is needed to renew in time", o.TTL, shortestTTL)
	case o.Poll <= 0:
		return fmt.Errorf("poll %v is not positive", o.Poll)
	case o.Poll < l.MinPoll:
		return fmt.Errorf("poll %v is below this store's minimum of %v", o.Poll, l.MinPoll)
	case o.Poll > longestPoll:
		return fmt.Errorf("poll %v is above the maximum of %v", o.Poll, longestPoll)
	}
	return nil
}

func (o *Options) claim() backends.Claim {
	return backends.Claim{Holder: o.Holder, TTL: o.TTL, Meta: o.Meta}
}

func defaultHolder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}
