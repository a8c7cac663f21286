// S3 is the coordinator with its lease in a store with the interface of Amazon S3.
//
//	go run ./examples/coordinator -store s3           # versitygw, started by the program
//	go run ./examples/coordinator -store s3://BUCKET  # a bucket of yours
//
// The first needs a clone of the repository: the server is built from its module e2e,
// which takes a minute the first time. The second finds credentials, region and
// endpoint where the AWS command line does (AWS_PROFILE, AWS_REGION,
// AWS_ENDPOINT_URL_S3, …), and leaves one object behind.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/s3lease"
	"github.com/bloblease/bloblease/examples/coordinator/internal/show"
)

func main() {
	os.Exit(show.Main(show.Place{Name: "s3", TTL: 3 * time.Second, Make: prepare, Open: open, Writes: true}))
}

// prepare finds a place for the lease: in the bucket that is named, or in a server.
func prepare(ctx context.Context, name string) (show.Made, error) {
	if name == "s3" {
		return start(ctx)
	}
	if bucket, _, _ := strings.Cut(strings.TrimPrefix(name, "s3://"), "/"); bucket == "" {
		return show.Made{}, fmt.Errorf("-store %q names no bucket: it is s3://BUCKET, or s3://BUCKET/PREFIX", name)
	}
	at := fmt.Sprintf("%s/coordinator-%d", strings.TrimSuffix(name, "/"), time.Now().UnixNano())
	return show.Made{Address: at, Words: at, Remove: func() error { return nil }}, nil
}

// open is what a worker does, and the stage, to see the end.
func open(address string) (backends.Backend, error) {
	place, own := strings.CutPrefix(address, "s3://")
	if !own {
		return s3lease.New(serverClient(address), serverBucket, nil)
	}
	bucket, prefix, _ := strings.Cut(place, "/")
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		return nil, err
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = o.BaseEndpoint != nil })
	return s3lease.New(client, bucket, &s3lease.Options{Prefix: prefix + "/"})
}

// serverClient is a client of the server that this program starts.
func serverClient(url string) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: &url, UsePathStyle: true, Region: "us-east-1",
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "bloblease", SecretAccessKey: "bloblease-secret"}, nil
		}),
	})
}
