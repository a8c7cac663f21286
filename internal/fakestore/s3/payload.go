package s3

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"io"
	"net/textproto"
	"strconv"
	"strings"
)

// payload takes the body out of what came over the wire, and holds it against its
// checksums.
func (x *exchange) payload(raw []byte) (body []byte, sum string, err *Error) {
	body, sum = raw, x.header.Get("X-Amz-Checksum-Crc32")
	switch claimed := x.header.Get("X-Amz-Content-Sha256"); claimed {
	case "":
		return nil, "", errUnknown("a request without x-amz-content-sha256")
	case "UNSIGNED-PAYLOAD":
	case "STREAMING-UNSIGNED-PAYLOAD-TRAILER":
		if body, sum, err = x.dechunk(raw); err != nil {
			return nil, "", err
		}
	default:
		hash := sha256.Sum256(raw)
		if claimed != hex.EncodeToString(hash[:]) {
			return nil, "", errSha256
		}
	}
	switch {
	case sum != "" && x.opts.NoChecksums:
		return nil, "", errUnknown("checksums")
	case sum != "" && sum != crc(body):
		return nil, "", errDigest
	}
	return body, sum, nil
}

func crc(body []byte) string {
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc32.ChecksumIEEE(body))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// dechunk reads the encoding aws-chunked: chunks, and a checksum as the trailer.
func (x *exchange) dechunk(raw []byte) (body []byte, sum string, err *Error) {
	if x.header.Get("Content-Encoding") != "aws-chunked" || x.header.Get("X-Amz-Trailer") != "x-amz-checksum-crc32" {
		return nil, "", errUnknown("this trailer")
	}
	r := textproto.NewReader(bufio.NewReader(bytes.NewReader(raw)))
	for {
		line, _ := r.ReadLine()
		size, failed := strconv.ParseUint(line, 16, 32)
		if failed != nil {
			return nil, "", errIncomplete
		}
		if size == 0 {
			break
		}
		chunk := make([]byte, size+2) // and a line break
		if _, failed := io.ReadFull(r.R, chunk); failed != nil {
			return nil, "", errIncomplete
		}
		body = append(body, chunk[:size]...)
	}
	line, _ := r.ReadLine()
	name, sum, _ := strings.Cut(line, ":")
	if name != "x-amz-checksum-crc32" || x.header.Get("X-Amz-Decoded-Content-Length") != strconv.Itoa(len(body)) {
		return nil, "", errIncomplete
	}
	return body, sum, nil
}
