package main

var azureTests = []string{"./backends/azurelease"}

func init() { mutants = append(mutants, azureMutants...) }

// azureMutants are the rules of Azure's leases, each broken once. Some live in package
// mutex; what notices them here is a lease of Azure's.
var azureMutants = []mutant{
	{
		name: "azure-token-before-record", rule: "the token is granted when its record is confirmed",
		file: "backends/azurelease/acquire.go", tests: azureTests,
		old: "	if err != nil || !at.leased {\n", new: "	if at != nil && !at.leased {\n",
		alsoOld: "	return t.grant(a.name, at.etag), nil\n", also: "	return t.grant(a.name, t.base), nil\n",
	},
	{
		name: "azure-record-without-if-match", rule: "the record is written under If-Match",
		file: "backends/azurelease/blobs.go", tests: azureTests,
		old: "	conditions := &blob.AccessConditions{\n		ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &etag},\n	}\n",
		new: "	conditions := &blob.AccessConditions{}\n	_ = etag\n",
	},
	{
		name: "azure-record-without-lease", rule: "the record is written under the lease",
		file: "backends/azurelease/blobs.go", tests: azureTests,
		old: "	if leased {\n		conditions.", new: "	if false {\n		conditions.",
	},
	{
		name: "azure-acquire-without-if-match", rule: "the lease is acquired of the blob that was read",
		file: "backends/azurelease/blobs.go", tests: azureTests,
		old: "		ModifiedAccessConditions: &lease.ModifiedAccessConditions{IfMatch: &etag},\n	})\n", new: "	})\n	_ = etag\n",
	},
	{
		name: "azure-lease-id-reused", rule: "a lease ID is of one acquisition only",
		file: "backends/azurelease/title.go", tests: azureTests,
		old: "	h, err := b.blobs.handle(b.blobName(name))\n	if err != nil {\n		return nil, err\n	}\n",
		new: "	h, err := b.blobs.handle(b.blobName(name))\n	if err != nil {\n		return nil, err\n	}\n	process := \"0000\" + fmt.Sprintf(\"%p\", b)[2:]\n	h.id = \"00000000-0000-4000-8000-\" + process[len(process)-12:]\n",
	},
	{
		name: "azure-expired-lease-revived", rule: "what has lapsed is never revived, though Azure would",
		file: "mutex/renew.go", tests: azureTests,
		old: "bound := min(l.ttl/6, 5*time.Second, l.Remaining())", new: "bound := min(l.ttl/6, 5*time.Second)",
		alsoOld: " && !l.over() {\n		asked := stampOf(l.mutex.clock)\n		switch err := l.renew(); {\n		case l.over():",
		also:    " {\n		asked := stampOf(l.mutex.clock)\n		switch err := l.renew(); {\n		case l.ctx.Err() != nil:",
	},
	{
		name: "azure-deadline-from-record", rule: "the deadline counts from before the lease was acquired",
		file: "mutex/mutex.go", tests: azureTests,
		old: "	case a := <-answer:\n", new: "	case a := <-answer:\n		asked = stampOf(m.clock)\n",
	},
	{
		name: "azure-mismatch-is-a-strangers", rule: "a release that is refused is read back before it is believed",
		file: "backends/azurelease/term.go", tests: azureTests,
		old: "		case !refused(err):\n			return fmt.Errorf(\"release: %w\", err)\n", new: "		case !refused(err):\n			return fmt.Errorf(\"release: %w\", err)\n		case true:\n			return t.lost(&sighting{exists: true}, err)\n",
	},
	{
		name: "azure-renewal-refused-unread", rule: "a renewal that is refused is read back before it is believed",
		file: "backends/azurelease/term.go", tests: azureTests,
		old: "case matches(err, errBroken): //", new: "case true: //",
	},
	{
		name: "azure-held-by-the-record", rule: "whether a lease is held is read off the lease",
		file: "backends/azurelease/blobs.go", tests: azureTests,
		old: "	case last != nil && last.exists && last.etag == s.etag:\n		s.rec, s.foreign = last.rec, last.foreign\n	default:",
		new: "	default:\n		defer func() { s.leased = s.rec != nil && s.rec.State == record.Held }()",
	},
	{
		name: "azure-sdk-retries", rule: "the SDK sends a request once",
		file: "backends/azurelease/blobs.go", tests: azureTests,
		old: "policy.RetryOptions{MaxRetries: -1}", new: "policy.RetryOptions{MaxRetries: 3}",
	},
	{
		name: "azure-settled-by-release", rule: "what is under way is stopped before the lease is released",
		file: "backends/azurelease/settle.go", tests: azureTests,
		old: "		case s.record().Nonce == t.settled:\n", new: "		case s.leased || s.record().Nonce == t.settled:\n",
	},
	{
		name: "azure-nothing-settled", rule: "an acquisition of unknown outcome is settled",
		file: "backends/azurelease/acquire.go", tests: azureTests,
		old: "	if t == nil {\n		return &backends.HeldError", new: "	if true {\n		return &backends.HeldError",
	},
	{
		name: "azure-not-given-back", rule: "a lease whose record cannot be written is given back",
		file: "backends/azurelease/acquire.go", tests: azureTests,
		old: "	released := t.release(ctx)\n", new: "	released := errNoLease\n",
	},
	{
		name: "azure-done-unconfirmed", rule: "Done is confirmed before the lease is released",
		file: "backends/azurelease/term.go", tests: azureTests,
		old: "		if err := b.recordDone(ctx, g, t); err != nil {\n			return err\n		}\n", new: "		_ = b.recordDone(ctx, g, t)\n",
	},
	{
		name: "azure-break-at-once", rule: "a break cuts nobody's time short",
		file: "backends/azurelease/break.go", tests: azureTests,
		old: "return b.breakLease(ctx, name, version, false)", new: "return b.breakLease(ctx, name, version, true)",
	},
	{
		name: "azure-unread-code", rule: "412 is a condition only if it is not a lease",
		file: "backends/azurelease/errors.go", tests: azureTests,
		old: "	if m, ok := meanings[code]; ok {\n", new: "	if m, ok := meanings[code]; ok && status != http.StatusPreconditionFailed {\n",
	},
	{
		name: "azure-url-in-errors", rule: "no error tells a secret",
		file: "internal/redact/redact.go", tests: azureTests,
		old: "	text = headers.", new: "	if true {\n		return text\n	}\n	text = headers.",
	},
	{
		name: "azure-create-overwrites", rule: "a blob is created only if it is missing",
		file: "backends/azurelease/blobs.go", tests: azureTests,
		old: "	return h.upload(ctx, p, &blob.AccessConditions{\n		ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: ptr(azcore.ETagAny)},\n	})\n",
		new: "	return h.upload(ctx, p, nil)\n",
	},
	{
		name: "azure-break-of-any-version", rule: "a break is of the version that was seen",
		file: "backends/azurelease/blobs.go", tests: azureTests,
		old: "&lease.BlobBreakOptions{ModifiedAccessConditions: &lease.ModifiedAccessConditions{IfMatch: &etag}}", new: "&lease.BlobBreakOptions{}",
		alsoOld: "	if now {\n		o.Break", also: "	_ = etag\n	if now {\n		o.Break",
	},
	{
		name: "azure-granted-though-over", rule: "a lease is granted only while its Azure lease is in force",
		file: "backends/azurelease/acquire.go", tests: azureTests,
		old: "	if err != nil || !at.leased {\n", new: "	if err != nil {\n",
	},
	{
		name: "azure-released-by-anybody", rule: "a blob that is free is released by this term only if the record is this term's",
		file: "backends/azurelease/term.go", tests: azureTests,
		old: "case ours && !s.leased:", new: "case !s.leased:",
	},
	{
		name: "azure-strangers-lease-unsettled", rule: "what somebody else has leased is not settled for ever",
		file: "backends/azurelease/settle.go", tests: azureTests,
		old: ", s.leased && others:", new: ", s.leased && others && false:",
	},
	{
		name: "azure-settling-drops-done", rule: "settling carries Done forward",
		file: "backends/azurelease/title.go", tests: azureTests,
		old: "	r.State, r.Nonce = record.Free, t.settled\n", new: "	r.State, r.Nonce, r.Done = record.Free, t.settled, \"\"\n",
	},
	{
		name: "azure-done-drops-fields", rule: "Done is written with all fields that the record has",
		file: "backends/azurelease/term.go", tests: azureTests,
		old: "next.Extra, next.Done, next.Nonce = rec.Extra, g.Done,", new: "_, next.Extra, next.Done, next.Nonce = rec, nil, g.Done,",
	},
	{
		name: "azure-done-after-the-lease", rule: "Done is written only while the lease is in force",
		file: "backends/azurelease/term.go", tests: azureTests,
		old: "!at.leased || at.etag == etag", new: "at.etag == etag",
	},
	{
		name: "azure-done-under-anothers-lease", rule: "Done is not tried again where the lease, not the record, refuses it",
		file: "backends/azurelease/term.go", tests: azureTests,
		old: "!at.leased || at.etag == etag", new: "!at.leased",
	},
	{
		name: "azure-own-nonce-unknown", rule: "an own record is recognised by its nonce",
		file: "backends/azurelease/acquire.go", tests: azureTests,
		old: "case found.record().Nonce == p.rec.Nonce:", new: "case false:",
	},
	{
		name: "azure-free-though-open", rule: "an attempt of unknown outcome is looked at before the next",
		file: "backends/azurelease/memory.go", tests: azureTests,
		old: " || len(k.abandoned) > 0 {\n		return nil", new: " {\n		return nil",
	},
	{
		name: "azure-repeated-and-forgotten", rule: "an attempt that was repeated may have been applied at first, whatever the second answer",
		file: "backends/azurelease/acquire.go", tests: azureTests,
		old: "	if tries == 1 && (barred(err)", new: "	if tries > 0 && (barred(err)",
	},
	{
		name: "azure-open-after-a-look", rule: "what a look has cleared is open no longer",
		file: "backends/azurelease/acquire.go", tests: azureTests,
		old: "	a.open = nil\n	return s, nil\n", new: "	return s, nil\n",
	},
	{
		name: "azure-open-after-giving-back", rule: "what was given back is open no longer",
		file: "backends/azurelease/acquire.go", tests: azureTests,
		old: "	if released == nil || refused(released) {\n		a.open = nil\n", new: "	if released == nil || refused(released) {\n",
	},
	{
		name: "azure-settled-but-held", rule: "what settling has freed is known to be free",
		file: "backends/azurelease/settle.go", tests: azureTests,
		old: "			b.memory.released(t.grant(name, s.etag))\n", new: "			_ = b\n",
	},
	{
		name: "azure-replaces-what-is-leased", rule: "a break replaces nothing that is still leased",
		file: "backends/azurelease/break.go", tests: azureTests,
		old: "s.rec == nil && !leased {", new: "s.rec == nil {\n		_ = leased",
	},
	{
		name: "azure-container-made-once", rule: "of two that make the container both go on",
		file: "backends/azurelease/blobs.go", tests: azureTests,
		old: "	if bloberror.HasCode(err, bloberror.ContainerAlreadyExists) {\n", new: "	if false && bloberror.HasCode(err, bloberror.ContainerAlreadyExists) {\n",
	},
	{
		name: "azure-memory-of-names", rule: "the memory of names is bounded",
		file: "backends/azurelease/memory.go", tests: azureTests,
		old: "	if len(m.names) < maxKnown {\n", new: "	if true {\n",
	},
	{
		name: "azure-memory-of-attempts", rule: "the memory of open attempts is bounded",
		file: "backends/azurelease/memory.go", tests: azureTests,
		old: "	if len(k.abandoned) == maxAbandoned {\n", new: "	if false {\n",
	},
	{
		name: "azure-cached", rule: "a record is not to be cached",
		file: "backends/azurelease/blobs.go", tests: azureTests,
		old: "BlobCacheControl: &cacheControl", new: "BlobCacheControl: nil",
	},
	{
		name: "azure-headers-in-errors", rule: "no error tells a credential of a header",
		file: "internal/redact/redact.go", tests: []string{"./internal/redact"},
		old: "	text = headers.ReplaceAllString(text, \"$1 …\")\n", new: "	_ = headers\n",
	},
	{
		name: "azure-quoted-in-errors", rule: "a secret ends where its quotes do",
		file: "internal/redact/redact.go", tests: []string{"./internal/redact"},
		old: "rest[len(values.FindString(rest)):]", new: "rest[len(regexp.MustCompile(`^\\S*`).FindString(values.FindString(rest))):]",
	},
}
