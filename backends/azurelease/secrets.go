package azurelease

import (
	"errors"
	"fmt"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/redact"
)

// unanswered explains why there is no answer.
func unanswered(err error) error {
	// The SDK marks what it would not retry: there are no credentials to send.
	var final interface{ NonRetriable() }
	if errors.As(err, &final) {
		return fmt.Errorf("no credential, which on a developer's machine `az login` gives: %w", redact.Error(err, backends.ErrDenied))
	}
	return redact.Error(err)
}
