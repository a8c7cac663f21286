package azure

import (
	"net/http"
	"regexp"
	"strings"
)

const metadataLimit = 8 << 10

// identifier is what a metadata name has to be.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// readMetadata collects a blob's metadata from the headers of a request. Names
// are kept as headers show them: their case is lost on the way, as it is with
// the real service and a Go client.
func readMetadata(h http.Header) (map[string]string, *Error) {
	meta, size := map[string]string{}, 0
	for name, values := range h {
		key, ok := strings.CutPrefix(name, metaPrefix)
		if !ok {
			continue
		}
		value := strings.Join(values, ",")
		if !identifier.MatchString(key) || !printable(value) {
			return nil, errMetadata
		}
		meta[key] = value
		size += len(key) + len(value)
	}
	if size > metadataLimit {
		return nil, errMetadataTooLarge
	}
	return meta, nil
}

func printable(s string) bool {
	for _, r := range s {
		if r < ' ' && r != '\t' || r > '~' {
			return false
		}
	}
	return true
}
