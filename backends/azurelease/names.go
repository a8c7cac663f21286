package azurelease

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/bloblease/bloblease/backends"
)

// checkURL refuses what is no container, and the read-only replica of an account:
// leases mean nothing there. It returns the command that creates the container.
// The URL may hold a SAS, and is in no error.
func checkURL(raw string) (remedy string, err error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "", errors.New("the URL of the container client is malformed")
	}
	account, domain, _ := strings.Cut(u.Hostname(), ".")
	if strings.HasSuffix(account, "-secondary") {
		return "", fmt.Errorf("host %s is the read-only secondary of an account: leases need the primary", u.Hostname())
	}
	path := strings.Split(strings.Trim(u.Path, "/"), "/")
	name, service := path[len(path)-1], "--account-name "+account
	if !strings.Contains(domain, "blob.") || net.ParseIP(u.Hostname()) != nil { // an emulator, or a domain of one's own
		endpoint := url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.Join(path[:len(path)-1], "/")}
		service = "--blob-endpoint " + endpoint.String()
	}
	if name == "" {
		return "", fmt.Errorf("the URL of the container client names no container on %s", u.Host)
	}
	return fmt.Sprintf("az storage container create --name %s %s", name, service), nil
}

func checkPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	stem, ok := strings.CutSuffix(prefix, "/")
	if !ok {
		return fmt.Errorf(`prefix %q does not end in "/"`, prefix)
	}
	if err := backends.CheckName(stem); err != nil {
		return fmt.Errorf("prefix %q as a %w", prefix, err)
	}
	if err := checkBlobName(stem); err != nil {
		return fmt.Errorf("prefix %q: %w", prefix, err)
	}
	return nil
}

// CheckName implements backends.NameChecker. Beside what backends.CheckName
// demands, it refuses names that Azure would change, or that are several
// spellings of one on some accounts.
func (b *Backend) CheckName(name string) error {
	if err := backends.CheckName(name); err != nil {
		return err
	}
	if err := checkBlobName(b.blobName(name)); err != nil {
		return fmt.Errorf("lease name %.40q: %w", name, err)
	}
	return nil
}

const maxSegments = 254

func checkBlobName(name string) error {
	if len(name) > backends.MaxName {
		return fmt.Errorf("with its prefix it has %d bytes: at most %d are allowed", len(name), backends.MaxName)
	}
	if strings.Contains(name, `\`) {
		return errors.New(`it has a \, which Azure takes for a /`)
	}
	segments := strings.Split(name, "/")
	if len(segments) > maxSegments {
		return fmt.Errorf("it has %d parts between slashes: at most %d are allowed", len(segments), maxSegments)
	}
	for _, s := range segments {
		switch {
		case s == "":
			return errors.New("it has an empty part before, between or after its slashes")
		case strings.HasSuffix(s, "."):
			return errors.New("a part of it ends in a dot, which Azure drops")
		}
	}
	return nil
}
