// Command versitygw serves S3 from a directory, until its standard input ends: so
// it does not outlive the program that started it.
//
//	go -C e2e run ./cmd/versitygw -dir DIR
//
// Its first line on standard output is the endpoint, written when it answers:
//
//	http://127.0.0.1:PORT
//
// The access key is bloblease, the secret key bloblease-secret, the region us-east-1.
// Each directory in DIR is a bucket.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/bloblease/bloblease/e2e/versitygw"
)

func main() {
	versitygw.ServeIfAsked()
	dir := flag.String("dir", "", "the directory with the buckets")
	flag.Parse()
	if err := run(*dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string) error {
	if dir == "" {
		return fmt.Errorf("-dir is missing")
	}
	s, err := versitygw.Start(context.Background(), versitygw.Options{Dir: dir})
	if err != nil {
		return err
	}
	fmt.Println(s.URL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return s.Close()
}
