// Stock sells one item to 50 buyers, who come at the same time from three processes.
// Without a lock it is sold many times, with one once.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/bloblease/bloblease/backends/filelease"
	"github.com/bloblease/bloblease/fence"
	"github.com/bloblease/bloblease/mutex"
)

const (
	buyers    = 50
	processes = 3
)

func main() {
	err := run(context.Background(), os.Args[1:])
	if err != nil {
		log.Fatal(err)
	}
}

// run is the shop; with arguments it is a process of buyers.
func run(ctx context.Context, args []string) error {
	if len(args) == 4 {
		n, err := strconv.Atoi(args[3])
		if err != nil {
			return err
		}
		return shopping(ctx, args[1], args[2], n)
	}
	without, err := sale(ctx, "")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "stock")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	with, err := sale(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Printf("without a lock: one item, %d buyers, sales: %d\n", buyers, without)
	fmt.Printf("with a lock:    one item, %d buyers, sales: %d\n", buyers, with)
	if without < 2 || with != 1 {
		return errors.New("that is not what this example shows")
	}
	return nil
}

// A shop has one item. It believes what buyers tell it of the stock, as a database does
// that is written to. But it takes part in the lock.
type shop struct {
	gate fence.Gate

	mu    sync.Mutex
	stock int
	sold  int
}

// ServeHTTP answers GET with the stock, and takes a new one by POST, which is a sale.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	trade := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Method == http.MethodPost {
			s.stock, _ = strconv.Atoi(r.FormValue("stock"))
			s.sold++
		}
		_, err := fmt.Fprint(w, s.stock)
		return err
	}
	var err error
	if lock := r.FormValue("lock"); lock == "" {
		err = trade()
	} else {
		token, _ := strconv.ParseUint(r.FormValue("token"), 10, 64) // 0 is refused
		err = s.gate.Do(lock, fence.Token(token), trade)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
	}
}

// sale lets all buyers in, and returns how often the item was sold. They lock in dir, or
// not at all if it is "".
func sale(ctx context.Context, dir string) (sold int, err error) {
	s := &shop{stock: 1}
	server := httptest.NewServer(s)
	defer server.Close()
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	var crowd []*exec.Cmd
	var doors []io.Closer
	for i := range processes {
		n := (buyers + i) / processes
		c := exec.CommandContext(ctx, program, "buyers", server.URL, dir, strconv.Itoa(n))
		c.Stderr = os.Stderr
		door, err := c.StdinPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			return 0, err
		}
		crowd, doors = append(crowd, c), append(doors, door)
	}
	for _, door := range doors {
		_ = door.Close() // and so it opens
	}
	for _, c := range crowd {
		err = errors.Join(err, c.Wait())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sold, err
}

// shopping is n buyers, who wait until the doors open.
func shopping(ctx context.Context, shop, dir string, n int) error {
	buy := func() error { return purchase(ctx, shop, url.Values{}) }
	if dir != "" {
		store, err := filelease.New(dir)
		if err != nil {
			return err
		}
		m, err := mutex.New(store, "stock of the item", &mutex.Options{TTL: 10 * time.Second, Poll: 20 * time.Millisecond})
		if err != nil {
			return err
		}
		buy = func() error {
			return m.Do(ctx, func(ctx context.Context, lease *mutex.Lease) error {
				return purchase(ctx, shop, url.Values{"lock": {lease.Name()}, "token": {fmt.Sprint(lease.Token())}})
			})
		}
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	results := make(chan error, n)
	for range n {
		go func() { results <- buy() }()
	}
	var err error
	for range n {
		err = errors.Join(err, <-results)
	}
	return err
}

// purchase looks at the stock, thinks, and if there is something, takes it. Between the
// look and the taking others may come, unless a lock keeps them out.
func purchase(ctx context.Context, shop string, by url.Values) error {
	stock, err := ask(ctx, http.MethodGet, shop, by)
	if err != nil || stock == 0 {
		return err
	}
	time.Sleep(100 * time.Millisecond)
	by.Set("stock", strconv.Itoa(stock-1))
	_, err = ask(ctx, http.MethodPost, shop, by)
	return err
}

// ask makes a request to the shop, and returns the stock.
func ask(ctx context.Context, method, shop string, q url.Values) (stock int, err error) {
	r, err := http.NewRequestWithContext(ctx, method, shop+"?"+q.Encode(), nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("the shop says: %s", body)
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(body))
}
