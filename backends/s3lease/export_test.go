package s3lease

import (
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
)

// NewAt is New on a machine with other clocks.
func NewAt(now clock.Clock, c *s3.Client, bucket string, o *Options) (*Backend, error) {
	return newBackend(now, c, bucket, o)
}

// OpenStore returns what New puts an engine on.
func OpenStore(c *s3.Client, bucket string, o *Options) (cas.Store, cas.Options, error) {
	s, options, err := open(clock.System, c, bucket, o)
	return s, options, err
}

// Knowing is a store that has found out that ETags go without quotes.
func Knowing(s cas.Store) cas.Store {
	s.(*store).dialect.unquoted = true
	return s
}
