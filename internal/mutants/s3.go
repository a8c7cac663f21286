package main

var s3Tests = []string{"./backends/s3lease"}

func init() { mutants = append(mutants, s3Mutants...) }

// s3Mutants are the rules of S3's store, each broken once.
var s3Mutants = []mutant{
	{
		name: "s3-date-from-cache", rule: "a date with an age is none",
		file: "backends/s3lease/store.go", tests: s3Tests,
		old: "	if h.Get(\"Age\") != \"\" {\n", new: "	if false {\n",
	},
	{
		name: "s3-dates-of-anybody", rule: "dates are used where they can be trusted",
		file: "backends/s3lease/s3lease.go", tests: s3Tests,
		old: "Trusted: e.aws || own.TrustDates", new: "Trusted: true",
	},
	{
		name: "s3-dates-without-skew", rule: "two machines of the store may differ by two seconds",
		file: "backends/s3lease/s3lease.go", tests: s3Tests,
		old: ", Granularity: time.Second, Skew: 2 * time.Second", new: "",
	},
	{
		name: "s3-create-without-condition", rule: "a record is created only if there is none",
		file: "backends/s3lease/store.go", tests: s3Tests,
		old: "		in.IfNoneMatch = &anything\n", new: "		_ = anything\n",
	},
	{
		name: "s3-replace-without-condition", rule: "a record is replaced only in the version that was judged",
		file: "backends/s3lease/store.go", tests: s3Tests,
		old: "		in.IfMatch = aws.String(s.dialect.spell(name, version))\n", new: "		_ = s.dialect.spell(name, version)\n",
	},
	{
		name: "s3-sdk-retries", rule: "the SDK sends a request once",
		file: "backends/s3lease/store.go", tests: s3Tests,
		old: "		o.Retryer = once{}\n", new: "",
	},
	{
		name: "s3-skew-is-final", rule: "a clock that is off costs a request, not the lease",
		file: "backends/s3lease/store.go", tests: s3Tests,
		old: "return codeOf(err) == codeSkewed", new: "return err == nil",
	},
	{
		name: "s3-conflict-is-a-loss", rule: "409 says that nobody decided",
		file: "backends/s3lease/errors.go", tests: s3Tests,
		old: "	\"PreconditionFailed\": cas.ErrConflict,\n", new: "	\"PreconditionFailed\": cas.ErrConflict, \"ConditionalRequestConflict\": cas.ErrConflict, \"OperationAborted\": cas.ErrConflict,\n",
		alsoOld: "	case \"ConditionalRequestConflict\", \"OperationAborted\": // two requests met\n		return true\n", also: "",
	},
	{
		name: "s3-no-bucket-is-no-object", rule: "a missing bucket is no missing record",
		file: "backends/s3lease/errors.go", tests: s3Tests,
		old: "	\"NoSuchBucket\":      backends.ErrNoContainer,\n", new: "	\"NoSuchBucket\":      cas.ErrVanished,\n",
	},
	{
		name: "s3-forbidden-is-missing", rule: "403 is no missing record",
		file: "backends/s3lease/errors.go", tests: s3Tests,
		old: "	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:\n		return backends.ErrDenied\n",
		new: "	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:\n		return cas.ErrVanished\n",
	},
	{
		name: "s3-weak-etag", rule: "a weak ETag is no condition",
		file: "backends/s3lease/store.go", tests: s3Tests,
		old: "strings.HasPrefix(version, \"W/\")", new: "strings.HasPrefix(version, \"W/W/\")",
	},
	{
		name: "s3-region-of-many", rule: "a multi-region access point is refused",
		file: "backends/s3lease/endpoint.go", tests: s3Tests,
		old: "	case strings.HasSuffix(bucket, \".mrap\"):\n", new: "	case false:\n",
		alsoOld: "	if strings.Contains(host, \".s3-global.\") {\n", also: "	if false {\n",
	},
	{
		name: "s3-checksums-everywhere", rule: "checksums of the SDK's own accord are for AWS",
		file: "backends/s3lease/store.go", tests: s3Tests,
		old: "		if !e.aws {\n			// Many", new: "		if false {\n			// Many",
	},
	{
		name: "s3-dialect-forgotten", rule: "the unquoted dialect is remembered",
		file: "backends/s3lease/dialect.go", tests: s3Tests,
		old: "		d.unquoted = d.unquoted || d.proofs >= enough\n", new: "",
	},
	{
		name: "s3-dialect-after-any-refusal", rule: "quotes go only if the ETag still stands",
		file: "backends/s3lease/dialect.go", tests: s3Tests,
		old: "	d.learn(plain, err)\n", new: "	d.unquoted = d.unquoted || err != nil\n",
	},
	{
		name: "s3-source-is-the-store", rule: "what the source of the credentials answers is not the store's answer",
		file: "backends/s3lease/errors.go", tests: s3Tests,
		old: "	if unsigned(err) { // so", new: "	if unsigned(err) && answerIn(err) == nil { // so",
	},
	{
		name: "s3-answer-in-errors", rule: "no error tells a secret",
		file: "backends/s3lease/errors.go", tests: s3Tests,
		old: "	if !codeForm.MatchString(code) {\n", new: "	if false {\n",
	},
}
