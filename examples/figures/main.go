// Figures prints what a TTL means: how long a holder trusts its lease, how long
// the others wait, and how long nobody leads when a leader dies.
//
//	go run ./examples/figures -ttl 30s
//	go run ./examples/figures -waiters 4    # and what that costs a month on S3
//
// It computes them by the formulas that the packages document. Its test compares
// them with what the packages do.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"text/tabwriter"
	"time"

	"github.com/bloblease/bloblease/backends/memlease"
	"github.com/bloblease/bloblease/mutex"
)

func main() {
	ttl := flag.Duration("ttl", 0, "how long a lease lasts without a renewal (default 30s)")
	poll := flag.Duration("poll", 0, "how long a waiter waits between two looks (default 5s, or TTL/3 if shorter)")
	waiters := flag.Int("waiters", 0, "print what one holder and so many waiters cost a month on S3")
	put := flag.Float64("put", 0.005, "USD for a thousand PUT requests")
	get := flag.Float64("get", 0.0004, "USD for a thousand GET requests")
	flag.Parse()
	// A Mutex fills in the defaults, and refuses what makes no sense.
	m, err := mutex.New(memlease.New(), "figures", &mutex.Options{TTL: *ttl, Poll: *poll})
	if err != nil {
		log.Fatal(err)
	}
	f := figuresOf(m.Options().TTL, m.Options().Poll)
	if err := f.print(os.Stdout); err != nil {
		log.Fatal(err)
	}
	if *waiters > 0 {
		fmt.Println()
		if err := f.month(*waiters, *put, *get).print(os.Stdout); err != nil {
			log.Fatal(err)
		}
	}
}

// figures are the times that follow from a TTL and a poll. Requests are taken to
// last no time.
type figures struct {
	ttl       time.Duration
	renewal   time.Duration // the holder renews so often,
	attempt   time.Duration // waits so long for an answer,
	trust     time.Duration // and trusts the lease for so long from before a request that was answered
	look      time.Duration // a waiter looks at least so often
	stopwatch time.Duration // a waiter takes over when it has seen no change for so long,
	date      time.Duration // or when by the dates of filelease there was none for so long
	late      time.Duration // up to so much later, lest all waiters do it at once
}

func figuresOf(ttl, poll time.Duration) figures {
	return figures{
		ttl:       ttl,
		renewal:   ttl / 3,
		attempt:   min(ttl/6, 5*time.Second),
		trust:     ttl - 2*ttl/100 - max(100*time.Millisecond, ttl/100),
		look:      poll + poll/5,
		stopwatch: ttl + ttl/100,
		date:      ttl + 2*ttl/100,
		late:      poll / 10,
	}
}

func (f figures) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(what, figure, why string) { fmt.Fprintf(w, "%s\t%s\t%s\n", what, figure, why) }
	row("the TTL", short(f.ttl), "the figures below follow from it, and from Poll")
	row("the holder renews every", short(f.renewal), "TTL/3")
	row("  waits for an answer", short(f.attempt), "min(TTL/6, 5 s), then it asks again")
	row("  trusts the lease for", short(f.trust), "0.98 TTL - max(100 ms, 1 % TTL), from before the request")
	row("a waiter looks every", span(f.look*2/3, f.look), "Poll, give or take 20 %")
	row("  takes over after", short(f.stopwatch), "TTL + 1 %, from when it first saw the last renewal")
	row("  or, on filelease, after", short(f.date), "TTL + 2 %, from the last renewal")
	row("no leader after a release", span(0, f.look), "until a waiter looks")
	row("no leader after a death", span(f.stopwatch-f.renewal, f.look+f.stopwatch+f.late), "as the last renewal was up to TTL/3 ago")
	row("  or, on filelease", span(f.date-f.renewal, f.date+f.late), "the same")
	return w.Flush()
}

// A bill is what a lock costs in 30 days on a store that is paid by requests: a PUT
// for each renewal, a GET for each look.
type bill struct {
	puts, gets float64 // by the holder, and by each waiter
	put, get   float64 // USD for a thousand
	waiters    int
}

func (f figures) month(waiters int, put, get float64) bill {
	const days = 30 * 24 * time.Hour
	poll := f.look * 5 / 6 // on average
	return bill{puts: float64(days) / float64(f.renewal), gets: float64(days) / float64(poll), put: put, get: get, waiters: waiters}
}

func (b bill) holder() float64 { return b.puts / 1000 * b.put }
func (b bill) waiter() float64 { return b.gets / 1000 * b.get }
func (b bill) total() float64  { return b.holder() + float64(b.waiters)*b.waiter() }

func (b bill) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "a month on S3\trequests\tUSD\n")
	fmt.Fprintf(w, "  the holder\t%.0f PUT\t%.2f\n", b.puts, b.holder())
	fmt.Fprintf(w, "  each waiter\t%.0f GET\t%.2f\n", b.gets, b.waiter())
	fmt.Fprintf(w, "  all %d\t\t%.2f\n", b.waiters+1, b.total())
	return w.Flush()
}

func short(d time.Duration) string { return d.Round(time.Millisecond).String() }

func span(from, to time.Duration) string { return short(from) + " to " + short(to) }
