package fakestore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/bloblease/bloblease/internal/fakestore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A register is the smallest store: one value, with a log of the writes.
type register struct {
	mu     sync.Mutex
	writes []string
	last   *http.Request
}

func (s *register) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = r
	if r.Method == http.MethodPut {
		body, _ := io.ReadAll(r.Body)
		s.writes = append(s.writes, string(body))
		w.WriteHeader(http.StatusCreated)
		return
	}
	if len(s.writes) == 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	value := s.writes[len(s.writes)-1]
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Length", fmt.Sprint(len(value)))
	_, _ = io.WriteString(w, value)
}

func (s *register) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.writes...)
}

// A world is a register behind a layer, in a bubble.
type world struct {
	t     *testing.T
	store *register
	layer *fakestore.Layer
	start time.Time
}

func inBubble(t *testing.T, f func(*testing.T, *world)) {
	synctest.Test(t, func(t *testing.T) {
		store := &register{}
		layer := fakestore.New(store, nil)
		defer layer.Close()
		f(t, &world{t, store, layer, time.Now()})
	})
}

func (w *world) inject(faults ...fakestore.Fault) { w.layer.Inject(fakestore.Each(faults...)) }

// put writes a value and returns the status, or what went wrong.
func (w *world) put(value string) string { return w.ask(w.t.Context(), http.MethodPut, value) }

func (w *world) get() string { return w.ask(w.t.Context(), http.MethodGet, "") }

// ask returns the body of the answer, its status if it is empty, or the error.
func (w *world) ask(ctx context.Context, method, body string) string {
	w.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "https://store.example/x?sig=secret", strings.NewReader(body))
	require.NoError(w.t, err)
	resp, err := w.layer.RoundTrip(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	if len(answer) > 0 {
		return string(answer)
	}
	return resp.Status
}

func (w *world) request(method string) *http.Request {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, "https://store.example/x", nil)
	require.NoError(w.t, err)
	return req
}

func (w *world) client(timeout time.Duration) *http.Client {
	return &http.Client{Transport: w.layer, Timeout: timeout}
}

func (w *world) elapsed() time.Duration { return time.Since(w.start) }

func TestWithoutFaultsTheStoreAnswersAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		assert.Equal(t, "404 Not Found", w.get())
		assert.Equal(t, "201 Created", w.put("a"))
		assert.Equal(t, "a", w.get())
		assert.Zero(t, w.elapsed())
	})
}

func TestALostRequestNeverReachesTheStore(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.inject(fakestore.LostBefore())
		assert.Equal(t, fakestore.ErrReset.Error(), w.put("a"))
		assert.Empty(t, w.store.all())
	})
}

func TestALostAnswerMeansThatTheStoreHasActed(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.inject(fakestore.LostAfter())
		assert.Equal(t, fakestore.ErrReset.Error(), w.put("a"))
		assert.Equal(t, []string{"a"}, w.store.all())
	})
}

func TestADelayedRequestIsOvertaken(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.inject(fakestore.DelayedBefore(5 * time.Second))
		done := make(chan string)
		go func() { done <- w.put("slow") }()
		synctest.Wait()
		w.put("fast")
		assert.Equal(t, "201 Created", <-done)
		assert.Equal(t, 5*time.Second, w.elapsed())
		assert.Equal(t, []string{"fast", "slow"}, w.store.all())
	})
}

func TestARequestThatIsOnItsWayCannotBeCalledBack(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.inject(fakestore.DelayedBefore(5 * time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.Equal(t, context.DeadlineExceeded.Error(), w.ask(ctx, http.MethodPut, "late"))
		assert.Equal(t, time.Second, w.elapsed())
		assert.Empty(t, w.store.all())
		w.layer.Wait()
		assert.Equal(t, 5*time.Second, w.elapsed())
		assert.Equal(t, []string{"late"}, w.store.all())
	})
}

func TestADelayedAnswerTellsWhatWasTrue(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.put("old")
		w.inject(fakestore.DelayedAfter(time.Second))
		done := make(chan string)
		go func() { done <- w.get() }()
		synctest.Wait()
		w.put("new")
		assert.Equal(t, "old", <-done)
		assert.Equal(t, time.Second, w.elapsed())
	})
}

