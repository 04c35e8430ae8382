//! Calls written as a name and pairs: `NAME`, then `<arg_key>K</arg_key><arg_value>V</arg_value>` as often as there are
//! parameters. Values escape nothing and are streamed; the region's closer ends the call. Read, whatever the dialect
//! writes: any white space between the pieces, one JSON object in place of the pairs, and a value without its closer.

use super::{
    body::{Body, Sink, Step},
    dialect::{Grammar, dialects},
    members::{EARLY, FOLLOWED, Members, Next, OPEN_CALL, Typing},
    remains::{self, Remains},
    until::{
        AROUND, Bound, CALL, CALL_END, CDATA, CLOSED_AGAIN, CLOSER, Class, END, FURTHER, Found, Look, MAX_HEAD, Marks,
        NAMED, OPEN, OPENED_TWICE, Rule, SURE, Search, Seen, UNNAMED, holds, is_space,
    },
};

/// What stands between the name and the first pair.
const SEPARATOR: Class = CALL;
/// The class of the marks by which other dialects part a key from its value.
const OTHER_SEPARATOR: Class = UNNAMED;
/// What is said of a key that ends where its value begins.
const OPEN_KEY: &str = "a key without its closing element";
/// What closes a key.
const KEY_END: Class = SURE;
/// What opens a value.
const VALUE: Class = CDATA;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the name and in it.
    Name,
    /// After the name; what follows tells whether there is a call at all.
    AfterName,
    /// Between pairs.
    Between,
    /// At the closer of a call that has none.
    Early,
    Key,
    /// Between a key and its value.
    Middle,
    /// Before a value's first byte.
    Opened,
    Value,
    /// In an object that holds all arguments.
    Object,
    /// In what is left of a call that broke off.
    Remains,
    Over,
}

/// The grammar `Pairs` at work.
#[derive(Debug, Clone)]
pub(super) struct PairsBody {
    key_end: &'static str,
    first: u8,
    marks: Marks,
    state: State,
    look: Look,
    search: Search,
    /// Where the name or key that is being read begins, and where it ends.
    start: usize,
    end: usize,
    separated: bool,
    key: String,
    remains: Remains,
    members: Members,
}

impl PairsBody {
    pub(super) fn new(
        after_name: &'static str,
        key: (&'static str, &'static str),
        value: (&'static str, &'static str),
        gap: &'static str,
    ) -> Self {
        let grammar = Grammar::Pairs { after_name, key, value, gap };
        let same = || dialects().iter().filter(|dialect| dialect.grammar == grammar);
        let mut body = Self::within(after_name, key, value, same().flat_map(|dialect| dialect.close).copied());
        for dialect in same() {
            for closer in dialect.section.map_or(&[][..], |section| section.1) {
                body.marks.add(CLOSER, Bound::Nothing, &[closer]);
            }
            body.openers(dialect.open, dialect.section.map_or(&[], |section| section.0));
        }
        body
    }

    fn within(
        after_name: &'static str,
        key: (&'static str, &'static str),
        value: (&'static str, &'static str),
        closers: impl Iterator<Item = &'static str>,
    ) -> Self {
        let mut marks = Marks::default();
        marks.add(OPEN, Bound::Nothing, &[key.0]);
        marks.add(KEY_END, Bound::Nothing, &[key.1]);
        marks.add(VALUE, Bound::Nothing, &[value.0]);
        marks.add(END, Bound::Nothing, &[value.1]);
        marks.add(SEPARATOR, Bound::Nothing, &[after_name.trim()]);
        // A value may quote a call of a dialect that writes another one.
        for dialect in dialects() {
            if let Grammar::Pairs { after_name: other, .. } = dialect.grammar {
                marks.add(OTHER_SEPARATOR, Bound::Nothing, &[other.trim()]);
            }
        }
        for closer in closers {
            marks.add(CALL_END, Bound::Nothing, &[closer]);
        }
        Self {
            key_end: key.1,
            first: value.1.bytes().next().unwrap_or_default(),
            marks,
            state: State::Name,
            look: Look::default(),
            search: Search::default(),
            start: 0,
            end: 0,
            separated: false,
            key: String::new(),
            remains: Remains::default(),
            members: Members::new(),
        }
    }

