package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/s3lease"
)

func (s *store) crowd(t testing.TB, bucket string, n int) []*s3lease.Backend {
	all := make([]*s3lease.Backend, n)
	for i := range all {
		all[i] = s.backend(t, bucket)
	}
	return all
}

// A term is what somebody was granted, and when.
type term struct {
	backends.Grant
	asked, granted time.Time
}

// contend lets each of all try to acquire each name once, all at once, and returns the
// terms of each name in order. No term begins before the last one's TTL is over.
func contend(t *testing.T, all []*s3lease.Backend, ttl time.Duration, names ...string) map[string][]term {
	t.Helper()
	var mu sync.Mutex
	terms, wrong := map[string][]term{}, error(nil)
	var start, done sync.WaitGroup
	start.Add(1)
	for i, b := range all {
		done.Go(func() {
			start.Wait()
			for j := range names {
				name, asked := names[(i+j)%len(names)], time.Now()
				g, err := acquire(t.Context(), b, name, backends.Claim{Holder: fmt.Sprint("contender ", i), TTL: ttl})
				mu.Lock()
				switch {
				case err == nil:
					terms[name] = append(terms[name], term{g, asked, time.Now()})
				case !errors.Is(err, backends.ErrHeld):
					wrong = errors.Join(wrong, err)
				}
				mu.Unlock()
			}
		})
	}
	start.Done()
	done.Wait()
	require.NoError(t, wrong)
	for name, of := range terms {
		slices.SortFunc(of, func(a, b term) int { return cmp.Compare(a.Token, b.Token) })
		for i := range of[1:] {
			require.GreaterOrEqual(t, of[i+1].granted.Sub(of[i].asked), ttl, "%s has two holders", name)
		}
	}
	return terms
}

// acquire tries until the store has decided.
func acquire(ctx context.Context, b backends.Backend, name string, c backends.Claim) (backends.Grant, error) {
	for {
		g, err := b.Acquire(ctx, name, c)
		if retry := (*backends.RetryError)(nil); !errors.As(err, &retry) {
			return g, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A hundred create one lease at once, in a hundred rounds.
func TestOneOfAHundredCreatesALease(t *testing.T) {
	for _, s := range versitygws(t) {
		t.Run(s.name, func(t *testing.T) {
			s.need(t, createGate, replaceGate)
			all, rounds := s.crowd(t, s.bucket(t), 100), times(3, 100)
			for round := range rounds {
				name := fmt.Sprint("job-", round)
				require.Len(t, contend(t, all, time.Minute, name)[name], 1, name)
			}
			t.Logf("%d rounds", rounds)
		})
	}
}

// The holders of many leases have died. Of many contenders that have watched, one takes
// over each.
func TestExpiredLeasesGetOneNewHolderEach(t *testing.T) {
	for _, s := range versitygws(t) {
		t.Run(s.name, func(t *testing.T) {
			s.need(t, createGate, replaceGate)
			bucket, ttl := s.bucket(t), time.Duration(times(4, 40))*time.Second
			names, tokens := make([]string, times(20, 200)), map[string]backends.Token{}
			dead := s.backend(t, bucket)
			for i := range names {
				names[i] = fmt.Sprint("job-", i)
				g, err := acquire(t.Context(), dead, names[i], backends.Claim{Holder: "dead", TTL: ttl})
				require.NoError(t, err)
				tokens[names[i]] = g.Token
			}
			all := s.crowd(t, bucket, times(10, 50))
			watch(t, all, names)
			time.Sleep(ttl + ttl/50)
			begin, further := time.Now(), 0
			terms := contend(t, all, ttl, names...)
			for name, token := range tokens {
				require.NotEmpty(t, terms[name], name)
				require.Greater(t, terms[name][0].Token, token)
				further += len(terms[name]) - 1
			}
			t.Logf("%d contenders on each of %d records, in %v; %d terms of the new ones ran out meanwhile",
				len(all), len(names), time.Since(begin).Round(time.Second), further)
		})
	}
}

// watch lets all look at all records.
func watch(t *testing.T, all []*s3lease.Backend, names []string) {
	t.Helper()
	errs := make([]error, len(all))
	var done sync.WaitGroup
	for i, b := range all {
		done.Go(func() {
			for _, name := range names {
				_, err := b.Observe(t.Context(), name)
				errs[i] = errors.Join(errs[i], err)
			}
		})
	}
	done.Wait()
	require.NoError(t, errors.Join(errs...))
}
