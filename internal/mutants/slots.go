package main

func init() { mutants = append(mutants, slotMutants...) }

// slotTests notice what goes wrong with slots. In no world of TestSchedules is one.
var slotTests = []string{nights, "./leader", "./mutex", "./backends/memlease"}

// slotMutants are the rules of slots, and of the mark that they are kept in.
var slotMutants = []mutant{
	{
		name: "slot-without-grace", rule: "a slot of Every has a grace, so that who is early takes tonight's",
		file: "leader/slot.go", tests: slotTests,
		old: "since := time.Duration(now.UnixNano()) + grace - s.offset", new: "since := time.Duration(now.UnixNano()) + 0*grace - s.offset",
	},
	{
		name: "slot-not-looked-at-under-the-lease", rule: "what was recorded between the look and the acquisition is found",
		file: "leader/once.go", tests: slotTests,
		old: "if done, err = j.look(lease.Mark()); done || err != nil {", new: "if done, err = j.look(r.Done); done || err != nil {",
	},
	{
		name: "slot-recorded-though-it-failed", rule: "a job that fails leaves its slot open",
		file: "leader/once.go", tests: slotTests,
		old: "	if led == nil {\n		_ = lease.SetMark", new: "	if led == nil || led != nil {\n		_ = lease.SetMark",
	},
	{
		name: "slot-said-to-be-recorded", rule: "a slot is said to be done only if the record says so",
		file: "leader/once.go", tests: slotTests,
		old: "			return err == nil && l.has(j.slot)", new: "			return err == nil && l.find(j.slot.kind) < len(l)",
	},
	{
		name: "slot-not-read-again", rule: "a release that failed is resolved by reading",
		file: "leader/once.go", tests: slotTests,
		old: "	case j.recorded(ctx):\n", new: "	case false && j.recorded(ctx):\n",
	},
	{
		name: "slot-recording-given-up", rule: "a store that is busy does not leave a slot unrecorded",
		file: "mutex/lease.go", tests: slotTests,
		old: "		bound = l.ttl\n", new: "		bound += 0 * l.ttl\n",
	},
	{
		name: "slot-read-is-reached", rule: "without the right to write, Once ends at once",
		file: "leader/once.go", tests: slotTests,
		old: "	if r.State == backends.Held {\n		j.reached = true\n", new: "	j.reached = true\n	if r.State == backends.Held {\n",
	},
	{
		name: "slot-lost-to-an-own-write", rule: "a slot is run exactly once, though answers are lost",
		file: "backends/cas/engine.go", tests: slotTests,
		old: "slices.Contains(t.nonces, at.rec.Nonce):", new: "slices.Contains(t.nonces[:1], at.rec.Nonce):",
	},
	{
		name: "slot-waits-a-day", rule: "a store that asks for much time is asked again in a minute",
		file: "leader/once.go", tests: []string{"./leader"},
		old: "min(retry.After, longestRetryAfter)", new: "max(retry.After, 0*longestRetryAfter)",
	},
	{
		name: "slot-waits-a-poll-too-long", rule: "who waits looks again when the lease runs out",
		file: "leader/once.go", tests: []string{"./leader"},
		old: "pause = min(pause, left+", new: "pause = max(pause, 0*left+",
	},
	{
		name: "slot-not-read-after-the-end", rule: "the record is read though the context has ended",
		file: "leader/once.go", tests: []string{"./leader"},
		old: "WithTimeout(context.WithoutCancel(ctx), min(ttl/3", new: "WithTimeout(ctx, min(ttl/3",
	},
	{
		name: "slot-far-ahead-is-done", rule: "a slot that a wrong date has recorded does not silence the job",
		file: "leader/once.go", tests: slotTests,
		old: "	return l.notAhead(due)\n", new: "	_ = l\n	return nil\n",
	},
	{
		name: "slot-kinds-forgotten", rule: "kinds of slots never mix",
		file: "leader/mark.go", tests: slotTests,
		old: "	next := slices.Clone(l)\n", new: "	next := slices.Clone(l[i : i+1])\n	i = 0\n",
	},
	{
		name: "done-dropped-by-release", rule: "a release without a mark keeps the old one",
		file: "backends/cas/engine.go", tests: slotTests,
		old: "		if g.Done != \"\" {\n			next.Done = g.Done\n		}\n", new: "		next.Done = g.Done\n		if t.rec.Done == g.Done {\n			next.Done = \"\"\n		}\n",
	},
}
