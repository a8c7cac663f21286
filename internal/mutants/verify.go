package main

func init() { mutants = append(mutants, verifyMutants...) }

// verifyMutants are the rules by which a store that does not keep its word is found.
var verifyMutants = []mutant{
	{
		name: "ignored-condition-unnoticed", rule: "a store that ignores conditions is refused by the first acquisition",
		file: "backends/cas/doubt.go", tests: []string{"./backends/cas"},
		old: "	e.doubt.settle(errIgnored)\n", new: "	e.doubt.settle(nil)\n",
	},
	{
		name: "question-costs-a-lease", rule: "a question without an answer costs no lease",
		file: "backends/cas/doubt.go", tests: []string{"./backends/cas"},
		old: "			return // the next acquisition asks again\n", new: "			e.doubt.settle(err)\n			return\n",
	},
	{
		name: "deletion-makes-a-liar", rule: "a record that was deleted meanwhile proves nothing against a store",
		file: "backends/cas/doubt.go", tests: []string{"./backends/cas"},
		old: "	for range 2 {\n", new: "	for range 1 {\n",
	},
	{
		name: "question-for-each-acquisition", rule: "the question is asked once",
		file: "backends/cas/doubt.go", tests: []string{"./backends/cas"},
		old: "is one of the condition\n			e.doubt.settle(nil)\n", new: "is one of the condition\n",
	},
	{
		name: "race-of-one-winner-too-many", rule: "two winners of one version are one too many",
		file: "internal/probe/checks.go", tests: []string{"./backends/cas"},
		old: "	case len(won) > 1:\n		return false, fmt", new: "	case len(won) > Writers:\n		return false, fmt",
		alsoOld: "	case len(won) == 1 && !now.is(records[won[0]]):\n		return false,", also: "	case len(won) > Writers:\n		return false,",
	},
	{
		name: "verify-passes-the-undecided", rule: "a check passes only on what the store has decided",
		file: "internal/probe/checks.go", tests: []string{"./backends/cas"},
		old: "		case errors.Is(err, ErrRefused) || errors.Is(err, backends.ErrDenied):\n			return r.pass", new: "		case !final(err) || errors.Is(err, backends.ErrDenied):\n			return r.pass",
	},
	{
		name: "any-refusal-settles-the-doubt", rule: "only a refused condition says that conditions are honoured",
		file: "backends/cas/doubt.go", tests: []string{"./backends/cas"},
		old: "		case errors.Is(err, ErrConflict): //", new: "		case errors.Is(err, ErrConflict) || errors.Is(err, backends.ErrUnsupported): //",
	},
	{
		name: "a-denial-is-believed", rule: "a write that was refused may have been applied all the same",
		file: "internal/probe/run.go", tests: []string{"./backends/cas"},
		old: "now.is(rec) || err == nil", new: "err == nil",
	},
	{
		name: "too-few-rounds", rule: "a race has as many rounds as find one failure in five",
		file: "internal/probe/race.go", tests: []string{"./internal/probe", "./backends/cas"},
		old: "func Rounds() int { return rounds(share, confidence) }", new: "func Rounds() int { return rounds(share, confidence) / 4 }",
	},
	{
		name: "frozen-dates-allowed", rule: "dates that do not move are not used",
		file: "internal/probe/dates.go", tests: []string{"./backends/cas"},
		old: "	case !second.Modified.After(first.Modified):\n", new: "	case second.Modified.Before(first.Modified):\n",
	},
	{
		name: "dates-allowed-unverified", rule: "what Verify finds about dates is obeyed",
		file: "backends/cas/verify.go", tests: []string{"./backends/cas"},
		old: "e.trusted.Store(report.Dates)", new: "e.trusted.Store(true)",
	},
}
