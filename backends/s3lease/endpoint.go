package s3lease

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/redact"
)

// An endpoint is where a bucket is.
type endpoint struct {
	host   string // for people; "" if only the client's resolver knows
	aws    bool   // it is Amazon's own
	tigris bool   // it is Tigris, which reads from the nearest copy unless told not to
	remedy string // the command that makes the bucket; "" if there is none
}

// locate finds out where requests for the bucket go, and refuses places where a
// lease would mean nothing.
func locate(o s3.Options, bucket string) (endpoint, error) {
	if err := checkBucket(bucket); err != nil {
		return endpoint{}, err
	}
	if o.EndpointResolver != nil { //nolint:staticcheck // deprecated, but its users are not refused
		return endpoint{remedy: remedy(o, bucket)}, nil
	}
	host, err := resolve(o, bucket)
	if err != nil {
		return endpoint{}, err
	}
	if strings.Contains(host, ".s3-global.") {
		return endpoint{}, fmt.Errorf("%w: %s is a multi-region access point, behind which each region decides by itself", backends.ErrUnsupported, host)
	}
	return endpoint{
		host:   host,
		aws:    awsHost.MatchString(host),
		tigris: tigrisHost.MatchString(host),
		remedy: remedy(o, bucket),
	}, nil
}

// What is not S3 at Amazon may have a name there all the same: a virtual machine, a
// load balancer.
var (
	awsHost    = regexp.MustCompile(`(^|\.)s3(-[a-z0-9-]+|express-[a-z0-9-]+)?(\.dualstack)?(\.[a-z]+(-[a-z]+)+-[0-9]+)?(\.vpce)?\.(amazonaws\.(com|com\.cn|eu)|api\.aws)$`)
	tigrisHost = regexp.MustCompile(`(^|\.)(tigris\.dev|t3\.storage\.dev)$`)
)

// resolve asks the SDK for the host.
func resolve(o s3.Options, bucket string) (string, error) {
	if o.EndpointResolverV2 == nil {
		return "", errors.New("the client has no endpoint resolver: make it with s3.New or s3.NewFromConfig")
	}
	p := s3.EndpointParameters{
		Bucket:                         &bucket,
		Endpoint:                       o.BaseEndpoint,
		UseFIPS:                        aws.Bool(o.EndpointOptions.UseFIPSEndpoint == aws.FIPSEndpointStateEnabled),
		UseDualStack:                   aws.Bool(o.EndpointOptions.UseDualStackEndpoint == aws.DualStackEndpointStateEnabled),
		ForcePathStyle:                 aws.Bool(o.UsePathStyle),
		Accelerate:                     aws.Bool(o.UseAccelerate),
		UseGlobalEndpoint:              aws.Bool(false),
		DisableMultiRegionAccessPoints: aws.Bool(o.DisableMultiRegionAccessPoints),
		UseArnRegion:                   aws.Bool(o.UseARNRegion),
		DisableS3ExpressSessionAuth:    o.DisableS3ExpressSessionAuth,
	}
	if o.Region != "" {
		p.Region = &o.Region
	}
	found, err := o.EndpointResolverV2.ResolveEndpoint(context.Background(), p)
	if err != nil {
		return "", fmt.Errorf("the client cannot reach bucket %.80q: %w", bucket, redact.Error(err))
	}
	return strings.ToLower(found.URI.Hostname()), nil
}

// checkBucket refuses what can be no bucket, and access points where a lease would
// mean nothing. What else a store allows in a name is its own affair.
func checkBucket(bucket string) error {
	arn, isARN := strings.CutPrefix(bucket, "arn:")
	switch {
	case bucket == "":
		return errors.New("the name of the bucket is empty")
	case !isARN && strings.ContainsAny(bucket, "/?#\\%"), strings.ContainsFunc(bucket, unprintable):
		return fmt.Errorf("bucket %.80q is no name: it has a slash, or another character that no bucket has", bucket)
	case !isARN && !strings.HasSuffix(bucket, ".mrap"):
		return nil
	}
	return checkARN(strings.Split(arn, ":"), bucket)
}

// checkARN takes the parts behind "arn": partition, service, region, account, resource.
func checkARN(parts []string, bucket string) error {
	switch {
	case strings.HasSuffix(bucket, ".mrap"):
		return fmt.Errorf("%w: %.120q is a multi-region access point, behind which each region decides by itself: name the bucket of one region", backends.ErrUnsupported, bucket)
	case len(parts) < 5 || parts[1] != "s3":
		return fmt.Errorf("%w: %.120q is no bucket and no access point of Amazon S3", backends.ErrUnsupported, bucket)
	}
	return nil
}

func unprintable(r rune) bool { return r <= ' ' || r == 0x7f }

// remedy is the command that makes the bucket.
func remedy(o s3.Options, bucket string) string {
	if strings.HasPrefix(bucket, "arn:") {
		return ""
	}
	command := "aws s3 mb s3://" + bucket
	if o.Region != "" {
		command += " --region " + o.Region
	}
	if u, err := url.Parse(aws.ToString(o.BaseEndpoint)); err == nil && u.Host != "" {
		u = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path} // no password, no query
		command += " --endpoint-url " + u.String()
	}
	return command
}
