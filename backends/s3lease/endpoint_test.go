package s3lease_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	smithyendpoints "github.com/aws/smithy-go/endpoints"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/s3lease"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/s3checks"
)

func region(name string) func(*awss3.Options) {
	return func(o *awss3.Options) { o.Region = name }
}

// Dates are trusted, and the SDK's checksums kept, at Amazon's own endpoints only.
func TestWhichEndpointsAreAmazons(t *testing.T) {
	for name, c := range map[string]struct {
		o      func(*awss3.Options)
		bucket string
		aws    bool
	}{
		"Plain":      {o: region("eu-central-1"), aws: true},
		"Oldest":     {o: region("us-east-1"), aws: true},
		"China":      {o: region("cn-north-1"), aws: true},
		"Government": {o: region("us-gov-west-1"), aws: true},
		"Europe":     {o: region("eusc-de-east-1"), aws: true},
		"PathStyle":  {o: func(o *awss3.Options) { o.UsePathStyle = true }, aws: true},
		"DualStack":  {o: func(o *awss3.Options) { o.EndpointOptions.UseDualStackEndpoint = aws.DualStackEndpointStateEnabled }, aws: true},
		"FIPS": {o: func(o *awss3.Options) {
			o.Region, o.EndpointOptions.UseFIPSEndpoint = "us-east-1", aws.FIPSEndpointStateEnabled
		}, aws: true},
		"Accelerated":   {o: func(o *awss3.Options) { o.UseAccelerate = true }, aws: true},
		"AccessPoint":   {bucket: "arn:aws:s3:eu-central-1:123456789012:accesspoint/leases", aws: true},
		"Express":       {bucket: "leases--euc1-az1--x-s3", aws: true},
		"Dotted":        {bucket: "leases.example.com", aws: true},
		"Named":         {o: s3checks.At("https://s3.eu-central-1.amazonaws.com"), aws: true},
		"OldName":       {o: s3checks.At("https://s3-eu-west-1.amazonaws.com"), aws: true},
		"PrivateLink":   {o: s3checks.At("https://bucket.vpce-1a2b3c4d-5e6f.s3.us-east-1.vpce.amazonaws.com"), aws: true},
		"Machine":       {o: s3checks.At("http://ec2-203-0-113-25.compute-1.amazonaws.com:9000")},
		"Balancer":      {o: s3checks.At("https://s3-minio-1234567890.eu-central-1.elb.amazonaws.com")},
		"Address":       {o: s3checks.At("http://127.0.0.1:9000")},
		"Pretender":     {o: s3checks.At("https://s3.amazonaws.com.example.net")},
		"PretenderToo":  {o: s3checks.At("https://evil-s3.eu-central-1.amazonaws.example")},
		"Cloudflare":    {o: s3checks.At("https://account.r2.cloudflarestorage.com")},
		"ByOldResolver": {o: func(o *awss3.Options) { o.EndpointResolver = awss3.EndpointResolverFromURL("https://store.example") }}, //nolint:staticcheck // people have it
		"ByResolver":    {o: func(o *awss3.Options) { o.EndpointResolverV2 = resolver("https://store.example/leases") }},
	} {
		t.Run(name, func(t *testing.T) {
			var all []func(*awss3.Options)
			if c.o != nil {
				all = append(all, c.o)
			}
			bucket := c.bucket
			if bucket == "" {
				bucket = bucketName
			}
			_, options, err := s3lease.OpenStore(s3checks.NewClient(nil, all...), bucket, nil)
			require.NoError(t, err)
			require.Equal(t, c.aws, options.Dates.Trusted)
			_, options, err = s3lease.OpenStore(s3checks.NewClient(nil, all...), bucket, &s3lease.Options{TrustDates: true})
			require.NoError(t, err)
			require.True(t, options.Dates.Trusted)
		})
	}
}

type resolver string

func (r resolver) ResolveEndpoint(context.Context, awss3.EndpointParameters) (e smithyendpoints.Endpoint, err error) {
	return awss3.NewDefaultEndpointResolverV2().ResolveEndpoint(context.Background(), awss3.EndpointParameters{
		Bucket: aws.String(bucketName), Region: aws.String("auto"), Endpoint: (*string)(&r), ForcePathStyle: aws.Bool(true),
		Accelerate: aws.Bool(false), UseDualStack: aws.Bool(false), UseFIPS: aws.Bool(false), UseGlobalEndpoint: aws.Bool(false),
		DisableMultiRegionAccessPoints: aws.Bool(false),
	})
}

