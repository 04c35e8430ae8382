//! Calls written as elements of special tokens, whose attributes say the names and types: ` tool="N" index="1"<|sep|>`,
//! then `<|open|>argument key="K" type="string"<|sep|>V<|close|>argument<|sep|>` as often as there are parameters, or
//! one `<|open|>json type="object"<|sep|>{..}<|close|>json<|sep|>`. The `type` attribute decides what a value is,
//! unless that is declared a string; without one, what is declared does.

use super::{
    body::{Body, Sink, Step},
    dialect::{Dialect, Grammar, dialects},
    members::{FOLLOWED, Flow, Members, Next, OPEN_CALL, Typing},
    remains::{self, Remains},
    tags::{ODD, ODD_NAME, TWICE, find_attributes},
    until::{
        AROUND, Bound, CALL_END, CDATA, CDATA_END, CLOSER, Class, END, FURTHER, Found, Look, MAX_HEAD, Marks, NEXT,
        OPEN, OPENED_TWICE, Rule, Search, Seek, Seen, holds,
    },
};

const SEPARATOR: &str = "<|sep|>";
const OPENS: &str = "<|open|>";
/// Why a call is broken whose value ends with the beginning of a closer: it may be the value's own.
const CLOSED_TWICE: &str = "what closes a parameter began twice";
const CLOSE: &str = "<|close|>";
/// What opens a value, and what closes one.
pub(super) const ARGUMENT: &str = "<|open|>argument";
pub(super) const ARGUMENT_END: &str = "<|close|>argument<|sep|>";
/// What is wrong with an opening before whose end something else begins.
const TORN: &str = "an opening that a cut left without its end";
/// What is wrong with an opening that goes on and on.
const NO_END: &str = "an opening without an end";
/// What ends a value.
const RULE: Rule = Rule {
    first: b'<',
    ends: END | CALL_END | CLOSER | OPEN | FURTHER,
    newline: false,
    lines: 0,
    sure: false,
    alone: true,
    bare: false,
    head: SEPARATOR,
    opens: true,
    named: true,
};
/// What opens an object that holds all arguments, and what closes it.
const JSON: Class = CDATA;
const JSON_END: Class = CDATA_END;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In what says the call's name.
    Call,
    /// Between arguments.
    Between,
    /// In what says an argument's name and type.
    Argument,
    /// Before a value's first byte.
    Opened,
    Value,
    /// In what opens the object.
    Opening,
    Object,
    /// After the object.
    Closing,
    /// In what is left of a call that broke off.
    Remains,
    Over,
}

/// The grammar `Attributes` at work.
#[derive(Debug, Clone)]
pub(super) struct AttributesBody {
    marks: Marks,
    state: State,
    look: Look,
    seek: Seek,
    /// Up to here no other element begins in the opening at hand.
    clear: usize,
    remains: Remains,
    members: Members,
}

impl AttributesBody {
    pub(super) fn new() -> Self {
        let same = dialects().iter().filter(|dialect| dialect.grammar == Grammar::Attributes);
        let section = |dialect: &Dialect| dialect.section.unwrap_or_default();
        Self::within(same.flat_map(|dialect| {
            let calls = [(CALL_END, dialect.close), (NEXT, dialect.open)];
            let around = [(AROUND, section(dialect).0), (CLOSER, section(dialect).1)];
            calls.into_iter().chain(around).flat_map(|(class, texts)| texts.iter().map(move |text| (class, *text)))
        }))
    }

