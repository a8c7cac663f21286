package cas_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/backendtest"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/memstore"
)

// A bent is a store with something wrong about it. A nil function does right.
type bent struct {
	*memstore.Store
	load func(ctx context.Context, name string) (cas.Object, error)
	put  func(ctx context.Context, name, version string, data []byte) (cas.Object, error)
}

func straight() *bent { return &bent{Store: memstore.New(clock.System)} }

func (b *bent) Load(ctx context.Context, name string) (cas.Object, error) {
	if b.load != nil {
		return b.load(ctx, name)
	}
	return b.Store.Load(ctx, name)
}

func (b *bent) Put(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
	if b.put != nil {
		return b.put(ctx, name, version, data)
	}
	return b.Store.Put(ctx, name, version, data)
}

func (b *bent) Touch(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
	return b.Put(ctx, name, version, data)
}

// overwrite replaces whatever there is.
func (b *bent) overwrite(ctx context.Context, name string, data []byte) (cas.Object, error) {
	b.Set(name, data)
	o, err := b.Store.Load(ctx, name)
	o.Data = nil
	return o, err
}

// ignoring overwrites where f says so.
func ignoring(f func(exists bool, version string) bool) *bent {
	b := straight()
	b.put = func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
		if f(b.Data(name) != nil, version) {
			return b.overwrite(ctx, name, data)
		}
		return b.Store.Put(ctx, name, version, data)
	}
	return b
}

func verify(t *testing.T, s cas.Store) (backends.Report, error) {
	t.Helper()
	report, err := cas.New(s, cas.Options{}).Verify(t.Context())
	if err != nil {
		require.NotContains(t, err.Error(), "\n", "an error is one line")
	}
	return report, err
}

func results(r backends.Report) map[string]backends.Result {
	all := map[string]backends.Result{}
	for _, c := range r.Checks {
		all[c.Name] = c.Result
	}
	return all
}

func TestVerifyPassesAStoreThatKeepsItsWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := straight()
		s.Set("lease", []byte("not to be touched"))
		report, err := verify(t, s)
		require.NoError(t, err, report)
		for _, c := range report.Checks {
			require.Equal(t, backends.Passed, c.Result, "%s: %s", c.Name, c.Saw)
		}
		require.True(t, report.Dates)
		require.Len(t, report.Left, 1)
		require.ElementsMatch(t, []string{"lease", report.Left[0]}, s.Names())
		require.Equal(t, "not to be touched", string(s.Data("lease")))
		require.Contains(t, report.String(), "leases may be kept here\n")
	})
}

// breaches are ways to break the word, and the check that tells of each.
var breaches = map[string]struct {
	store  func() *bent
	failed string
}{
	"it ignores every condition": {
		func() *bent { return ignoring(func(bool, string) bool { return true }) }, "refuse create",
	},
	"it ignores that an object exists": {
		func() *bent { return ignoring(func(exists bool, v string) bool { return exists && v == "" }) }, "refuse create",
	},
	"it ignores that a version is old": {
		func() *bent { return ignoring(func(exists bool, v string) bool { return exists && v != "" }) }, "refuse stale",
	},
	"it creates what was to be replaced": {
		func() *bent { return ignoring(func(exists bool, v string) bool { return !exists && v != "" }) }, "refuse missing",
	},
	"it creates what was to be replaced, and denies it":              {lying(func(exists bool, v string, _ int) bool { return !exists && v != "" }), "refuse missing"},
	"it creates over what exists, and denies it":                     {lying(func(exists bool, v string, _ int) bool { return exists && v == "" }), "refuse create"},
	"it replaces an old version, and denies it":                      {lying(func(exists bool, v string, _ int) bool { return exists && v != "" }), "refuse stale"},
	"it lets one of those that it refuses create":                    {lying(func(_ bool, v string, n int) bool { return v == "" && n == 3 }), "create"},
	"it lets one of those that it refuses replace":                   {lying(func(_ bool, v string, n int) bool { return v != "" && n == 3 }), "race"},
	"it claims to have replaced what does not exist":                 {claiming, "refuse missing"},
	"it creates what was to be replaced, if asked until it has time": {busyFirst, "refuse missing"},

	"it lets everybody create at once":    {racy(1, func(v string) bool { return v == "" }), "create"},
	"it lets everybody replace at once":   {racy(1, func(v string) bool { return v != "" }), "race"},
	"its reads are late":                  {late, "read after write"},
	"its versions come back":              {recurring, "update"},
	"it tells another version than reads": {telling(func(v string) string { return "w" + v }), "same version"},
	"it refuses every replacement":        {refusing(func(v string) bool { return v != "" }), "update"},
	"it refuses every creation":           {refusing(func(v string) bool { return v == "" }), "create"},
}

