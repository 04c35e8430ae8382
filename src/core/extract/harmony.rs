//! gpt-oss's messages: a header of roles, channels and recipients, then content. [`Header`] says whose a message's content is,
//! however the header was garbled; [`Harmony`] reads a message to a tool.
//!
//! The scanner reads a [`Header`] where `<|start|>` or `<|channel|>` stands and no longer marker of the table decides. `Text` and
//! `Reasoning` own no more than the header: the content is prose or reasoning up to its closer. For `Call` a [`Harmony`] gets the
//! whole message, header included. It takes a header's tail too, what stands behind `<|channel|>commentary`, say.

use memchr::memchr;

use super::{
    arguments::{Arguments, Leave, Verdict},
    body::{Body, Sink, Step},
    escape::escape,
    signature::{Kind, Signature},
};

const START: &[u8] = b"<|start|>";
const CHANNEL: &[u8] = b"<|channel|>";
const CONSTRAIN: &[u8] = b"<|constrain|>";
const MESSAGE: &[u8] = b"<|message|>";
/// What ends a message.
const ENDS: [&str; 4] = ["<|call|>", "<|end|>", "<|return|>", "<|start|>"];
/// No header is longer, nor one of its words.
const LONGEST: usize = 512;
const LONGEST_WORD: usize = 128;
/// How much JSON is gathered before it is handed on.
const BATCH: usize = 32 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channel {
    Analysis,
    Visible,
    /// A word that names none: only a recipient makes a message of it.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Anything,
    Role,
    Channel,
    Recipient,
}

/// What a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Head {
    More,
    /// Visible text begins behind so many bytes.
    Text(usize),
    /// Reasoning begins behind so many bytes.
    Reasoning(usize),
    /// A call: where its tool's name stands, and where the content begins.
    Call {
        name: (usize, usize),
        content: usize,
    },
    /// A call whose header the text's end cut off.
    Cut {
        name: (usize, usize),
    },
    /// No header.
    No,
}

/// A header being read; it remembers how much it has seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    at: usize,
    /// How much of the word at hand was seen.
    word: usize,
    next: Next,
    channel: Option<Channel>,
    recipient: Option<(usize, usize)>,
    /// Whether a role or a channel was named.
    known: bool,
}

impl Default for Header {
    fn default() -> Self {
        Self { at: 0, word: 0, next: Next::Anything, channel: None, recipient: None, known: false }
    }
}

/// Whether `input` begins with `marker`; `None` if it still may.
fn begins(input: &[u8], marker: &[u8], last: bool) -> Option<bool> {
    if input.starts_with(marker) {
        Some(true)
    } else if !last && marker.starts_with(input) {
        None
    } else {
        Some(false)
    }
}

/// Whether `input` begins with what ends a message; `None` if it still may.
fn ended(input: &[u8], last: bool) -> Option<bool> {
    let mut open = false;
    for marker in ENDS {
        match begins(input, marker.as_bytes(), last) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => open = true,
        }
    }
    if open { None } else { Some(false) }
}