func TestPlacesWhereALeaseWouldMeanNothing(t *testing.T) {
	for name, bucket := range map[string]string{
		"MultiRegionAccessPoint": "arn:aws:s3::123456789012:accesspoint/mfzwi23gnjvgw.mrap",
		"ItsAlias":               "mfzwi23gnjvgw.mrap",
		"ObjectLambda":           "arn:aws:s3-object-lambda:eu-central-1:123456789012:accesspoint/leases",
		"Outpost":                "arn:aws:s3-outposts:eu-central-1:123456789012:outpost/op-1/accesspoint/leases",
		"AnotherService":         "arn:aws:sqs:eu-central-1:123456789012:leases",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s3lease.New(s3checks.NewClient(nil), bucket, nil)
			require.ErrorIs(t, err, backends.ErrUnsupported)
			require.NotContains(t, err.Error(), "\n")
		})
	}
	_, err := s3lease.New(s3checks.NewClient(nil, s3checks.At("https://mfzwi23gnjvgw.mrap.accesspoint.s3-global.amazonaws.com")), bucketName, nil)
	require.ErrorIs(t, err, backends.ErrUnsupported)
}

// What is wrong is said by New, with the value and the rule, before any request.
func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		bucket string
		own    s3lease.Options
		o      func(*awss3.Options)
		says   string
	}{
		"NoBucket":        {says: "name of the bucket is empty"},
		"AURL":            {bucket: "s3://leases", says: `"s3://leases" is no name`},
		"APath":           {bucket: "leases/team", says: `"leases/team" is no name`},
		"ASpace":          {bucket: "my leases", says: `"my leases" is no name`},
		"ALineBreak":      {bucket: "leases\n", says: `is no name`},
		"NoRegion":        {bucket: "leases", o: region(""), says: "region must be set"},
		"PrefixNoSlash":   {bucket: "leases", own: s3lease.Options{Prefix: "team"}, says: `prefix "team" does not end in "/"`},
		"PrefixAbsolute":  {bucket: "leases", own: s3lease.Options{Prefix: "/team/"}, says: "empty part"},
		"PrefixUp":        {bucket: "leases", own: s3lease.Options{Prefix: "../"}, says: `the part ".."`},
		"PrefixOnlySlash": {bucket: "leases", own: s3lease.Options{Prefix: "/"}, says: `prefix "/" has nothing before its "/"`},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.o
			if o == nil {
				o = func(*awss3.Options) {}
			}
			_, err := s3lease.New(s3checks.NewClient(nil, o), c.bucket, &c.own)
			require.ErrorContains(t, err, c.says)
			require.True(t, strings.HasPrefix(err.Error(), "s3lease: "), err.Error())
			require.NotContains(t, err.Error(), "\n")
		})
	}
	_, err := s3lease.New(nil, "leases", nil)
	require.ErrorContains(t, err, "the client is nil")
}

func TestNames(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.open(t, &s3lease.Options{Prefix: "team/"})
		for _, name := range []string{"a", "a/b", "ä", "a b", "a+b", "a%2Fb", "a?b#c", `a\b`, "a..b", ".a", "a.", "a=b&c", "*", "'\"<>", "~"} {
			require.NoError(t, b.CheckName(name), name)
			g := acquire(t, b, name)
			require.Equal(t, name, g.Name)
			_, ok := m.Look("team/" + name)
			require.True(t, ok, name)
		}
		require.Len(t, m.Keys(), 15, "different names are different objects")
		for _, name := range []string{"", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a\x00", "a\n", strings.Repeat("x", 1020)} {
			require.Error(t, b.CheckName(name), name)
		}
	})
}

// A store that is not AWS's is not sent what many do not take; AWS is, since a bucket
// with Object Lock needs it. Tigris is told to answer consistently.
func TestWhatRequestsCarry(t *testing.T) {
	for name, c := range map[string]struct {
		endpoint  string
		checksums bool
		tigris    string
	}{
		"AWS":        {checksums: true},
		"Elsewhere":  {endpoint: elsewhere},
		"Tigris":     {endpoint: "https://fly.storage.tigris.dev", tigris: "true"},
		"TigrisToo":  {endpoint: "https://t3.storage.dev", tigris: "true"},
		"NoTigris":   {endpoint: "https://tigris.dev.example"},
		"Cloudflare": {endpoint: "https://account.r2.cloudflarestorage.com"},
	} {
		t.Run(name, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				seen := http.Header{}
				m.layer.Inject(func(r *http.Request) fakestore.Fault {
					for name, values := range r.Header {
						seen[name] = values
					}
					r.Header.Del("X-Tigris-Consistent")
					return fakestore.Fault{}
				})
				var o []func(*awss3.Options)
				if c.endpoint != "" {
					o = append(o, s3checks.At(c.endpoint))
				}
				b := m.client(t, o...)
				require.NoError(t, b.Release(t.Context(), acquire(t, b, "job")))
				require.Equal(t, c.checksums, seen.Get("X-Amz-Trailer") != "", "a checksum")
				require.Equal(t, c.checksums, seen.Get("X-Amz-Checksum-Mode") != "", "asks for a checksum")
				require.Equal(t, c.tigris, seen.Get("X-Tigris-Consistent"))
				require.Equal(t, "no-store", seen.Get("Cache-Control"))
			})
		})
	}
}
