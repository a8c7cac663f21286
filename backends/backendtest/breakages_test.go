package backendtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
)

// breakages are what a backend could get wrong. Each check has to be in here.
var breakages = slices.Concat(storeBreakages, termBreakages, answerBreakages, observeBreakages, inputBreakages, timeBreakages)

var storeBreakages = []breakage{
	{
		name:  "the store ignores conditions",
		below: unconditional,
		noticed: []string{
			"OneWinnerOfMany", "OneWinnerOfManyOnOneClient", "AClientIsSafeForConcurrentUse",
			"TheTermIsOverAfterATakeover", "ALateAcquisitionIsRefused", "ALateRenewalDoesNotUndoATakeover",
			"ALateRenewalDoesNotUndoTheRelease", "ALateReleaseDoesNotFreeTheNextTerm", "ALateDuplicateDoesNothing",
			"AStaleReadDoesNotMakeTwoHolders", "ReleasingAnUnconfirmedGrantStopsWhatIsUnderWay",
			"ReleasingAnUnconfirmedGrantLeavesOthersAlone", "AReleaseThatWasOvertakenIsDone", "BreakFreesAndEndsTheTerm",
		},
	},
	{
		name: "the store takes a refused write for applied",
		below: func(inner cas.Store) cas.Store {
			return store{Store: inner, put: func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
				o, err := inner.Put(ctx, name, version, data)
				if errors.Is(err, cas.ErrConflict) {
					return inner.Load(ctx, name)
				}
				return o, err
			}}
		},
		noticed: []string{"OneWinnerOfMany", "TheTermIsOverAfterATakeover", "AForeignEditDoesNotEndTheTerm", "ARefusedReleaseIsResolved"},
	},
	{
		name:      "versions do not change",
		untrusted: true,
		below: func(inner cas.Store) cas.Store {
			fixed := answering(func(_ string, o *cas.Object) {
				if o.Exists {
					o.Version = "1"
				}
			})
			return fixed(unconditional(inner))
		},
		noticed: []string{"ARenewalRestartsTheStopwatch", "AForeignEditRestartsTheStopwatch", "ARenewingHolderIsNeverTakenOver", "BreakOfAnotherVersionChangesNothing"},
	},
	{
		name: "a released record is emptied",
		below: func(inner cas.Store) cas.Store {
			return store{Store: inner, free: func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
				fields := fieldsOf(data)
				fields["token"] = json.RawMessage("1")
				delete(fields, "done")
				delete(fields, noteKey)
				emptied, err := json.Marshal(fields)
				if err != nil {
					return cas.Object{}, err
				}
				return inner.Put(ctx, name, version, emptied)
			}}
		},
		noticed: []string{"TokensGrowOverReleases", "DoneIsRecordedAndCarriedForward", "UnknownFieldsAreCarriedForward", "AnUnknownReleaseIsResolvedByTheNext"},
	},
	{
		name: "a record that is broken free forgets what is done",
		below: func(inner cas.Store) cas.Store {
			return store{Store: inner, free: func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
				fields := fieldsOf(data)
				if fields["id"] != nil { // it is released
					return inner.Touch(ctx, name, version, data)
				}
				delete(fields, "done")
				forgetful, err := json.Marshal(fields)
				if err != nil {
					return cas.Object{}, err
				}
				return inner.Touch(ctx, name, version, forgetful)
			}}
		},
		noticed: []string{"DoneIsRecordedAndCarriedForward"},
	},
	{
		name:    "names lose their case",
		below:   renamed(strings.ToLower),
		noticed: []string{"NamesThatDifferAreDifferentLeases"},
	},
	{
		name: "names are cut",
		below: renamed(func(name string) string {
			return name[:min(len(name), 255)]
		}),
		noticed: []string{"NamesThatDifferAreDifferentLeases"},
	},
	{
		name:    "the store tells no time",
		below:   redated(func(o *cas.Object) { o.Now, o.Modified = time.Time{}, time.Time{} }),
		noticed: []string{"TokensGrowWhenTheRecordWasDeleted", "TokensGrowWhenAnOldRecordWasRestored", "ADeadHoldersLeaseIsTakenOverAtTheFirstLook", "BreakReplacesWhatIsNoRecord"},
	},
	{
		name:    "the dates are an hour old",
		below:   redated(func(o *cas.Object) { o.Modified = o.Modified.Add(-time.Hour) }),
		noticed: []string{"WhatIsHeldIsNotGranted", "ADeadHoldersLeaseIsTakenOverAtTheFirstLook", "ARenewingHolderIsNeverTakenOver"},
	},
	{
		name:    "renewals drop meta",
		above:   editing(func(f map[string]json.RawMessage) { delete(f, "meta") }),
		noticed: []string{"MetaIsShownForTheWholeTerm", "ObservingTellsOfTheTerm", "AForeignEditDoesNotEndTheTerm", "TheGreatestClaimFits"},
	},
	{
		name:    "unknown fields are dropped",
		above:   editing(func(f map[string]json.RawMessage) { delete(f, noteKey) }),
		noticed: []string{"UnknownFieldsAreCarriedForward", "AForeignEditDoesNotEndTheTerm"},
	},
	{
		name:    "no nonce",
		above:   editing(func(f map[string]json.RawMessage) { f["nonce"] = json.RawMessage(`"always the same"`) }),
		noticed: []string{"ALostAcquisitionIsRecognised", "ALostRenewalIsRecognised", "ALostReleaseIsRecognised"},
	},
}