impl Header {
    /// Looks at what it hasn't seen of `input`, whose front is where it was before.
    pub(super) fn read(&mut self, input: &[u8], last: bool) -> Head {
        loop {
            if self.at > LONGEST {
                return Head::No;
            }
            let rest = input.get(self.at..).unwrap_or_default();
            let Some(&byte) = rest.first() else {
                return if last { self.cut(self.at) } else { Head::More };
            };
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                b'<' => {
                    let mut open = false;
                    let mut found = None;
                    let markers = [START, CHANNEL, CONSTRAIN, MESSAGE].into_iter();
                    for marker in markers.chain(ENDS.iter().take(3).map(|end| end.as_bytes())) {
                        match begins(rest, marker, false) {
                            Some(true) => found = Some(marker),
                            Some(false) => {}
                            None => open = true,
                        }
                    }
                    let Some(marker) = found else {
                        return match (open, last) {
                            (false, _) => Head::No,
                            (true, false) => Head::More,
                            (true, true) => self.cut(input.len()),
                        };
                    };
                    match marker {
                        START => self.next = Next::Role,
                        CHANNEL => self.next = Next::Channel,
                        CONSTRAIN => self.next = Next::Anything,
                        MESSAGE => return self.end(self.at + marker.len()),
                        _ => return self.end(self.at),
                    }
                    self.at += marker.len();
                }
                // The content, without its marker.
                b'{' if self.recipient.is_some() => return self.end(self.at),
                _ => {
                    let on = rest.get(self.word..=LONGEST_WORD.min(rest.len() - 1)).unwrap_or_default();
                    let length = self.word + on.iter().take_while(|byte| in_word(**byte)).count();
                    self.word = length;
                    if length == 0 || length > LONGEST_WORD {
                        return Head::No;
                    }
                    if length == rest.len() {
                        return if last { self.cut(self.at + length) } else { Head::More };
                    }
                    if !self.word(rest.get(..length).unwrap_or_default()) {
                        return Head::No;
                    }
                    self.at += length;
                    self.word = 0;
                }
            }
        }
    }

    /// How many bytes it looked at.
    pub(super) const fn seen(&self) -> usize {
        self.at + self.word
    }

    /// Takes one word; `false` if it can't stand here.
    fn word(&mut self, word: &[u8]) -> bool {
        let next = std::mem::replace(&mut self.next, Next::Anything);
        let (from, to) = (self.at, self.at + word.len());
        if let Some(name) = word.strip_prefix(b"to=") {
            if name.is_empty() {
                self.next = Next::Recipient;
            } else {
                self.recipient = Some((from + 3, to));
            }
            return true;
        }
        let channel =
            [(&b"analysis"[..], Channel::Analysis), (b"commentary", Channel::Visible), (b"final", Channel::Visible)]
                .into_iter()
                .find(|(name, _)| word.starts_with(name))
                .map(|(_, channel)| channel);
        match next {
            Next::Role => {
                self.known = true;
                return word == b"assistant";
            }
            Next::Recipient => self.recipient = Some((from, to)),
            Next::Channel => {
                self.known = true;
                self.channel = channel.or(Some(Channel::Unknown));
            }
            // A channel without its marker, or a type of content, with or without its own.
            Next::Anything => self.channel = self.channel.or(channel),
        }
        true
    }

    /// The header ended: the content begins at `content`.
    fn end(&self, content: usize) -> Head {
        match (self.recipient, self.channel) {
            (Some(name), _) => Head::Call { name, content },
            (None, Some(Channel::Analysis)) => Head::Reasoning(content),
            (None, Some(Channel::Visible)) => Head::Text(content),
            (None, None) if self.known => Head::Text(content),
            (None, None | Some(Channel::Unknown)) => Head::No,
        }
    }

    /// The text ended in the header.
    fn cut(&self, at: usize) -> Head {
        match self.recipient {
            Some(name) => Head::Cut { name },
            None if self.known && self.channel != Some(Channel::Unknown) => Head::Text(at),
            None => Head::No,
        }
    }
}

fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'_' | b'.' | b'-' | b'/' | b':' | b'=' | b'+')
}

#[derive(Debug, Clone)]
enum State {
    Header(Header),
    /// Behind a header that names a tool; how much white space was seen.
    Addressed {
        name: (usize, usize),
        content: usize,
        spaces: usize,
    },
    /// Before the first byte of the content.
    Content,
    Json(Box<Arguments>),
    /// Text that is no JSON, for the one parameter there is.
    Raw,
    Ended,
}

/// A message to a tool.
#[derive(Debug, Clone)]
pub(super) struct Harmony {
    state: State,
    /// The parameter that gets what is no JSON.
    only: Option<String>,
    /// Whether that is as the tool's own protocol has it.
    native: bool,
    /// Bytes read but not spoken for.
    seen: usize,
    out: String,
    failure: Option<&'static str>,
}

impl Harmony {
    /// Reads one message, from its first marker or from anywhere in its header.
    pub(super) fn new() -> Self {
        Self {
            state: State::Header(Header::default()),
            only: None,
            native: false,
            seen: 0,
            out: String::new(),
            failure: None,
        }
    }

    fn end(&mut self, failure: Option<&'static str>) -> Step {
        self.state = State::Ended;
        self.failure = failure;
        failure.map_or(Step::Done, Step::Failed)
    }

    /// Says the call's name; gives where it ends.
    fn start(&mut self, input: &[u8], name: (usize, usize), sink: &mut dyn Sink) -> usize {
        let word = input.get(name.0..name.1).unwrap_or_default();
        let before = if word.starts_with(b"functions.") && word.len() > 10 { 10 } else { 0 };
        let text = String::from_utf8_lossy(word.get(before..).unwrap_or_default()).into_owned();
        if name.0 > 0 {
            sink.markup(name.0);
        }
        let signature = sink.start(&text, None, name.1 - name.0);
        self.native = before == 0 && text == "python";
        self.only = only(signature).or_else(|| self.native.then(|| "code".to_owned()));
        name.1
    }

