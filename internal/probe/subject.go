package probe

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/record"
)

// ErrRefused is matched by the error of a write that was not applied because its
// condition does not hold.
var ErrRefused = errors.New("refused")

// A Store is what is tried out. Its errors are those of a cas.Store, but for
// ErrRefused, which stands for both refusals.
type Store struct {
	Load func(ctx context.Context, name string) (Object, error)
	// Put replaces version of name, or creates it if that is "". Touch is Put
	// for writes within a term.
	Put, Touch Write
}

// A Write replaces an object by a record.
type Write func(ctx context.Context, name, version string, rec *record.Record) (Object, error)

// An Object is what an answer showed.
type Object struct {
	Exists        bool
	Version       string
	Record        *record.Record // nil if it is none, and after a write
	Modified, Now time.Time
}

// A Subject is a store with what the run has to know about it.
type Subject struct {
	Store
	Title string      // for the report
	Clock clock.Clock // of this process
	// Fresh returns the same store over connections of its own, and what closes
	// them. Nil says that there are none.
	Fresh func() (Store, func())
	// Shared says that there would be, but for the client of this program.
	Shared bool
	// Dated says that the dates of the store may come to matter, Slack how far
	// the difference of two of them may be off, and Granularity their step.
	Dated              bool
	Granularity, Slack time.Duration
	// Right names a right in the words of the store, "" if the denial has another
	// reason. Nil: the store has no words for it.
	Right func(r Right, denial error) string
	// Extra makes the checks of this store only, on an object that is now in
	// this version. They are added to the report even if there is an error.
	Extra func(ctx context.Context, name, version string) ([]backends.Check, error)
}

// fresh is the store over connections of its own.
func (s *Subject) fresh() (Store, func()) {
	if s.Fresh == nil {
		return s.Store, func() {}
	}
	return s.Fresh()
}

// A Right is what the credentials of a program may do.
type Right int

// The rights that leases need.
const (
	Read    Right = iota // an object
	Find                 // tell a missing object from one that may not be read
	Create               // an object
	Replace              // an object
)

func (r Right) String() string {
	return [...]string{"read objects", "tell a missing object from one that may not be read", "create objects", "replace objects"}[r]
}

// lacking explains a denial by the rights that are missing.
func (s *Subject) lacking(denial error, rights ...Right) error {
	var names []string
	for _, right := range rights {
		name := "to " + right.String()
		if s.Right != nil {
			name = s.Right(right, denial)
		}
		if name == "" {
			return &missing{"", denial}
		}
		names = append(names, name)
	}
	return &missing{"; the right that is missing: " + strings.Join(names, ", "), denial}
}

// A missing right is an error.
type missing struct {
	right string // as it ends the error's text
	err   error
}

func (m *missing) Error() string { return m.err.Error() + m.right }
func (m *missing) Unwrap() error { return m.err }