// renamed is a store that keeps objects under other names.
func renamed(rename func(string) string) func(cas.Store) cas.Store {
	return func(inner cas.Store) cas.Store {
		return store{
			Store: inner,
			load: func(ctx context.Context, name string) (cas.Object, error) {
				return inner.Load(ctx, rename(name))
			},
			put: func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
				return inner.Put(ctx, rename(name), version, data)
			},
		}
	}
}

var termBreakages = []breakage{
	{
		name:   "the token is always the same",
		client: granting(func(g *backends.Grant, err error) error { g.Token = min(g.Token, 5); return err }),
		noticed: []string{
			"TokensGrowOverReleases", "TokensGrowOverExpiries", "TokensGrowWhenTheRecordWasDeleted", "TokensGrowWhenAnOldRecordWasRestored",
			"OneWinnerOfMany", "AClientIsSafeForConcurrentUse", "AThrottledWriteThatWasAppliedIsFound",
		},
	},
	{
		name: "the floor is ignored",
		client: func(c *client) {
			c.acquire = func(ctx context.Context, name string, claim backends.Claim) (backends.Grant, error) {
				claim.Floor = 0
				return c.Engine.Acquire(ctx, name, claim)
			}
		},
		noticed: []string{"TokensAreNotBelowTheFloor", "TokensDoNotWrapAround", "ABadClaimIsRefusedBeforeAnyRequest"},
	},
	{
		name: "tokens wrap around",
		client: func(c *client) {
			c.acquire = func(ctx context.Context, name string, claim backends.Claim) (backends.Grant, error) {
				g, err := c.Engine.Acquire(ctx, name, claim)
				if errors.Is(err, backends.ErrForeign) {
					return backends.Grant{Name: name, Token: 1, Proof: 1}, nil
				}
				return g, err
			}
		},
		noticed: []string{"TokensDoNotWrapAround", "WhatIsNoRecordIsForeignAndStays", "ADamagedRecordIsForeignAndStays"},
	},
	{
		name:    "the grant has no ID",
		client:  granting(func(g *backends.Grant, err error) error { g.ID = ""; return err }),
		noticed: []string{"ATermIsAcquiredRenewedAndReleased", "TheGrantTellsOfTheTerm", "WhatIsHeldIsNotGranted", "ObservingTellsOfTheTerm"},
	},
	{
		name: "a renewal makes another term",
		client: renewing(func(_ backends.Grant, g *backends.Grant, err error) error {
			g.ID += "x"
			g.TTL += time.Second
			return err
		}),
		noticed: []string{"TheTermIsConstantOverRenewals", "AForeignEditDoesNotEndTheTerm"},
	},
	{
		name: "the refusal does not say who holds it",
		client: granting(func(_ *backends.Grant, err error) error {
			if errors.Is(err, backends.ErrHeld) {
				return backends.ErrHeld
			}
			return err
		}),
		noticed: []string{"WhatIsHeldIsNotGranted", "BreakTakesTheVersionThatWasShown", "LeftIsHowLongToWait"},
	},
	{
		name: "who has the holder's name is the holder",
		client: func(c *client) {
			c.acquire = func(ctx context.Context, name string, claim backends.Claim) (backends.Grant, error) {
				g, err := c.Engine.Acquire(ctx, name, claim)
				var held *backends.HeldError
				if errors.As(err, &held) && held.Record.Holder == claim.Holder {
					return c.seize(ctx, name, claim)
				}
				return g, err
			}
		},
		noticed: []string{"TheHoldersNameProvesNothing"},
	},
	{
		name: "a release needs no proof",
		client: func(c *client) {
			c.release = func(ctx context.Context, g backends.Grant) error {
				if g.Proof == nil && g.Name != "" {
					return c.Engine.Break(ctx, g.Name, "")
				}
				return c.Engine.Release(ctx, g)
			}
		},
		noticed: []string{"AGrantWithoutProofIsRefused"},
	},
	{
		name: "a release frees whatever is there",
		client: func(c *client) {
			c.release = func(ctx context.Context, g backends.Grant) error {
				err := c.Engine.Release(ctx, g)
				if errors.Is(err, backends.ErrLost) {
					return c.Engine.Break(ctx, g.Name, "")
				}
				return err
			}
		},
		noticed: []string{
			"TheTermIsOverAfterATakeover", "TheTermIsOverAfterItsRelease", "AReleaseThatWasOvertakenIsDone",
			"ReleasingAnUnconfirmedGrantLeavesOthersAlone", "BreakOfAnotherVersionChangesNothing", "ADamagedRecordEndsTheTerm",
		},
	},
	{
		name: "only the first release is one",
		client: func(c *client) {
			c.release = func(ctx context.Context, g backends.Grant) error {
				if _, again := c.notes[g.ID]; again {
					return backends.ErrLost
				}
				c.notes[g.ID] = g
				return c.Engine.Release(ctx, g)
			}
		},
		noticed: []string{"ReleasingTwiceIsReleasingOnce", "AnUnknownReleaseIsResolvedByTheNext", "ALateReleaseDoesNotFreeTheNextTerm"},
	},
	{
		name: "a renewal makes what is gone again",
		client: func(c *client) {
			c.renew = func(ctx context.Context, g backends.Grant) (backends.Grant, error) {
				next, err := c.Engine.Renew(ctx, g)
				if errors.Is(err, backends.ErrLost) {
					return c.Engine.Acquire(ctx, g.Name, backends.Claim{Holder: g.Holder, TTL: g.TTL})
				}
				return next, err
			}
		},
		noticed: []string{"TheTermIsOverWhenTheRecordIsDeleted", "TheTermIsOverAfterItsRelease", "BreakFreesAndEndsTheTerm"},
	},
	{
		name: "a renewal writes nothing",
		client: func(c *client) {
			c.renew = func(_ context.Context, g backends.Grant) (backends.Grant, error) { return g, nil }
		},
		noticed: []string{
			"ALateRenewalGoesForEverybodyOrNobody", "TheTermIsOverAfterATakeover", "TheTermIsOverWhenTheRecordIsDeleted",
			"ARenewingHolderIsNeverTakenOver", "DatesThatDoNotMoveTakeNothingOver", "ActsTakeTheRequestsOfTheBudget", "ADamagedRecordEndsTheTerm",
		},
	},
	{
		name: "a refused release records its mark",
		client: func(c *client) {
			c.release = func(ctx context.Context, g backends.Grant) error {
				err := c.Engine.Release(ctx, g)
				if errors.Is(err, backends.ErrLost) && g.Done != "" {
					mark, _ := json.Marshal(g.Done) // a string always marshals
					o, _ := c.spy.Load(ctx, g.Name)
					fields := fieldsOf(o.Data)
					fields["done"] = mark
					data, _ := json.Marshal(fields)
					_, _ = c.spy.Put(ctx, g.Name, o.Version, data)
				}
				return err
			}
		},
		noticed: []string{"ARefusedReleaseRecordsNothing"},
	},
	{
		name: "meta is the caller's",
		client: func(c *client) {
			var mu sync.Mutex
			metas := map[string]map[string]string{}
			c.acquire = func(ctx context.Context, name string, claim backends.Claim) (backends.Grant, error) {
				g, err := c.Engine.Acquire(ctx, name, claim)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					metas[name] = claim.Meta
				}
				return g, err
			}
			c.renew = func(ctx context.Context, g backends.Grant) (backends.Grant, error) {
				meta, _ := json.Marshal(metas[g.Name])
				data := editing(func(f map[string]json.RawMessage) { f["meta"] = meta })(c.spy.Store)
				old := c.spy.Store
				c.spy.Store = data
				defer func() { c.spy.Store = old }()
				return c.Engine.Renew(ctx, g)
			}
		},
		noticed: []string{"MetaIsTheBackendsOwnCopy"},
	},
	{
		name: "Break does nothing",
		client: func(c *client) {
			c.brk = func(context.Context, string, string) error { return nil }
		},
		noticed: []string{"BreakFreesAndEndsTheTerm", "BreakOfAnotherVersionChangesNothing", "BreakReplacesWhatIsNoRecord"},
	},
	{
		name: "Break ignores the version",
		client: func(c *client) {
			c.brk = func(ctx context.Context, name, _ string) error { return c.Engine.Break(ctx, name, "") }
		},
		noticed: []string{"BreakOfAnotherVersionChangesNothing", "BreakReplacesWhatIsNoRecord"},
	},
	{
		name: "Break knows no version",
		client: func(c *client) {
			c.brk = func(ctx context.Context, name, version string) error {
				if version != "" {
					return backends.ErrLost
				}
				return c.Engine.Break(ctx, name, "")
			}
		},
		noticed: []string{"BreakTakesTheVersionThatWasShown"},
	},
	{
		name: "what is no record is free",
		client: func(c *client) {
			c.acquire = func(ctx context.Context, name string, claim backends.Claim) (backends.Grant, error) {
				g, err := c.Engine.Acquire(ctx, name, claim)
				if errors.Is(err, backends.ErrForeign) {
					return c.seize(ctx, name, claim)
				}
				return g, err
			}
		},
		noticed: []string{"WhatIsNoRecordIsForeignAndStays", "ADamagedRecordIsForeignAndStays"},
	},
	{
		name: "a damaged record does not end the term",
		client: renewing(func(_ backends.Grant, _ *backends.Grant, err error) error {
			if errors.Is(err, backends.ErrForeign) {
				return backends.ErrForeign
			}
			return err
		}),
		noticed: []string{"ADamagedRecordEndsTheTerm"},
	},
}