    fn within(around: impl Iterator<Item = (Class, &'static str)>) -> Self {
        let mut marks = Marks::default();
        marks.add(OPEN, Bound::Nothing, &[ARGUMENT]);
        marks.add(END, Bound::Nothing, &[ARGUMENT_END]);
        marks.add(END, Bound::Nothing, &[CLOSE, ARGUMENT_END]);
        marks.add(JSON, Bound::Nothing, &["<|open|>json"]);
        marks.add(JSON_END, Bound::Nothing, &["<|close|>json", SEPARATOR]);
        for (class, text) in around {
            marks.add(class, if class == NEXT { Bound::Space } else { Bound::Nothing }, &[text]);
        }
        Self {
            marks,
            state: State::Call,
            look: Look::default(),
            seek: Seek::default(),
            clear: 0,
            remains: Remains::default(),
            members: Members::new(),
        }
    }

    /// Whether `value` may stand between an argument's markers as it is, and is read back whole whatever is declared.
    pub(super) fn holds(&self, value: &str) -> bool {
        let ends = self.marks.first(END).zip(self.marks.first(CALL_END));
        !value.starts_with(SEPARATOR) && ends.is_some_and(|ends| holds(&self.marks, RULE, value, ends))
    }

    fn go(&mut self, state: State) {
        self.state = state;
        self.look = Look::default();
        self.seek = Seek::default();
        self.clear = 0;
    }

    fn stop(&mut self, step: Step) -> Next {
        self.state = State::Over;
        Next::Stop(step)
    }

    fn wait(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        if !last {
            return Next::Wait;
        }
        sink.finish(input.len(), false);
        self.state = State::Over;
        Next::Took(input.len())
    }

    /// The call breaks off here. What is left of it reaches to what closes it, or to the next one.
    fn broken(&mut self, why: &'static str, sink: &mut dyn Sink) -> Next {
        if sink.asks() {
            return self.stop(Step::Failed(why));
        }
        self.remains.begin(why, sink);
        self.state = State::Remains;
        Next::Took(0)
    }

    fn remains(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        let wanted = OPEN | JSON | END | JSON_END | CALL_END | CLOSER | FURTHER;
        loop {
            return match self.remains.search.step(&self.marks, wanted, RULE.first, input, last) {
                Found::More => Next::Wait,
                Found::Mark { class: END | JSON_END, .. } => {
                    self.remains.search.pass();
                    continue;
                }
                Found::Mark { class: class @ (OPEN | JSON), end, .. } => {
                    self.remains.read_on(sink);
                    sink.markup(end);
                    self.go(if class == OPEN { State::Argument } else { State::Opening });
                    Next::Took(end)
                }
                Found::Mark { start, .. } => {
                    self.remains.end(start, sink);
                    self.state = State::Over;
                    Next::Took(start)
                }
                Found::Nowhere => self.stop(Step::Failed(self.remains.endless())),
            };
        }
    }

    /// What stands before the next separator, and where that ends; `None` in it where there is none so far. Another
    /// call that begins before it, or what closes this one, shows that the opening was torn.
    fn head(&mut self, input: &[u8], last: bool) -> Result<Option<(String, usize)>, Step> {
        let found = self.seek.step(SEPARATOR, input);
        let inside = input.get(..found.unwrap_or(input.len()).min(MAX_HEAD)).unwrap_or_default();
        while let Some(at) = memchr::memchr(b'<', inside.get(self.clear..).unwrap_or_default()) {
            let at = self.clear + at;
            let mut look = Look::at(at);
            match look.step(&self.marks, NEXT | AROUND | END | CALL_END | CLOSER, input) {
                Seen::Mark { .. } if at > 0 || self.state != State::Call => {
                    self.clear = at;
                    return Err(Step::Failed(TORN));
                }
                Seen::Nothing | Seen::Part(_) if !last && found.is_none() => {
                    self.clear = at;
                    return Ok(None);
                }
                _ => {}
            }
            self.marks.touch(look.reached() - at);
            self.clear = at + 1;
        }
        self.clear = self.clear.max(inside.len());
        match found {
            Some(end) if end <= MAX_HEAD => {
                let text = String::from_utf8_lossy(input.get(..end).unwrap_or_default()).into_owned();
                Ok(Some((text, end + SEPARATOR.len())))
            }
            None if input.len() <= MAX_HEAD + SEPARATOR.len() => Ok(None),
            _ => Err(Step::Failed(NO_END)),
        }
    }

    /// The opening of an argument was torn: the call breaks off, and goes on where something else begins.
    fn torn(&mut self, sink: &mut dyn Sink) -> Next {
        let at = self.clear;
        let next = self.broken(TORN, sink);
        let Next::Took(_) = next else { return next };
        if self.remains.on {
            sink.markup(at);
            return Next::Took(at);
        }
        self.remains.search = Search::from(at);
        next
    }

    /// The opening of the call was torn. Its name may stand there all the same.
    fn torn_call(&mut self, input: &[u8], sink: &mut dyn Sink) -> Next {
        let at = self.clear;
        let head = String::from_utf8_lossy(input.get(..at).unwrap_or_default()).into_owned();
        sink.looked(at);
        let ([tool, name], _) = find_attributes(&head, ["tool", "name"]);
        let name = tool.or(name).map(plain).unwrap_or_default();
        if sink.asks() || name.is_empty() || name.contains(char::is_whitespace) {
            return self.stop(Step::Failed(TORN));
        }
        self.members.start(sink.start(&name, None, at).cloned());
        match self.broken(TORN, sink) {
            Next::Took(_) => Next::Took(at),
            next => next,
        }
    }

    fn next(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        match self.state {
            State::Call => match self.head(input, last) {
                Ok(None) if !last => Next::Wait,
                Ok(Some((head, end))) => {
                    sink.looked(head.len());
                    let ([tool, name], odd) = find_attributes(&head, ["tool", "name"]);
                    let odd = odd.or(tool.zip(name).filter(|(tool, name)| tool != name).map(|_| TWICE));
                    let name = tool.or(name).map(plain);
                    let Some(name) = name.filter(|name| !name.is_empty()) else {
                        return self.stop(Step::Failed("a call without a name"));
                    };
                    self.members.start(sink.start(&name, None, end).cloned());
                    if let Some(odd) = odd {
                        sink.repaired(odd);
                    }
                    if head.contains(OPENS) {
                        sink.spoiled(ODD_NAME);
                    }
                    self.go(State::Between);
                    Next::Took(end)
                }
                Ok(None) => self.stop(Step::Failed("no call where one was announced")),
                Err(Step::Failed(TORN)) => self.torn_call(input, sink),
                Err(step) => self.stop(step),
            },
            State::Between => self.between(input, last, sink),
            State::Argument => match self.head(input, last) {
                Ok(None) => self.wait(input, last, sink),
                Ok(Some((head, end))) => {
                    sink.looked(head.len());
                    let ([key, name, kind], odd) = find_attributes(&head, ["key", "name", "type"]);
                    let odd = odd.or(key.zip(name).filter(|(key, name)| key != name).map(|_| TWICE));

                    let Some(key) = key.or(name).map(plain) else {
                        let next = self.broken("an argument without a name", sink);
                        if let Next::Took(_) = next {
                            // What it is worth is no less its value.
                            self.remains.read_on(sink);
                            self.members.begin("", Typing::Declared, end, &mut self.remains.mute(sink));
                            self.go(State::Value);
                            return Next::Took(end);
                        }
                        return next;
                    };
                    let typing = match kind {
                        Some("string") => Typing::Text,
                        Some("number" | "integer" | "boolean" | "null" | "object" | "array") => Typing::Literal,
                        _ => Typing::Declared,
                    };
                    if let Some(odd) = odd.or(kind.filter(|_| typing == Typing::Declared).map(|_| ODD)) {
                        sink.repaired(odd);
                    }
                    if head.contains(OPENS) {
                        sink.spoiled(ODD_NAME);
                    }
                    self.members.begin(&key, typing, end, sink);
                    self.go(State::Opened);
                    Next::Took(end)
                }
                Err(Step::Failed(TORN)) => self.torn(sink),
                Err(_) => self.broken(NO_END, sink),
            },
            State::Opened => {
                let rest = input.get(..SEPARATOR.len()).unwrap_or(input);
                let more = SEPARATOR.as_bytes().starts_with(rest);
                if more && rest.len() < SEPARATOR.len() && !last {
                    return Next::Wait;
                }
                if more && rest.len() == SEPARATOR.len() {
                    sink.spoiled(OPENED_TWICE);
                    sink.arguments("", rest.len());
                    return Next::Took(rest.len());
                }
                self.state = State::Value;
                Next::Took(0)
            }
            State::Value => {
                let flow = self.members.advance(&self.marks, RULE, input, last, sink);
                if let Flow::Ended(end) = flow
                    && let Some(closed) = input.get(..end).and_then(|own| own.strip_suffix(SEPARATOR.as_bytes()))
                    && closed.strip_suffix(b"<|close|>argument").is_some_and(|own| own.ends_with(CLOSE.as_bytes()))
                {
                    sink.spoiled(CLOSED_TWICE);
                }
                if let Flow::Again(_) = flow {
                    self.state = State::Opened;
                }
                let (next, turn) = flow.turn(input.len());
                match turn {
                    Some(true) => self.go(State::Between),
                    Some(false) => self.state = State::Over,
                    None => {}
                }
                next
            }
            State::Opening => match self.head(input, last) {
                Ok(None) => self.wait(input, last, sink),
                Ok(Some((_, end))) => {
                    sink.arguments("", end);
                    self.go(State::Object);
                    Next::Took(end)
                }
                Err(Step::Failed(TORN)) => self.torn(sink),
                Err(_) => self.broken(NO_END, sink),
            },
            State::Object => match self.members.object(input, sink) {
                (bytes, Ok(true)) => {
                    self.go(State::Closing);
                    Next::Took(bytes)
                }
                (_, Ok(false)) if !last => Next::Wait,
                (_, Ok(false)) => self.wait(&[], last, sink),
                (bytes, Err(_)) => match self.broken("the arguments aren't JSON", sink) {
                    Next::Took(_) => Next::Took(bytes),
                    next => next,
                },
            },
            State::Closing => match self.look.step(&self.marks, JSON_END | CALL_END | CLOSER | FURTHER, input) {
                Seen::Mark { class: JSON_END, end, .. } => {
                    sink.arguments("", end);
                    self.go(State::Between);
                    Next::Took(end)
                }
                Seen::Mark { .. } => {
                    self.go(State::Between);
                    Next::Took(0)
                }
                Seen::Nothing | Seen::Part(_) => self.wait(input, last, sink),
                _ => self.broken("something follows the arguments' object", sink),
            },
            State::Remains => self.remains(input, last, sink),
            State::Over => Next::Stop(Step::Done),
        }
    }

    fn between(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        let wanted = match (self.members.is_open(), self.members.is_empty()) {
            (true, true) => OPEN | CALL_END | CLOSER | FURTHER | JSON,
            (true, false) => OPEN | CALL_END | CLOSER | FURTHER,
            (false, _) => CALL_END | CLOSER | FURTHER,
        };
        match self.look.step(&self.marks, wanted, input) {
            Seen::Mark { class: class @ (CALL_END | CLOSER | NEXT | AROUND), start, .. } => {
                match class {
                    CLOSER => sink.repaired(OPEN_CALL),
                    NEXT | AROUND => sink.repaired(FOLLOWED),
                    _ => {}
                }
                self.members.close(start, 0, sink);
                self.state = State::Over;
                Next::Took(start)
            }
            Seen::Mark { class, end, .. } => {
                sink.arguments("", end);
                self.go(if class == OPEN { State::Argument } else { State::Opening });
                Next::Took(end)
            }
            Seen::Nothing | Seen::Part(_) => self.wait(input, last, sink),
            _ => self.broken("something other than an argument stands inside the call", sink),
        }
    }
}

impl Body for AttributesBody {
    fn step(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Step {
        let step = remains::run(self, |body| &mut body.remains, Self::next, (input, last), sink);
        sink.looked(self.marks.looked());
        step
    }

    fn straight<'a>(&mut self, input: &'a [u8]) -> &'a str {
        if self.state == State::Value && !self.remains.on { self.members.straight(RULE.first, input) } else { "" }
    }
}