    /// What opens another call, and what stands around calls.
    fn openers(&mut self, calls: &[&str], around: &[&str]) {
        for open in calls {
            self.marks.add(NAMED, Bound::Nothing, &[open]);
        }
        for open in around {
            self.marks.add(AROUND, Bound::Nothing, &[open]);
        }
    }

    fn rule(&self) -> Rule {
        Rule {
            first: self.first,
            ends: END | CALL_END | CLOSER | OPEN | FURTHER,
            newline: false,
            lines: FURTHER,
            sure: false,
            alone: true,
            bare: false,
            head: self.key_end,
            opens: false,
            named: true,
        }
    }

    /// Whether `value` may stand between a pair's markers as it is, and is read back whole whatever is declared.
    pub(super) fn holds(&self, value: &str) -> bool {
        let ends = self.marks.first(END).zip(self.marks.first(CALL_END));
        if self.marks.first(VALUE).is_some_and(|open| value.trim_ascii_start().starts_with(open)) {
            return false;
        }
        ends.is_some_and(|ends| holds(&self.marks, self.rule(), value, ends))
    }

    fn go(&mut self, state: State) {
        self.state = state;
        self.look = Look::default();
    }

    fn next(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        match self.state {
            State::Name => self.name(input, last),
            State::AfterName => self.after_name(input, last, sink),
            State::Between => self.between(input, last, sink),
            State::Early => self.early(input, last, sink),
            State::Key => self.key(input, last, sink),
            State::Middle => self.middle(input, last, sink),
            State::Opened => self.opened(input, last, sink),
            State::Value => self.value(input, last, sink),
            State::Object => match self.members.object(input, sink) {
                (bytes, Ok(true)) => {
                    self.go(State::Between);
                    Next::Took(bytes)
                }
                (_, Ok(false)) if !last => Next::Wait,
                (_, Ok(false)) => self.wait(&[], last, sink),
                (bytes, Err(_)) => match self.broken("the arguments aren't JSON", sink) {
                    Next::Took(_) => Next::Took(bytes),
                    next => next,
                },
            },
            State::Remains => self.remains(input, last, sink),
            State::Over => Next::Stop(Step::Done),
        }
    }