func TestVerifyRefusesAStoreThatDoesNot(t *testing.T) {
	for name, c := range breaches {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				report, err := verify(t, c.store())
				require.ErrorIs(t, err, backends.ErrUnsupported)
				require.Equal(t, backends.Failed, results(report)[c.failed], report)
				require.Contains(t, err.Error(), c.failed+": ")
				require.Contains(t, report.String(), "no leases here")
				for _, c := range report.Checks {
					if c.Result == backends.Failed {
						require.NotEmpty(t, c.Saw)
						require.NotEmpty(t, c.Means)
						require.NotEmpty(t, c.Do)
					}
				}
			})
		})
	}
}

// racy lets a share of the meetings end with two winners: those that write against
// the same version.
func racy(share float64, when func(version string) bool) func() *bent {
	return func() *bent { return racyBy(rand.New(rand.NewPCG(1, 1)), share, when) }
}

func racyBy(chance *rand.Rand, share float64, when func(version string) bool) *bent {
	var mu sync.Mutex
	seen, fails := map[string]bool{}, map[string]bool{}
	b := straight()
	b.put = func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
		mu.Lock()
		key := name + version
		if !seen[key] {
			seen[key], fails[key] = true, when(version) && chance.Float64() < share
		}
		fail := fails[key]
		o, _ := b.Store.Load(ctx, name)
		mu.Unlock()
		if fail && o.Version == version {
			time.Sleep(time.Millisecond) // checked, and not yet done
			return b.overwrite(ctx, name, data)
		}
		return b.Store.Put(ctx, name, version, data)
	}
	return b
}

func late() *bent {
	b := straight()
	var mu sync.Mutex
	before := map[string]cas.Object{}
	b.put = func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
		old, _ := b.Store.Load(ctx, name)
		o, err := b.Store.Put(ctx, name, version, data)
		if err == nil && old.Exists {
			mu.Lock()
			before[name] = old
			mu.Unlock()
			time.AfterFunc(10*time.Millisecond, func() { mu.Lock(); delete(before, name); mu.Unlock() })
		}
		return o, err
	}
	b.load = func(ctx context.Context, name string) (cas.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		if o, ok := before[name]; ok {
			return o, nil
		}
		return b.Store.Load(ctx, name)
	}
	return b
}

func recurring() *bent {
	b := telling(func(v string) string { return "1" })()
	told := b.put
	b.load = func(ctx context.Context, name string) (cas.Object, error) {
		o, err := b.Store.Load(ctx, name)
		if o.Exists {
			o.Version = "1"
		}
		return o, err
	}
	b.put = func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
		o, err := b.Store.Load(ctx, name)
		if version != "" && err == nil {
			version = o.Version
		}
		return told(ctx, name, version, data)
	}
	return b
}

// telling answers writes with another version than the true one.
func telling(lie func(string) string) func() *bent {
	return func() *bent {
		b := straight()
		b.put = func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
			if version != "" && b.Data(name) != nil {
				if o, _ := b.Store.Load(ctx, name); lie(o.Version) == version {
					version = o.Version
				}
			}
			o, err := b.Store.Put(ctx, name, version, data)
			if err == nil {
				o.Version = lie(o.Version)
			}
			return o, err
		}
		return b
	}
}

func refusing(when func(version string) bool) func() *bent {
	return func() *bent {
		b := straight()
		b.put = func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
			if when(version) {
				return cas.Object{}, cas.ErrConflict
			}
			return b.Store.Put(ctx, name, version, data)
		}
		return b
	}
}

// lying refuses as it should, but obeys all the same where f says so: of the n-th
// refusal of a name and version.
func lying(f func(exists bool, version string, n int) bool) func() *bent {
	return func() *bent {
		b := straight()
		var mu sync.Mutex
		refusals := map[string]int{}
		b.put = func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
			mu.Lock()
			defer mu.Unlock()
			exists := b.Data(name) != nil
			o, err := b.Store.Put(ctx, name, version, data)
			if err == nil {
				return o, nil
			}
			key := name + version
			if refusals[key]++; f(exists, version, refusals[key]) {
				b.Set(name, data)
			}
			return o, err
		}
		return b
	}
}

