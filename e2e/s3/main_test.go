// Package s3 runs s3lease against real servers that speak S3. There is no code in
// it but tests.
package s3

import (
	"os"
	"testing"

	"github.com/bloblease/bloblease/e2e/versitygw"
)

func TestMain(m *testing.M) {
	versitygw.ServeIfAsked()
	os.Exit(m.Run())
}

// prove has the tests run that take minutes; make prove sets it.
const prove = "BLOBLEASE_PROVE"

func proving() bool { return os.Getenv(prove) != "" }

// times is how often something is done: few in CI, many for the proof.
func times(few, many int) int {
	if proving() {
		return many
	}
	return few
}
