//! Does what each line of standard input says, with the Rust crate, and prints one line: tests/bindings/test_bindings.py has the lines.
use retvec_lite::{Classifier, Prediction, RetvecError};
use std::{fs, io};

fn main() {
    let mut classifier = None;
    for line in io::stdin().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split('\t').collect();
        match answer(&mut classifier, &words) {
            Ok(found) => println!("{}", found.join("\t")),
            Err(error) => println!("error\t{}", error.code),
        }
    }
}

fn answer(classifier: &mut Option<Classifier>, words: &[&str]) -> Result<Vec<String>, RetvecError> {
    let last = words[words.len() - 1];
    if words[0] == "open" {
        *classifier = Some(Classifier::open(last)?);
        return Ok(vec![]);
    }
    if words[0] == "close" {
        *classifier = None;
    }
    let closed = || RetvecError { code: "CLOSED".into(), message: String::new() };
    let classifier = classifier.as_mut().ok_or_else(closed);
    if words[0] == "close" {
        return Ok(vec![]);
    }
    let classifier = classifier?;
    let shown = |one: Prediction| [one.label.unwrap_or_default(), one.probability.to_string(), one.taught.unwrap_or_default()];
    Ok(match words[0] {
        "labels" => classifier.labels().to_vec(),
        "metadata" => vec![classifier.metadata()],
        "predict" => shown(classifier.predict(last)).to_vec(),
        "many" => classifier.predict_many(&words[1..]).into_iter().flat_map(shown).collect(),
        "all" => classifier.predict_all(last).into_iter().flat_map(shown).collect(),
        "probabilities" => classifier.probabilities(last).iter().map(f32::to_string).collect(),
        "embed" => classifier.embed(last)?.iter().map(f32::to_string).collect(),
        "explain" => {
            let label = Some(words[1]).filter(|label| !label.is_empty());
            let spans = classifier.explain(last, label)?;
            spans.iter().flat_map(|span| [last[span.start..span.end].to_string(), span.start.to_string(), span.weight.to_string()]).collect()
        }
        "teach" => classifier.teach(last, words[1]).map(|()| vec![])?,
        "forget" => classifier.forget(last).map(|()| vec![])?,
        "texts" => classifier.memory().texts().into_iter().flat_map(|(text, label)| [text, label]).collect(),
        "clear" => {
            classifier.memory().clear();
            vec![]
        }
        "save" => fs::write(last, classifier.memory().save()).map(|()| vec![]).unwrap(),
        "load" => classifier.memory().load(&fs::read(last).unwrap()).map(|()| vec![])?,
        other => unreachable!("{other}"),
    })
}