func TestADuplicateArrivesLater(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.inject(fakestore.Twice(3 * time.Second))
		assert.Equal(t, "201 Created", w.put("a"))
		assert.Zero(t, w.elapsed())
		w.put("b")
		w.layer.Wait()
		assert.Equal(t, []string{"a", "b", "a"}, w.store.all())
		assert.Equal(t, 3*time.Second, w.elapsed())
	})
}

func TestARefusalHasAnEffectOrNot(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.inject(fakestore.Refused(http.StatusServiceUnavailable, time.Second), fakestore.RefusedAfter(http.StatusInternalServerError, -1))
		assert.Equal(t, "503 Service Unavailable", w.put("a"))
		assert.Empty(t, w.store.all())
		assert.Equal(t, "500 Internal Server Error", w.put("b"))
		assert.Equal(t, []string{"b"}, w.store.all())
	})
}

func TestARefusalAnnouncesWhenToComeBack(t *testing.T) {
	f := fakestore.Refused(http.StatusTooManyRequests, 3*time.Second)
	assert.Equal(t, "3", f.Header.Get("Retry-After"))
	assert.Empty(t, fakestore.Refused(http.StatusTooManyRequests, -1).Header)
}

func TestAHungRequestWaitsForItsContext(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.inject(fakestore.Hung(), fakestore.HungAfter())
		for _, value := range []string{"a", "b"} {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errors.New("enough"))
			assert.Equal(t, "enough", w.ask(ctx, http.MethodPut, value))
			cancel()
		}
		assert.Equal(t, 2*time.Hour, w.elapsed())
		assert.Equal(t, []string{"b"}, w.store.all())
	})
}

func TestAStaleReadTellsAnEarlierAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.put("first")
		w.inject(fakestore.StaleRead())
		assert.Equal(t, "first", w.get(), "there is no other answer yet")
		w.put("second")
		w.inject(fakestore.StaleRead(), fakestore.Fault{}, fakestore.StaleRead())
		assert.Equal(t, "first", w.get())
		assert.Equal(t, "second", w.get())
		time.Sleep(time.Minute)
		assert.Equal(t, "first", w.get(), "another date is no other answer")
	})
}

func TestARedirectIsFollowed(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.put("a")
		w.inject(fakestore.Redirected("https://elsewhere.example/y"))
		resp, err := w.client(0).Do(w.request(http.MethodGet))
		require.NoError(t, err)
		defer resp.Body.Close()
		assert.Equal(t, "elsewhere.example", resp.Request.URL.Host)
		assert.Equal(t, map[string]int{"PUT": 1, "GET": 2}, w.layer.Counts())
	})
}

func TestAClientsTimeoutEndsAHungRequest(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.inject(fakestore.Hung())
		_, err := w.client(7 * time.Second).Do(w.request(http.MethodGet)) //nolint:bodyclose // there is none
		var timeout net.Error
		require.ErrorAs(t, err, &timeout)
		assert.True(t, timeout.Timeout())
		assert.Equal(t, 7*time.Second, w.elapsed())
	})
}

func TestAnEndedContextSendsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		assert.Equal(t, context.Canceled.Error(), w.ask(ctx, http.MethodPut, "a"))
		assert.Empty(t, w.layer.Counts())
	})
}

func TestCloseLosesWhatIsOnItsWay(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.inject(fakestore.Hung(), fakestore.DelayedBefore(time.Hour), fakestore.Twice(time.Hour))
		answers := make(chan string, 2)
		go func() { answers <- w.put("a") }()
		synctest.Wait()
		go func() { answers <- w.put("b") }()
		synctest.Wait()
		w.put("c")
		w.layer.Close()
		assert.Equal(t, net.ErrClosed.Error(), <-answers)
		assert.Equal(t, net.ErrClosed.Error(), <-answers)
		assert.Equal(t, net.ErrClosed.Error(), w.put("d"))
		assert.Equal(t, []string{"c"}, w.store.all())
		assert.Zero(t, w.elapsed())
	})
}

func TestTheStoreSeesWhatAServerWould(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "https://store.example/a%2Fb?q=1", strings.NewReader("body"))
		require.NoError(t, err)
		req.Header["x-ms-version"] = []string{"1"} // as SDKs write it
		resp, err := w.layer.RoundTrip(req)
		require.NoError(t, err)
		resp.Body.Close()
		got := w.store.last
		assert.Equal(t, "1", got.Header.Get("X-Ms-Version"))
		assert.Equal(t, "store.example", got.Host)
		assert.Equal(t, "/a/b", got.URL.Path)
		assert.Equal(t, "/a%2Fb", got.URL.EscapedPath())
		assert.Equal(t, "/a%2Fb?q=1", got.RequestURI)
		assert.Empty(t, got.URL.Host)
		assert.EqualValues(t, 4, got.ContentLength)
	})
}

