package main

var (
	fenceTests = []string{"./fence"}
	sqlTests   = []string{"./contrib/fencesql"}
)

func init() { mutants = append(mutants, fenceMutants...) }

// fenceMutants are the rules of the check at the resource, each broken once.
var fenceMutants = []mutant{
	{
		name: "fence-same-token-refused", rule: "the same token is good again",
		file: "fence/token.go", tests: fenceTests,
		old: "	case t < m.token:", new: "	case t <= m.token:",
	},
	{
		name: "fence-older-token-accepted", rule: "a token that is older than the highest is refused",
		file: "fence/token.go", tests: fenceTests,
		old: "	case t < m.token:", new: "	case t+1 < m.token:",
	},
	{
		name: "fence-other-lock-accepted", rule: "tokens of different locks are not compared",
		file: "fence/token.go", tests: fenceTests,
		old: "	case m.lock != lock:", new: "	case m.lock != lock && t < m.token:",
	},
	{
		name: "fence-token-beyond-the-highest", rule: "what is no token is refused",
		file: "fence/token.go", tests: fenceTests,
		old: "	if t > backends.MaxToken {", new: "	if false {",
	},
	{
		name: "fence-gate-lowered", rule: "a fence is never lowered",
		file: "fence/gate.go", tests: fenceTests,
		old: "	if err := g.seen.admit(lock, t); err != nil {\n		return err\n	}\n	g.seen = mark{lock, t}\n",
		new: "	err := g.seen.admit(lock, t)\n	g.seen = mark{lock, t}\n	if err != nil {\n		return err\n	}\n",
	},
	{
		name: "fence-effect-after-the-check", rule: "the check and the effect are one step",
		file: "fence/gate.go", tests: fenceTests,
		old: "	return effect()\n", new: "	g.mu.Unlock()\n	defer g.mu.Lock()\n	return effect()\n",
	},
	{
		name: "fence-raise-rolled-back", rule: "a raise counts when it has returned",
		file: "fence/row.go", tests: sqlTests,
		old: "r.failed(\"raise\", tx.Commit())", new: "r.failed(\"raise\", tx.Rollback())",
	},
	{
		name: "fence-row-not-locked", rule: "who checks waits for the transaction before",
		file: "fence/row.go", tests: sqlTests,
		old: "	if _, err := tx.ExecContext(ctx, r.raise, ",
		new: "	if at, err := scan(tx.QueryRowContext(ctx, r.look, r.dialect.text(r.resource))); err == nil && at == (mark{lock, t}) {\n		return nil\n	}\n	if _, err := tx.ExecContext(ctx, r.raise, ",
	},
	{
		name: "fence-row-of-the-past", rule: "what is compared is the row as it is now",
		file: "fence/row.go", tests: sqlTests,
		old: "		s += \" FOR UPDATE\"\n", new: "		_ = s\n",
	},
	{
		name: "fence-raised-by-another-lock", rule: "a token that is refused raises nothing",
		file: "fence/row.go", tests: sqlTests,
		old: "WHERE seen.lock_name = excluded.lock_name AND seen.token < excluded.token", new: "WHERE seen.token < excluded.token",
	},
	{
		name: "fence-key-accepted-twice", rule: "a key is accepted once",
		file: "fence/row.go", tests: sqlTests,
		old: "	return n == 1, ", new: "	return n >= 0, ",
	},
	{
		name: "fence-column-cut-off", rule: "no set cuts the condition off the statement",
		file: "fence/column.go", tests: fenceTests,
		old: "c.dialect.checkSet(set, len(args))", new: "c.dialect.checkSet(strings.Repeat(\"?\", len(args)), len(args))",
	},
	{
		name: "fence-column-beyond-args", rule: "no placeholder of a set takes the fence's own arguments",
		file: "fence/set.go", tests: fenceTests,
		old: "err != nil || n > args {", new: "err != nil || n > args+5 {",
	},
	{
		name: "fence-column-of-any-lock", rule: "tokens of different locks are not compared, in a column either",
		file: "fence/column.go", tests: sqlTests,
		old: "(%s = %s OR %s = 0)\",", new: "(%s = %s OR %s >= 0)\",",
	},
	{
		name: "fence-column-takes-older", rule: "a token that is older than the highest is refused, in a column too",
		file: "fence/column.go", tests: sqlTests,
		old: "AND %s <= %s AND", new: "AND %s <= %s + 1 AND",
	},
	{
		name: "fence-column-counts-changes", rule: "a write that changes nothing was accepted all the same",
		file: "fence/column.go", tests: sqlTests,
		old: "	if c.dialect == MySQL {\n		reached", new: "	if false {\n		reached",
	},
	{
		name: "fence-names-not-quoted", rule: "names are quoted, whatever is in them",
		file: "fence/dialect.go", tests: fenceTests,
		old: "	return `\"` + strings.ReplaceAll(s, `\"`, `\"\"`) + `\"`", new: "	return `\"` + s + `\"`",
	},
}
