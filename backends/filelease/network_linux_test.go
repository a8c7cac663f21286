package filelease

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALocalDirectoryIsOnNoNetwork(t *testing.T) {
	self, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer func() { _ = self.Close() }()
	require.Empty(t, network(self))
	require.Equal(t, "NFS", networks[0x6969])
	require.Equal(t, "SMB", networks[0xff534d42])
}
