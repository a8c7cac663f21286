package azurechecks

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/stretchr/testify/require"
)

// serviceChecks are about everything else.
var serviceChecks = []Check{
	{Name: "BodyAndMetadataComeBack", run: func(s *subject) {
		s.create()
		_, err := s.setMetadata("value", If{})
		s.ok(err)
		body, resp, err := s.get(If{})
		s.ok(err)
		require.Equal(s.t, "first", body)
		require.EqualValues(s.t, 5, *resp.ContentLength)
		require.Len(s.t, resp.Metadata, 1)
		for name, value := range resp.Metadata {
			require.Equal(s.t, "key", strings.ToLower(name))
			require.Equal(s.t, "value", *value)
		}
		_, err = s.put("second", If{})
		s.ok(err)
		head, err := s.head(If{})
		s.ok(err)
		require.Empty(s.t, head.Metadata, "a put replaces the metadata too")
	}},
	{Name: "MetadataNamesAreIdentifiers", run: func(s *subject) {
		s.create()
		value := "x"
		_, err := s.blob.SetMetadata(s.ctx, map[string]*string{"a-b": &value}, nil)
		s.wants("set metadata", "400 InvalidMetadata", outcome(err))
	}},
	{Name: "DatesComeInSeconds", run: func(s *subject) {
		put, err := s.put("first", If{})
		s.ok(err)
		head, err := s.head(If{})
		s.ok(err)
		require.Equal(s.t, *put.LastModified, *head.LastModified)
		require.Zero(s.t, head.LastModified.Nanosecond())
		require.WithinDuration(s.t, *head.LastModified, *head.Date, 3*time.Second)
		s.env.Sleep(1100 * time.Millisecond)
		again, err := s.setMetadata("x", If{})
		s.ok(err)
		require.True(s.t, again.LastModified.After(*head.LastModified))
	}},
	{Name: "AnswersHaveRequestIDs", run: func(s *subject) {
		put, err := s.put("first", If{})
		s.ok(err)
		head, err := s.head(If{})
		s.ok(err)
		require.NotEmpty(s.t, *put.RequestID)
		require.NotEmpty(s.t, *head.RequestID)
		require.NotEqual(s.t, *put.RequestID, *head.RequestID)
		require.NotEmpty(s.t, *head.Version)
	}},
	{Name: "AMissingBlobIsNotFound", run: func(s *subject) {
		_, err := s.head(If{})
		s.wants("head", "404 BlobNotFound", outcome(err))
		_, _, err = s.get(If{})
		s.wants("get", "404 BlobNotFound", outcome(err))
		_, err = s.setMetadata("x", If{})
		s.wants("set metadata", "404 BlobNotFound", outcome(err))
		s.wants("delete", "404 BlobNotFound", outcome(s.delete(If{})))
	}},
	{Name: "AMissingContainerIsNotFound", run: inMissingContainer},
	{Name: "AContainerIsCreatedOnce", run: func(s *subject) {
		_, err := s.env.Container.Create(s.ctx, nil)
		s.wants("create again", "409 ContainerAlreadyExists", outcome(err))
		_, err = s.env.Container.GetProperties(s.ctx, nil)
		s.wants("properties", "ok", outcome(err))
	}},
	{Name: "BlobsAreListedByPrefix", run: listByPrefix},
	{Name: "OneOfManyAcquires", run: func(s *subject) {
		s.create()
		s.race("acquire", alreadyLeased, func(id string) error {
			_, err := s.acquire(id, shortest, If{})
			return err
		})
	}},
	{Name: "OneOfManyCreates", run: func(s *subject) {
		s.race("create", "409 BlobAlreadyExists", func(string) error {
			_, err := s.put("first", If{noneMatch: azcore.ETagAny})
			return err
		})
	}},
	{Name: "OneOfManyReplaces", run: func(s *subject) {
		etag := s.create()
		s.race("put", condition, func(id string) error {
			_, err := s.put(id, If{match: etag})
			return err
		})
	}},
}

func inMissingContainer(s *subject) {
	c := s.env.Missing
	_, err := c.GetProperties(s.ctx, nil)
	s.wants("properties", "404 ContainerNotFound", outcome(err))
	_, err = c.NewListBlobsFlatPager(nil).NextPage(s.ctx)
	s.wants("list", "404 ContainerNotFound", outcome(err))
	s.blob = c.NewBlockBlobClient(s.name)
	_, err = s.put("first", If{noneMatch: azcore.ETagAny})
	s.wants("put", "404 ContainerNotFound", outcome(err))
	_, err = s.head(If{})
	s.wants("head", "404 ContainerNotFound", outcome(err))
	_, _, err = s.get(If{})
	s.wants("get", "404 ContainerNotFound", outcome(err))
	_, err = s.acquire(idA, shortest, If{})
	s.wants("acquire", "404 ContainerNotFound", outcome(err))
	s.wants("delete", "404 ContainerNotFound", outcome(s.delete(If{})))
}

func listByPrefix(s *subject) {
	for _, name := range []string{"list/a", "list/b", "list/c/d", "list", "lisu"} {
		s.blob = s.env.Container.NewBlockBlobClient(name)
		s.create()
	}
	s.hold(idA) // of the last
	require.Equal(s.t, []string{"list/a", "list/b", "list/c/d"}, s.list("list/", 0))
	require.Equal(s.t, []string{"list/a", "list/b", "list/c/d"}, s.list("list/", 2), "in two pages")
	require.Equal(s.t, []string{"lisu leased"}, s.list("lisu", 0))
	require.Empty(s.t, s.list("none", 0))
}

// list returns names, and the lease states that are not "available".
func (s *subject) list(prefix string, page int32) []string {
	s.t.Helper()
	pager := s.env.Container.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
		Prefix: &prefix, MaxResults: set(page),
	})
	var names []string
	for pager.More() {
		resp, err := pager.NextPage(s.ctx)
		s.ok(err)
		for _, item := range resp.Segment.BlobItems {
			name := *item.Name
			if state := string(*item.Properties.LeaseState); state != "available" {
				name += " " + state
			}
			names = append(names, name)
		}
	}
	return names
}

// race lets 20 contenders try at the same time. One must succeed, and the
// others be refused as documented.
func (s *subject) race(point, refusal string, try func(id string) error) {
	s.t.Helper()
	const contenders = 20
	outcomes := make([]string, contenders)
	var wg sync.WaitGroup
	for i := range contenders {
		wg.Go(func() { outcomes[i] = outcome(try(fmt.Sprintf("%08d%s", i, idA[8:]))) })
	}
	wg.Wait()
	winner := slices.Index(outcomes, "ok")
	require.GreaterOrEqual(s.t, winner, 0, "nobody won: %v", outcomes)
	for _, got := range slices.Delete(outcomes, winner, winner+1) {
		s.wants(point, refusal, got)
	}
}
