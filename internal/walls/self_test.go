package walls

import (
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/internal/gotool"
)

// The tests of this file break each wall on paper, and see that it is noticed.

func TestAnArrowThatPointsUpIsSeen(t *testing.T) {
	g := fake(map[string][]string{
		"mutex":                {"backends", "backends/memlease", "encoding/json"},
		"backends":             {"internal/clock"},
		"backends/memlease":    {"backends"},
		"backends/newlease":    {"backends"},
		"internal/clock":       {},
		"internal/sim":         {"mutex", "backends/memlease"},
		"examples/coordinator": {"mutex", "backends/memlease"},
	})
	assert.Equal(t, []string{
		"backends imports internal/clock",
		"backends/newlease has no row in the table of rooms",
		"backends/newlease imports backends",
		"mutex imports backends/memlease",
		"mutex imports encoding/json: how a record is stored is the backend's secret",
	}, g.arrows())
}

func TestAForeignPackageBelowTheCoreIsSeen(t *testing.T) {
	g := fake(map[string][]string{
		"mutex":    {"backends", "context"},
		"backends": {"golang.org/x/sys/unix", "github.com/stretchr/testify/assert"},
	})
	assert.ElementsMatch(t, []string{
		"mutex reaches github.com/stretchr/testify/assert, imported by " + gotool.Module + "/backends",
		"backends reaches github.com/stretchr/testify/assert, imported by " + gotool.Module + "/backends",
	}, g.foreign())
}

func TestAnotherStoresSDKIsSeen(t *testing.T) {
	g := fake(map[string][]string{
		"backends/s3lease":    {"github.com/aws/aws-sdk-go-v2/service/s3", "backends/shared"},
		"backends/shared":     {"github.com/Azure/azure-sdk-for-go/sdk/azcore"},
		"backends/azurelease": {"github.com/Azure/azure-sdk-for-go/sdk/azcore"},
		"backends/open":       {"backends/s3lease", "backends/azurelease"},
	})
	assert.ElementsMatch(t, []string{
		"backends/s3lease reaches github.com/Azure/azure-sdk-for-go/sdk/azcore, imported by " + gotool.Module + "/backends/shared",
		"backends/shared reaches github.com/Azure/azure-sdk-for-go/sdk/azcore, imported by " + gotool.Module + "/backends/shared",
	}, g.sdks())
}

func TestEveryForbiddenFunctionIsSeen(t *testing.T) {
	const source = `package p

import (
	"context"
	. "log"
	"os"
	clock "time"
)

var now = clock.Now

func f(ctx context.Context) {
	ctx, _ = context.WithTimeout(ctx, clock.Second)
	if os.Getenv("X") != "" {
		panic(ctx)
	}
}

func g(time struct{ Now func() }, panic func()) {
	time.Now()
	panic()
}
`
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", source, 0)
	require.NoError(t, err)
	assert.Equal(t, []use{
		{"p/p.go", 1, `import . "log"`},
		{"p/p.go", 10, "time.Now"},
		{"p/p.go", 13, "context.WithTimeout"},
		{"p/p.go", 14, "os.Getenv"},
		{"p/p.go", 15, "panic"},
	}, named(files, file, "p/p.go", slices.Concat(clocks, rude)))
}

// fake makes a graph of packages and their imports. Paths with a dot are other
// modules', those with a row are this module's, the rest is the standard
// library.
func fake(imports map[string][]string) graph {
	full := func(p string) string {
		if _, ours := imports[p]; ours {
			return gotool.Module + "/" + p
		}
		return p
	}
	g := graph{}
	for p, list := range imports {
		pkg := gotool.Package{ImportPath: full(p), Name: "p"}
		for _, i := range list {
			pkg.Imports = append(pkg.Imports, full(i))
			if full(i) == i {
				g[i] = gotool.Package{ImportPath: i, Standard: !strings.Contains(i, ".")}
			}
		}
		g[full(p)] = pkg
	}
	return g
}
