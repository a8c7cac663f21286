package azure

import (
	"maps"
	"slices"
	"time"
)

// A Container is a handle on a container for those who do not come by HTTP: the
// operator, and the test that wants to look. The container need not exist.
// Methods that change blobs come without a lease ID, and are refused where the
// service would refuse them; the error is an [*Error] then.
type Container struct {
	account *Account
	name    string
}

// Container returns a handle on a container.
func (a *Account) Container(name string) *Container { return &Container{a, name} }

// Create makes the container, unless it exists.
func (c *Container) Create() {
	c.account.mu.Lock()
	defer c.account.mu.Unlock()
	if c.account.containers[c.name] == nil {
		c.account.newContainer(c.name, c.account.now())
	}
}

// Vanish deletes the container and everything in it, leased or not.
func (c *Container) Vanish() {
	c.account.mu.Lock()
	defer c.account.mu.Unlock()
	delete(c.account.containers, c.name)
}

// Names lists the blobs.
func (c *Container) Names() []string {
	c.account.mu.Lock()
	defer c.account.mu.Unlock()
	found := c.account.containers[c.name]
	if found == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(found.blobs))
}

// A Look is what a blob is at one moment, its secrets included.
type Look struct {
	Body      []byte
	Metadata  map[string]string
	ETag      string
	Modified  time.Time
	Lease     LeaseState
	LeaseID   string        // kept after the lease has ended, until a write
	Remaining time.Duration // how long the lease stays locked, or Infinite
}

// Look shows a blob; ok is false if it does not exist.
func (c *Container) Look(name string) (look Look, ok bool) {
	_ = c.with(name, func(x *exchange, b *blob) *Error {
		ok = true
		look = Look{
			Body: slices.Clone(b.body), Metadata: maps.Clone(b.metadata), ETag: b.etag, Modified: b.modified,
			Lease: b.lease.state(x.now), LeaseID: b.lease.id, Remaining: b.lease.remaining(x.now),
		}
		return nil
	})
	return look, ok
}

// Break breaks a lease, after the given period or when it ends if that is
// sooner. A negative period is none. It returns when the blob can be leased.
func (c *Container) Break(name string, period time.Duration) (remaining time.Duration, err error) {
	err = c.with(name, func(x *exchange, b *blob) (e *Error) {
		b.lease, remaining, e = b.lease.breakIn(x.now, period)
		return e
	})
	return remaining, err
}

// Delete deletes a blob.
func (c *Container) Delete(name string) error {
	return c.with(name, func(x *exchange, b *blob) *Error {
		err := x.admitWrite(b, "")
		if err == nil {
			delete(x.containers[c.name].blobs, name)
		}
		return err
	})
}

// Overwrite replaces the body of a blob, and keeps its metadata.
func (c *Container) Overwrite(name string, body []byte) error {
	return c.edit(name, func(b *blob) { b.body = slices.Clone(body) })
}

// SetMetadata replaces the metadata of a blob.
func (c *Container) SetMetadata(name string, metadata map[string]string) error {
	return c.edit(name, func(b *blob) { b.metadata = maps.Clone(metadata) })
}

func (c *Container) edit(name string, change func(*blob)) error {
	return c.with(name, func(x *exchange, b *blob) *Error {
		if err := x.admitWrite(b, ""); err != nil {
			return err
		}
		change(b)
		x.touch(b)
		return nil
	})
}

// with calls f with a blob, under the account's lock.
func (c *Container) with(name string, f func(*exchange, *blob) *Error) error {
	c.account.mu.Lock()
	defer c.account.mu.Unlock()
	x := &exchange{
		Account: c.account,
		target:  target{container: c.name, blob: name},
		now:     c.account.now(),
	}
	_, b, err := x.findBlob()
	if err == nil {
		err = f(x, b)
	}
	if err != nil {
		return err
	}
	return nil
}

// A Saved is a blob as it was, or that it was not there.
type Saved struct{ blob *blob }

// Save remembers a blob for Restore and RollBack.
func (c *Container) Save(name string) (s Saved) {
	_ = c.with(name, func(_ *exchange, b *blob) *Error {
		s.blob = copyOf(b)
		return nil
	})
	return s
}

// Restore writes body and metadata of a saved blob back, as restoring a backup
// or an earlier version does: the ETag is new and there is no lease, whatever
// there was. The container must exist.
func (c *Container) Restore(name string, s Saved) {
	c.put(name, s, func(x *exchange, b *blob) {
		b.lease = lease{}
		x.touch(b)
	})
}

// RollBack makes a blob what it was, ETag and lease included, as if the account
// had failed over to a copy that lagged behind: what was acknowledged since is
// lost. A blob that did not exist is gone. The container must exist.
func (c *Container) RollBack(name string, s Saved) {
	c.put(name, s, func(*exchange, *blob) {})
}

func (c *Container) put(name string, s Saved, change func(*exchange, *blob)) {
	c.account.mu.Lock()
	defer c.account.mu.Unlock()
	blobs := c.account.containers[c.name].blobs
	if s.blob == nil {
		delete(blobs, name)
		return
	}
	blobs[name] = copyOf(s.blob)
	change(&exchange{Account: c.account, now: c.account.now()}, blobs[name])
}
