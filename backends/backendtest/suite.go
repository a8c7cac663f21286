package backendtest

import (
	"slices"
	"testing"
	"testing/synctest"
)

// Run holds a backend to the contract of package backends. Its subtests are
// sentences, one for each rule. What the World cannot bring about is skipped,
// with the reason.
func Run(t *testing.T, h Harness) {
	t.Helper()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) { c.run(t, h) })
	}
}

// A check holds a backend to one rule.
type check struct {
	name  string
	prove func(*trial)
}

// checks returns all of them, those first that say most when they fail.
func checks() []check {
	return slices.Concat(
		termChecks, tokenChecks, crowdChecks, markChecks, observeChecks, budgetChecks, inputChecks, breakChecks,
		answerChecks, abandonedChecks, lateChecks, troubleChecks, takeoverChecks, dateChecks, damageChecks,
	)
}

func (c check) run(t *testing.T, h Harness) {
	t.Helper()
	var lacking string
	try := func(t *testing.T) {
		w := h.Open(t)
		trial := &trial{T: t, World: w, bubble: h.Bubble, limits: w.New().Limits()}
		defer func() { lacking = trial.lacking }()
		c.prove(trial)
	}
	if h.Bubble {
		synctest.Test(t, try)
	} else {
		try(t)
	}
	if lacking != "" { // a skip within a bubble does not come out of it by itself
		t.Skip(lacking)
	}
}
