package azure

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// guid returns the canonical form of a GUID: lower case, with hyphens. Azure
// takes what .NET's Guid constructor takes: 32 digits; with hyphens; these in
// braces or parentheses. Its fifth form, of hexadecimal groups, is refused here.
func guid(s string) (string, bool) {
	if n := len(s); n == 38 && (s[0] == '{' && s[37] == '}' || s[0] == '(' && s[37] == ')') {
		s = s[1:37]
	}
	if len(s) == 36 {
		if s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
			return "", false
		}
		s = s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	}
	if _, err := hex.DecodeString(s); err != nil || len(s) != 32 {
		return "", false
	}
	s = strings.ToLower(s)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:], true
}

// numbered is the n-th of a series of GUIDs.
func numbered(series, n uint64) string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", series, n)
}