    fn stop(&mut self, step: Step) -> Next {
        self.state = State::Over;
        Next::Stop(step)
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
        let wanted = OPEN | KEY_END | VALUE | END | CALL_END | CLOSER | FURTHER;
        loop {
            return match self.remains.search.step(&self.marks, wanted, self.first, input, last) {
                Found::More => Next::Wait,
                Found::Mark { class: KEY_END | END, .. } => {
                    self.remains.search.pass();
                    continue;
                }
                Found::Mark { class: OPEN, end, .. } => {
                    self.remains.read_on(sink);
                    sink.markup(end);
                    self.state = State::Key;
                    self.search = Search::default();
                    Next::Took(end)
                }
                Found::Mark { class: VALUE, end, .. } => {
                    self.remains.read_on(sink);
                    self.members.begin("", Typing::Declared, end, &mut self.remains.mute(sink));
                    self.state = State::Value;
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

    fn no_call(&mut self) -> Next {
        self.stop(Step::Failed("no call where one was announced"))
    }

    fn wait(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        if !last {
            return Next::Wait;
        }
        sink.finish(input.len(), false);
        self.state = State::Over;
        Next::Took(input.len())
    }

    fn name(&mut self, input: &[u8], last: bool) -> Next {
        // `start` is where the name begins, `end` how far was looked.
        while let Some(byte) = input.get(self.end) {
            if is_space(*byte) && self.start == self.end {
                self.start += 1;
            } else if is_space(*byte) || *byte == b'<' {
                break;
            }
            self.end += 1;
            if self.end > MAX_HEAD {
                return self.no_call();
            }
        }
        if self.end >= input.len() && !last {
            return Next::Wait;
        }
        if self.start == self.end {
            return self.no_call();
        }
        self.state = State::AfterName;
        self.look = Look::at(self.end);
        Next::Took(0)
    }

    fn after_name(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        let ends = OPEN | CALL_END | CLOSER;
        let wanted = if self.separated { ends } else { ends | SEPARATOR };
        match self.look.step(&self.marks, wanted, input) {
            Seen::Mark { class: SEPARATOR, end, .. } => {
                self.separated = true;
                self.look = Look::at(end);
                return Next::Took(0);
            }
            Seen::Mark { .. } => {}
            Seen::Other(at) if input.get(at) == Some(&b'{') => {}
            Seen::Nothing | Seen::Part(_) if !last => return Next::Wait,
            _ => return self.no_call(),
        }
        sink.markup(self.start);
        let name = String::from_utf8_lossy(input.get(self.start..self.end).unwrap_or_default());
        self.members.start(sink.start(&name, None, self.end - self.start).cloned());
        // What was seen there is looked at again, once.
        sink.looked(self.look.reached().saturating_sub(self.end));
        self.go(State::Between);
        Next::Took(self.end)
    }

    fn between(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        let empty = self.members.is_empty();
        let wanted = match (self.members.is_open(), empty) {
            (true, true) => OPEN | CALL_END | CLOSER | SEPARATOR,
            (true, false) => OPEN | CALL_END | CLOSER | FURTHER,
            (false, _) => CALL_END | CLOSER | FURTHER,
        };
        match self.look.step(&self.marks, wanted, input) {
            Seen::Mark { class: SEPARATOR, end, .. } => {
                sink.arguments("", end);
                self.go(State::Between);
                Next::Took(end)
            }
            Seen::Mark { class: OPEN, end, .. } => {
                sink.arguments("", end);
                self.state = State::Key;
                self.search = Search::default();
                Next::Took(end)
            }
            Seen::Mark { class: CALL_END, start, end } if empty => {
                (self.start, self.end) = (start, end);
                self.state = State::Early;
                self.look = Look::at(end);
                Next::Took(0)
            }
            Seen::Mark { class, start, .. } => {
                match class {
                    NAMED | AROUND => sink.repaired(FOLLOWED),
                    CLOSER => sink.repaired(OPEN_CALL),
                    _ => {}
                }
                self.members.close(start, 0, sink);
                self.state = State::Over;
                Next::Took(start)
            }
            Seen::Other(start) if empty && input.get(start) == Some(&b'{') => {
                sink.arguments("", start);
                self.go(State::Object);
                Next::Took(start)
            }
            Seen::Nothing | Seen::Part(_) => self.wait(input, last, sink),
            _ => self.broken("something other than a pair stands inside the call", sink),
        }
    }

    /// Pairs behind the closer of a call that has none are its own: it closed too early.
    fn early(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        let Some(own) = self.look.stands(&self.marks, OPEN, input, last) else { return Next::Wait };
        sink.looked(self.look.reached().saturating_sub(self.end));
        if own {
            sink.repaired(EARLY);
            sink.arguments("", self.end);
            self.go(State::Between);
            return Next::Took(self.end);
        }
        self.members.close(self.start, 0, sink);
        self.state = State::Over;
        Next::Took(self.start)
    }

    fn key(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        // No key holds markup of its own dialect. A value's opener ends one whose closer is missing; whatever else does
        // breaks the call.
        let wanted = KEY_END | VALUE | OPEN | END | CALL_END | CLOSER | FURTHER;
        match self.search.step(&self.marks, wanted, self.first, input, last) {
            Found::More => Next::Wait,
            Found::Mark { class: class @ (KEY_END | VALUE), start, end } if class == KEY_END || sink.repairs() => {
                self.key.clear();
                self.key.push_str(String::from_utf8_lossy(input.get(..start).unwrap_or_default()).trim());
                if class == KEY_END {
                    sink.arguments("", end);
                    self.go(State::Middle);
                } else {
                    sink.repaired(OPEN_KEY);
                    sink.arguments("", start);
                    self.members.begin(&self.key, Typing::Declared, end - start, sink);
                    self.state = State::Value;
                }
                Next::Took(end)
            }
            Found::Nowhere if input.len() < MAX_HEAD => self.wait(input, last, sink),
            _ => self.broken("a key without an end", sink),
        }
    }

    fn middle(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        match self.look.step(&self.marks, VALUE | KEY_END, input) {
            Seen::Mark { class: KEY_END, end, .. } => {
                sink.repaired(CLOSED_AGAIN);
                sink.arguments("", end);
                self.go(State::Middle);
                Next::Took(end)
            }
            Seen::Mark { end, .. } => {
                self.members.begin(&self.key, Typing::Declared, end, sink);
                self.go(State::Opened);
                Next::Took(end)
            }
            Seen::Nothing | Seen::Part(_) => self.wait(input, last, sink),
            _ => self.broken("a key without a value", sink),
        }
    }

    fn opened(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        match self.look.step(&self.marks, VALUE, input) {
            Seen::Mark { end, .. } => {
                sink.spoiled(OPENED_TWICE);
                sink.arguments("", end);
                self.go(State::Opened);
                Next::Took(end)
            }
            Seen::Nothing | Seen::Part(_) if !last => Next::Wait,
            _ => {
                sink.looked(self.look.reached());
                self.state = State::Value;
                Next::Took(0)
            }
        }
    }

    fn value(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Next {
        let (next, turn) = self.members.advance(&self.marks, self.rule(), input, last, sink).turn(input.len());
        match turn {
            Some(true) => self.go(State::Between),
            Some(false) => self.state = State::Over,
            None => {}
        }
        next
    }
}

impl Body for PairsBody {
    fn step(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Step {
        let step = remains::run(self, |body| &mut body.remains, Self::next, (input, last), sink);
        sink.looked(self.marks.looked());
        step
    }

    fn straight<'a>(&mut self, input: &'a [u8]) -> &'a str {
        if self.state == State::Value && !self.remains.on { self.members.straight(self.first, input) } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{
            signature::{Kind, Signatures},
            value::testing::{Recorder, Told, declared, drive, every_way},
        },
        *,
    };

    fn glm() -> PairsBody {
        PairsBody::within(
            "\n",
            ("<arg_key>", "</arg_key>"),
            ("<arg_value>", "</arg_value>"),
            ["</tool_call>"].into_iter(),
        )
    }

    fn hunyuan() -> PairsBody {
        PairsBody::within(
            "<tool_sep>",
            ("<arg_key>", "</arg_key>"),
            ("<arg_value>", "</arg_value>"),
            ["</tool_call>"].into_iter(),
        )
    }

    fn signatures() -> Signatures {
        declared([("a", Kind::String), ("b", Kind::Integer)])
    }

    fn told(input: &str) -> Told {
        every_way(&|| Box::new(glm()), input.as_bytes(), &signatures())
    }

    fn arguments(input: &str) -> String {
        let told = told(input);
        assert_eq!(told.step, Step::Done);
        assert_eq!(told.calls[0].complete, Some(true), "{told:?}");
        told.json().to_owned()
    }

    #[test]
    fn a_call_with_and_without_newlines() {
        let pair = |key: &str, value: &str, gap: &str| {
            format!("<arg_key>{key}</arg_key>{gap}<arg_value>{value}</arg_value>{gap}")
        };
        let input = format!("f\n{}{}</tool_call>", pair("a", "12\n", "\n"), pair("b", "12", "\n"));
        assert_eq!(arguments(&input), r#"{"a":"12\n","b":12}"#);
        let input = format!(" \nf{}{}</tool_call>", pair("a", "\"x\"", ""), pair(" c ", "null", ""));
        assert_eq!(arguments(&input), r#"{"a":"\"x\"","c":null}"#);
        assert_eq!(arguments("f</tool_call>"), "{}");
        assert_eq!(arguments("f\n</tool_call>"), "{}");
        assert_eq!(arguments("f\n{\"a\": \"</tool_call>\"}\n</tool_call>"), "{\"a\": \"</tool_call>\"}");
        let input = "f<tool_sep><arg_key>a</arg_key>\n<arg_value></arg_value></tool_call>";
        let told = every_way(&|| Box::new(hunyuan()), input.as_bytes(), &signatures());
        assert_eq!((told.json(), &input[told.used..]), ("{\"a\":\"\"}", "</tool_call>"));
    }

    #[test]
    fn closers_inside_values_are_data() {
        let value = "; </tool_call> <arg_key>x</arg_key><arg_value>y </arg_value>, ";
        let input = format!("f\n<arg_key>a</arg_key>\n<arg_value>{value}</arg_value>\n</tool_call>");
        assert_eq!(arguments(&input), serde_json::json!({ "a": value }).to_string());
    }

    #[test]
    fn words_behind_a_value_break_the_call_at_its_closer() {
        let input = "f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value> x</tool_call> after";
        let told = told(input);
        assert!(told.calls[0].spoiled, "{told:?}");
        assert_eq!((told.step, &input[told.used..]), (Step::Done, "</tool_call> after"));
    }

    #[test]
    fn text_that_ends_early_keeps_a_true_beginning() {
        let input =
            "f\n<arg_key>a</arg_key><arg_value>x</arg_value><arg_key>b</arg_key><arg_value>12</arg_value></tool_call>";
        let whole = arguments(input);
        for end in 0..input.len() {
            let told = told(&input[..end]);
            match told.calls.first() {
                None => assert!(matches!(told.step, Step::Failed(_))),
                Some(call) => assert!(call.complete == Some(false) && whole.starts_with(&call.json), "{call:?}"),
            }
        }
    }

    #[test]
    fn what_is_no_call_fails() {
        for input in ["", "f", "f g", "f\ng<arg_key>", "<arg_key>a</arg_key>", "{\"a\":1}", "</tool_call>"] {
            let told = told(input);
            assert!(matches!(told.step, Step::Failed(_)) && told.calls.is_empty(), "{input}: {told:?}");
        }
    }

    #[test]
    fn time_is_linear() {
        for piece in ["</arg_value>", "</arg_value> ", "<", "</arg_valu", "</arg_value>\n</arg_value", "x"] {
            for step in [1, 4, 997] {
                let input = format!("f<arg_key>a</arg_key><arg_value>{}", piece.repeat(4_000));
                let mut body = glm();
                let cuts: Vec<_> = (1..input.len()).step_by(step).collect();
                let mut recorder = Recorder::new(signatures());
                drive(&mut body, input.as_bytes(), cuts.iter().copied(), &mut recorder);
                let touched = recorder.looked + input.len();
                assert!(
                    touched <= 4 * input.len() + 4 * cuts.len() + 100,
                    "{piece:?} by {step}: {touched} for {}",
                    input.len()
                );
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn any_split_says_the_same(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "<arg_key>", "a", "b", "</arg_key>", "<arg_value>", "</arg_value>", "</tool_call>", "\n", " ", "12", "{", "é", "<", "\"", "<tool_sep>", "}",
            ]), 0..24),
            front in prop::sample::select(vec!["", "f", "f<arg_key>b</arg_key><arg_value>", "f<arg_key>a</arg_key><arg_value>"]),
        ) {
            let input = front.to_owned() + &pieces.concat();
            told(&input);
            every_way(&|| Box::new(hunyuan()), input.as_bytes(), &signatures());
        }
    }
}