var errOpaque = errors.New("something went wrong")

var answerBreakages = []breakage{
	{
		name: "an unknown renewal is a success",
		client: renewing(func(_ backends.Grant, _ *backends.Grant, err error) error {
			if errors.Is(err, backends.ErrLost) {
				return err
			}
			return nil
		}),
		noticed: []string{
			"AnUnknownRenewalIsNoSuccess", "AnOwnWriteOfAnEarlierRenewalIsOnlyACondition", "ManyUnknownRenewalsDoNotEndTheTerm",
			"RefusalsPassThroughAndEndNothing", "ThrottlingPassesThrough", "AThrottledWriteThatWasAppliedIsFound",
			"AContextThatHasEndedWritesNothing", "AStoreThatHangsDoesNotHoldTheCaller",
		},
	},
	{
		name: "an unknown renewal ends the term",
		client: renewing(func(_ backends.Grant, _ *backends.Grant, err error) error {
			if err != nil {
				return backends.ErrLost
			}
			return nil
		}),
		noticed: []string{"AnUnknownRenewalIsNoSuccess", "ManyUnknownRenewalsDoNotEndTheTerm", "RefusalsPassThroughAndEndNothing", "AThrottledWriteThatWasAppliedIsFound"},
	},
	{
		name: "an unknown renewal is forgotten",
		client: renewing(func(old backends.Grant, g *backends.Grant, err error) error {
			if err != nil {
				*g = old
			}
			return err
		}),
		noticed: []string{"AnUnknownRenewalIsNoSuccess", "ManyUnknownRenewalsDoNotEndTheTerm", "AThrottledWriteThatWasAppliedIsFound"},
	},
	{
		name: "a renewal that is found is a success",
		client: func(c *client) {
			c.renew = func(ctx context.Context, g backends.Grant) (backends.Grant, error) {
				if r, err := c.Engine.Observe(ctx, g.Name); err == nil && r.ID == g.ID && r.Version != g.Version && r.State == backends.Held {
					g.Version = r.Version
					return g, nil
				}
				return c.Engine.Renew(ctx, g)
			}
		},
		noticed: []string{"AnOwnWriteOfAnEarlierRenewalIsOnlyACondition", "ActsTakeTheRequestsOfTheBudget"},
	},
	{
		name: "an acquisition that is found is a success",
		client: func(c *client) {
			c.acquire = func(ctx context.Context, name string, claim backends.Claim) (backends.Grant, error) {
				old, pending := c.notes[name]
				if r, err := c.Engine.Observe(ctx, name); pending && err == nil && r.ID == old.ID && r.State == backends.Held {
					old.Version = r.Version
					return old, nil
				}
				g, err := c.Engine.Acquire(ctx, name, claim)
				if err != nil {
					c.notes[name] = g
				}
				return g, err
			}
		},
		noticed: []string{"AnAbandonedAcquisitionIsOnlyACondition", "AnAbandonedAcquisitionIsTakenOverAtOnceByItsClient"},
	},
	{
		name: "a conflict is a loss",
		client: func(c *client) {
			lost := func(err error) error {
				if c.spy.wasRefused() {
					return backends.ErrLost
				}
				return err
			}
			c.renew = func(ctx context.Context, g backends.Grant) (backends.Grant, error) {
				c.spy.wasRefused()
				next, err := c.Engine.Renew(ctx, g)
				return next, lost(err)
			}
			c.release = func(ctx context.Context, g backends.Grant) error {
				c.spy.wasRefused()
				return lost(c.Engine.Release(ctx, g))
			}
		},
		noticed: []string{
			"ALostRenewalIsRecognised", "ALostReleaseIsRecognised", "AForeignEditDoesNotEndTheTerm", "ARefusedReleaseIsResolved",
			"AnUnknownReleaseIsResolvedByTheNext", "ReleasingTwiceIsReleasingOnce",
		},
	},
	{
		name:   "nothing is read after a failure",
		client: func(c *client) { c.spy.deaf = true },
		noticed: []string{
			"ALostAcquisitionIsRecognised", "ALostRenewalIsRecognised", "ALostReleaseIsRecognised", "AForeignEditDoesNotEndTheTerm",
			"AnUnknownReleaseIsResolvedByTheNext", "AnAbandonedAcquisitionIsTakenOverAtOnceByItsClient",
			"ReleasingAnUnconfirmedGrantFreesWhatWasWritten",
		},
	},
	{
		name: "an unknown release is a success",
		client: func(c *client) {
			c.release = func(ctx context.Context, g backends.Grant) error {
				if err := c.Engine.Release(ctx, g); errors.Is(err, backends.ErrLost) {
					return err
				}
				return nil
			}
		},
		noticed: []string{"AnUnknownReleaseIsResolvedByTheNext", "RefusalsPassThroughAndEndNothing", "ABadMarkIsRefusedBeforeAnyRequest", "AReleaseThatWasOvertakenIsDone"},
	},
	{
		name: "abandoned acquisitions are forgotten",
		client: func(c *client) {
			c.acquire = func(ctx context.Context, name string, claim backends.Claim) (backends.Grant, error) {
				return cas.New(c.spy, cas.Options{Dates: cas.Dates{Trusted: true}}).Acquire(ctx, name, claim)
			}
		},
		noticed: []string{
			"AnAbandonedAcquisitionIsTakenOverAtOnceByItsClient", "AnAbandonedAcquisitionIsOnlyACondition", "AThrottledWriteThatWasAppliedIsFound",
			"ActsTakeTheRequestsOfTheBudget", "MissingDatesTakeNothingOver", "DatesFromTheFutureTakeNothingOver",
		},
	},
	{
		name:    "all clients are one",
		world:   func(w *World) { one := w.New(); w.New = func() backends.Backend { return one } },
		noticed: []string{"AnAbandonedAcquisitionHoldsOffOthers", "ActsTakeTheRequestsOfTheBudget"},
	},
	{
		name: "an unknown acquisition is a success",
		client: granting(func(g *backends.Grant, err error) error {
			if g.Proof != nil {
				return nil
			}
			return err
		}),
		noticed: []string{
			"AnUnknownAcquisitionIsNoSuccess", "AnAbandonedAcquisitionHoldsOffOthers", "AnUnconfirmedGrantIsNoTitle",
			"ReleasingAnUnconfirmedGrantFreesWhatWasWritten", "ThrottlingPassesThrough",
		},
	},
	{
		name: "an unknown acquisition has no grant",
		client: granting(func(g *backends.Grant, err error) error {
			if err != nil {
				*g = backends.Grant{}
			}
			return err
		}),
		noticed: []string{"AnUnknownAcquisitionIsNoSuccess", "ReleasingAnUnconfirmedGrantFreesWhatWasWritten"},
	},
	{
		name: "an unconfirmed grant is renewed",
		client: func(c *client) {
			c.renew = func(ctx context.Context, g backends.Grant) (backends.Grant, error) {
				next, err := c.Engine.Renew(ctx, g)
				if err != nil && strings.Contains(err.Error(), "never confirmed") {
					return g, nil
				}
				return next, err
			}
		},
		noticed: []string{"AnUnconfirmedGrantIsNoTitle"},
	},
	{
		name: "nothing is written to release what seems free",
		client: func(c *client) {
			c.release = func(ctx context.Context, g backends.Grant) error {
				if r, err := c.Engine.Observe(ctx, g.Name); err == nil && r.State == backends.Free {
					return nil
				}
				return c.Engine.Release(ctx, g)
			}
		},
		noticed: []string{"ReleasingAnUnconfirmedGrantStopsWhatIsUnderWay"},
	},
	{
		name:   "errors are opaque",
		client: everyError(func(error) error { return errOpaque }),
		noticed: []string{
			"ThrottlingPassesThrough", "RefusalsPassThroughAndEndNothing", "TheTermIsOverAfterATakeover", "WhatIsHeldIsNotGranted",
		},
	},
	{
		name: "errors have many lines",
		client: everyError(func(err error) error {
			if errors.Is(err, backends.ErrHeld) || errors.Is(err, backends.ErrLost) {
				return err
			}
			return fmt.Errorf("alas:\n%w", err)
		}),
		noticed: []string{"ABadNameIsRefusedBeforeAnyRequest", "ABadClaimIsRefusedBeforeAnyRequest"},
	},
	{
		name: "a store that is busy is asked again and again",
		above: func(inner cas.Store) cas.Store {
			return store{Store: inner, put: func(ctx context.Context, name, version string, data []byte) (o cas.Object, err error) {
				for range 5 {
					if o, err = inner.Put(ctx, name, version, data); err == nil {
						break
					}
				}
				return o, err
			}}
		},
		noticed: []string{"ThrottlingPassesThrough", "ARefusalAddsOneRead"},
	},
	{
		name: "contexts are ignored",
		client: func(c *client) {
			endless := func(ctx context.Context) context.Context {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
				_ = cancel // an hour is nothing in a bubble
				return ctx
			}
			c.acquire = func(ctx context.Context, name string, claim backends.Claim) (backends.Grant, error) {
				return c.Engine.Acquire(endless(ctx), name, claim)
			}
			c.renew = func(ctx context.Context, g backends.Grant) (backends.Grant, error) {
				return c.Engine.Renew(endless(ctx), g)
			}
			c.release = func(ctx context.Context, g backends.Grant) error { return c.Engine.Release(endless(ctx), g) }
		},
		noticed: []string{"AContextThatHasEndedWritesNothing", "AStoreThatHangsDoesNotHoldTheCaller"},
	},
}

