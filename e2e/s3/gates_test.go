package s3

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/require"
)

// A gate is something that a server has to do before a test on it proves anything. It
// is tried with the SDK alone. A test that needs a gate which is shut is not run, and
// says that nothing was proven on that server.
type gate string

const (
	createGate  gate = "an object is created once, by one of a hundred"
	replaceGate gate = "a stale replacement is refused, and changes nothing"
	deleteGate  gate = "a stale deletion is refused, and changes nothing"
	markerGate  gate = "what was deleted in a versioned bucket can be created"
	goneGate    gate = "what was deleted in a versioned bucket is not replaced"
)

// gates in the order in which they are tried.
var gates = []struct {
	gate
	try func(*bench) error
}{
	{createGate, (*bench).createsOnce},
	{replaceGate, (*bench).refusesStaleReplacement},
	{deleteGate, (*bench).refusesStaleDeletion},
	{markerGate, (*bench).createsOverMarker},
	{goneGate, (*bench).refusesToReplaceMarker},
}

// A bench is a bucket to try gates on.
type bench struct {
	t      testing.TB
	store  *store
	client *awss3.Client
	bucket string
}

// shut are the gates of a store that do not hold, with the reason. They are tried
// once for each process.
func (s *store) shut(t testing.TB) map[gate]error {
	t.Helper()
	tried.Lock()
	defer tried.Unlock()
	if found, done := tried.stores[s]; done {
		return found
	}
	b := &bench{t, s, s.client(t), s.bucket(t)}
	found := map[gate]error{}
	for _, g := range gates {
		if err := g.try(b); err != nil {
			found[g.gate] = err
		}
	}
	tried.stores[s] = found
	return found
}

var tried = struct {
	sync.Mutex
	stores map[*store]map[gate]error
}{stores: map[*store]map[gate]error{}}

// need skips a test that would prove nothing.
func (s *store) need(t testing.TB, needed ...gate) {
	t.Helper()
	for _, g := range needed {
		if err := s.shut(t)[g]; err != nil {
			t.Skipf("NOT PROVEN on %s, where this does not hold: %s (%v)", s.name, g, err)
		}
	}
}

// What is known of the servers. One that does better or worse than here has changed,
// and so has what the tests on it prove.
func TestTheGatesAreAsKnown(t *testing.T) {
	for _, c := range []struct {
		open    func(testing.TB) *store
		shut    []gate
		chances []gate // that are shut, which shows if it is tried often enough
	}{
		// In a bucket with versions it takes what was deleted for an object.
		{oneVersitygw, []gate{markerGate, goneGate}, nil},
		{twoVersitygw, []gate{markerGate, goneGate}, nil},
		{s3rver, []gate{createGate, replaceGate, deleteGate}, nil},
		{rcloneFake, nil, []gate{createGate}},
		{johannesFake, []gate{deleteGate}, nil},
	} {
		s := c.open(t)
		t.Run(s.name, func(t *testing.T) {
			found := s.shut(t)
			for g, why := range found {
				t.Logf("shut: %s: %v", g, why)
				if !errors.Is(why, errUntried) {
					require.Contains(t, slices.Concat(c.shut, c.chances), g)
				}
			}
			for _, g := range c.shut {
				require.Error(t, found[g], g)
			}
			for _, g := range c.chances {
				require.True(t, !proving() || found[g] != nil, g)
			}
		})
	}
}

var errUntried = errors.New("cannot be tried")

func (b *bench) put(key, body string, condition func(*awss3.PutObjectInput)) (etag string, err error) {
	in := &awss3.PutObjectInput{Bucket: &b.bucket, Key: &key, Body: bytes.NewReader([]byte(body))}
	condition(in)
	out, err := b.client.PutObject(b.t.Context(), in)
	if err != nil {
		return "", err
	}
	return aws.ToString(out.ETag), nil
}

func absent(in *awss3.PutObjectInput) { in.IfNoneMatch = aws.String("*") }
func whatever(*awss3.PutObjectInput)  {}
func as(etag string) func(*awss3.PutObjectInput) {
	return func(in *awss3.PutObjectInput) { in.IfMatch = &etag }
}

func (b *bench) get(key string) (string, error) {
	out, err := b.client.GetObject(b.t.Context(), &awss3.GetObjectInput{Bucket: &b.bucket, Key: &key})
	if err != nil {
		return "", err
	}
	defer out.Body.Close()
	body, err := io.ReadAll(out.Body)
	return string(body), err
}

// status is that of an answer; 0 if there was none.
func status(err error) int {
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) {
		return answer.HTTPStatusCode()
	}
	return 0
}

// refused wants the answer that a condition does not hold.
func refused(err error, statuses ...int) error {
	for _, s := range statuses {
		if status(err) == s {
			return nil
		}
	}
	if err == nil {
		return errors.New("the answer is yes")
	}
	return fmt.Errorf("the answer is %w", err)
}

