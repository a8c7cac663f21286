package fence

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/bloblease/bloblease/backends"
)

// scan reads the mark that a SELECT of a lock and its token has found.
func scan(row *sql.Row) (mark, error) {
	var lock string
	var token int64
	if err := row.Scan(&lock, &token); err != nil {
		return mark{}, err
	}
	if token < 0 || Token(token) > backends.MaxToken {
		return mark{}, fmt.Errorf("stored token %d is damaged: tokens are at most %d", token, backends.MaxToken)
	}
	return mark{lock, Token(token)}, nil
}

// oneLine is err, told in one line.
func oneLine(err error) error {
	if !strings.ContainsAny(err.Error(), "\n\r") {
		return err
	}
	return flat{err}
}

type flat struct{ error }

func (f flat) Error() string { return strings.Join(strings.Fields(f.error.Error()), " ") }

func (f flat) Unwrap() error { return f.error }