// everyError changes all errors.
func everyError(f func(error) error) func(*client) {
	change := func(err error) error {
		if err == nil {
			return nil
		}
		return f(err)
	}
	return func(c *client) {
		granting(func(_ *backends.Grant, err error) error { return change(err) })(c)
		renewing(func(_ backends.Grant, _ *backends.Grant, err error) error { return change(err) })(c)
		c.release = func(ctx context.Context, g backends.Grant) error { return change(c.Engine.Release(ctx, g)) }
		c.observe = func(ctx context.Context, name string) (backends.Record, error) {
			r, err := c.Engine.Observe(ctx, name)
			return r, change(err)
		}
	}
}

var observeBreakages = []breakage{
	{
		name: "observing writes",
		client: func(c *client) {
			c.observe = func(ctx context.Context, name string) (backends.Record, error) {
				if o, err := c.spy.Load(ctx, name); err == nil && o.Exists {
					_, _ = c.spy.Put(ctx, name, o.Version, o.Data)
				}
				return c.Engine.Observe(ctx, name)
			}
		},
		noticed: []string{"ObservingNeverWrites", "ActsTakeTheRequestsOfTheBudget", "ObservingTellsOfTheTerm"},
	},
	{
		name: "observing contends",
		client: func(c *client) {
			c.observe = func(ctx context.Context, name string) (backends.Record, error) {
				r, err := c.Engine.Observe(ctx, name)
				if err == nil && r.State == backends.Free {
					g, _ := c.Engine.Acquire(ctx, name, backends.Claim{Holder: "observer", TTL: max(r.TTL, time.Second)})
					_ = c.Engine.Release(ctx, g)
				}
				return r, err
			}
		},
		noticed: []string{"ObservingNeverWrites", "ObservingNeverContends", "ANameNeverUsedIsFree"},
	},
	{
		name: "observing judges nothing",
		client: observing(func(r *backends.Record) {
			if r.Token != 0 {
				r.State = backends.Held
			}
		}),
		noticed: []string{"AnExpiredTermIsObservedAsFree", "ATermIsAcquiredRenewedAndReleased", "ObservingTellsOfTheTerm"},
	},
	{
		name:    "observing hides the holder",
		client:  observing(func(r *backends.Record) { r.Holder, r.Token = "", 0 }),
		noticed: []string{"ObservingTellsOfTheTerm", "TokensGrowOverReleases", "TheTermIsConstantOverRenewals"},
	},
	{
		name:    "the age is not known",
		client:  observing(func(r *backends.Record) { r.Age = 0 }),
		noticed: []string{"TheAgeCountsFromTheLastWrite"},
	},
	{
		name:   "the age is what the dates say",
		client: func(c *client) { c.observe = c.observeByDate },
		noticed: []string{
			"DatesThatLieTellNoAge",
		},
	},
	{
		name:    "half the time is left",
		client:  everyRecord(func(r *backends.Record) { r.Left /= 2 }),
		noticed: []string{"LeftIsHowLongToWait"},
	},
	{
		name: "observing tells no time where there is no record",
		client: observing(func(r *backends.Record) {
			if r.Token == 0 {
				r.Now = time.Time{}
			}
		}),
		noticed: []string{"ObservingTellsTheStoresTime"},
	},
	{
		name:   "a poll asks twice",
		client: granting(func(*backends.Grant, error) error { return nil }),
		above: func(inner cas.Store) cas.Store {
			return store{Store: inner, load: func(ctx context.Context, name string) (cas.Object, error) {
				_, _ = inner.Load(ctx, name)
				return inner.Load(ctx, name)
			}}
		},
		noticed: []string{"APollIsOneReadAndNoWrite", "ActsTakeTheRequestsOfTheBudget", "ARefusalAddsOneRead"},
	},
}

