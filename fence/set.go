package fence

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// cuts are what ends a statement, hides the rest of it, or makes a quote mean something
// else: after it, the condition of a Column might be none. SQLite stops at a zero byte.
var cuts = []string{";", "/*", "--", `\`, "\x00"}

// checkSet refuses what could cut the condition off that Column puts behind set, and
// placeholders that do not fit args in number. It does not repeat set, which may have
// values in it.
func (d Dialect) checkSet(set string, args int) error {
	for _, cut := range cuts {
		if at := strings.Index(set, cut); at >= 0 {
			return cutAt(at, cut)
		}
	}
	if !utf8.ValidString(set) {
		return errors.New("the set is not valid UTF-8")
	}
	bare, err := d.checkQuotes(set)
	if err != nil {
		return err
	}
	return d.checkPlaces(bare, args)
}

func cutAt(at int, what string) error {
	return fmt.Errorf("the set has %q at byte %d, which could cut the fence off: values belong in args", what, at)
}

// checkQuotes reads set as the database does: what is quoted is no matter, but each
// quote is closed, and outside nothing begins a comment or another kind of string. It
// returns what is outside.
func (d Dialect) checkQuotes(set string) (bare string, err error) {
	var outside []byte
	var end byte // of the present quote
	begun := 0
	for i := range len(set) {
		switch c := set[i]; {
		case end != 0:
			if c == end {
				end = 0
			}
		case d.hides(c, set[i+1:]):
			return "", cutAt(i, string(c))
		default:
			outside = append(outside, c)
			end, begun = d.closing(c), i
		}
	}
	if end != 0 {
		return "", fmt.Errorf("the set has a quote at byte %d that is not closed: values belong in args", begun)
	}
	return string(outside), nil
}

// numbered are placeholders with a number, or with a name, which SQLite numbers.
var numbered = map[Dialect]*regexp.Regexp{
	PostgreSQL: regexp.MustCompile(`\$([0-9]+)`),
	SQLite:     regexp.MustCompile(`\?[0-9]+|[:@$]\w+`),
}

// checkPlaces keeps the placeholders of a set apart from those that Column puts behind
// it: what goes beyond args would be given the fence's own arguments, and what they
// leave over would be taken for those. Bare is the set without what is quoted.
func (d Dialect) checkPlaces(bare string, args int) error {
	if d == PostgreSQL {
		for _, place := range numbered[d].FindAllStringSubmatch(bare, -1) {
			if n, err := strconv.Atoi(place[1]); err != nil || n > args {
				return fmt.Errorf("the set has the placeholder $%.20s, but %d args are given", place[1], args)
			}
		}
		return nil
	}
	if d == SQLite && numbered[d].MatchString(bare) {
		return fmt.Errorf("the set has the placeholder %.20s: take ? without a number or a name", numbered[d].FindString(bare))
	}
	if n := strings.Count(bare, "?"); n != args {
		return fmt.Errorf("the set has %d placeholders, but %d args are given", n, args)
	}
	return nil
}

// closing is what ends the quote that c begins, or 0 if it begins none.
func (d Dialect) closing(c byte) byte {
	switch {
	case c == '\'' || c == '"' || c == '`':
		return c
	case c == '[' && d == SQLite:
		return ']'
	default:
		return 0
	}
}

// hides reports whether c, which is not quoted and has rest behind it, begins a comment
// of MySQL, or a string between dollars; a backtick in PostgreSQL is no quote.
func (d Dialect) hides(c byte, rest string) bool {
	switch d {
	case MySQL:
		return c == '#'
	case PostgreSQL:
		return c == '`' || c == '$' && (rest == "" || rest[0] < '0' || rest[0] > '9')
	default:
		return false
	}
}
