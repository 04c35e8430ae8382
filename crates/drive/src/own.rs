//! The keys that the endpoints of this process hold, and what becomes of them in texts: `***`, on every way into a run,
//! and so on every way out of it. A machine and its journal never see one, so a journal replays as it is.
//!
//! One list is for the whole process: a tool may tell the key of another agent as well as that of its own.

use std::{
    borrow::Cow,
    collections::{BTreeMap, VecDeque},
    ops::Range,
    sync::{Arc, PoisonError, RwLock},
};

use super::{endpoint::Secret, in_flight::Watch, pace::Held};
use loopwright_base::{
    message::{Block, Extra, Message, StopReason, Text, ToolResult, ToolUse, Usage},
    request::{Delta, Response},
};
use loopwright_guard::sensitivity::{OwnSecrets, Pieces};
use loopwright_machine::EventKind;

/// Bytes at the beginning of a key that are treated as the key itself. Fewer are the same in many keys.
const HEAD: usize = 20;
/// Keys that are known at most; the oldest go first.
const MOST: usize = 512;

static KEYS: RwLock<(VecDeque<Secret>, Option<Arc<OwnSecrets>>)> = RwLock::new((VecDeque::new(), None));

/// Remembers keys.
pub fn keep(keys: Vec<Secret>) {
    let new = |known: &VecDeque<Secret>| keys.iter().any(|key| !known.contains(key));
    if keys.is_empty() || !new(&KEYS.read().unwrap_or_else(PoisonError::into_inner).0) {
        return;
    }
    let mut all = KEYS.write().unwrap_or_else(PoisonError::into_inner);
    for key in keys {
        if !all.0.contains(&key) {
            all.0.push_back(key);
        }
    }
    let over = all.0.len().saturating_sub(MOST);
    all.0.drain(..over);
    all.1 = Some(Arc::new(OwnSecrets::new(all.0.iter().map(Secret::reveal), HEAD)));
}

/// All keys that are known; `None` if there are none.
pub fn keys() -> Option<Arc<OwnSecrets>> {
    KEYS.read().unwrap_or_else(PoisonError::into_inner).1.clone()
}

/// The text without keys.
pub fn scrub(text: &str) -> Cow<'_, str> {
    match keys() {
        // What was borrowed is the text itself.
        Some(own) => match own.scrub(text) {
            Cow::Owned(clean) => Cow::Owned(clean),
            Cow::Borrowed(_) => Cow::Borrowed(text),
        },
        None => Cow::Borrowed(text),
    }
}

/// The event without keys. Thoughts that the provider has signed stay as they are: it would refuse them otherwise.
pub fn scrub_event(kind: EventKind) -> EventKind {
    let speechless = matches!(
        kind,
        EventKind::Pause | EventKind::Resume | EventKind::Embedded { .. } | EventKind::Fired { partial: None, .. }
    );
    let Some(own) = keys().filter(|_| !speechless) else { return kind };
    if is_known_clean(&own, &kind) {
        return kind;
    }
    let Ok(text) = serde_json::to_string(&kind) else { return kind };
    if !own.is_in(text.as_bytes()) {
        return kind;
    }
    let clean = own.scrub_but(&text, &signed(&kind, &text));
    serde_json::from_str(&clean).unwrap_or(kind)
}

/// Whether an event is known to hold no key without writing it as JSON: an answer or a result that consists of texts
/// and calls. All other events have to be searched as JSON. Each field is named, so that a new one is not forgotten.
fn is_known_clean(own: &OwnSecrets, kind: &EventKind) -> bool {
    let free = |text: &str| !own.is_in(text.as_bytes());
    let extra = |extra: &Option<Box<Extra>>| {
        extra.iter().flat_map(|extra| extra.fields.iter()).all(|(name, raw)| free(name) && free(raw.text()))
    };
    let block = |block: &Block| match block {
        Block::Text(Text { text, extra: fields }) => free(text) && extra(fields),
        Block::ToolUse(ToolUse { id, name, input, invalid, extra: fields }) => {
            let told = [id, name, input.text()].into_iter().chain(invalid.as_deref()).all(free);
            told && extra(fields)
        }
        _ => false,
    };
    match kind {
        EventKind::Executed { id: _, result } => {
            let ToolResult { id, name, content, form: _, is_error: _, failure: None, extra: fields } = result else {
                return false;
            };
            free(id) && free(name) && extra(fields) && content.iter().all(block)
        }
        EventKind::Generated { id: _, response } => {
            let Response { id, model, message, stop, usage: _, extra: fields, adapted } = &**response;
            let Message { role: _, content, form: _, extra: more, host } = message;
            let reason = if let StopReason::Other(word) = stop { word } else { "" };
            let told = [id, model, reason].into_iter().chain(host.as_deref()).all(free);
            let said = adapted.iter().all(|told| free(told));
            told && said && extra(fields) && extra(more) && content.iter().all(block)
        }
        _ => false,
    }
}