func (c *client) observeByDate(ctx context.Context, name string) (backends.Record, error) {
	r, err := c.Engine.Observe(ctx, name)
	r.Age = c.spy.last().Now.Sub(c.spy.last().Modified)
	return r, err
}

// everyRecord changes what is observed, and what comes with a refusal.
func everyRecord(f func(*backends.Record)) func(*client) {
	return func(c *client) {
		observing(f)(c)
		granting(func(_ *backends.Grant, err error) error {
			var held *backends.HeldError
			if errors.As(err, &held) {
				f(&held.Record)
			}
			return err
		})(c)
	}
}

var inputBreakages = []breakage{
	{
		name: "the limits are not known",
		client: func(c *client) {
			c.limits = func() backends.Limits {
				l := c.Engine.Limits()
				l.MinPoll = 0
				return l
			}
		},
		noticed: []string{"TheLimitsMakeSense"},
	},
	{
		name: "the store is asked first",
		client: func(c *client) {
			c.acquire = func(ctx context.Context, name string, claim backends.Claim) (backends.Grant, error) {
				_, _ = c.spy.Load(ctx, name)
				return c.Engine.Acquire(ctx, name, claim)
			}
			c.release = func(ctx context.Context, g backends.Grant) error {
				_, _ = c.spy.Load(ctx, g.Name)
				return c.Engine.Release(ctx, g)
			}
		},
		noticed: []string{"ABadNameIsRefusedBeforeAnyRequest", "ABadClaimIsRefusedBeforeAnyRequest", "ABadMarkIsRefusedBeforeAnyRequest"},
	},
	{
		name: "holders have short names",
		client: func(c *client) {
			c.acquire = func(ctx context.Context, name string, claim backends.Claim) (backends.Grant, error) {
				claim.Holder = claim.Holder[:min(len(claim.Holder), 100)]
				return c.Engine.Acquire(ctx, name, claim)
			}
		},
		noticed: []string{"TheGreatestClaimFits", "ABadClaimIsRefusedBeforeAnyRequest"},
	},
}

