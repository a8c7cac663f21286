package fence

import (
	"fmt"
	"strconv"
	"strings"
)

// A Dialect is the SQL of a database.
type Dialect int

// The dialects. Drivers take placeholders in the form of their database: $1 in
// PostgreSQL, ? in the others.
const (
	// PostgreSQL from 9.5 on.
	PostgreSQL Dialect = iota + 1
	// MySQL is MySQL and MariaDB, with tables of the engine InnoDB.
	MySQL
	// SQLite from 3.24 on.
	SQLite
)

// String returns the name of the database.
func (d Dialect) String() string {
	switch d {
	case PostgreSQL:
		return "PostgreSQL"
	case MySQL:
		return "MySQL"
	case SQLite:
		return "SQLite"
	default:
		return fmt.Sprintf("Dialect(%d)", int(d))
	}
}

func (d Dialect) check() error {
	switch d {
	case PostgreSQL, MySQL, SQLite:
		return nil
	default:
		return fmt.Errorf("%v is no dialect: take PostgreSQL, MySQL or SQLite", d)
	}
}

// longestName is PostgreSQL's limit for identifiers. It cuts longer ones off, and then
// two names may be one.
const longestName = 63

// checkNames returns an error that names the identifier that breaks a rule. They come
// in pairs: what it is, and the identifier.
func checkNames(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if err := checkText(pairs[i], pairs[i+1], longestName); err != nil {
			return err
		}
	}
	return nil
}

// quote makes a name of the database of s, whatever is in it.
func (d Dialect) quote(s string) string {
	if d == MySQL {
		return "`" + strings.ReplaceAll(s, "`", "``") + "`"
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// table is a quoted name, with its schema if there is one.
func (d Dialect) table(schema, name string) string {
	if schema == "" {
		return d.quote(name)
	}
	return d.quote(schema) + "." + d.quote(name)
}

// place is the placeholder of the nth argument, counting from 1.
func (d Dialect) place(n int) string {
	if d == PostgreSQL {
		return "$" + strconv.Itoa(n)
	}
	return "?"
}

// text is an argument for a column of text. In MySQL these columns are binary, so that
// names which differ in case or accents are different.
func (d Dialect) text(s string) any {
	if d == MySQL {
		return []byte(s)
	}
	return s
}
