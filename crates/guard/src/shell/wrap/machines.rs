//! Clients that run a line on machines elsewhere, and hold it in an option of their own: `aws ssm send-command`,
//! `az vm run-command`, `knife ssh`, `bolt command run`.

use super::{Options, Outer, Via, Word};

pub(super) fn machines(name: &str, outer: &mut Outer<'_>, words: &[Word]) {
    let says = |wanted: &[&str]| {
        let plain: Vec<&str> =
            words.iter().map(|word| word.text.as_str()).filter(|text| !text.starts_with('-')).take(3).collect();
        plain.windows(wanted.len()).any(|pair| pair == wanted)
    };
    match name {
        "aws" if says(&["ssm", "send-command"]) || says(&["ssm", "start-session"]) => {
            let options = Options::read(words, "--parameters --document-name --targets --instance-ids --comment");
            let given = options.values.iter().filter(|(option, _)| *option == "--parameters").map(|(_, word)| *word);
            for word in given {
                for line in commands_of(&word.text) {
                    outer.text(&Word { text: line, ..word.clone() }, Via::Remote);
                }
            }
        }
        "az" if words.iter().any(|word| word.text == "run-command") => {
            let at = words.iter().position(|word| word.text == "--scripts" || word.text == "--script");
            let lines = at.map_or(&[][..], |at| words.get(at + 1..).unwrap_or_default());
            for word in lines.iter().take_while(|word| !word.text.starts_with("--")).take(16) {
                outer.text(word, Via::Remote);
            }
        }
        "knife" if words.first().is_some_and(|word| word.text == "ssh") => {
            if let Some(word) = Options::read(words, "-x -i -a -C -p -G -P").rest.get(2) {
                outer.text(word, Via::Remote);
            }
        }
        "bolt" if says(&["command", "run"]) => {
            if let Some(word) = Options::read(words, "-t --targets -u --user -p --password").rest.get(2) {
                outer.text(word, Via::Remote);
            }
        }
        _ => {}
    }
}

/// The lines behind `commands`, as JSON or in the short form: `commands=["a","b"]`, `{"commands":["a"]}`, `commands=a`.
fn commands_of(parameters: &str) -> Vec<String> {
    if let Ok(value) = serde_json::from_str::<serde_json::Value>(parameters) {
        let lines = value.get("commands").and_then(serde_json::Value::as_array);
        return lines.into_iter().flatten().filter_map(|line| line.as_str().map(str::to_owned)).take(64).collect();
    }
    let named = ["commands=", "command="].iter().find_map(|name| parameters.split_once(name));
    let Some((_, rest)) = named else { return Vec::new() };
    match serde_json::Deserializer::from_str(rest).into_iter::<Vec<String>>().next() {
        Some(Ok(lines)) => lines.into_iter().take(64).collect(),
        _ => vec![rest.trim_matches(['[', ']', '"', '\'']).to_owned()],
    }
}
