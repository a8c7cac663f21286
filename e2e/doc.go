// Package e2e is the root of a module whose tests run bloblease against real
// servers that speak S3. It is a module of its own, so that none of them reaches
// the go.sum of a program that uses the library.
package e2e
