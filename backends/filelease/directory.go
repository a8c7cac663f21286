package filelease

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
)

// maxStored is the size beyond which a file cannot be a record with its stamp.
const maxStored = cas.MaxRecord + maxStamp

// recordMode lets everybody on the machine see who holds a lease, as far as
// umask allows. Others get no right to write, since it would be of no use: a
// record is never written to but replaced, and that is a right to the directory.
const recordMode = 0o644

// A directory is the store's, opened for one operation. Lock, temporary file
// and record are then in the same directory, whatever happens to its path in the
// meantime, and nothing is ever written outside of it.
type directory struct {
	path string
	root *os.Root
}

func openDirectory(path string) (*directory, error) {
	// With the separator, a named pipe is an error at once, not a wait.
	root, err := os.OpenRoot(path + string(filepath.Separator))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, noDirectory(path)
	case errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("directory %s: %w: something else has that name", path, backends.ErrNoContainer)
	case err != nil:
		return nil, explain("open directory", path, err)
	}
	return &directory{path, root}, nil
}

func (d *directory) close() { _ = d.root.Close() }

func (d *directory) join(file string) string { return filepath.Join(d.path, file) }

// open opens a regular file. It waits for nothing, such as the other end of a
// pipe, and tells of anything that is no regular file as foreign.
func (d *directory) open(file string, flags int, mode fs.FileMode) (*os.File, error) {
	if named, err := d.root.Lstat(file); err == nil && !named.Mode().IsRegular() {
		return nil, foreign(d.join(file), named.Mode())
	}
	f, err := d.root.OpenFile(file, flags|noWait, mode)
	if err != nil {
		return nil, explain("open", d.join(file), err)
	}
	opened, err := f.Stat() // something else may have got the name in between
	if err == nil && opened.Mode().IsRegular() {
		return f, nil
	}
	_ = f.Close()
	if err != nil {
		return nil, explain("look at", d.join(file), err)
	}
	return nil, foreign(d.join(file), opened.Mode())
}

// read returns what is stored in a file, or, of one that is too big for a record,
// the first maxStored+1 bytes. A file that does not exist is no error.
func (d *directory) read(file string) (stored []byte, exists bool, err error) {
	f, err := d.open(file, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }()
	stored, err = io.ReadAll(io.LimitReader(f, maxStored+1))
	if err != nil {
		return nil, false, explain("read", d.join(file), err)
	}
	return stored, true, nil
}

// replace puts stored in the place of the record, durably. It asks commit right
// before the one step that counts; when commit says no, nothing is changed.
// The caller holds the lock.
func (d *directory) replace(f files, stored []byte, commit func() bool) error {
	self, err := d.root.Open(".") // opened before, so that what follows the rename can hardly fail
	if err != nil {
		return explain("open directory", d.path, err)
	}
	defer func() { _ = self.Close() }()
	if err := d.writeTemp(f.temp, stored); err != nil {
		_ = d.root.Remove(f.temp)
		return explain("write", d.join(f.temp), err)
	}
	if !commit() {
		_ = d.root.Remove(f.temp)
		return errAbandoned
	}
	if err := d.root.Rename(f.temp, f.record); err != nil {
		_ = d.root.Remove(f.temp)
		return explain("replace", d.join(f.record), err)
	}
	return d.sync(self)
}

// writeTemp writes a new temporary file, in the place of one that was left
// behind by a writer that died.
func (d *directory) writeTemp(file string, stored []byte) error {
	if err := d.root.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		if info, lookErr := d.root.Lstat(file); lookErr == nil && info.IsDir() {
			return foreign(d.join(file), info.Mode())
		}
		return err
	}
	f, err := d.root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, recordMode)
	if err != nil {
		return err
	}
	_, err = f.Write(stored)
	if err == nil {
		err = f.Sync()
	}
	return cmp.Or(err, f.Close())
}

// sync makes a rename durable. Its errors leave open what a power failure would
// leave. Some file systems sync no directories and call the attempt invalid.
func (d *directory) sync(self *os.File) error {
	if err := self.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("sync directory %s: %v", d.path, err) //nolint:errorlint // no class: undecided
	}
	return nil
}
