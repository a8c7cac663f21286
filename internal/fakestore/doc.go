// Package fakestore is the part that all model stores share: what can go wrong
// between a client and a store.
//
// A model store is an [http.Handler] that keeps its objects in memory, takes
// its clock as a function, and answers as the real store's documentation says;
// package azure below this one is such a model. A [Layer] stands in front of a
// handler as an [http.RoundTripper], so that the store's real SDK talks to the
// model without a socket:
//
//	store := azure.New(time.Now, nil)
//	layer := fakestore.New(store, &fakestore.Options{Kind: azure.Kind})
//	defer layer.Close()
//	client := &http.Client{Transport: layer}
//
// Without sockets everything also runs inside a testing/synctest bubble, where
// a day takes milliseconds. What happens to each request is decided by a
// [Schedule]:
//
//	layer.Inject(fakestore.Each(fakestore.LostAfter()).Where(azure.Is(azure.AcquireLease)))
//
// The layer knows HTTP and nothing of any store.
package fakestore
