package com.example;

import java.io.File;
import java.util.Arrays;
import java.util.Collections;
import org.retveclite.Prediction;
import org.retveclite.RetvecClassifier;
import org.retveclite.RetvecError;
import org.retveclite.Span;

/** Calls everything from Java, and prints the answers to a text. */
public final class Check {
    public static void main(String[] arguments) {
        String text = arguments[1];
        try (RetvecClassifier classifier = new RetvecClassifier(new File(arguments[0]))) {
            System.out.println(String.join(" ", classifier.getLabels()));
            System.out.println(classifier.predict(text).getLabel() + " " + classifier.predict(text, false).getProbability());
            System.out.println(Arrays.toString(classifier.probabilities(text)));
            for (Prediction answer : classifier.predictMany(Arrays.asList(text, "other"))) System.out.print(answer.getLabel() + " ");
            System.out.println(classifier.predictAll(text).size());
            for (Span span : classifier.explain(text)) System.out.print(text.substring(span.getStart(), span.getEnd()) + "|");
            System.out.println(classifier.explain(text, classifier.getLabels().get(0)).size());
            System.out.println(classifier.embed(text).length == classifier.getEmbeddingSize());
            classifier.teach(text, "pets");
            System.out.println(classifier.predict(text).getLabel() + " " + classifier.getMemory().getTexts().get(0).getSecond());
            classifier.forget(text);
            System.out.println(classifier.getMemory().getLabels().equals(Collections.emptyList()));
            classifier.explain(text, "no such label");
        } catch (RetvecError error) {
            System.out.println(error.getCode());
        }
    }
}