var timeBreakages = []breakage{
	{
		name:      "contenders have fast clocks",
		untrusted: true,
		above:     atRate(1.001),
		noticed: []string{
			"ADeadHoldersLeaseIsTakenOverByWatching", "ARenewalRestartsTheStopwatch", "AForeignEditRestartsTheStopwatch",
			"TheRecordsLongerTTLIsHonoured", "TheContendersLongerTTLIsHonoured", "TheStopwatchCountsFromTheAnswer",
			"MissingDatesTakeNothingOver", "DatesFromTheFutureTakeNothingOver",
		},
	},
	{
		name:      "contenders have slow clocks",
		untrusted: true,
		above:     atRate(0.99),
		noticed:   []string{"ADeadHoldersLeaseIsTakenOverByWatching", "OneWinnerOfMany", "AnExpiredTermIsObservedAsFree"},
	},
	{
		name:    "dates are trusted that should not be",
		options: func(o *cas.Options) { o.Dates.Trusted = true },
		// The harness says that they are not.
		untrusted: true,
		noticed:   []string{"AFirstLookThatProvesNothingTakesNothingOver"},
	},
	{
		name:    "dates are off by more than is allowed for",
		options: func(o *cas.Options) { o.Dates.Skew = time.Second },
		noticed: []string{"ADeadHoldersLeaseIsTakenOverAtTheFirstLook"},
	},
	{
		name: "no margin for dates",
		world: func(w *World) {
			w.FirstLook = func(r, o time.Duration) Window { return byDate(max(r, o)+time.Second, cas.Dates{}) }
		},
		noticed: []string{"ADeadHoldersLeaseIsTakenOverAtTheFirstLook"},
	},
	{
		name:      "the stopwatch counts from the request",
		untrusted: true,
		client: impatient(byVersion, func(first look, _ cas.Object, r backends.Record, own time.Duration) bool {
			t := max(r.TTL, own)
			return time.Since(first.asked) >= t+t/100
		}),
		noticed: []string{"TheStopwatchCountsFromTheAnswer"},
	},
	{
		name:      "the stopwatch does not restart",
		untrusted: true,
		client: impatient(func(r backends.Record) string { return r.ID }, func(first look, _ cas.Object, r backends.Record, own time.Duration) bool {
			t := max(r.TTL, own)
			return time.Since(first.at) >= t+t/100
		}),
		noticed: []string{"ARenewalRestartsTheStopwatch", "AForeignEditRestartsTheStopwatch", "ARenewingHolderIsNeverTakenOver"},
	},
	{
		name: "only the own TTL counts",
		client: impatient(byVersion, func(first look, _ cas.Object, _ backends.Record, own time.Duration) bool {
			return time.Since(first.at) >= own+own/100
		}),
		noticed: []string{"TheRecordsLongerTTLIsHonoured"},
	},
	{
		name: "only the record's TTL counts",
		client: impatient(byVersion, func(first look, _ cas.Object, r backends.Record, _ time.Duration) bool {
			return time.Since(first.at) >= r.TTL+r.TTL/100
		}),
		noticed: []string{"TheContendersLongerTTLIsHonoured"},
	},
	{
		name: "dates are believed without a doubt",
		client: impatient(byVersion, func(_ look, last cas.Object, r backends.Record, own time.Duration) bool {
			return last.Now.Sub(last.Modified) >= max(r.TTL, own)*102/100
		}),
		noticed: []string{"DatesThatRunAheadTakeNothingOver", "DatesThatRunFastTakeNothingOver", "DatesThatDoNotMoveTakeNothingOver"},
	},
	{
		name: "missing dates are very old",
		client: impatient(byVersion, func(_ look, last cas.Object, _ backends.Record, _ time.Duration) bool {
			return last.Modified.IsZero() || last.Modified.After(last.Now)
		}),
		noticed: []string{"MissingDatesTakeNothingOver", "DatesFromTheFutureTakeNothingOver", "AFirstLookThatProvesNothingTakesNothingOver"},
	},
	{
		name: "the store's seconds are the token",
		client: func(c *client) {
			c.acquire = func(ctx context.Context, name string, claim backends.Claim) (backends.Grant, error) {
				_, _ = c.spy.Load(ctx, name)
				claim.Floor = backends.Token(c.spy.last().Now.Unix()) << 20 //nolint:gosec // that it overflows is the point
				return c.Engine.Acquire(ctx, name, claim)
			}
		},
		noticed: []string{"SillyDatesDoNotSpoilTokens"},
	},
}
