package s3

import (
	"maps"
	"slices"
	"time"
)

// A Bucket is a handle on a bucket for those who do not come by HTTP: the operator,
// and the test that wants to look. Unless it says otherwise, the bucket has to exist.
type Bucket struct {
	service *Service
	name    string
}

// Bucket returns a handle on a bucket, which need not exist.
func (s *Service) Bucket(name string) *Bucket { return &Bucket{s, name} }

// Create makes the bucket, unless it exists.
func (b *Bucket) Create() {
	b.service.mu.Lock()
	defer b.service.mu.Unlock()
	if b.service.buckets[b.name] == nil {
		b.service.buckets[b.name] = &contents{keys: map[string][]*version{}}
	}
}

// KeepVersions makes it a versioned bucket from now on.
func (b *Bucket) KeepVersions() {
	b.with(func(_ *exchange, c *contents) { c.versioned = true })
}

// Vanish deletes the bucket and everything in it.
func (b *Bucket) Vanish() {
	b.service.mu.Lock()
	defer b.service.mu.Unlock()
	delete(b.service.buckets, b.name)
}

// with calls f with the bucket, under the service's lock, if it exists.
func (b *Bucket) with(f func(*exchange, *contents)) {
	b.service.mu.Lock()
	defer b.service.mu.Unlock()
	if c := b.service.buckets[b.name]; c != nil {
		f(&exchange{Service: b.service, now: b.service.now()}, c)
	}
}

// Keys lists the objects.
func (b *Bucket) Keys() (keys []string) {
	b.with(func(_ *exchange, c *contents) {
		keys = slices.DeleteFunc(slices.Sorted(maps.Keys(c.keys)), func(key string) bool {
			object, _ := c.current(key)
			return object == nil
		})
	})
	return keys
}

// A Look is what an object is at one moment.
type Look struct {
	Body     []byte
	ETag     string
	Modified time.Time
	Versions int // all that are kept, delete markers included
}

// Look shows an object; ok is false if it does not exist, or was deleted.
func (b *Bucket) Look(key string) (look Look, ok bool) {
	b.with(func(_ *exchange, c *contents) {
		look.Versions = len(c.keys[key])
		if v, _ := c.current(key); v != nil {
			look.Body, look.ETag, look.Modified = slices.Clone(v.body), v.etag, v.modified
			ok = true
		}
	})
	return look, ok
}

// Delete deletes an object, or hides it behind a delete marker.
func (b *Bucket) Delete(key string) {
	b.with(func(x *exchange, c *contents) { x.remove(c, key) })
}

// Overwrite replaces an object, or makes it.
func (b *Bucket) Overwrite(key string, body []byte) {
	b.with(func(x *exchange, c *contents) {
		x.add(c, key, &version{body: slices.Clone(body), etag: x.etagOf(body)})
	})
}

// Undelete removes the delete marker of an object, if it has one: it is again what
// it was, ETag and date included.
func (b *Bucket) Undelete(key string) {
	b.with(func(_ *exchange, c *contents) {
		if object, newest := c.current(key); object == nil && newest != nil {
			c.keys[key] = c.keys[key][:len(c.keys[key])-1]
		}
	})
}

// A Saved is an object as it was, or that it was not there.
type Saved struct{ version *version }

// Save remembers an object for Restore and RollBack.
func (b *Bucket) Save(key string) (s Saved) {
	b.with(func(_ *exchange, c *contents) { s.version, _ = c.current(key) })
	return s
}

// Restore writes a saved object back, as restoring a backup or copying an earlier
// version does. The ETag is that of the content, so it comes back as well.
func (b *Bucket) Restore(key string, s Saved) {
	b.with(func(x *exchange, c *contents) {
		if s.version == nil {
			x.remove(c, key)
			return
		}
		v := *s.version
		v.etag = x.etagOf(v.body)
		x.add(c, key, &v)
	})
}

// RollBack makes an object what it was, dates and ETag included, as if what was
// acknowledged since had been lost.
func (b *Bucket) RollBack(key string, s Saved) {
	b.with(func(_ *exchange, c *contents) {
		if s.version == nil {
			delete(c.keys, key)
			return
		}
		c.keys[key] = []*version{s.version}
	})
}
