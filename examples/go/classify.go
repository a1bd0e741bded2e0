// Classify lines: go build, then ./classify classifier-int8.retvec < texts.txt. Prints label and probability; - for none of the labels.
package main

/*
#cgo CFLAGS: -I${SRCDIR}/../../engine -O3 -std=c99
#include <stdlib.h>
#pragma STDC FP_CONTRACT OFF
#include "retvec_lite.c"
*/
import "C"

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"unsafe"
)

// Engine serves one goroutine at a time. Its memory is C's, so the garbage collector moves nothing.
type Engine struct{ engine *C.rvl }

// Open checks a file and starts an engine.
func Open(file []byte) (*Engine, error) {
	kept, size, bytes, found := C.CBytes(file), C.size_t(len(file)), C.size_t(0), Engine{}
	problem := C.rvl_block_size(kept, size, C.RVL_WORDS, &bytes)
	if problem == C.RVL_OK {
		problem = C.rvl_open(kept, size, C.RVL_WORDS, C.malloc(bytes), bytes, &found.engine)
	}
	if problem != C.RVL_OK {
		return nil, errors.New(C.GoString(C.rvl_message(problem)))
	}
	return &found, nil
}

// Classify returns the label of a text, "-" for none of them, and the probability of the most probable one.
func (e *Engine) Classify(text string) (string, float32) {
	bytes, answer := append([]byte(text), 0), C.rvl_answer{label: -1}
	C.rvl_classify_utf8(e.engine, (*C.char)(unsafe.Pointer(&bytes[0])), C.size_t(len(text)), &answer, 1)
	if answer.label < 0 {
		return "-", float32(answer.probability)
	}
	return C.GoString(C.rvl_label(e.engine, C.uint32_t(answer.label))), float32(answer.probability)
}

func main() {
	file, err := os.ReadFile(os.Args[len(os.Args)-1]) // without a name the program itself, which is refused
	var engine *Engine
	if err == nil {
		engine, err = Open(file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		label, probability := engine.Classify(lines.Text())
		fmt.Printf("%s %.6f\n", label, probability)
	}
}
