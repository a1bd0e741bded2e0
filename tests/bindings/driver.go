// Does what each line of standard input says, with the Go module, and prints one line: tests/bindings/test_bindings.py has the lines.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	retvec "github.com/retvec-lite/retvec-lite/bindings/go"
)

var classifier *retvec.Classifier

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		fmt.Println(answer(strings.Split(lines.Text(), "\t")))
	}
}

func answer(words []string) (line string) {
	defer func() {
		if failed, ok := recover().(*retvec.RetvecError); ok {
			line = "error\t" + failed.Code
		}
	}()
	var found []string
	var err error
	show := func(one retvec.Prediction) {
		found = append(found, one.Label, fmt.Sprint(one.Probability), one.Taught)
	}
	switch name, last := words[0], words[len(words)-1]; name {
	case "open":
		classifier, err = retvec.Open(last)
	case "labels":
		found = classifier.Labels()
	case "metadata":
		found = []string{classifier.Metadata()}
	case "predict":
		show(classifier.Predict(last))
	case "many":
		for _, one := range classifier.PredictMany(words[1:]) {
			show(one)
		}
	case "all":
		for _, one := range classifier.PredictAll(last) {
			show(one)
		}
	case "probabilities", "embed":
		vector := classifier.Probabilities(last)
		if name == "embed" {
			vector, err = classifier.Embed(last)
		}
		for _, number := range vector {
			found = append(found, fmt.Sprint(number))
		}
	case "explain":
		var spans []retvec.Span
		spans, err = classifier.Explain(last, words[1])
		for _, span := range spans {
			found = append(found, last[span.Start:span.End], fmt.Sprint(span.Start), fmt.Sprint(span.Weight))
		}
	case "teach":
		err = classifier.Teach(last, words[1])
	case "forget":
		err = classifier.Forget(last)
	case "texts":
		for _, one := range classifier.Memory().Texts() {
			found = append(found, one.Text, one.Label)
		}
	case "save":
		err = os.WriteFile(last, classifier.Memory().Save(), 0o644)
	case "load":
		file, _ := os.ReadFile(last)
		err = classifier.Memory().Load(file)
	case "threads": // ask from many goroutines at once
		var all sync.WaitGroup
		same := make([]bool, 8)
		right := classifier.Predict(last)
		for place := range same {
			all.Add(1)
			go func() {
				defer all.Done()
				same[place] = true
				for turn := 0; turn < 200; turn++ {
					same[place] = same[place] && classifier.Predict(last) == right
				}
			}()
		}
		all.Wait()
		found = []string{fmt.Sprint(same)}
	case "clear":
		classifier.Memory().Clear()
	case "close":
		classifier.Close()
	}
	var failed *retvec.RetvecError
	if errors.As(err, &failed) {
		return "error\t" + failed.Code
	}
	return strings.Join(found, "\t")
}
