//! JSON that a model wrote while it reasoned is a draft: what stands outside is the answer, if there is any. Markers
//! that stand in the JSON that was found are its own strings and no reasoning.

use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use serde_json::Value;

use super::{FoundJson, Place, guessed, rank, search};
use crate::dialect::reasoning_markups;

/// A stretch of reasoning, markers included.
struct Region {
    start: usize,
    end: usize,
    /// Whether the text has its opener.
    opened: bool,
}

/// A marker of reasoning: whose it is, and whether it opens.
type Marker = (usize, bool);

fn markers() -> Option<&'static (AhoCorasick, Vec<Marker>)> {
    static MARKERS: OnceLock<Option<(AhoCorasick, Vec<Marker>)>> = OnceLock::new();
    MARKERS
        .get_or_init(|| {
            let (mut words, mut meanings) = (Vec::new(), Vec::new());
            for (row, markup) in reasoning_markups().iter().enumerate() {
                for (spellings, opens) in [(markup.open, true), (markup.close, false)] {
                    words.extend_from_slice(spellings);
                    meanings.extend(spellings.iter().map(|_| (row, opens)));
                }
            }
            Some((AhoCorasick::new(words).ok()?, meanings))
        })
        .as_ref()
}

/// Where the text reasons, markers included, in order. What the first closer closes may have been opened by the prompt;
/// what isn't closed is left out.
fn regions(text: &str) -> Vec<Region> {
    let Some((words, meanings)) = markers() else { return Vec::new() };
    let mut regions = Vec::new();
    let mut open: Option<(usize, usize)> = None;
    for found in words.find_iter(text) {
        let Some(&(row, opens)) = meanings.get(found.pattern().as_usize()) else { continue };
        let closes = |at: usize| {
            let (of, this) = (reasoning_markups().get(at), reasoning_markups().get(row));
            of.zip(this).is_some_and(|(of, this)| of.close.iter().any(|word| this.close.contains(word)))
        };
        match open {
            None if opens => open = Some((row, found.start())),
            // Some closers end messages of any kind.
            None if regions.is_empty() && text.get(found.start()..found.end()) == Some("</think>") => {
                regions.push(Region { start: 0, end: found.end(), opened: false });
            }
            Some((of, start)) if !opens && closes(of) => {
                regions.push(Region { start, end: found.end(), opened: true });
                open = None;
            }
            _ => {}
        }
    }
    regions
}

/// What fits outside of reasoning, if what was found stands inside.
pub(super) fn outside(text: &str, schema: Option<&Value>, found: &FoundJson) -> Option<FoundJson> {
    let regions = regions(text);
    let inside = regions.iter().any(|region| {
        let begins = found.span.start >= region.start && found.span.start < region.end;
        // Where the prompt opened it, only where the JSON ends tells reasoning from JSON that holds the closer.
        begins && (found.span.end <= region.end || (found.span.start > region.start && region.opened))
    });
    if !inside {
        return None;
    }
    let mut rest = String::with_capacity(text.len());
    let mut at = 0;
    for region in &regions {
        rest.push_str(text.get(at..region.start).unwrap_or_default());
        rest.extend(std::iter::repeat_n(' ', region.end - region.start));
        at = region.end;
    }
    rest.push_str(text.get(at..).unwrap_or_default());
    let other = search(&rest, schema).ok()?;
    let apart = |region: &Region| other.span.end <= region.start || other.span.start >= region.end;
    if schema.is_none() && other.place == Place::Embedded && rank(&other.json) > rank(&found.json) {
        // A list within prose, such as the number of a source, is no answer where an object was drafted.
        return None;
    }
    let place = if other.place == Place::Whole { Place::Embedded } else { other.place };
    (regions.iter().all(apart) && !guessed(&other.repairs)).then_some(FoundJson { place, ..other })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::extract_json;

    #[track_caller]
    fn finds(text: &str, json: &str) {
        let found = extract_json(text, None).unwrap();
        assert_eq!(found.json, json, "{text}");
        if found.repairs.is_empty() {
            assert_eq!(text.get(found.span.start..found.span.end), Some(json), "{text}");
        }
    }

    #[test]
    fn b13_what_stands_in_reasoning_comes_last() {
        finds("<think>{\"score\":1}</think>{\"score\":2}", "{\"score\":2}");
        finds("{\"score\":1} or so.</think>\n{\"score\":2}", "{\"score\":2}");
        finds("[THINK]```json\n{\"score\":1}\n```[/THINK]So: {\"score\":2}", "{\"score\":2}");
        finds("<think>{\"score\":1</think>{\"score\":2}", "{\"score\":2}");
        finds("<think>{\"score\":1}</think>{'score':2}", "{\"score\":2}");
        finds("Well <think>é {\"a\":1}</think> then <think>{\"a\":2}</think> {\"a\":3}", "{\"a\":3}");
        finds("<think>{\"score\":1}</think>That is all.", "{\"score\":1}");
        finds("<think>{\"score\":1}", "{\"score\":1}");
    }

    #[test]
    fn b13_a_list_in_prose_is_no_answer_beside_an_object_in_reasoning() {
        finds("<think>{\"score\":1}</think> See [1].", "{\"score\":1}");
        finds("<think>{\"score\":1}</think> As in [1] and {}.", "{\"score\":1}");
        finds("<think>[1]</think> See [2].", "[2]");
        finds("<think>{}</think> See [2].", "[2]");
        finds("<think>{\"score\":1}</think> [2]", "[2]");
        finds("<think>{\"score\":1}</think> So:\n```json\n[2]\n```", "[2]");
        finds("<think>{\"score\":1}</think> See [1]: {\"score\":2}", "{\"score\":2}");
        finds("<reasoning>{\"score\":1}</reasoning>{\"score\":2}", "{\"score\":2}");
    }

    #[test]
    fn b13_with_a_schema_reasoning_comes_last_too() {
        let schema = json!({"type": "object", "required": ["score"]});
        let take = |text: &str| extract_json(text, Some(&schema)).unwrap().json;
        assert_eq!(take("<think>{\"score\":1}</think>{\"score\":2}"), "{\"score\":2}");
        assert_eq!(take("<think>{\"score\":1}</think>{\"other\":2}"), "{\"score\":1}");
    }

    #[test]
    fn b13_markers_inside_of_json_are_its_strings() {
        finds(
            "{\"a\":\"<think>{\\\"b\\\":1}</think>\",\"c\":{\"d\":1}}",
            "{\"a\":\"<think>{\\\"b\\\":1}</think>\",\"c\":{\"d\":1}}",
        );
        finds("{\"a\":\"</think>\",\"b\":{\"c\":1},}", "{\"a\":\"</think>\",\"b\":{\"c\":1}}");
        finds("So {\"a\":\"<think>x</think>\",\"b\":{\"c\":1}}", "{\"a\":\"<think>x</think>\",\"b\":{\"c\":1}}");
    }
}
