package mutex_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/memlease"
	"github.com/bloblease/bloblease/mutex"
)

func TestZeroOptionsMeanTheDefaults(t *testing.T) {
	for _, o := range []*mutex.Options{nil, {}} {
		m, err := mutex.New(memlease.New(), "job", o)
		require.NoError(t, err)
		got := m.Options()
		host, err := os.Hostname()
		require.NoError(t, err)
		require.Equal(t, 30*time.Second, got.TTL)
		require.Equal(t, 5*time.Second, got.Poll)
		require.Equal(t, fmt.Sprintf("%s:%d", host, os.Getpid()), got.Holder)
		require.NotNil(t, got.Logger)
		require.Equal(t, "job", m.Name())
	}
	m, err := mutex.New(memlease.New(), "job", &mutex.Options{TTL: 3 * time.Second})
	require.NoError(t, err)
	require.Equal(t, time.Second, m.Options().Poll, "a short TTL has a shorter poll")
}

func TestNewRefusesWhatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		options mutex.Options
		says    []string // the value and the rule
	}{
		"negative TTL":          {mutex.Options{TTL: -time.Second}, []string{"TTL -1s", "minimum of 1s"}},
		"short TTL":             {mutex.Options{TTL: 999 * time.Millisecond}, []string{"TTL 999ms", "minimum of 1s"}},
		"long TTL":              {mutex.Options{TTL: 25 * time.Hour}, []string{"TTL 25h", "maximum of 24h"}},
		"overflowing TTL":       {mutex.Options{TTL: math.MaxInt64}, []string{"TTL 2562047h", "maximum of 24h"}},
		"lowest TTL":            {mutex.Options{TTL: math.MinInt64}, []string{"TTL -2562047h", "minimum of 1s"}},
		"TTL between the steps": {mutex.Options{TTL: time.Second + 1}, []string{"TTL 1.000000001s", "multiple of 1ms"}},
		"negative poll":         {mutex.Options{Poll: -1}, []string{"poll -1ns", "not positive"}},
		"short poll":            {mutex.Options{Poll: time.Millisecond}, []string{"poll 1ms", "minimum of 10ms"}},
		"overflowing poll":      {mutex.Options{Poll: math.MaxInt64}, []string{"poll 2562047h", "maximum of 24h"}},
		"long holder":           {mutex.Options{Holder: strings.Repeat("x", 257)}, []string{"257 bytes", "at most 256"}},
		"holder with a newline": {mutex.Options{Holder: "a\nb"}, []string{`a\nb`, "U+000A"}},
		"large meta":            {mutex.Options{Meta: map[string]string{"k": strings.Repeat("x", 4096)}}, []string{"4097 bytes", "at most 4096"}},
		"empty key":             {mutex.Options{Meta: map[string]string{"": "v"}}, []string{"empty key"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := mutex.New(memlease.New(), "job", &c.options)
			require.Error(t, err)
			for _, part := range c.says {
				require.ErrorContains(t, err, part)
			}
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestNewRefusesBadNames(t *testing.T) {
	for _, name := range []string{"", strings.Repeat("x", 1025), "a\x00b", "a\nb", "a\x7f", "a\xff"} {
		_, err := mutex.New(memlease.New(), name, nil)
		require.Error(t, err, "%q", name)
	}
	for _, name := range []string{"a", "a/b", "..", "ü", "a b", "%2F", strings.Repeat("x", 1024)} {
		_, err := mutex.New(memlease.New(), name, nil)
		require.NoError(t, err, "%q", name)
	}
	_, err := mutex.New(nil, "job", nil)
	require.ErrorContains(t, err, "nil")
}

type tight struct{ backends.Backend }

func (tight) Limits() backends.Limits {
	return backends.Limits{MinTTL: time.Millisecond, MaxTTL: time.Minute, Step: time.Millisecond, MinPoll: time.Millisecond}
}

func TestATTLThatTheMarginsWouldEatIsRefused(t *testing.T) {
	_, err := mutex.New(tight{}, "job", &mutex.Options{TTL: 499 * time.Millisecond})
	require.ErrorContains(t, err, "499ms")
	require.ErrorContains(t, err, "500ms")
	_, err = mutex.New(tight{}, "job", &mutex.Options{TTL: 500 * time.Millisecond})
	require.NoError(t, err)
}
