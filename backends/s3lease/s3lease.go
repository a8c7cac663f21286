package s3lease

import (
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
)

// Options are the settings of a Backend. The zero value means the defaults.
type Options struct {
	// Prefix goes before the names of all leases to give the keys of their
	// objects. It is empty or ends in "/".
	Prefix string
	// TrustDates allows takeovers by the store's dates on an endpoint that is not
	// AWS's; there they are allowed anyway. Set it for a store whose Last-Modified
	// moves with every write, and whose clocks agree within 2 seconds: Verify finds
	// that out, and reports it as Report.Dates. A backend that was verified goes by
	// what was found, whatever is set here.
	TrustDates bool
}

// A Backend keeps leases in one bucket. It is safe for concurrent use.
type Backend struct{ *cas.Engine }

// New returns a Backend for a bucket, or for an access point of one, named by its
// ARN. It makes no request.
func New(c *s3.Client, bucket string, o *Options) (*Backend, error) {
	return newBackend(clock.System, c, bucket, o)
}

func newBackend(now clock.Clock, c *s3.Client, bucket string, o *Options) (*Backend, error) {
	s, options, err := open(now, c, bucket, o)
	if err != nil {
		return nil, fmt.Errorf("s3lease: %w", err)
	}
	return &Backend{cas.New(s, options)}, nil
}

// open returns the store, and what it is to the engine.
func open(now clock.Clock, c *s3.Client, bucket string, o *Options) (*store, cas.Options, error) {
	if c == nil {
		return nil, cas.Options{}, errors.New("the client is nil")
	}
	var own Options
	if o != nil {
		own = *o
	}
	e, err := locate(c.Options(), bucket)
	if err == nil {
		err = checkPrefix(own.Prefix)
	}
	if err != nil {
		return nil, cas.Options{}, err
	}
	s := newStore(c, bucket, own.Prefix, e)
	s.carrier = clock.Carry(now)
	return s, cas.Options{
		Limits:   limits,
		Doubtful: true,
		Dates:    cas.Dates{Trusted: e.aws || own.TrustDates, Granularity: time.Second, Skew: 2 * time.Second},
	}, nil
}

var limits = backends.Limits{
	MinTTL: time.Second, MaxTTL: 24 * time.Hour, Step: time.Millisecond, MinPoll: 100 * time.Millisecond,
}
