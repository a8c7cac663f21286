package azurechecks

// Azurite is how Azurite 3.35.0 departs.
func Azurite() Departures {
	d := Departures{
		// It lets anybody renew a lease that has expired.
		"RenewBWhenExpired: result": "leased",

		// It looks whether a blob exists before it looks at the lease.
		"CreatingALeasedBlobIsRefused: without ID": "409 BlobAlreadyExists",
		"CreatingWithALeaseIDIsRefused: create":    "ok",

		// Any string is a lease ID, and lease operations mind its case.
		"LeaseIDsAreGUIDs: acquire as me":           "ok",
		"LeaseIDsAreGUIDs: acquire as host:1234":    "ok",
		"LeaseIDsAreGUIDs: acquire as " + idA + "0": "ok",
		"LeaseIDsHaveNoCase: renew":                 mismatch,
		"LeaseIDsHaveNoCase: release":               mismatch,

		// "Any" is no condition to it, except when creating.
		"IfMatchNeedsABlob: put any":                  "ok",
		"AcquireHonoursConditions: If-None-Match any": "ok",

		// It says LeaseNotPresent where Azure documents LeaseLost.
		"BreakingEndsInBroken: put": noLeaseBlob,
	}
	for _, verb := range []string{"Put", "SetMetadata", "Delete", "Get"} {
		d[verb+"AsAWhenBroken: result"] = noLeaseBlob
		d[verb+"AsAWhenExpired: result"] = noLeaseBlob
	}
	// It judges If-Match before it looks whether the blob exists. Azure does
	// not say; the model's default is what a client expects.
	for _, try := range []string{"set metadata", "acquire", "delete", "head"} {
		d["IfMatchOnAMissingBlobIsNotFound: "+try] = condition
	}
	return d
}