/// Where signed thoughts stand in an event as JSON.
fn signed(kind: &EventKind, text: &str) -> Vec<Range<usize>> {
    let messages: Vec<&Message> = match kind {
        EventKind::Start { messages } => messages.iter().collect(),
        EventKind::Generated { response, .. } => vec![&response.message],
        EventKind::Failed { partial: Some(partial), .. }
        | EventKind::Fired { partial: Some(partial), .. }
        | EventKind::Interrupt { partial: Some(partial), .. } => vec![&partial.message],
        EventKind::Partials { answers } => answers.iter().map(|(_, answer)| &answer.message).collect(),
        _ => Vec::new(),
    };
    let blocks = messages.into_iter().flat_map(|message| &message.content);
    let proved = blocks.filter(|block| {
        matches!(block, Block::Thinking(thinking) if thinking.signature.is_some() || thinking.redacted.is_some())
    });
    let written = proved.filter_map(|block| serde_json::to_string(block).ok());
    written
        .flat_map(|block| text.match_indices(&block).map(|(at, _)| at..at + block.len()).collect::<Vec<_>>())
        .collect()
}

/// A listener to an answer that hears no keys, also where one comes in pieces.
pub(super) struct ScrubbingWatcher<W: Watch> {
    watch: W,
    own: Option<Arc<OwnSecrets>>,
    /// The end of each block that may begin a key.
    pieces: BTreeMap<(usize, u8), Pieces>,
}

impl<W: Watch> ScrubbingWatcher<W> {
    pub(super) fn new(watch: W) -> Self {
        Self { watch, own: keys(), pieces: BTreeMap::new() }
    }

    /// Gives out the texts that were held back since they may begin a key, of all blocks but one (`but`).
    fn rest(&mut self, own: &OwnSecrets, but: Option<(usize, u8)>, out: &mut Vec<Delta>) {
        for (place, pieces) in &mut self.pieces {
            if Some(*place) != but {
                let text = pieces.end(own);
                if !text.is_empty() {
                    out.push(delta_of(*place, text));
                }
            }
        }
        self.pieces.retain(|place, _| Some(*place) == but);
    }
}

/// The block of a piece, and which kind of text it has.
fn text_of(delta: &mut Delta) -> Option<((usize, u8), &mut String)> {
    match delta {
        Delta::Text { block, text } => Some(((*block, 0), text)),
        Delta::Reasoning { block, text } => Some(((*block, 1), text)),
        Delta::Arguments { block, text } => Some(((*block, 2), text)),
        _ => None,
    }
}

fn delta_of((block, kind): (usize, u8), text: String) -> Delta {
    match kind {
        0 => Delta::Text { block, text },
        1 => Delta::Reasoning { block, text },
        _ => Delta::Arguments { block, text },
    }
}

impl<W: Watch> Watch for ScrubbingWatcher<W> {
    fn deltas(&mut self, deltas: Vec<Delta>) {
        let Some(own) = self.own.clone() else { return self.watch.deltas(deltas) };
        let mut out = Vec::with_capacity(deltas.len());
        for mut delta in deltas {
            let Some((place, text)) = text_of(&mut delta) else {
                self.rest(&own, None, &mut out);
                out.push(delta);
                continue;
            };
            self.rest(&own, Some(place), &mut out);
            let text = self.pieces.entry(place).or_default().push(&own, text);
            if !text.is_empty() {
                out.push(delta_of(place, text));
            }
        }
        if !out.is_empty() {
            self.watch.deltas(out);
        }
    }

    fn used(&mut self, usage: Usage) {
        self.watch.used(usage);
    }

    fn held(&mut self, held: Held) {
        self.watch.held(held);
    }
}