func TestAHeadHasALengthAndNoBody(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.put("four")
		resp, err := w.client(0).Do(w.request(http.MethodHead))
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.Empty(t, body)
		assert.EqualValues(t, 4, resp.ContentLength)
	})
}

func TestRequestsAreCountedByKind(t *testing.T) {
	kind := func(r *http.Request) string { return r.Method + " " + r.URL.Path }
	layer := fakestore.New(&register{}, &fakestore.Options{Kind: kind, Faults: fakestore.Always(fakestore.LostBefore())})
	defer layer.Close()
	w := &world{t: t, layer: layer}
	w.put("a")
	w.get()
	w.get()
	assert.Equal(t, map[string]int{"PUT /x": 1, "GET /x": 2}, layer.Counts())
	layer.ResetCounts()
	assert.Empty(t, layer.Counts())
}

func TestTheTraceTellsEveryStepAndNoSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		layer := fakestore.New(&register{}, &fakestore.Options{
			Faults: fakestore.Each(fakestore.Fault{Before: time.Second, Err: fakestore.ErrReset}),
			Trace:  func(e fakestore.Event) { lines = append(lines, e.String()) },
		})
		defer layer.Close()
		(&world{t: t, layer: layer}).put("a")
		assert.Equal(t, []string{
			"00:00:00.000 #1 PUT /x: sent 0 (delayed 1s, connection reset by peer)",
			"00:00:01.000 #1 PUT /x: applied 201 (delayed 1s, connection reset by peer)",
			"00:00:01.000 #1 PUT /x: failed 0 (delayed 1s, connection reset by peer)",
		}, lines)
	})
}

func TestManyRequestsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.layer.Inject(fakestore.Seeded(1, 0.5, fakestore.Any(time.Minute)))
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				w.ask(ctx, []string{http.MethodPut, http.MethodGet}[i%2], fmt.Sprint(i))
			})
		}
		wg.Wait()
		w.layer.Wait()
		assert.Equal(t, map[string]int{"PUT": 100, "GET": 100}, w.layer.Counts())
	})
}

func TestSchedules(t *testing.T) {
	w := &world{t: t}
	put, get := w.request(http.MethodPut), w.request(http.MethodGet)
	lost, hung := fakestore.LostBefore(), fakestore.Hung()
	puts := func(r *http.Request) bool { return r.Method == http.MethodPut }

	t.Run("NthCountsWhatItIsAskedAbout", func(t *testing.T) {
		s := fakestore.Nth(2, lost).Where(puts)
		assert.Equal(t, "no fault", s(put).String())
		assert.Equal(t, "no fault", s(get).String())
		assert.Equal(t, lost.String(), s(put).String())
		assert.Equal(t, "no fault", s(put).String())
	})
	t.Run("OrAsksTheSecondOnlyIfTheFirstDoesNothing", func(t *testing.T) {
		s := fakestore.Always(lost).Where(puts).Or(fakestore.Always(hung))
		assert.Equal(t, lost.String(), s(put).String())
		assert.Equal(t, hung.String(), s(get).String())
	})
	t.Run("ASeedIsAPlan", func(t *testing.T) {
		plan := func(seed uint64) (names []string) {
			s := fakestore.Seeded(seed, 0.3, fakestore.Any(time.Second))
			for range 50 {
				names = append(names, s(put).String())
			}
			return names
		}
		assert.Equal(t, plan(7), plan(7))
		assert.NotEqual(t, plan(7), plan(8))
	})
	t.Run("AnyIsEverything", func(t *testing.T) {
		seen := map[string]bool{}
		draw, random := fakestore.Any(time.Second), rand.New(rand.NewPCG(1, 1))
		for range 1000 {
			for _, part := range strings.Split(draw(random).String(), ", ") {
				seen[strings.Fields(part)[0]] = true
			}
		}
		for _, part := range []string{"delayed", "dropped", "again", "answered", "stale", "connection", "status", "hung"} {
			assert.True(t, seen[part], part)
		}
	})
}
