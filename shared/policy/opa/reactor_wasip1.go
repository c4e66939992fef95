//go:build wasip1

package main

import "unsafe"

// A request is written to alloc(n) bytes, and run(pointer, n) answers pointer and length of the response
// in one number. The response lives until the next run.

func main() {}

var requests = map[uint32][]byte{}

// answered keeps the response where the garbage collector lets it be.
var answered []byte

//go:wasmexport alloc
func alloc(n uint32) uint32 {
	// A byte more, so that an empty request has an address too.
	buffer := make([]byte, n+1)
	pointer := uint32(uintptr(unsafe.Pointer(&buffer[0])))
	requests[pointer] = buffer
	return pointer
}

//go:wasmexport run
func run(pointer, n uint32) uint64 {
	request := requests[pointer][:n]
	delete(requests, pointer)
	answered = handle(request)
	return uint64(uintptr(unsafe.Pointer(&answered[0])))<<32 | uint64(len(answered))
}
