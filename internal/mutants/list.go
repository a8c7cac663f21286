package main

var (
	mutexTests  = []string{"./mutex", "./leader", "./internal/sim"}
	leaderTests = []string{"./leader", "./internal/sim"}
	casTests    = []string{"./backends/cas", "./backends/memlease", "./internal/sim"}
)

// mutants are the rules of the safety argument, each broken once.
var mutants = []mutant{
	// The holder's side.
	{
		name: "deadline-from-answer", rule: "trust starts at the question, not at the answer",
		file: "mutex/mutex.go", tests: mutexTests,
		old: "	case a := <-answer:\n", new: "	case a := <-answer:\n		asked = stampOf(m.clock)\n",
	},
	{
		name: "renewal-deadline-from-answer", rule: "trust starts at the question, in a renewal too",
		file: "mutex/renew.go", tests: mutexTests,
		old: "			failures = 0\n", new: "			failures, asked = 0, stampOf(l.mutex.clock)\n",
	},
	{
		name: "no-margin", rule: "H leaves room for clocks that differ",
		file: "mutex/deadline.go", tests: mutexTests,
		old: "return t - 2*t/epsilon - max(100*time.Millisecond, t/100)", new: "return t",
	},
	{
		name: "unknown-renewal-counts", rule: "an unknown renewal is no renewal",
		file: "mutex/renew.go", tests: mutexTests,
		old: "case err == nil:", new: "case err == nil || !errors.Is(err, ErrLost):",
	},
	{
		name: "no-watchdog", rule: "the deadline is enforced while a renewal hangs",
		file: "mutex/lease.go", tests: mutexTests,
		old: "defer close(watched); l.watch()", new: "defer close(watched); <-l.ctx.Done()",
	},
	{
		name: "watchdog-without-boot-clock", rule: "the watchdog asks the boot clock",
		file: "mutex/renew.go", tests: mutexTests,
		old: "for left := l.remaining(true); left > 0; left = l.remaining(true) {", new: "for left := l.remaining(false); left > 0; left = l.remaining(false) {",
	},
	{
		name: "wall-clock-only", rule: "a wall clock set back prolongs nothing",
		file: "mutex/deadline.go", tests: mutexTests,
		old: "left := min(mono, wall)", new: "left := wall",
	},
	{
		name: "monotonic-clock-only", rule: "a sleep of the machine ends the lease",
		file: "mutex/deadline.go", tests: mutexTests,
		old: "left := min(mono, wall)", new: "left := mono",
		alsoOld: "if d.hasBt &&", also: "if false &&",
	},
	{
		name: "attempt-without-bound", rule: "a renewal that hangs is given up in time for another",
		file: "mutex/renew.go", tests: mutexTests,
		old: "bound := min(l.ttl/6, 5*time.Second, l.Remaining())", new: "bound := time.Hour",
	},
	{
		name: "backoff-beyond-deadline", rule: "no pause leaves a lease without another try",
		file: "mutex/pause.go", tests: mutexTests,
		old: "	case pause < left-ttl/6:", new: "	case true:",
	},
	{
		name: "release-before-work-ends", rule: "the lease is freed after the task has returned",
		file: "mutex/mutex.go", tests: mutexTests,
		old: "	err = f(within, l)\n", new: "	go func() { <-ctx.Done(); _ = l.Release(ctx) }()\n	err = f(within, l)\n",
	},
	{
		name: "release-while-draining", rule: "Run frees the lease after the task has returned",
		file: "leader/leader.go", tests: leaderTests,
		old: "	led = c.lead(", new: "	go func() { <-ctx.Done(); _ = lease.Release(ctx) }()\n	led = c.lead(",
	},
	{
		name: "no-renewal-while-draining", rule: "the lease is renewed until the task has returned",
		file: "leader/supervisor.go", tests: leaderTests,
		old: "		case <-ctx.Done():\n			return false\n", new: "		case <-ctx.Done():\n			s.lease.Abandon(ErrHung)\n			return false\n",
	},
	{
		name: "release-on-panic", rule: "after a panic the lease runs out",
		file: "leader/leader.go", tests: leaderTests,
		old: `lease.Abandon(errors.New("the task did not return"))`, new: "_ = lease.Release(ctx)",
	},
	{
		name: "cancelled-release", rule: "a release is tried though its context has ended",
		file: "mutex/lease.go", tests: mutexTests,
		old: "c.WithTimeout(context.WithoutCancel(ctx), ", new: "c.WithTimeout(ctx, ",
	},
	{
		name: "own-end-is-the-stores-word", rule: "only the store says that a term is over",
		file: "mutex/renew.go", tests: mutexTests,
		old: "l.mutex.clock.WithTimeout(context.Background(), bound)", new: "l.mutex.clock.WithTimeout(l.ctx, bound)",
	},
	{
		name: "no-settlement", rule: "a cancelled acquisition is freed",
		file: "mutex/mutex.go", tests: mutexTests,
		old: "	if a.err != nil && (a.grant.Proof == nil ||", new: "	if a.err != nil && (true ||",
	},
	// The store's side.
	{
		name: "conflict-is-loss", rule: "a refusal is read back before it is believed",
		file: "backends/cas/write.go", tests: casTests,
		old: "		if undecided(err) {", new: "		if errors.Is(err, ErrConflict) {\n			s := &sighting{exists: true, rec: &record.Record{State: record.Held, Token: rec.Token + 1}}\n			s.first = s\n			return s, errRefused\n		}\n		if undecided(err) {",
	},
	{
		name: "unknown-write-is-success", rule: "an unknown write is not a success",
		file: "backends/cas/write.go", tests: casTests,
		old: "	return nil, err\n}\n\n// undecided", new: "	return &sighting{exists: true, version: version, rec: rec}, nil\n}\n\n// undecided",
		alsoOld: "case lookErr != nil:\n			return nil, fmt.Errorf(\"%w; then %w\", err, lookErr)", also: "case lookErr != nil:\n			return &sighting{exists: true, version: version, rec: rec}, nil",
	},
	{
		name: "earlier-write-is-success", rule: "an own write of an earlier call is only a condition",
		file: "backends/cas/engine.go", tests: casTests,
		old: "		g.Version, g.Proof = version, t // so", new: "		g.Version, g.Proof = at.version, t.renewed(at.rec)\n		return g, nil // so",
	},
	{
		name: "ttl-changes-within-term", rule: "the TTL is constant over a term",
		file: "backends/cas/engine.go", tests: casTests,
		old: "next.Token, next.ID, next.Holder, next.TTL = t.rec.Token, t.rec.ID, t.rec.Holder, t.rec.TTL", new: "next.Token, next.ID, next.Holder = t.rec.Token, t.rec.ID, t.rec.Holder",
	},
	{
		name: "release-forgets-token", rule: "a release keeps the token",
		file: "backends/cas/engine.go", tests: casTests,
		old: "next.State, next.Nonce = record.Free, t.release", new: "next.State, next.Nonce, next.Token = record.Free, t.release, 1",
	},
	{
		name: "token-reused", rule: "each term has a higher token",
		file: "internal/record/token.go", tests: casTests,
		old: "t := max(prev+1, floor)", new: "t := max(prev, 1)",
	},
	{
		name: "token-without-date", rule: "tokens outlive a deleted record",
		file: "internal/record/token.go", tests: casTests,
		old: "		t = max(t, byDate)", new: "		_ = byDate",
	},
	{
		name: "stopwatch-from-request", rule: "the stopwatch starts at the answer",
		file: "backends/cas/judge.go", tests: casTests,
		old: "e.clock.Now().Mono - s.first.at", new: "e.clock.Now().Mono - s.first.sent",
	},
	{
		name: "stopwatch-over-versions", rule: "a new version starts the stopwatch anew",
		file: "backends/cas/write.go", tests: casTests,
		old: "if k.last != nil && k.last.same(s) {", new: "if k.last != nil {",
	},
	{
		name: "own-ttl-only", rule: "the longer of two TTLs counts",
		file: "backends/cas/judge.go", tests: casTests,
		old: "t := max(s.rec.TTL, ttl)", new: "t := ttl",
	},
	{
		name: "dates-without-margin", rule: "the date rule allows for what dates may be off",
		file: "backends/cas/judge.go", tests: casTests,
		old: "t+2*t/epsilon+e.dates.slack()-s.age", new: "t-s.age",
	},
	{
		name: "lying-dates-believed", rule: "dates that contradict the stopwatch are not believed",
		file: "backends/cas/write.go", tests: casTests,
		old: "s.dated = s.dated && !k.distrust", new: "s.dated = s.dated || k.distrust",
	},
	{
		name: "no-nonce", rule: "every write has bytes of its own",
		file: "internal/record/token.go", tests: casTests,
		old: "	return hex.EncodeToString(b[:])", new: "	b = [16]byte{1}\n	return hex.EncodeToString(b[:])",
	},
	{
		name: "abandoned-is-granted", rule: "an abandoned acquisition is taken over with a new term",
		file: "backends/cas/engine.go", tests: casTests,
		old: "		g, stands, err := e.take(", new: "		if s.rec != nil && e.memory.isAbandoned(name, s.rec.Nonce) {\n			return grant(name, s.version, newTitle(s.rec)), nil\n		}\n		g, stands, err := e.take(",
	},
	{
		name: "done-dropped", rule: "every writer carries Done forward",
		file: "backends/cas/engine.go", tests: slotTests,
		old: "		Done:   old.Done,\n", new: "",
	},
	{
		name: "unknown-fields-dropped", rule: "every writer carries unknown fields forward",
		file: "backends/cas/engine.go", tests: casTests,
		old: "		Extra:  old.Extra,\n", new: "",
	},
	{
		name: "nonce-shared", rule: "no two mutexes share a nonce",
		file: "backends/cas/engine.go", tests: casTests,
		old: "		ID:     record.NewNonce(),\n		TTL:    c.TTL,\n		Nonce:  record.NewNonce(),\n", new: "		ID:     shared,\n		TTL:    c.TTL,\n		Nonce:  shared,\n",
		alsoOld: "type carrier = clock.Carrier\n", also: "type carrier = clock.Carrier\n\nvar shared = record.NewNonce()\n",
	},
	{
		name: "done-dropped-by-renewal", rule: "a renewal carries Done forward",
		file: "backends/cas/engine.go", tests: slotTests,
		old: "	next := *rec\n	next.Token", new: "	next := *rec\n	next.Done = \"\"\n	next.Token",
	},
	{
		name: "takeover-of-any-version", rule: "a takeover is conditional on the version that was judged",
		file: "backends/cas/engine.go", tests: casTests,
		old: "	at, err := e.write(ctx, name, e.store.Put, s.version, rec)\n	switch {", new: "	version := s.version\n	if o, err := e.store.Load(ctx, name); err == nil {\n		version = o.Version\n	}\n	at, err := e.write(ctx, name, e.store.Put, version, rec)\n	switch {",
	},
	{
		name: "new-bytes-after-unknown", rule: "what is tried again within a call are the same bytes",
		file: "backends/cas/write.go", tests: casTests,
		old: "		case s.version != version:\n			return s, errRefused\n		}\n", new: "		case s.version != version:\n			return s, errRefused\n		}\n		rec.Nonce = record.NewNonce()\n		data, _ = rec.Encode()\n",
	},
	{
		name: "judged-by-a-stale-date", rule: "a token is not behind the store's clock at the time of its writing",
		file: "backends/cas/engine.go", tests: casTests,
		old: "err != nil || !record.Behind(g.Token, at.now)", new: "true",
	},
	{
		name: "date-carried-on-for-long", rule: "a token is not ahead of the store's clock",
		file: "backends/cas/judge.go", tests: casTests,
		old: "e.clock.Now().Mono-s.at <= freshFor", new: "e.clock.Now().Mono-s.at <= 1000*freshFor",
	},
	{
		name: "margin-too-small-for-the-contender", rule: "the contender's stopwatch allows for a fast clock",
		file: "backends/cas/judge.go", tests: casTests,
		old: "left := t + t/epsilon - e.unchanged(s)", new: "left := t - t/20 - e.unchanged(s)",
	},
	{
		name: "late-read-is-loss", rule: "a read that shows an earlier term tells nothing of this one",
		file: "backends/cas/engine.go", tests: casTests,
		old: "	case at.rec.Token < t.rec.Token:", new: "	case at.rec.Token < 0*t.rec.Token:",
	},
	{
		name: "renewal-forgets-what-it-read", rule: "a renewal costs one request",
		file: "backends/cas/engine.go", tests: casTests,
		old: "		g.Version, g.Proof = version, t // so", new: "		_ = t // so",
	},
	{
		name: "takeover-after-two-ttls", rule: "someone leads as soon as it can be sure",
		file: "backends/cas/judge.go", tests: casTests,
		old: "left := t + t/epsilon - e.unchanged(s)", new: "left := 2*t + t/epsilon - e.unchanged(s)",
	},
	{
		name: "err-without-clocks", rule: "who asks is told by the clocks, not by the watchdog",
		file: "mutex/lease.go", tests: mutexTests,
		old: "	if l.ctx.Err() == nil && l.remaining(false) > 0 {\n		return nil", new: "	if l.ctx.Err() == nil {\n		return nil",
	},
	// Further rules of the holder's side.
	{
		name: "task-started-beside-the-old-one", rule: "no task starts before the last one has returned",
		file: "leader/leader.go", tests: leaderTests,
		old: "	led = c.lead(withPulse(within, pulse), lease)\n", new: "	done := make(chan error, 1)\n	go func() { done <- c.lead(withPulse(within, pulse), lease) }()\n	select {\n	case led = <-done:\n	case <-within.Done():\n		led = context.Cause(within)\n	}\n",
	},
	{
		name: "lapsed-is-revived", rule: "what has lapsed is never revived",
		file: "mutex/renew.go", tests: mutexTests,
		old: "		case l.over(): // what has lapsed is never revived", new: "		case l.ctx.Err() != nil:",
		alsoOld: "bound := min(l.ttl/6, 5*time.Second, l.Remaining())", also: "bound := min(l.ttl/6, 5*time.Second)",
	},
	{
		name: "grant-without-boot-clock", seed: 885, rule: "an answer that a sleep delayed gives no lease",
		file: "mutex/mutex.go", tests: mutexTests,
		old: "	if l.over() {", new: "	if l.Err() != nil {",
	},
	{
		name: "not-renewed", rule: "a held lease is renewed",
		file: "mutex/renew.go", tests: mutexTests,
		old: "	return max(0, asked+l.ttl/3-l.mutex.clock.Now().Mono)", new: "	return max(0, asked+l.ttl*2-l.mutex.clock.Now().Mono)",
	},
	{
		name: "polls-without-pause", rule: "waiters pause between two looks",
		file: "mutex/pause.go", tests: mutexTests,
		old: "	poll := clock.Jitter(m.clock, m.options.Poll)\n", new: "	poll := clock.Jitter(m.clock, m.options.Poll) / 50\n",
	},
	{
		name: "retries-that-shrink-to-nothing", rule: "no retry comes without a pause",
		file: "mutex/pause.go", tests: mutexTests,
		old: "	case left/2 > shortest:\n		return left / 2\n	default:\n		return left\n", new: "	default:\n		return left / 2\n",
	},
}
