// S3 is a first program for Amazon S3, and for stores with its interface. It finds
// credentials, region and endpoint where the AWS command line finds them: in the
// environment (AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL_S3, …) and in ~/.aws.
//
//	go run ./examples/s3 -bucket my-leases -verify   # find out whether the store will do
//	go run ./examples/s3 -bucket my-leases           # in two terminals
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/bloblease/bloblease/backends/s3lease"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

var (
	bucket = flag.String("bucket", "", "the `bucket` with the leases, which has to exist")
	verify = flag.Bool("verify", false, "only find out whether leases may be kept there")
)

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	if *bucket == "" {
		return errors.New("-bucket is missing")
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	store, err := s3lease.New(s3.NewFromConfig(cfg, pathStyle), *bucket, nil)
	if err != nil {
		return err
	}
	if *verify {
		report, err := store.Verify(ctx)
		fmt.Print(report)
		return err
	}
	m, err := mutex.New(store, "first", &mutex.Options{Logger: slog.Default()}) // so that a store that does not answer is seen
	if err != nil {
		return err
	}
	fmt.Println("waiting to lead, as process", os.Getpid())
	return leader.Run(ctx, m, lead, nil)
}

// pathStyle is for stores elsewhere: few of them have a host name for each bucket.
func pathStyle(o *s3.Options) { o.UsePathStyle = o.BaseEndpoint != nil }

func lead(ctx context.Context, lease *mutex.Lease) error {
	fmt.Println("leading, with token", lease.Token())
	<-ctx.Done() // your work: it returns soon after ctx has ended
	fmt.Println("leading no more:", context.Cause(ctx))
	return nil
}
