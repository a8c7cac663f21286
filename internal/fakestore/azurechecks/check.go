package azurechecks

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An Env is the store that a check runs against.
type Env struct {
	// Container exists, and is for the checks alone. Its retries are off or do
	// no harm.
	Container *container.Client
	// Missing is a container of the same account that does not exist.
	Missing *container.Client
	// Sleep waits on the clock of the store.
	Sleep func(time.Duration)
	// Departs is what this store is known to do otherwise.
	Departs Departures
}

// Departures map points of the checks to the outcome that a store has there,
// in place of what Azure documents. A point is "Check: what is tried".
type Departures map[string]string

// A Check is one statement about the service.
type Check struct {
	// Name is the statement, as a test name.
	Name string
	// Slow checks sleep until a lease of 15 s has expired.
	Slow bool

	run func(*subject)
}

// Run runs the check on a blob of its own.
func (c Check) Run(t testing.TB, e Env) {
	t.Helper()
	c.run(newSubject(t, c.Name, e))
}

// All returns every check.
func All() []Check {
	checks := tableChecks()
	checks = append(checks, conditionChecks...)
	checks = append(checks, leaseChecks...)
	checks = append(checks, expiryChecks...)
	return append(checks, serviceChecks...)
}

// outcome is "ok", or status and code of a refusal.
func outcome(err error) string {
	var refusal *azcore.ResponseError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &refusal):
		return strings.TrimSpace(fmt.Sprint(refusal.StatusCode, " ", refusal.ErrorCode))
	}
	return err.Error()
}

// wants asserts an outcome at a point: the documented one, or the departure
// that is known there.
func (s *subject) wants(point, documented, got string) {
	s.t.Helper()
	point = s.check + ": " + point
	want := documented
	if departure, ok := s.env.Departs[point]; ok {
		assert.NotEqual(s.t, documented, departure, "%q is no departure", point)
		want = departure
	}
	assert.Equal(s.t, want, got, point)
}

// ok requires that something succeeds which no store may refuse.
func (s *subject) ok(err error) {
	s.t.Helper()
	require.NoError(s.t, err)
}
