// Package retvec classifies texts with a .retvec file: raw text in, label out.
//
//	classifier, err := retvec.Open("classifier-int8.retvec")
//	...
//	label := classifier.Predict("my pakcage never arived").Label
//
// It needs cgo and a C compiler; retvec_lite.c is the engine.
package retvec

/*
#cgo CFLAGS: -std=c99 -O3 -I${SRCDIR}/../../engine
#include <stdlib.h>
#include "retvec_lite.h"
*/
import "C"

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// RetvecError is the type of every error of this package. Code is a name of retvec_lite.h, such as "RVL_CHANGED"; or
// "CANNOT_LOAD" for a file that cannot be read, "WRONG_CALL", or "CLOSED".
type RetvecError struct{ Code, Message string }

func (e *RetvecError) Error() string { return e.Message }

// Prediction is the answer to a text: its label, "" for none of them, and the probability of the most probable one. Taught is the taught text
// by which the memory answered, "" where the file did.
type Prediction struct {
	Label, Taught string
	Probability   float32
}

// Span is a part of a text, text[Start:End]; by Weight, the natural logarithm of the label's probability falls without it.
type Span struct {
	Start, End int
	Weight     float64
}

// Lesson is a taught text, as it is kept, and its label.
type Lesson struct{ Text, Label string }

// Classifier answers texts. Goroutines may share one: calls wait for each other. After Close, its methods panic with a *RetvecError.
type Classifier struct {
	mutex               sync.Mutex
	opened              *C.rvl
	file, block, taught unsafe.Pointer
	taughtSize          C.size_t
	room                C.uint32_t
	labels              []string
	several             bool
}

// Open reads a file and starts an engine.
func Open(path string) (*Classifier, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, &RetvecError{"CANNOT_LOAD", err.Error()}
	}
	return Load(file)
}

// Load starts an engine for the bytes of a file, which are copied.
func Load(file []byte) (*Classifier, error) {
	c, size, bytes := &Classifier{file: C.CBytes(file)}, C.size_t(len(file)), C.size_t(0)
	problem := C.rvl_block_size(c.file, size, C.RVL_WORDS, &bytes)
	if problem == C.RVL_OK {
		c.block = C.malloc(bytes)
		problem = C.rvl_open(c.file, size, C.RVL_WORDS, c.block, bytes, &c.opened)
	}
	if problem != C.RVL_OK {
		c.Close()
		return nil, failure(problem)
	}
	c.several = C.rvl_several_labels(c.opened) != 0
	for label := C.uint32_t(0); label < C.rvl_labels(c.opened); label++ {
		c.labels = append(c.labels, C.GoString(C.rvl_label(c.opened, label)))
	}
	return c, nil
}

// Close frees the memory. A second time does nothing.
func (c *Classifier) Close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	C.free(c.file)
	C.free(c.block)
	C.free(c.taught)
	c.opened, c.file, c.block, c.taught = nil, nil, nil, nil
}

// Labels returns the labels, in the order of the probabilities.
func (c *Classifier) Labels() []string { return slices.Clone(c.labels) }

// Metadata returns what the file says of itself, JSON.
func (c *Classifier) Metadata() string {
	var bytes C.size_t
	defer c.lock()()
	return C.GoStringN(C.rvl_metadata(c.opened, &bytes), C.int(bytes))
}

// Predict returns the label of a text; of several, the most probable one.
func (c *Classifier) Predict(text string) Prediction {
	if found := c.answers(text, 1); len(found) > 0 {
		return found[0]
	}
	return Prediction{Probability: slices.Max(c.Probabilities(text))}
}

// PredictMany answers texts, in their order.
func (c *Classifier) PredictMany(texts []string) []Prediction {
	found := make([]Prediction, len(texts))
	for place, text := range texts {
		found[place] = c.Predict(text)
	}
	return found
}

// PredictAll returns the labels of a text, most probable first: one or none, or any number where the file gives several.
func (c *Classifier) PredictAll(text string) []Prediction {
	most := 1
	if c.several {
		most = len(c.labels)
	}
	return slices.DeleteFunc(c.answers(text, most), func(one Prediction) bool { return one.Label == "" })
}

func (c *Classifier) answers(text string, most int) []Prediction {
	defer c.lock()()
	found := make([]C.rvl_answer, most)
	predictions := make([]Prediction, C.rvl_classify_utf8(c.opened, chars(text), C.size_t(len(text)), &found[0], C.size_t(most)))
	for place := range predictions {
		predictions[place].Probability = float32(found[place].probability)
		if label := found[place].label; label >= 0 {
			predictions[place].Label = C.GoString(C.rvl_label(c.opened, C.uint32_t(label)))
		}
	}
	if number := C.rvl_speaker(c.opened); number >= 0 {
		predictions[0].Taught = c.lesson(C.uint32_t(number)).Text
	}
	return predictions
}

// Probabilities returns the probability of each label.
func (c *Classifier) Probabilities(text string) []float32 {
	defer c.lock()()
	found := make([]float32, len(c.labels))
	C.rvl_probabilities_utf8(c.opened, chars(text), C.size_t(len(text)), (*C.float)(&found[0]))
	return found
}

