package walls

// rooms says what each package of the library imports from this module. An
// arrow that is not here does not exist. A new package needs a row, and a row
// needs a reason in docs/adr if the arrow is a new kind.
//
// Rows of packages that are not written yet wait here for them; the tests look
// only at packages that go list ./... finds.
var rooms = map[string][]string{
	"internal/clock":       {},
	"internal/memstore":    {"backends/cas", "internal/clock"},
	"backends":             {},
	"internal/setup":       {"backends"}, // shared by mutex and leader
	"internal/record":      {"backends"},
	"internal/redact":      {},
	"internal/probe":       {"backends", "internal/clock", "internal/record"}, // what Verify does on every store
	"backends/cas":         {"backends", "internal/clock", "internal/probe", "internal/record"},
	"backends/memlease":    {"backends", "backends/cas", "internal/clock", "internal/memstore"},
	"backends/filelease":   {"backends", "backends/cas", "internal/clock"},
	"backends/s3lease":     {"backends", "backends/cas", "internal/clock", "internal/redact"},
	"backends/gcslease":    {"backends", "backends/cas", "internal/clock"},
	"backends/azurelease":  {"backends", "internal/clock", "internal/probe", "internal/record", "internal/redact"}, // its engine is Azure's own leases
	"backends/backendtest": {"backends", "backends/cas", "internal/clock"},
	"backends/open": {"backends", "backends/azurelease", "backends/filelease", "backends/gcslease",
		"backends/memlease", "backends/s3lease"},
	"mutex":  {"backends", "internal/clock", "internal/setup"},
	"leader": {"backends", "mutex", "internal/clock", "internal/setup"},
	"fence":  {"backends"},
}

// plain are the packages that reach nothing but the standard library, this
// module and golang.org/x/sys: who locks a file must not compile three clouds.
var plain = []string{
	"internal/clock", "internal/memstore", "internal/probe", "internal/redact", "internal/setup",
	"backends", "backends/cas", "backends/memlease", "backends/filelease",
	"mutex", "leader", "fence",
}

// sdks says which packages may reach which SDK, besides main packages and
// backends/open, whose purpose is to know them all.
var sdks = map[string][]string{
	"github.com/Azure/":  {"backends/azurelease"},
	"cloud.google.com/":  {"backends/gcslease"},
	"google.golang.org/": {"backends/gcslease"},
	"github.com/aws/":    {"backends/s3lease"},
}

// barred are single imports that a wall forbids although the package they name
// is the standard library's.
var barred = map[string]map[string]string{
	"backends":     {"net/http": "the contract knows no transport"},
	"backends/cas": {"net/http": "one Store call is one request; how it travels is the Store's affair"},
	"mutex": {
		"encoding/json": "how a record is stored is the backend's secret",
		"net/http":      "the backend makes the requests",
	},
	"leader": {
		"encoding/json": "how a record is stored is the backend's secret",
		"net/http":      "the backend makes the requests",
	},
}

// clocks are the functions that ask or wait for time, or make something that
// does. They are named in internal/clock only.
var clocks = []string{
	"time.Now", "time.Since", "time.Until", "time.Sleep",
	"time.After", "time.AfterFunc", "time.Tick", "time.NewTimer", "time.NewTicker",
	"context.WithTimeout", "context.WithTimeoutCause", "context.WithDeadline", "context.WithDeadlineCause",
	"golang.org/x/sys/unix.ClockGettime",
}

// rude are the functions by which a library decides what is the program's to
// decide: when it ends, and what its environment means.
var rude = []string{
	"os.Exit", "os.Getenv", "os.LookupEnv", "os.Environ", "os.ExpandEnv",
	"log.Fatal", "log.Fatalf", "log.Fatalln", "log.Panic", "log.Panicf", "log.Panicln",
	"panic",
}

// excused are uses of the above that are right, as "file: function", with the
// reason. An entry that excuses nothing fails the test.
var excused = map[string]string{}

// testSupport are packages of the library that only tests import. They may
// wait in real time, for they also run against real servers.
var testSupport = []string{"backends/backendtest"}