/// An attribute's value without the two escapes that this dialect's attributes have.
fn plain(text: &str) -> String {
    text.replace("&quot;", "\"").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{
            signature::Kind,
            value::testing::{Told, declared, every_way},
        },
        *,
    };

    fn told(input: &str) -> Told {
        let closers = [(CALL_END, "<|close|>call<|sep|>"), (CLOSER, "<|close|>tools<|sep|>"), (NEXT, "<|open|>call")];
        let signatures = declared([("a", Kind::String), ("b", Kind::Integer)]);
        every_way(&|| Box::new(AttributesBody::within(closers.into_iter())), input.as_bytes(), &signatures)
    }

    fn argument(key: &str, kind: &str, value: &str) -> String {
        format!("<|open|>argument key=\"{key}\" type=\"{kind}\"<|sep|>{value}<|close|>argument<|sep|>")
    }

    const HEAD: &str = " tool=\"f\" index=\"1\"<|sep|>";
    const END: &str = "<|close|>call<|sep|>";

    fn arguments(inside: &str) -> String {
        let input = format!("{HEAD}{inside}{END}");
        let told = told(&input);
        assert_eq!((&told.step, &input[told.used..]), (&Step::Done, END));
        assert_eq!(told.calls[0].complete, Some(true));
        told.json().to_owned()
    }

    #[test]
    fn the_type_attribute_decides() {
        assert_eq!(arguments(&argument("b", "string", "12")), r#"{"b":"12"}"#);
        assert_eq!(arguments(&argument("c", "number", "1e400")), r#"{"c":1e400}"#);
        assert_eq!(arguments(&argument("c", "object", "{\"x\": [1]}")), r#"{"c":{"x": [1]}}"#);
        assert_eq!(arguments(&argument("c", "null", "null")), r#"{"c":null}"#);
        assert_eq!(arguments(&argument("a", "null", "null")), r#"{"a":"null"}"#);
        assert_eq!(arguments(&argument("a", "strange", "12")), r#"{"a":"12"}"#);
        assert_eq!(arguments(&argument("a&quot;&amp;quot;", "boolean", " True ")), r#"{"a\"&quot;":true}"#);
        assert_eq!(
            arguments(&(argument("a", "string", "") + "\n" + &argument("b", "number", "0"))),
            r#"{"a":"","b":0}"#
        );
        assert_eq!(arguments(""), "{}");
    }

    #[test]
    fn an_object_may_hold_them_all() {
        let json = "<|open|>json type=\"object\"<|sep|>{\"a\": \"<|close|>call<|sep|>\"}<|close|>json<|sep|>";
        assert_eq!(arguments(json), "{\"a\": \"<|close|>call<|sep|>\"}");
    }

    #[test]
    fn closers_inside_values_are_data() {
        let value = "; <|close|>call<|sep|> or <|close|>tools<|sep|> <|open|>argument <|close|>argument<|sep|>, ";
        assert_eq!(arguments(&argument("a", "string", value)), serde_json::json!({ "a": value }).to_string());
    }

    #[test]
    fn text_that_ends_early_keeps_a_true_beginning() {
        let input = format!("{HEAD}{}{}{END}", argument("a", "string", "x"), argument("b", "number", "12"));
        for end in 0..input.len() - END.len() {
            let told = told(&input[..end]);
            match told.calls.first() {
                None => assert!(matches!(told.step, Step::Failed(_))),
                Some(call) => {
                    assert_eq!(call.complete, Some(false));
                    assert!(r#"{"a":"x","b":12}"#.starts_with(&call.json), "{call:?}");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn any_split_says_the_same(pieces in prop::collection::vec(prop::sample::select(vec![
            "<|open|>argument", " key=\"a\"", " key=\"b\"", " type=\"number\"", " type=\"string\"", "<|sep|>", "<|close|>argument<|sep|>", "<|close|>call<|sep|>",
            "<|open|>json", "<|close|>json<|sep|>", "{", "}", "12", "é", "<|", "\"", " ",
        ]), 0..24), head in any::<bool>()) {
            told(&(if head { HEAD } else { "" }.to_owned() + &pieces.concat()));
        }
    }
}