// missing answers by f where an object is to be replaced that does not exist.
func missing(f func(b *bent, name string, data []byte) (cas.Object, error)) *bent {
	b := straight()
	b.put = func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
		if version != "" && b.Data(name) == nil {
			return f(b, name, data)
		}
		return b.Store.Put(ctx, name, version, data)
	}
	return b
}

func claiming() *bent {
	return missing(func(*bent, string, []byte) (cas.Object, error) {
		return cas.Object{Exists: true, Version: "w"}, nil
	})
}

var errBusy = &backends.RetryError{After: time.Second, Err: errors.New("slow down")}

func busyFirst() *bent {
	asked := false
	return missing(func(b *bent, name string, data []byte) (cas.Object, error) {
		if !asked {
			asked = true
			return cas.Object{}, errBusy
		}
		return b.overwrite(context.Background(), name, data)
	})
}

// What the store never decided is not passed.
func TestVerifyDoesNotPassWhatWasNeverDecided(t *testing.T) {
	for name, answer := range map[string]error{
		"busy":        errBusy,
		"silent":      errors.New("connection reset"),
		"unsupported": fmt.Errorf("%w: 400", backends.ErrUnsupported),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				report, err := verify(t, missing(func(*bent, string, []byte) (cas.Object, error) { return cas.Object{}, answer }))
				require.ErrorIs(t, err, answer)
				require.NotEqual(t, backends.Passed, results(report)["refuse missing"], report)
				last := report.Checks[len(report.Checks)-1]
				require.Equal(t, "refuse missing", last.Name)
			})
		})
	}
}

// Some stores ask for rights before they look whether the object exists.
func TestADenialToReplaceWhatDoesNotExistIsARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		report, err := verify(t, missing(func(*bent, string, []byte) (cas.Object, error) { return cas.Object{}, backends.ErrDenied }))
		require.NoError(t, err)
		require.Equal(t, backends.Passed, results(report)["refuse missing"], report)
	})
}

// A store that says when to ask again is obeyed, but not for hours.
func TestVerifyWaitsAsLongAsTheStoreSays(t *testing.T) {
	for after, want := range map[time.Duration][2]time.Duration{
		3 * time.Second: {2 * time.Second, 5 * time.Second},
		time.Hour:       {3 * time.Second, 10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := straight()
			var asked []time.Time
			b.load = func(ctx context.Context, name string) (cas.Object, error) {
				if asked = append(asked, time.Now()); len(asked) == 1 {
					return cas.Object{}, &backends.RetryError{After: after, Err: errors.New("slow down")}
				}
				b.load = nil
				return b.Store.Load(ctx, name)
			}
			_, err := verify(t, b)
			require.NoError(t, err)
			waited := asked[1].Sub(asked[0])
			require.GreaterOrEqual(t, waited, want[0])
			require.LessOrEqual(t, waited, want[1])
		})
	}
}

// Rounds that nobody won tell nothing, and are repeated; but not for ever.
func TestVerifyRepeatsTheRoundsThatNobodyWon(t *testing.T) {
	t.Run("TwoOfThree", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			meetings := 0
			report, err := verify(t, meeting(func() bool { meetings++; return meetings%3 != 0 }))
			require.NoError(t, err, report)
		})
	})
	t.Run("All", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			meetings := 0
			report, err := verify(t, meeting(func() bool { meetings++; return true }))
			require.ErrorIs(t, err, errBusy, "it tells why")
			require.NotErrorIs(t, err, backends.ErrUnsupported)
			require.Equal(t, backends.Unclear, results(report)["race"], report)
			require.Equal(t, 3*21, meetings)
		})
	})
}

