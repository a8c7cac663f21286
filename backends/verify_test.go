package backends_test

import (
	"fmt"

	"github.com/bloblease/bloblease/backends"
)

func ExampleReport() {
	report := backends.Report{
		Store: "bucket leases at http://127.0.0.1:9000",
		Checks: []backends.Check{
			{Name: "read", Result: backends.Passed, Saw: "bloblease-verify/17"},
			{
				Name: "refuse create", Result: backends.Failed, Saw: "it overwrites an object",
				Means: "two processes may hold one lease at a time", Do: "use another store",
			},
		},
		Left: []string{"bloblease-verify/17"},
	}
	fmt.Print(report)
	// Output:
	// bucket leases at http://127.0.0.1:9000
	//   ok         read               bloblease-verify/17
	//   FAILED     refuse create      it overwrites an object
	//                           means: two processes may hold one lease at a time
	//                              do: use another store
	// left behind, and free to be deleted: bloblease-verify/17
	// no leases here: 1 of 2 checks failed
}
