package filelease

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxEncoded is the longest encoded name. With the longest suffix it makes 139
// bytes: eCryptfs, which encrypts home directories, allows 143, others 255.
const maxEncoded = 128

// maxPrefix is how much of a longer name is kept for people, ahead of the hash.
const maxPrefix = 48

// files are the names of the files of one lease. The three kinds differ in their
// suffix, which no name can bring along: the record's is the shortest, and
// comes last.
type files struct{ record, lock, temp string }

func filesOf(name string) files {
	record := encode(name) + ".lease"
	return files{record: record, lock: record + ".lock", temp: record + ".tmp"}
}

// encode maps different names to different file names. No encoded name has a
// "~", so that the long form, which has one, meets none of them.
func encode(name string) string {
	if whole, all := escape(name, maxEncoded); all {
		return whole
	}
	prefix, _ := escape(name, maxPrefix)
	hash := sha256.Sum256([]byte(name))
	return prefix + "~" + hex.EncodeToString(hash[:])
}

// escape percent-encodes as much of name as fits into limit bytes, and tells
// whether that was all.
func escape(name string, limit int) (escaped string, all bool) {
	var b strings.Builder
	for i := range len(name) {
		next := escapeByte(name[i], i == 0)
		if b.Len()+len(next) > limit {
			return b.String(), false
		}
		b.WriteString(next)
	}
	return b.String(), true
}

// escapeByte encodes upper-case letters too, for file systems that ignore case,
// and a leading dot, which would hide the file.
func escapeByte(c byte, first bool) string {
	plain := 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.' && !first
	if plain {
		return string(rune(c))
	}
	return "%" + hex.EncodeToString([]byte{c})
}
