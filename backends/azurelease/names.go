package azurelease

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
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
	if u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("the URL of the container client, on %s, is no http or https URL", u.Host)
	}
	e := endpointOf(u)
	for _, check := range []func() error{e.checkService, e.checkContainer, func() error { return checkQuery(u) }} {
		if err := check(); err != nil {
			return "", err
		}
	}
	return e.command(u), nil
}

// An endpoint is where a URL leads.
type endpoint struct {
	host    string   // in lower case
	labels  []string // of the host
	parts   []string // of the path
	inPath  bool     // the account is the first part of the path, as with emulators
	account string
}

// emulated is the account that every emulator has.
const emulated = "devstoreaccount1"

// endpointOf finds out where the account is. Azure has it in the host. Emulators have
// it in the path, unless they are asked by a host of Azure's form: so do hosts that are
// an address or have no domain. Any other host is a domain of somebody's own; before
// Azure that has no port, and no account in the path.
func endpointOf(u *url.URL) endpoint {
	e := endpoint{host: strings.ToLower(u.Hostname())}
	e.labels = strings.Split(e.host, ".")
	path := strings.TrimPrefix(strings.TrimSuffix(u.Path, "/"), "/")
	if path != "" {
		e.parts = strings.Split(path, "/")
	}
	switch {
	case net.ParseIP(e.host) != nil || len(e.labels) == 1:
		e.inPath = true
	case !slices.Contains(e.labels[1:], "blob"):
		e.inPath = len(e.parts) == 2 && (u.Port() != "" || e.parts[0] == emulated)
	}
	e.account = e.labels[0]
	if e.inPath && len(e.parts) > 0 {
		e.account = e.parts[0]
	}
	return e
}

// service is which one the host names if it is of Azure's form: an account, perhaps a
// zone or privatelink, the service, and then core or storage, or on Azure Stack a region.
func (e endpoint) service() string {
	for i, label := range e.labels[1:] {
		next := e.labels[min(i+2, len(e.labels)-1)]
		if label == "blob" || next == "core" || next == "storage" {
			return label
		}
	}
	return ""
}

// checkService refuses the other services of an account, and its replica.
func (e endpoint) checkService() error {
	service := ""
	if !e.inPath {
		service = e.service()
	}
	switch service {
	case "dfs", "queue", "table", "file", "web":
		right := strings.Replace(e.host, "."+service+".", ".blob.", 1)
		return fmt.Errorf("host %s is the %s endpoint of an account: leases need the blob endpoint, %s", e.host, service, right)
	}
	if (service == "blob" || e.inPath) && strings.HasSuffix(strings.ToLower(e.account), "-secondary") {
		return fmt.Errorf("%s on host %s is the read-only secondary of an account: leases need the primary", e.account, e.host)
	}
	return nil
}

// checkQuery refuses a URL that stands for something else than a container. The
// parameters of a SAS are fine.
func checkQuery(u *url.URL) error {
	for name := range u.Query() {
		switch strings.ToLower(name) {
		case "snapshot", "versionid", "restype", "comp":
			return fmt.Errorf("the URL of the container client has the parameter %q, so it is not that of a container", name)
		}
	}
	return nil
}

var containerForm = regexp.MustCompile(`^(\$root|\$web|[a-z0-9](-?[a-z0-9]){2,62})$`)

// checkContainer wants the name of a container, and nothing after it: a blob would
// have several names.
func (e endpoint) checkContainer() error {
	want, which := 1, "the container"
	if e.inPath {
		want, which = 2, "the account and the container"
	}
	n := len(e.parts)
	switch {
	case slices.Contains(e.parts, ""):
		return fmt.Errorf("the URL of the container client, on %s, has an empty part in its path", e.host)
	case n < want:
		return fmt.Errorf("the URL of the container client, on %s, names no container: it needs %s in its path, %s", e.host, parts(want), which)
	case n > want:
		return fmt.Errorf("the URL of the container client, on %s, has %s in its path: it needs %d, %s", e.host, parts(n), want, which)
	case !containerForm.MatchString(e.parts[n-1]) || len(e.parts[n-1]) > maxContainer:
		return fmt.Errorf("container %.80q: a container's name has 3 to 63 lower-case letters, digits and single hyphens between them", e.parts[n-1])
	}
	return nil
}

const maxContainer = 63

func parts(n int) string {
	if n == 1 {
		return "1 part"
	}
	return fmt.Sprint(n, " parts")
}

// command creates the container.
func (e endpoint) command(u *url.URL) string {
	last := len(e.parts) - 1
	where := "--account-name " + e.account
	if e.inPath || e.service() != "blob" { // an emulator, or a domain of one's own
		service := url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.Join(e.parts[:last], "/")}
		where = "--blob-endpoint " + service.String()
	}
	return fmt.Sprintf("az storage container create --name %s %s", e.parts[last], where)
}

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
