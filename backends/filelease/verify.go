package filelease

import (
	"context"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
)

var _ cas.Verifiable = (*store)(nil)

// Describe implements cas.Verifiable.
func (s *store) Describe() string { return "directory " + s.path }

// Fresh implements cas.Verifiable: what stands for a connection here is the
// directory, opened anew, and that is done for each request. A second store has
// locks and a bound on attempts of its own, like another process.
func (s *store) Fresh() (cas.Store, func()) { return newStore(s.path, clock.Of(s)), func() {} }

// Right implements cas.Verifiable.
func (s *store) Right(r cas.Right, _ error) string {
	if r == cas.RightToRead {
		return "to search " + s.path + " and to read the files in it"
	}
	return "to create, replace and remove files in " + s.path
}

// Inspect implements cas.Verifiable.
func (s *store) Inspect(context.Context, string, string) ([]backends.Check, error) {
	return nil, nil
}