impl<W: Watch> Drop for ScrubbingWatcher<W> {
    fn drop(&mut self) {
        let Some(own) = self.own.take() else { return };
        let mut out = Vec::new();
        self.rest(&own, None, &mut out);
        if !out.is_empty() {
            self.watch.deltas(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_base::{
        error::{Failure, FailureKind},
        json::{Fields, Raw},
        message::{Role, Thinking, Wire},
    };

    const KEY: &str = "sk-own-0a1b2c3d4e5f6a7b8c9d";

    fn known() {
        keep(vec![Secret::new(KEY)]);
    }

    fn generated(content: Vec<Block>) -> EventKind {
        let message = Message::new(Role::Assistant, content);
        let response = Response {
            id: String::new(),
            model: String::new(),
            message,
            stop: StopReason::EndTurn,
            usage: Usage::default(),
            extra: None,
            adapted: Vec::new(),
        };
        EventKind::Generated { id: 1, response: Box::new(response) }
    }

    /// A key is found at each place of an answer and of a result that can hold a text.
    #[test]
    fn no_text_of_an_event_hides_a_key() {
        known();
        let said = format!("it is {KEY}.");
        let fields = |name: &str, value: &str| {
            let fields = Fields::from_iter([(name.to_owned(), Raw::of(value))]);
            Extra::of(Wire::OpenaiChat, fields)
        };
        let text = |text: &str| Block::Text(Text { text: text.to_owned(), extra: None });
        let call = ToolUse::from_text("c", "look", "{}".to_owned());
        let mut events = vec![generated(vec![text("a"), text(&said)])];
        for changed in [
            ToolUse { id: said.clone(), ..call.clone() },
            ToolUse { name: said.clone(), ..call.clone() },
            ToolUse { input: Raw::of(&serde_json::json!({"deep": [{"a": said}]})), ..call.clone() },
            ToolUse { invalid: Some(said.clone()), ..call.clone() },
            ToolUse { extra: fields("a", &said), ..call.clone() },
            ToolUse { extra: fields(&said, "a"), ..call },
        ] {
            events.push(generated(vec![text("a"), Block::ToolUse(changed)]));
        }
        let of_response: [fn(&mut Response, &str); 6] = [
            |response, said| said.clone_into(&mut response.id),
            |response, said| said.clone_into(&mut response.model),
            |response, said| response.stop = StopReason::Other(said.to_owned()),
            |response, said| response.adapted = vec![said.to_owned()],
            |response, said| response.message.host = Some(said.into()),
            |response, said| {
                response.message.extra =
                    Extra::of(Wire::Anthropic, Fields::from_iter([("a".to_owned(), Raw::of(said))]));
            },
        ];
        for change in of_response {
            let EventKind::Generated { id, mut response } = generated(vec![text("a")]) else { continue };
            change(&mut response, &said);
            events.push(EventKind::Generated { id, response });
        }
        let result = ToolResult::text("c", "look", "fine".to_owned());
        for changed in [
            ToolResult { id: said.clone(), ..result.clone() },
            ToolResult { name: said.clone(), ..result.clone() },
            ToolResult { content: vec![text(&said)], ..result.clone() },
            ToolResult { extra: fields("a", &said), ..result.clone() },
        ] {
            events.push(EventKind::Executed { id: 2, result: changed });
        }
        let own = keys().unwrap();
        for event in events {
            assert!(!is_known_clean(&own, &event), "{event:?}");
            let clean = serde_json::to_string(&scrub_event(event)).unwrap();
            assert!(!clean.contains(KEY) && clean.contains("***"), "{clean}");
        }
        assert!(is_known_clean(&own, &EventKind::Executed { id: 2, result }));
        assert!(is_known_clean(&own, &generated(vec![text("a")])));
    }

    #[test]
    fn event_with_a_key_is_the_same_event_without_it() {
        known();
        let text = |text: String| vec![Block::text(text)];
        assert_eq!(scrub_event(generated(text(format!("a {KEY} \"b\"")))), generated(text("a *** \"b\"".to_owned())));
        let failed = |message: String| EventKind::Failed {
            id: 1,
            failure: Failure::new(FailureKind::Auth, message),
            visible: false,
            partial: None,
        };
        assert_eq!(scrub_event(failed(format!("no {KEY}"))), failed("no ***".to_owned()));
        let plain = generated(text("nothing of it".to_owned()));
        assert_eq!(scrub_event(plain.clone()), plain);
    }

    #[test]
    fn signed_thoughts_keep_their_words() {
        known();
        let thought = |signature: Option<&str>| {
            let (text, signature) = (format!("it is {KEY}"), signature.map(str::to_owned));
            Block::Thinking(Thinking { text, signature, redacted: None, extra: None })
        };
        let event = generated(vec![thought(Some("proof")), Block::text(format!("it is {KEY}")), thought(None)]);
        let EventKind::Generated { response, .. } = scrub_event(event) else { panic!("another event") };
        let content = &response.message.content;
        assert_eq!(content[0], thought(Some("proof")));
        assert_eq!(content[1], Block::text("it is ***"));
        assert!(matches!(&content[2], Block::Thinking(thinking) if thinking.text == "it is ***"));
    }

    #[test]
    fn listener_hears_no_key_in_pieces_of_any_size() {
        known();
        for size in 1..30 {
            let mut heard = Vec::new();
            let mut watch = ScrubbingWatcher::new(|deltas: Vec<Delta>| heard.extend(deltas));
            for (block, text) in
                [(0, format!("so: {KEY}, and sk-own")), (1, format!("{KEY}{KEY}")), (2, KEY[..9].into())]
            {
                let characters: Vec<char> = text.chars().collect();
                for piece in characters.chunks(size) {
                    watch.deltas(vec![Delta::Text { block, text: piece.iter().collect() }]);
                }
            }
            drop(watch);
            let told = |wanted: usize| -> String {
                let texts = heard.iter().filter_map(|delta| match delta {
                    Delta::Text { block, text } if *block == wanted => Some(text.as_str()),
                    _ => None,
                });
                texts.collect()
            };
            assert!(!told(0).contains(&KEY[..12]) && told(0).starts_with("so: ") && told(0).ends_with(", and sk-own"));
            assert!(!told(1).contains(&KEY[..12]) && told(1).contains("***"), "{size}: {}", told(1));
            assert_eq!(told(2), &KEY[..9]);
        }
    }

    #[test]
    fn oldest_keys_go_first() {
        known();
        keep((0..MOST).map(|at| Secret::new(format!("sk-rotated-{at:020}"))).collect());
        assert_eq!(scrub(KEY), KEY);
        assert_eq!(scrub("now sk-rotated-00000000000000000001"), "now ***");
    }
}