// meeting is a store that is busy for all that meet to replace one version, if busy
// says so of their meeting.
func meeting(busy func() bool) *bent {
	b := straight()
	var mu sync.Mutex
	at := map[time.Time]int{} // writers
	verdicts := map[time.Time]bool{}
	refused := func(start time.Time) bool {
		mu.Lock()
		defer mu.Unlock()
		if _, judged := verdicts[start]; !judged {
			verdicts[start] = at[start] > 1 && busy()
		}
		return verdicts[start]
	}
	b.put = func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
		start := time.Now()
		mu.Lock()
		at[start]++
		mu.Unlock()
		time.Sleep(time.Millisecond)
		if version != "" && refused(start) {
			return cas.Object{}, errBusy
		}
		return b.Store.Put(ctx, name, version, data)
	}
	return b
}

// A store that fails a fifth of the meetings is found by all but one run in a
// hundred.
func TestVerifyFindsAStoreThatSeldomFails(t *testing.T) {
	chance := rand.New(rand.NewPCG(3, 4))
	const runs = 400
	missed := 0
	for range runs {
		synctest.Test(t, func(t *testing.T) {
			report, err := verify(t, racyBy(chance, 0.2, func(v string) bool { return v != "" }))
			if err == nil {
				missed++
				return
			}
			require.ErrorIs(t, err, backends.ErrUnsupported, report)
			require.Equal(t, backends.Failed, results(report)["race"])
		})
	}
	t.Logf("%d of %d runs found nothing", missed, runs)
	require.LessOrEqual(t, missed, runs/40)
}

func TestVerifyTellsOfDatesThatCannotBeReliedOn(t *testing.T) {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // of the bubble
	for name, date := range map[string]func(o *cas.Object){
		"none":                func(o *cas.Object) { o.Modified, o.Now = time.Time{}, time.Time{} },
		"of the answers only": func(o *cas.Object) { o.Modified = time.Time{} },
		"of the objects only": func(o *cas.Object) { o.Now = time.Time{} },
		"that do not move":    func(o *cas.Object) { o.Modified = start },
		"of two clocks": func(o *cas.Object) {
			if o.Now.Nanosecond()%2 == 0 {
				o.Now = o.Now.Add(time.Hour)
			}
		},
		"that are an hour behind": func(o *cas.Object) { o.Modified = o.Modified.Add(-time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := straight()
				var loads atomic.Int64
				b.load = func(ctx context.Context, name string) (cas.Object, error) {
					o, err := b.Store.Load(ctx, name)
					if n := loads.Add(1); o.Now.Nanosecond()%2 == int(n%2) {
						o.Now = o.Now.Add(time.Nanosecond)
					}
					date(&o)
					return o, err
				}
				e := cas.New(b, cas.Options{Dates: cas.Dates{Trusted: true, Skew: 2 * time.Second}})
				report, err := e.Verify(t.Context())
				require.NoError(t, err, report)
				require.Equal(t, backends.Warned, results(report)["dates"], report)
				require.False(t, report.Dates)
				require.Contains(t, report.String(), "leases may be kept here, with one warning")
			})
		})
	}
}

// After Verify the dates of a store are used if they can be, and else not, whatever
// was believed before.
func TestWhatVerifyFindsAboutDatesIsObeyed(t *testing.T) {
	const ttl = 30 * time.Second
	dies := func(t *testing.T, s cas.Store) {
		_, err := cas.New(s, cas.Options{}).Acquire(t.Context(), "job", backends.Claim{TTL: ttl})
		require.NoError(t, err)
		time.Sleep(2 * ttl)
	}
	for _, good := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := straight()
			if !good {
				b.load = func(ctx context.Context, name string) (cas.Object, error) {
					o, err := b.Store.Load(ctx, name)
					o.Modified = o.Modified.Truncate(24 * time.Hour)
					return o, err
				}
			}
			e := cas.New(b, cas.Options{Dates: cas.Dates{Trusted: !good}})
			_, err := e.Verify(t.Context())
			require.NoError(t, err)
			dies(t, b)
			_, err = e.Acquire(t.Context(), "job", backends.Claim{TTL: ttl})
			if good {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, backends.ErrHeld)
			}
		})
	}
}