    /// Text up to what ends the message.
    fn raw(&mut self, input: &[u8], last: bool) -> (usize, bool) {
        let mut end = 0;
        while let Some(next) = memchr(b'<', input.get(end..).unwrap_or_default()) {
            end += next;
            let rest = input.get(end..).unwrap_or_default();
            let ends = ended(rest, last);
            if ends != Some(false) {
                let taken = escape(input.get(..end).unwrap_or_default(), true, &mut self.out);
                return (taken, ends == Some(true));
            }
            end += 1;
        }
        (escape(input, last, &mut self.out), false)
    }
}

/// The one parameter of a signature, if it may be text.
fn only(signature: Option<&Signature>) -> Option<String> {
    let mut parameters = signature?.parameters.iter();
    let (name, kind) = parameters.next()?;
    let text = match kind {
        Kind::String | Kind::Any => true,
        Kind::OneOf(kinds) => kinds.contains(&Kind::String),
        _ => false,
    };
    (text && parameters.next().is_none()).then(|| name.clone())
}

impl Body for Harmony {
    fn hurry(&mut self) {
        if let State::Json(arguments) = &mut self.state {
            arguments.hurry();
        }
    }

    fn step(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Step {
        // What has been spoken for.
        let mut said = 0;
        loop {
            let rest = input.get(said..).unwrap_or_default();
            match &mut self.state {
                State::Ended => return self.end(self.failure),
                State::Header(header) => match header.read(rest, last) {
                    Head::More => return Step::More,
                    Head::Call { name, content } => self.state = State::Addressed { name, content, spaces: 0 },
                    Head::Cut { name } => {
                        let named = self.start(rest, name, sink);
                        sink.finish(rest.len() - named, false);
                        return self.end(None);
                    }
                    Head::Text(_) | Head::Reasoning(_) | Head::No => return self.end(Some("no message to a tool")),
                },
                State::Addressed { name, content, spaces } => {
                    let inside = rest.get(*content + *spaces..).unwrap_or_default();
                    *spaces += inside.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                    let (name, content, spaces) = (*name, *content, *spaces);
                    let inside = rest.get(content + spaces..).unwrap_or_default();
                    match inside.first() {
                        None if !last && spaces <= LONGEST => return Step::More,
                        Some(b'<') => match ended(inside, last) {
                            None => return Step::More,
                            Some(true) => {}
                            Some(false) => {
                                // Markup of some other dialect, which is read by itself.
                                sink.markup(content);
                                return self.end(None);
                            }
                        },
                        _ => {}
                    }
                    let named = self.start(rest, name, sink);
                    if content > named {
                        sink.markup(content - named);
                    }
                    said += content;
                    self.state = State::Content;
                }
                State::Content => {
                    let spaces = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                    if spaces > 0 {
                        sink.markup(spaces);
                        said += spaces;
                        continue;
                    }
                    let Some(&byte) = rest.first() else {
                        if last {
                            sink.finish(0, false);
                            return self.end(None);
                        }
                        return Step::More;
                    };
                    if byte == b'<' && ended(rest, true) == Some(true) {
                        sink.arguments("{}", 0);
                        sink.finish(0, true);
                        return self.end(None);
                    }
                    match &self.only {
                        Some(name) if byte != b'{' && (self.native || sink.repairs()) => {
                            if !self.native {
                                sink.repaired("named the one argument");
                            }
                            self.out.push_str("{\"");
                            escape(name.as_bytes(), true, &mut self.out);
                            self.out.push_str("\":\"");
                            self.state = State::Raw;
                        }
                        _ => self.state = State::Json(Box::new(Arguments::new(sink.max_depth(), &ENDS))),
                    }
                    self.seen = 0;
                }
                State::Raw => {
                    let piece = rest.get(..rest.len().min(BATCH)).unwrap_or_default();
                    let whole = piece.len() == rest.len();
                    let (taken, found) = self.raw(piece, last && whole);
                    if found {
                        self.out.push_str("\"}");
                    }
                    if taken > 0 || !self.out.is_empty() {
                        sink.arguments(&self.out, taken);
                        self.out.clear();
                    }
                    said += taken;
                    if found {
                        sink.finish(0, true);
                        return self.end(None);
                    }
                    if whole && last {
                        sink.finish(0, false);
                        return self.end(None);
                    }
                    if whole {
                        return Step::More;
                    }
                }
                State::Json(arguments) => {
                    let leave = Leave { room: sink.room(), repairs: sink.repairs() };
                    let from = said + self.seen;
                    let (bytes, verdict) =
                        arguments.step(input.get(from..).unwrap_or_default(), last, leave, &mut |json, upto| {
                            sink.arguments(json, from + upto - said);
                            said = from + upto;
                        });
                    sink.looked(arguments.looks());
                    arguments.tell(leave.repairs, |how| sink.repaired(how));
                    let at = from + bytes;
                    self.seen = at - said;
                    match verdict {
                        Verdict::Failed(why) => {
                            if at > said {
                                sink.arguments("", at - said);
                            }
                            return self.end(Some(why));
                        }
                        Verdict::Done => {
                            sink.finish(at - said, true);
                            return self.end(None);
                        }
                        Verdict::More if last => {
                            sink.finish(input.len() - said, false);
                            return self.end(None);
                        }
                        Verdict::More => return Step::More,
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{
        super::{
            recorder::{Fed, Recorder, everywhere, feed},
            signature::Signatures,
        },
        *,
    };

    fn signatures() -> Signatures {
        let mut signatures = Signatures::default();
        let parameters = [("cmd".to_owned(), Kind::String)];
        signatures.insert("shell", Signature { parameters: parameters.into_iter().collect(), ..Signature::default() });
        signatures
    }

    fn read(text: &str) -> Fed {
        everywhere(&|| Box::new(Harmony::new()), &|| Recorder::new(signatures()), text.as_bytes())
    }

    /// What a header says, which must not depend on how it comes.
    fn head(text: &str) -> Head {
        let whole = Header::default().read(text.as_bytes(), true);
        for cut in 0..=text.len() {
            let mut header = Header::default();
            let mut head = header.read(&text.as_bytes()[..cut], false);
            if head == Head::More {
                head = header.read(text.as_bytes(), true);
            }
            assert_eq!(head, whole, "cut at {cut}: {text}");
        }
        let mut header = Header::default();
        let bytewise = (0..=text.len()).map(|cut| header.read(&text.as_bytes()[..cut], cut == text.len()));
        assert_eq!(bytewise.into_iter().find(|head| *head != Head::More), Some(whole.clone()), "{text}");
        whole
    }

    #[test]
    fn headers_say_whose_the_content_is() {
        for text in [
            "<|channel|>final<|message|>",
            "<|start|>assistant<|channel|>final<|message|>",
            "<|start|>assistant<|channel|>commentary<|message|>",
            "<|start|>assistant<|message|>",
            "<|channel|>final <|constrain|>json<|message|>",
            "<|channel|>final json<|message|>",
            "<|channel|>commentary <|constrain|>json<|message|>",
            "<|start|>assistant<|start|>assistant<|channel|>final<|message|>",
            "<|channel|>analysis<|channel|>final<|message|>",
            "<|channel|>commentary\u{2013}\u{2013}commentary<|message|>",
        ] {
            assert_eq!(head(text), Head::Text(text.len()), "{text}");
        }
        for text in ["<|channel|>analysis<|message|>", "<|start|>assistant<|channel|>analysis code<|message|>"] {
            assert_eq!(head(text), Head::Reasoning(text.len()), "{text}");
        }
        assert_eq!(head("<|channel|>final<|end|>"), Head::Text(16));
        assert_eq!(head("<|start|>assistant<|chan"), Head::Text(24));
        assert_eq!(head("<|start|>assistant<|channel|>"), Head::Text(29));
        for text in [
            "",
            "<|channel|> marks a channel",
            "<|start|>user<|message|>",
            "<|start|>functions.f to=assistant<|channel|>commentary<|message|>",
            "<|channel|>nonsense<|message|>",
            "<|message|>",
            "<|channel|>{",
        ] {
            assert_eq!(head(text), Head::No, "{text}");
        }
        assert_eq!(head(&format!("<|channel|>final{}<|message|>", " x".repeat(300))), Head::No);
        assert_eq!(head(&format!("<|channel|>final{}<|message|>", "x".repeat(300))), Head::No);
    }

    #[test]
    fn calls_wherever_the_recipient_stands() {
        for header in [
            "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>",
            "<|start|>assistant to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>",
            "<|channel|>commentary to=functions.get_weather<|message|>",
            " to=functions.get_weather <|constrain|>json<|message|>",
            "to=get_weather<|channel|>commentary json<|message|>",
            "<|channel|>analysis to=functions.get_weather code<|message|>",
            "<|channel|>commentary to= functions.get_weather json",
            "<|channel|>commentary to=functions.get_weather json ",
            "<|channel|>commentary to=functions.get_weather<|channel|>commentary<|constrain|><|constrain|>json<|message|>\n",
            "<|channel|>commentary\nto=functions.get_weather",
            "<|channel|>tool to=functions.get_weather<|message|>",
        ] {
            let text = format!("{header}{{\"city\": \"<|call|> \\\"x\\\"\", \"n\": [1]}}<|call|>");
            let fed = read(&text);
            assert_eq!((fed.step, fed.told.bytes), (Step::Done, text.len() - 8), "{text}");
            let call = &fed.told.calls[0];
            assert_eq!((call.name.as_str(), call.complete), ("get_weather", Some(true)), "{text}");
            assert_eq!(call.value(), json!({"city": "<|call|> \"x\"", "n": [1]}), "{text}");
            assert!(call.repaired.is_empty());
        }
    }

    #[test]
    fn content_that_is_no_object() {
        let fed = read("<|channel|>commentary to=functions.now<|message|><|call|>");
        assert_eq!((fed.step, fed.told.calls[0].value()), (Step::Done, json!({})));
        let fed = read("<|channel|>analysis to=python code<|message|>if 1 < 2:\n    print(\"\\n<|x\")\n<|call|>");
        assert_eq!(fed.told.calls[0].value(), json!({"code": "if 1 < 2:\n    print(\"\\n<|x\")\n"}));
        assert!(fed.told.calls[0].repaired.is_empty());
        let fed = read("<|channel|>commentary to=functions.shell<|message|>ls -la é<|end|>");
        assert_eq!(fed.told.calls[0].value(), json!({"cmd": "ls -la é"}));
        assert_eq!(fed.told.calls[0].repaired, ["named the one argument"]);
        let fed = read("<|channel|>commentary to=functions.f<|message|>[1]<|call|>");
        assert!(matches!(fed.step, Step::Failed(_)));
    }

    #[test]
    fn messages_to_nobody_are_given_back_and_cut_ones_end_incomplete() {
        for text in
            ["", "<|channel|>final<|message|>x", "<|channel|>analysis<|message|>x", "to be<|message|>", "commentary"]
        {
            let fed = read(text);
            assert!(matches!(fed.step, Step::Failed(_)), "{text}");
            assert_eq!((fed.told.bytes, fed.told.calls.len()), (0, 0), "{text}");
        }
        let fed = read("<|start|>assistant to=search<|message|>\n<atem:function_calls>");
        assert_eq!((fed.step, fed.told.markup, fed.told.calls.len()), (Step::Done, 39, 0));
        for text in [
            "<|channel|>commentary to=functions.f <|constr",
            "<|channel|>commentary to=functions.f <|message|>",
            "<|channel|>commentary to=functions.f <|message|>{\"a\": \"x",
            "<|channel|>commentary to=python <|message|>print(1)<|ca",
        ] {
            let fed = read(text);
            let complete = fed.told.calls.first().and_then(|call| call.complete);
            assert_eq!((fed.step, complete, fed.told.bytes), (Step::Done, Some(false), text.len()), "{text}");
        }
    }

    #[test]
    fn long_content_flows() {
        for (to, content) in [
            ("python", "print(1 < 2)\n".repeat(20_000)),
            ("functions.f", format!("{{\"a\": \"{}", "x".repeat(200_000))),
        ] {
            let text = format!("<|channel|>commentary to={to}<|message|>{content}");
            let fed = feed(&mut Harmony::new(), Recorder::new(signatures()), text.as_bytes().chunks(4));
            assert!(fed.held < 80 && fed.told.deltas > 20_000, "{} {}", fed.held, fed.told.deltas);
        }
    }

    proptest! {
        #[test]
        fn garbled_headers_are_never_errors(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "<|start|>", "assistant", "<|channel|>", "commentary", "analysis", " ", "to=", "functions.f", "<|constrain|>",
                "json", "<|message|>", "{\"a\":1}", "<|call|>", "<|end|>", "<|", "to=python", "x\u{e9}",
            ]), 0..12),
        ) {
            let text = pieces.concat();
            head(&text.replace('\u{e9}', ""));
            let fed = read(&text);
            for call in fed.told.calls.iter().filter(|call| call.complete == Some(true)) {
                prop_assert!(call.value().is_object());
            }
        }
    }
}
