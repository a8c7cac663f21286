package sim

// The rules that a world is held to. A violation begins with the name of its rule.
//
// RuleSlotExactly is for nights without crashes and pauses. It excuses a second run of a
// slot in two cases only, which are counted: the first holder learned for 0.96 TTL of no
// write that succeeded, so that its deadline came, or was yet to record the slot after
// as long; or it lost its lease after it was shown an earlier state of the record in
// that term, as a stale read may cost a lease.
const (
	RuleOneBelieves = "one believes at a time"
	RuleTokensRise  = "tokens rise in the order of acquisition"
	RuleWritten     = "who believes has a record"
	RuleNotRobbed   = "a live holder is not robbed"
	RuleToldInTime  = "a loss is told in time"
	RuleFence       = "a fenced resource does not go back"
	RuleNotLocked   = "a new leader is not locked out of its fence"
	RuleOneTask     = "Run never runs two tasks"
	RuleTaskFirst   = "nothing is freed before the task has returned"
	RuleSomeone     = "someone leads soon after the faults"
	RuleStatedEnd   = "Run ends for a stated reason only"
	RuleEnds        = "Run ends when it is told to"
	RuleCarries     = "what is not understood is carried along"
	RuleBudget      = "requests stay within budget"
	RuleNoSpin      = "no code spins"
	RuleSlotDone    = "a slot is done while anyone lives"
	RuleSlotOnce    = "a recorded slot is never run again"
	RuleSlotExactly = "without crash, pause or outage a slot is run exactly once"
	RuleSlotDue     = "Once runs the slot that is due"
	RuleSlotSaid    = "what Once says of a slot is so"
	RuleSlotKept    = "what is recorded stays recorded"
	RuleNoLeak      = "nothing is left running" // found by the caller: the bubble panics
)

// Rules are all of them.
var Rules = []string{
	RuleOneBelieves, RuleTokensRise, RuleWritten, RuleNotRobbed, RuleToldInTime, RuleFence, RuleNotLocked,
	RuleOneTask, RuleTaskFirst, RuleCarries, RuleSomeone, RuleStatedEnd, RuleEnds, RuleBudget, RuleNoSpin, RuleNoLeak,
	RuleSlotDone, RuleSlotOnce, RuleSlotExactly, RuleSlotDue, RuleSlotSaid, RuleSlotKept,
}