// What is missing is named, whatever else is there.
func TestVerifyNamesTheRightThatIsMissing(t *testing.T) {
	denied := fmt.Errorf("%w: the store answers 403", backends.ErrDenied)
	for name, c := range map[string]struct {
		may   func(op string, exists bool) bool
		right string
	}{
		"to read":    {func(op string, _ bool) bool { return op != "load" }, "right to read objects"},
		"to find":    {func(op string, exists bool) bool { return op != "load" || exists }, "right to tell a missing object from one that may not be read"},
		"to create":  {func(op string, exists bool) bool { return op != "put" || exists }, "right to create objects"},
		"to replace": {func(op string, exists bool) bool { return op != "put" || !exists }, "right to replace objects"},
		"all":        {func(string, bool) bool { return false }, "right to read objects, to create objects"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := straight()
				b.load = func(ctx context.Context, name string) (cas.Object, error) {
					if !c.may("load", b.Data(name) != nil) {
						return cas.Object{}, denied
					}
					return b.Store.Load(ctx, name)
				}
				b.put = func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
					if !c.may("put", b.Data(name) != nil) {
						return cas.Object{}, denied
					}
					return b.Store.Put(ctx, name, version, data)
				}
				report, err := verify(t, b)
				require.ErrorIs(t, err, backends.ErrDenied)
				require.NotErrorIs(t, err, backends.ErrUnsupported)
				require.Contains(t, strings.ReplaceAll(err.Error(), "that is missing: ", ""), c.right)
				require.Contains(t, report.String(), c.right[len("right "):])
			})
		})
	}
}

func TestVerifyTellsWhatKeptItFromFindingOut(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		result  backends.Result
		verdict string
	}{
		"no container":   {backends.ErrNoContainer, backends.Failed, "no leases here"},
		"unknown header": {backends.ErrUnsupported, backends.Failed, "no leases here"},
		"an outage":      {errors.New("connection refused"), backends.Unclear, "could not be found out"},
		"throttling":     {&backends.RetryError{After: time.Minute, Err: errors.New("slow down")}, backends.Unclear, "could not be found out"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := straight()
				b.load = func(context.Context, string) (cas.Object, error) { return cas.Object{}, c.err }
				b.put = func(context.Context, string, string, []byte) (cas.Object, error) { return cas.Object{}, c.err }
				report, err := verify(t, b)
				require.ErrorIs(t, err, c.err)
				require.Equal(t, c.result, report.Checks[len(report.Checks)-1].Result)
				require.Contains(t, report.String(), c.verdict)
				require.Empty(t, report.Left)
			})
		})
	}
}

// A correct store passes on a bad day too.
func TestVerifyPassesOverABadNetwork(t *testing.T) {
	for name, fault := range map[string]backendtest.Fault{
		"lost requests":      backendtest.LostBefore(),
		"lost answers":       backendtest.LostAfter(),
		"throttling":         backendtest.Refused(backendtest.Busy(time.Second)),
		"refusals of itself": backendtest.Conflict(),
		"slow answers":       backendtest.DelayedAfter(3 * time.Second),
		"duplicates":         backendtest.Twice(50 * time.Millisecond),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := backendtest.NewStore(straight())
				defer net.Close()
				n := 0
				net.Inject(func(r backendtest.Request) backendtest.Fault {
					if n++; n%5 == 0 && (r.Writes() || !errors.Is(fault.Err, cas.ErrConflict)) {
						return fault
					}
					return backendtest.Fault{}
				})
				report, err := verify(t, net)
				require.NoError(t, err, report)
			})
		})
	}
}

func TestVerifyEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := backendtest.NewStore(straight())
		defer net.Close()
		net.Inject(backendtest.Always(backendtest.Hung()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := cas.New(net, cas.Options{}).Verify(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
	})
}

// However often it is called, and by however many at once, Verify finds the same, and
// leaves no more behind than a few objects.
func TestVerifyDoesNotLitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := straight()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				for range 20 {
					report, err := cas.New(s, cas.Options{}).Verify(t.Context())
					if err != nil {
						t.Errorf("%v\n%v", err, report)
					}
				}
			})
		}
		all.Wait()
		require.LessOrEqual(t, len(s.Names()), 64)
		report, err := verify(t, s)
		require.NoError(t, err)
		t.Log(report)
	})
}

func TestVerifyLeavesForeignObjectsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := straight()
		for i := range 64 {
			s.Set(fmt.Sprint("bloblease-verify/", i), []byte("mine"))
		}
		_, err := verify(t, s)
		require.ErrorIs(t, err, backends.ErrForeign)
		for _, name := range s.Names() {
			require.Equal(t, "mine", string(s.Data(name)))
		}
	})
}
