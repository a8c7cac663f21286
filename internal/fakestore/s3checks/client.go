// Package s3checks is what tests of and on the model of S3 need of the real SDK.
package s3checks

import (
	"context"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Region is where the clients of NewClient are at home.
const Region = "eu-central-1"

// What NewClient signs with.
const (
	AccessKey = "AKIAIOSFODNN7EXAMPLE"
	SecretKey = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
)

// NewClient returns a client of AWS whose requests rt carries, with the SDK's own
// retries.
func NewClient(rt http.RoundTripper, o ...func(*s3.Options)) *s3.Client {
	return s3.New(s3.Options{
		Region:      Region,
		Credentials: aws.CredentialsProviderFunc(credentials),
		HTTPClient:  &http.Client{Transport: rt},
		// As s3.NewFromConfig has it.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
	}, o...)
}

func credentials(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: AccessKey, SecretAccessKey: SecretKey, Source: "model"}, nil
}

// At sends requests to an endpoint that is not AWS's, with the bucket in the path.
func At(endpoint string) func(*s3.Options) {
	return func(o *s3.Options) { o.BaseEndpoint, o.UsePathStyle = &endpoint, true }
}