// Explain tells which words of a text speak for a label, which must be a known one; "" is the most probable one.
func (c *Classifier) Explain(text, label string) ([]Span, error) {
	number := slices.Index(c.labels, label)
	if number < 0 && label != "" {
		return nil, &RetvecError{"WRONG_CALL", fmt.Sprintf("%q is not a label of this classifier.", label)}
	}
	defer c.lock()()
	found := make([]C.rvl_span, min(len(text), int(C.rvl_read_limit(c.opened)))+1)
	spans := make([]Span, C.rvl_explain_utf8(c.opened, chars(text), C.size_t(len(text)), C.int32_t(number), &found[0], C.size_t(len(found))))
	for place := range spans {
		spans[place] = Span{int(found[place].start), int(found[place].end), float64(found[place].weight)}
	}
	return spans, nil
}

// Embed returns a vector of length 1, for search by dot product: zeros for a text without words. Files that read n-grams alone have none.
func (c *Classifier) Embed(text string) ([]float32, error) {
	defer c.lock()()
	found := make([]float32, C.rvl_dimension(c.opened))
	if len(found) == 0 {
		return nil, &RetvecError{"WRONG_CALL", "This file has no embeddings: it reads n-grams alone."}
	}
	C.rvl_embed_utf8(c.opened, chars(text), C.size_t(len(text)), (*C.float)(&found[0]))
	return found, nil
}

// Teach says that a text has a label, old or new: it, and texts like it, are answered with that label, and all others as before.
func (c *Classifier) Teach(text, label string) error {
	if strings.Contains(label, "\x00") {
		label = "" // C would read a part of it
	}
	label += "\x00"
	return c.change(func() C.int { return C.rvl_teach_utf8(c.opened, chars(text), C.size_t(len(text)), chars(label)) })
}

// Forget undoes the teaching of a text.
func (c *Classifier) Forget(text string) error {
	return c.change(func() C.int { return C.rvl_forget_utf8(c.opened, chars(text), C.size_t(len(text))) })
}

// Memory is what a classifier was taught. It holds the texts themselves: a saved one is as private as they are.
type Memory struct{ of *Classifier }

// Memory returns what was taught.
func (c *Classifier) Memory() Memory { return Memory{c} }

// Texts returns what was taught, in that order.
func (m Memory) Texts() []Lesson {
	defer m.of.lock()()
	found := make([]Lesson, C.rvl_taught(m.of.opened))
	for number := range found {
		found[number] = m.of.lesson(C.uint32_t(number))
	}
	return found
}

// Save returns the bytes of a file that every package of retvec-lite reads; none where nothing was taught.
func (m Memory) Save() []byte {
	defer m.of.lock()()
	return m.of.save()
}

// Load takes the bytes of such a file, in place of what was taught; it fails, and changes nothing, where they are none.
func (m Memory) Load(file []byte) error {
	return m.of.change(func() C.int { return m.of.load(file) })
}

// Clear forgets all texts.
func (m Memory) Clear() {
	defer m.of.lock()()
	C.rvl_memory_open(m.of.opened, m.of.taught, m.of.taughtSize)
}

// change changes the memory; where that has no room, a larger one, as long as there is.
func (c *Classifier) change(body func() C.int) error {
	defer c.lock()()
	problem := body()
	for problem == C.RVL_FULL || problem == C.RVL_NO_MEMORY {
		larger := max(2*c.room, 64) // texts, on average
		size := C.rvl_memory_size(c.opened, larger)
		if size <= c.taughtSize && c.taught != nil {
			break
		}
		saved, block := c.save(), C.malloc(size+1)
		if problem = C.rvl_memory_open(c.opened, block, size); problem != C.RVL_OK {
			C.free(block)
			break
		}
		c.load(saved)
		C.free(c.taught)
		c.taught, c.taughtSize, c.room = block, size, larger
		problem = body()
	}
	return failure(problem)
}

func (c *Classifier) load(saved []byte) C.int {
	return C.rvl_memory_load(c.opened, unsafe.Pointer(unsafe.SliceData(saved)), C.size_t(len(saved)))
}

func (c *Classifier) save() []byte {
	saved := make([]byte, C.rvl_memory_save(c.opened, nil, 0))
	C.rvl_memory_save(c.opened, unsafe.Pointer(unsafe.SliceData(saved)), C.size_t(len(saved)))
	return saved
}

func (c *Classifier) lesson(number C.uint32_t) Lesson {
	var label *C.char
	text := C.rvl_taught_text(c.opened, number, &label)
	return Lesson{C.GoString(text), C.GoString(label)}
}

// lock locks an open classifier, and returns what unlocks it.
func (c *Classifier) lock() func() {
	c.mutex.Lock()
	if c.opened == nil {
		c.mutex.Unlock()
		panic(&RetvecError{"CLOSED", "The classifier is closed."})
	}
	return c.mutex.Unlock
}

func failure(problem C.int) error {
	if problem == C.RVL_OK {
		return nil
	}
	return &RetvecError{C.GoString(C.rvl_code(problem)), C.GoString(C.rvl_message(problem))}
}

// chars are the bytes of a text, which C reads during a call.
func chars(text string) *C.char { return (*C.char)(unsafe.Pointer(unsafe.StringData(text))) }
