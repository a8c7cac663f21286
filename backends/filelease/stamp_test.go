package filelease

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/internal/clock"
)

// A bootClock is the system's clock with another boot clock.
type bootClock struct {
	clock.Clock
	boot clock.Boot
}

func (c *bootClock) Boot() (clock.Boot, bool) { return c.boot, c.boot.ID != "" }

func booted(id string, since time.Duration) *bootClock {
	return &bootClock{clock.System, clock.Boot{ID: id, Since: since}}
}

var datas = []string{
	"", "\n", "\n\n", "x", "x\n", "{\n  \"a\": 1\n}\n", "no JSON, no end", "\r\n", "\x00\xff",
	`{"boot":"b","uptime_ns":1}`, `{"boot":"b","uptime_ns":1}` + "\n", "x\n" + `{"boot":"b","uptime_ns":1}` + "\n",
	"x\n" + `{"boot":"b","uptime_ns":1,"bare":true}`, `{"boot":"b","uptime_ns":1,"bare":true}` + "\n",
}

func TestDataComesBackByteForByte(t *testing.T) {
	for _, data := range datas {
		checkRoundTrip(t, []byte(data), booted("b", time.Hour))
		checkRoundTrip(t, []byte(data), booted("", 0))
	}
}

func FuzzDataComesBackByteForByte(f *testing.F) {
	for _, data := range datas {
		f.Add([]byte(data), "boot", int64(1))
		f.Add([]byte(data), "", int64(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, id string, since int64) {
		checkRoundTrip(t, data, booted(strings.ToValidUTF8(id[:min(len(id), 20)], ""), time.Duration(since&^(-1<<63))))
	})
}

func checkRoundTrip(t *testing.T, data []byte, c *bootClock) {
	stored := stamped(data, c)
	back, st := split(stored)
	require.Equal(t, string(data), string(back), "stored %q", stored)
	if c.boot.ID != "" {
		require.NotNil(t, st)
		require.Equal(t, c.boot, clock.Boot{ID: st.Boot, Since: st.Uptime})
	}
	require.LessOrEqual(t, len(stored), len(data)+maxStamp)
}

func TestWithoutABootClockThereIsNoStamp(t *testing.T) {
	require.Equal(t, "{}\n", string(stamped([]byte("{}\n"), booted("", 0))))
	modified, now := dates(&stamp{Boot: "b", Uptime: 1}, booted("", 0))
	require.Zero(t, modified)
	require.WithinDuration(t, time.Now(), now, time.Minute)
}

func TestTheAgeIsThatOfTheBootClock(t *testing.T) {
	modified, now := dates(&stamp{Boot: "b", Uptime: time.Minute}, booted("b", time.Hour))
	require.Equal(t, 59*time.Minute, now.Sub(modified))
}

func TestAStampOfAnotherBootGivesNoDate(t *testing.T) {
	modified, _ := dates(&stamp{Boot: "earlier", Uptime: time.Minute}, booted("b", time.Hour))
	require.Zero(t, modified)
}

func TestAStampFromTheFutureGivesNoDate(t *testing.T) {
	modified, _ := dates(&stamp{Boot: "b", Uptime: 2 * time.Hour}, booted("b", time.Hour))
	require.Zero(t, modified)
}

func TestWhatIsNotExactlyAStampIsData(t *testing.T) {
	for _, line := range []string{
		`{"boot":"b"}`, `{"uptime_ns":1}`, `{"boot":"b","uptime_ns":-1}`, `{"boot":"b","uptime_ns":1.5}`,
		`{"boot":"b", "uptime_ns":1}`, `{"boot":"b","uptime_ns":1,"more":2}`, `{"uptime_ns":1,"boot":"b"}`,
		`{"boot":"b","uptime_ns":1}x`, `{"boot":"b","uptime_ns":99999999999999999999}`, `{"boot":"` + strings.Repeat("b", 200) + `","uptime_ns":1}`,
	} {
		stored := "{}\n" + line + "\n"
		data, st := split([]byte(stored))
		require.Equal(t, stored, string(data))
		require.Nil(t, st)
	}
}