func (b *bench) createsOnce() error {
	if _, err := b.put("once", "first", absent); err != nil {
		return err
	}
	if _, err := b.put("once", "second", absent); refused(err, 412) != nil {
		return fmt.Errorf("the second of two creations: %w", refused(err, 412))
	}
	conflicts := 0
	for round := range times(20, 200) {
		winners, met, err := b.race(fmt.Sprint("race-", round), 100)
		if err != nil {
			return err
		}
		if winners != 1 {
			return fmt.Errorf("in round %d of 100 creations at once %d succeeded", round, winners)
		}
		conflicts += met
	}
	b.t.Logf("%s: answers 409 to %d creations", b.store.name, conflicts)
	return nil
}

// race creates an object many times at once.
func (b *bench) race(key string, n int) (winners, conflicts int, err error) {
	errs := make([]error, n)
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range errs {
		done.Go(func() {
			start.Wait()
			_, errs[i] = b.put(key, fmt.Sprint("writer ", i), absent)
		})
	}
	start.Done()
	done.Wait()
	for _, e := range errs {
		switch {
		case e == nil:
			winners++
		case status(e) == 409:
			conflicts++
		case status(e) != 412:
			return 0, 0, e
		}
	}
	return winners, conflicts, nil
}

func (b *bench) refusesStaleReplacement() error {
	stale, err := b.put("replace", "one", whatever)
	if err != nil {
		return err
	}
	if _, err = b.put("replace", "two", as(stale)); err != nil {
		return err
	}
	if _, err = b.put("replace", "three", as(stale)); refused(err, 412) != nil {
		return refused(err, 412)
	}
	if body, err := b.get("replace"); err != nil || body != "two" {
		return fmt.Errorf("afterwards it holds %q, %w", body, err)
	}
	// Who writes the same bytes gets the same ETag: so each write needs a nonce.
	first, err := b.put("same", "bytes", whatever)
	if err != nil {
		return err
	}
	second, err := b.put("same", "bytes", whatever)
	b.t.Logf("%s: two writes of the same bytes have ETags %s and %s", b.store.name, first, second)
	return err
}

func (b *bench) refusesStaleDeletion() error {
	stale, err := b.put("delete", "one", whatever)
	if err != nil {
		return err
	}
	if _, err = b.put("delete", "two", whatever); err != nil {
		return err
	}
	_, err = b.client.DeleteObject(b.t.Context(), &awss3.DeleteObjectInput{Bucket: &b.bucket, Key: aws.String("delete"), IfMatch: &stale})
	if refused(err, 412) != nil {
		return refused(err, 412)
	}
	if body, err := b.get("delete"); err != nil || body != "two" {
		return fmt.Errorf("afterwards it holds %q, %w", body, err)
	}
	return nil
}

func (b *bench) createsOverMarker() error {
	versioned, _, err := b.deleted()
	if err != nil {
		return err
	}
	_, err = versioned.put("deleted", "two", absent)
	return err
}

func (b *bench) refusesToReplaceMarker() error {
	versioned, etag, err := b.deleted()
	if err != nil {
		return err
	}
	_, err = versioned.put("deleted", "two", as(etag))
	return refused(err, 404, 412)
}

// deleted makes an object in a versioned bucket, and deletes it again.
func (b *bench) deleted() (versioned *bench, etag string, err error) {
	if !b.store.versioned {
		return nil, "", fmt.Errorf("%w: its buckets keep no versions", errUntried)
	}
	versioned = &bench{b.t, b.store, b.client, b.store.bucket(b.t)}
	_, err = b.client.PutBucketVersioning(b.t.Context(), &awss3.PutBucketVersioningInput{
		Bucket: &versioned.bucket, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	if err != nil {
		return nil, "", err
	}
	if etag, err = versioned.put("deleted", "one", absent); err != nil {
		return nil, "", err
	}
	_, err = b.client.DeleteObject(b.t.Context(), &awss3.DeleteObjectInput{Bucket: &versioned.bucket, Key: aws.String("deleted")})
	return versioned, etag, err
}

// Nothing that a server keeps goes back when it starts again.
func TestARestartKeepsVersions(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	dir := t.TempDir()
	s := started(t, dir)
	b := &bench{t, s, s.client(t), s.bucket(t)}
	first, err := b.put("kept", "one", absent)
	require.NoError(t, err)
	again := started(t, dir)
	b.client = again.client(t)
	_, err = b.put("kept", "two", absent)
	require.NoError(t, refused(err, 412))
	second, err := b.put("kept", "two", as(first))
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	body, err := b.get("kept")
	require.NoError(t, err)
	require.Equal(t, "two", body)
}
