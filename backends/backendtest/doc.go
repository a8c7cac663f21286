// Package backendtest is the suite that defines a backend: whoever writes one
// runs it, and what it does not let pass is not a backend.
//
// A backend's test file is a [Harness]. One that stands on package cas brings
// its store, which may be a model of the real one, and how to delete an object:
//
//	func TestConformance(t *testing.T) {
//		backendtest.Run(t, backendtest.Harness{
//			Bubble: true, // the model lives in this process
//			Open: func(t *testing.T) *backendtest.World {
//				model := newModel()
//				w := backendtest.NewWorld(t, options, func() cas.Store { return newStore(model) })
//				w.Delete = model.Delete
//				return w
//			},
//		})
//	}
//
// A backend with leases of its own fills in a [World] by hand. So does one that
// wants its requests to be lost and repeated below its SDK, at the HTTP client,
// where they are lost in real life:
//
//	Open: func(t *testing.T) *backendtest.World {
//		model := newModel(time.Now)
//		wire := newWire(model) // an http.RoundTripper
//		t.Cleanup(wire.Close)
//		return &backendtest.World{
//			New:       func() backends.Backend { return azurelease.New(clientOver(wire), nil) },
//			Count:     wire.count,
//			Faults:    wire.inject, // Fault to status code, header, broken connection
//			Read:      model.Read,
//			Delete:    model.Delete,
//			Overwrite: model.Overwrite,
//			FirstLook: serversOwn, // func(record, own time.Duration) backendtest.Window
//			Budget:    backendtest.Budget{ … },
//		}
//	},
//
// What a World leaves out is skipped, with the reason, so that a run with -v
// tells what has not been proved.
//
// # Time
//
// In a bubble the checks know the time to a millisecond and waiting is free: they
// try what is a millisecond too early, and what is just in time. In real time
// they use the shortest TTL and are content with a quarter of a second.
//
// # Store
//
// [Store] is a cas.Store behind a network that loses, delays, repeats and
// counts requests, and may make dates lie. It serves simulations as well.
package backendtest
