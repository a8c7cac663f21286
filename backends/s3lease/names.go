package s3lease

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bloblease/bloblease/backends"
)

func checkPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	stem, ok := strings.CutSuffix(prefix, "/")
	if !ok {
		return fmt.Errorf(`prefix %q does not end in "/"`, prefix)
	}
	if stem == "" {
		return fmt.Errorf(`prefix %q has nothing before its "/": leave it empty for none`, prefix)
	}
	if err := backends.CheckName(stem); err != nil {
		return fmt.Errorf("prefix %q as a %w", prefix, err)
	}
	if err := checkKey(stem); err != nil {
		return fmt.Errorf("prefix %q: %w", prefix, err)
	}
	return nil
}

// CheckName implements cas.NameChecker.
func (s *store) CheckName(name string) error {
	if err := checkKey(s.prefix + name); err != nil {
		return fmt.Errorf("lease name %.40q: %w", name, err)
	}
	return nil
}

// checkKey refuses keys that something between here and the object may take for
// another: servers and proxies tidy paths up.
func checkKey(key string) error {
	if len(key) > backends.MaxName {
		return fmt.Errorf("with its prefix it has %d bytes: at most %d are allowed", len(key), backends.MaxName)
	}
	for part := range strings.SplitSeq(key, "/") {
		switch part {
		case "":
			return errors.New("it has an empty part before, between or after its slashes")
		case ".", "..":
			return fmt.Errorf("it has the part %q between slashes, which may be taken for a directory", part)
		}
	}
	return nil
}
