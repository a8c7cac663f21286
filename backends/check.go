package backends

import (
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"
)

// The sizes that every store can carry.
const (
	MaxName   = 1024 // bytes of a lease's name
	MaxHolder = 256  // bytes of a holder's name
	MaxDone   = 1024 // bytes of Done
	MaxMeta   = 4096 // bytes of all keys and values of Meta together
)

// CheckName returns an error that names the rule that the name of a lease
// breaks: 1 to 1,024 bytes of UTF-8 without control characters. Stores may have
// rules of their own beside these (see NameChecker).
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("lease name is empty: it needs 1 to %d bytes", MaxName)
	case len(name) > MaxName:
		return fmt.Errorf("lease name %.20q… has %d bytes: at most %d are allowed", name, len(name), MaxName)
	}
	return checkText("lease name", name)
}

// Check returns an error that names the value of c that breaks a rule.
func (c Claim) Check(l Limits) error {
	if err := l.CheckTTL(c.TTL); err != nil {
		return err
	}
	if len(c.Holder) > MaxHolder {
		return fmt.Errorf("holder %.20q… has %d bytes: at most %d are allowed", c.Holder, len(c.Holder), MaxHolder)
	}
	if err := checkText("holder", c.Holder); err != nil {
		return err
	}
	if c.Floor > MaxToken {
		return fmt.Errorf("token floor %d is above the highest token, %d", c.Floor, MaxToken)
	}
	return checkMeta(c.Meta)
}

// CheckDone returns an error that names the rule that a mark for Grant.Done breaks:
// at most 1,024 bytes of UTF-8 without control characters.
func CheckDone(done string) error {
	if len(done) > MaxDone {
		return fmt.Errorf("done %.20q… has %d bytes: at most %d are allowed", done, len(done), MaxDone)
	}
	return checkText("done", done)
}

// CheckTTL returns an error that names the limit that ttl breaks.
func (l Limits) CheckTTL(ttl time.Duration) error {
	switch {
	case ttl < l.MinTTL:
		return fmt.Errorf("TTL %v is below this store's minimum of %v", ttl, l.MinTTL)
	case ttl > l.MaxTTL:
		return fmt.Errorf("TTL %v is above this store's maximum of %v", ttl, l.MaxTTL)
	case l.Step > 0 && ttl%l.Step != 0:
		return fmt.Errorf("TTL %v is not a multiple of %v, as this store demands", ttl, l.Step)
	}
	return nil
}

func checkMeta(meta map[string]string) error {
	size := 0
	for k, v := range meta {
		if k == "" {
			return fmt.Errorf("meta has an empty key, with value %.20q", v)
		}
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return fmt.Errorf("meta %.20q: %.20q is not valid UTF-8", k, v)
		}
		size += len(k) + len(v)
	}
	if size > MaxMeta {
		return fmt.Errorf("meta has %d bytes: at most %d are allowed", size, MaxMeta)
	}
	return nil
}

func checkText(what, s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s %.40q is not valid UTF-8", what, s)
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return fmt.Errorf("%s %.40q has the control character %U", what, s, r)
		}
	}
	return nil
}
