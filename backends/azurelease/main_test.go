package azurelease_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if !given("test.parallel") {
		// What waits for a lease of Azurite's to run out waits together,
		// however few cores there are.
		if err := flag.Set("test.parallel", "50"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

func given(name string) (found bool) {
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}
