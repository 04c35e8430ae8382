//! Calls written as a name, a separator, and the arguments as JSON: `NAME[ARGS]{..}`, `functions.NAME:0<sep>{..}`, and
//! the form of `DeepSeek` V3 with its code fence. What stands between the two may be missing.

use super::{
    arguments::{Arguments, Leave, NO_OBJECT, Verdict},
    body::{Body, Sink, Step},
    dialect::Dialect,
    json::Mend,
    members::EARLY,
    next::Next,
    object::{OPEN_FENCE, PART},
    tail::Tail,
    until::begun,
};

const FENCE: &[u8] = b"```";
/// A name with all that stands around it isn't longer.
const LONGEST_HEADER: usize = 4096;
/// The word behind a fence isn't longer.
const LONGEST_WORD: usize = 16;
/// No more white space may stand between a closer and what it closed too early.
const MOST_SPACE: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Header,
    /// After the name: separators, a fence, white space.
    Between,
    Arguments,
    /// In what stands in place of the arguments and is no object.
    NoArguments,
    /// After the arguments, where a fence may close and a bracket too many be.
    After,
    /// In what is left of arguments that seemed to be over.
    Left,
}

/// Calls of `Grammar::Named`: one for each body.
#[derive(Debug, Clone)]
pub(super) struct Named {
    before: &'static str,
    between: &'static [&'static str],
    indexed: bool,
    id: &'static str,
    /// What opens another call, or closes this one.
    next: Next,
    place: Place,
    /// Bytes read of what hasn't been spoken for.
    seen: usize,
    /// How much of an id was seen to hold no end.
    id_seen: usize,
    arguments: Option<Arguments>,
    /// A closer stood before them.
    closed: bool,
    /// A value of them stands elsewhere.
    valueless: bool,
    tail: Tail,
    in_fence: bool,
}

impl Named {
    /// `fenced` is how it is written; a fence is read wherever it stands.
    pub(super) fn new(
        before: &'static str,
        between: &'static [&'static str],
        fenced: bool,
        indexed: bool,
        id: &'static str,
    ) -> Self {
        let _ = fenced;
        Self {
            next: Next::default(),
            before,
            between,
            indexed,
            id,
            place: Place::Header,
            seen: 0,
            id_seen: 0,
            arguments: None,
            closed: false,
            valueless: false,
            tail: Tail::default(),
            in_fence: false,
        }
    }

    /// As a call of this dialect.
    pub(super) fn of(mut self, dialect: &'static Dialect) -> Self {
        self.next = Next::of(dialect);
        self
    }

    /// Finds the name's end: a separator, a bracket, a fence, a newline. `None` where more bytes are needed.
    fn name_end(&mut self, input: &[u8], last: bool) -> Result<Option<usize>, Step> {
        let skipped = input.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let mut at = self.seen.max(skipped);
        let before = self.before.as_bytes();
        if at < skipped + before.len() {
            let front = input.get(skipped..).unwrap_or_default();
            if front.starts_with(before) {
                at = skipped + before.len();
            } else if before.starts_with(front) && !last {
                return Ok(None);
            }
        }
        while let Some(&byte) = input.get(at) {
            let rest = input.get(at..).unwrap_or_default();
            let mut separators = self.between.iter().copied().chain([self.id]).filter(|text| !text.is_empty());
            if matches!(byte, b'{' | b'\n' | b'`' | b'"')
                || separators.clone().any(|text| rest.starts_with(text.as_bytes()))
            {
                self.seen = at;
                return Ok(Some(at));
            }
            if !last && separators.any(|text| text.as_bytes().starts_with(rest)) {
                break;
            }
            // A marker that isn't ours: the arguments are missing.
            if byte == b'<' {
                match rest.get(1) {
                    None if !last => break,
                    _ => {
                        self.seen = at;
                        return Ok(Some(at));
                    }
                }
            }
            at += 1;
        }
        self.seen = at;
        if at > LONGEST_HEADER {
            return Err(Step::Failed("a name without end"));
        }
        if last && at == input.len() { Err(Step::Failed("a name without arguments")) } else { Ok(None) }
    }

    fn header(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Result<Option<usize>, Step> {
        let Some(end) = self.name_end(input, last)? else { return Ok(None) };
        let rest = input.get(end..).unwrap_or_default();
        let mut taken = end;
        let mut id = None;
        if !self.id.is_empty() && rest.starts_with(self.id.as_bytes()) {
            // The id goes up to the next separator.
            let from = end + self.id.len();
            let tail = input.get(from..).unwrap_or_default();
            let stops = |at: usize| {
                let here = tail.get(at..).unwrap_or_default();
                here.starts_with(b"{")
                    || self.between.iter().any(|text| !text.is_empty() && here.starts_with(text.as_bytes()))
            };
            let Some(length) = (self.id_seen..tail.len().min(LONGEST_HEADER)).find(|&at| stops(at)) else {
                // A separator may begin in what is there and be cut.
                let cut = self.between.iter().map(|text| begun(tail, text.as_bytes())).max().unwrap_or_default();
                sink.looked(cut);
                self.id_seen = tail.len() - cut;
                return if last || tail.len() >= LONGEST_HEADER {
                    Err(Step::Failed("an id without end"))
                } else {
                    Ok(None)
                };
            };
            id = Some(String::from_utf8_lossy(tail.get(..length).unwrap_or_default()).trim().to_owned());
            taken = from + length;
        }
        let header = String::from_utf8_lossy(input.get(..end).unwrap_or_default()).into_owned();
        let whole = header.trim();
        let mut name = whole.strip_prefix(self.before).unwrap_or(whole).trim();
        if self.indexed
            && let Some((front, index)) = name.rsplit_once(':')
            && !index.is_empty()
            && index.bytes().all(|byte| byte.is_ascii_digit())
        {
            id = Some(whole.to_owned());
            name = front;
        }
        // Once more for the name's text, and once for what may not stand in it.
        sink.looked(2 * end);
        // A bracket or a mark in it shows that something else stands where the name should.
        let alien = |c: char| c.is_whitespace() || "[]{}()<>\"`,;".contains(c);
        if name.is_empty() || name.contains(alien) {
            return Err(Step::Failed("no name"));
        }
        sink.start(name, id.as_deref(), taken);
        self.place = Place::Between;
        self.seen = 0;
        Ok(Some(taken))
    }

    /// Skips separators, white space and the opening fence. Gives whether the arguments begin.
    fn between(&mut self, input: &[u8], at: &mut usize, last: bool) -> Option<bool> {
        loop {
            let rest = input.get(*at..).unwrap_or_default();
            let first = *rest.first()?;
            if first.is_ascii_whitespace() {
                *at += 1;
                continue;
            }
            let mut unsure = false;
            let mut step = 0;
            for text in self.between.iter().map(|text| text.trim().as_bytes()).filter(|text| !text.is_empty()) {
                if rest.starts_with(text) {
                    step = text.len();
                    break;
                }
                unsure |= text.starts_with(rest);
            }
            if step == 0 && !self.in_fence && rest.starts_with(FENCE) {
                // The word behind the fence goes with it.
                let after = rest.iter().skip(FENCE.len()).take(LONGEST_WORD);
                let word = after.take_while(|byte| byte.is_ascii_alphanumeric()).count();
                if FENCE.len() + word == rest.len() && !last && word < LONGEST_WORD {
                    return None;
                }
                self.in_fence = true;
                step = FENCE.len() + word;
            } else if step == 0 && FENCE.starts_with(rest) {
                unsure = true;
            }
            if step > 0 {
                *at += step;
            } else if unsure {
                // At the end of the text it is a cut separator: arguments were to come.
                return None;
            } else {
                return Some(true);
            }
        }
    }

    /// How long the closer is that stands here, before what parts the name from the arguments; 0 if none does. `None`
    /// where more bytes decide.
    fn early(&self, rest: &[u8], last: bool) -> Option<usize> {
        let Some(close) = self.next.closers().find(|close| rest.starts_with(close.as_bytes())) else { return Some(0) };
        let behind = rest.get(close.len()..).unwrap_or_default();
        let space = behind.iter().take(MOST_SPACE).take_while(|byte| byte.is_ascii_whitespace()).count();
        let here = behind.get(space..).unwrap_or_default();
        let mut separators = self.between.iter().map(|text| text.trim().as_bytes()).filter(|text| !text.is_empty());
        if separators.clone().any(|text| here.starts_with(text)) {
            return Some(close.len() + space);
        }
        let open = !last && space < MOST_SPACE && separators.any(|text| text.starts_with(here));
        if open { None } else { Some(0) }
    }

    fn go(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink, from: &mut usize) -> Result<Step, Step> {
        let mut at = *from + self.seen;
        if self.place == Place::Header {
            match self.header(input, last, sink)? {
                Some(taken) => (*from, at) = (taken, taken),
                None => return Ok(Step::More),
            }
        }
        if self.place == Place::Between {
            let begins = self.between(input, &mut at, last);
            self.seen = at - *from;
            if at > *from {
                sink.markup(at - *from);
                *from = at;
                self.seen = 0;
            }
            match begins {
                Some(_) => {}
                None if last => {
                    sink.finish(input.len() - *from, false);
                    *from = input.len();
                    return Ok(Step::Done);
                }
                None => return Ok(Step::More),
            }
            // A marker in place of the arguments: there are none.
            let rest = input.get(at..).unwrap_or_default();
            let marker = if rest.first() == Some(&b'<') { self.next.stands(rest, last) } else { Some(false) };
            let Some(marker) = marker else { return Ok(Step::More) };
            if marker && !self.closed {
                // A closer and then the separator: it closed too early.
                match self.early(rest, last) {
                    None => return Ok(Step::More),
                    Some(0) => {}
                    Some(length) => {
                        sink.looked(length);
                        sink.repaired(EARLY);
                        sink.arguments("", length);
                        *from = at + length;
                        self.closed = true;
                        return self.go(input, last, sink, from);
                    }
                }
            }
            if marker || (rest.first() == Some(&b'<') && !self.next.has_markers()) {
                sink.repaired(Mend::NoArguments.describe());
                sink.arguments("{}", 0);
                sink.finish(0, true);
                self.place = Place::After;
            } else {
                let closers: &[&str] = if self.in_fence { &["```"] } else { &[] };
                self.arguments = Some(Arguments::new(sink.max_depth(), closers, self.next));
                self.place = Place::Arguments;
            }
        }
        if self.place == Place::Arguments {
            let leave = Leave { room: sink.room(), repairs: sink.repairs() };
            let Some(arguments) = &mut self.arguments else { return Ok(Step::Done) };
            let base = at;
            let (bytes, verdict) =
                arguments.step(input.get(at..).unwrap_or_default(), last, leave, &mut |json, upto| {
                    sink.arguments(json, base + upto - *from);
                    *from = base + upto;
                });
            at += bytes;
            if !sink.hears() {
                arguments.forget();
            }
            sink.looked(arguments.looks());
            arguments.tell(leave.repairs, |how| sink.repaired(how));
            self.seen = at - *from;
            match verdict {
                Verdict::Failed(NO_OBJECT) => {
                    // Whatever it is, it ends. Nothing of it was spoken for.
                    sink.looked(at - base.min(at));
                    sink.spoiled(NO_OBJECT);
                    self.seen = 0;
                    self.arguments = None;
                    self.tail = Tail::before(self.next);
                    self.place = Place::NoArguments;
                }
                Verdict::Failed(why) => {
                    if at > *from {
                        sink.arguments("", at - *from);
                    }
                    return Err(Step::Failed(why));
                }
                Verdict::More if last => {
                    if let Some(why) = arguments.spoilt() {
                        sink.spoiled(why);
                    }
                    sink.finish(input.len() - *from, false);
                    *from = input.len();
                    return Ok(Step::Done);
                }
                Verdict::More => return Ok(Step::More),
                Verdict::Done => {
                    if let Some(why) = arguments.spoilt() {
                        sink.spoiled(why);
                    }
                    self.valueless = arguments.has(Mend::MissingValue);
                    sink.finish(at - *from, true);
                    *from = at;
                    self.seen = 0;
                    self.place = Place::After;
                }
            }
        }
        if self.place == Place::NoArguments {
            let (bytes, over) = self.follow(input.get(*from..).unwrap_or_default(), last, sink);
            sink.arguments("", bytes);
            *from += bytes;
            if !over {
                return Ok(Step::More);
            }
            sink.finish(0, true);
            self.place = Place::After;
        }
        loop {
            if self.place != Place::Left {
                let here = input.get(*from..).unwrap_or_default();
                let mut taken = 0;
                let part = match here.first() {
                    _ if self.seen > 0 => Some(false),
                    Some(b':') => Some(true),
                    Some(b'"' | b'{' | b'[') if self.valueless => Some(true),
                    Some(b'-' | b'0'..=b'9') if self.valueless => {
                        let near = here.iter().take(LONGEST_HEADER);
                        taken = near.take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
                        (last || taken < here.len() || taken >= LONGEST_HEADER).then_some(true)
                    }
                    Some(b'<' | b'[') => self.parted(here, last).map(|bytes| {
                        taken = bytes;
                        bytes > 0
                    }),
                    Some(b',') => here.get(1).map(|byte| *byte == b'"').or_else(|| last.then_some(false)),
                    _ => Some(false),
                };
                match part {
                    None => return Ok(Step::More),
                    Some(false) => match self.after(input, last, sink, from) {
                        Some(step) => return Ok(step),
                        // What stands behind it is looked at as if it came alone.
                        None => continue,
                    },
                    Some(true) => {
                        sink.spoiled_behind(PART);
                        self.tail = Tail::before(self.next);
                        self.seen = taken;
                        self.place = Place::Left;
                    }
                }
            }
            // Told of once, so held until it is over; what goes on for longer is rather prose.
            let held = input.get(*from..).unwrap_or_default();
            let near = held.get(..held.len().min(LONGEST_HEADER)).unwrap_or_default();
            let whole = near.len() == held.len();
            let (bytes, over) = self.follow(near.get(self.seen..).unwrap_or_default(), last && whole, sink);
            self.seen += bytes;
            if !over && near.len() < LONGEST_HEADER {
                return Ok(Step::More);
            }
            self.valueless = false;
            self.place = Place::After;
            if !over {
                self.seen = 0;
                return Ok(self.over(sink));
            }
            sink.dropped(self.seen, PART);
            *from += self.seen;
            self.seen = 0;
        }
    }

    /// How long the separator of a name and its arguments is that stands here, behind them: a bracket came before it.
    fn parted(&self, input: &[u8], last: bool) -> Option<usize> {
        let between = || self.between.iter().map(|text| text.trim().as_bytes()).filter(|text| text.len() > 1);
        if let Some(text) = between().find(|text| input.starts_with(text)) {
            return Some(text.len());
        }
        if between().any(|text| text.starts_with(input)) && !last { None } else { Some(0) }
    }

    fn follow(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> (usize, bool) {
        let mut looks = 0;
        let followed = self.tail.step(input, last, &mut looks);
        sink.looked(looks);
        followed
    }

    /// Takes a bracket too many or the closing fence; `None`: one was taken.
    fn after(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink, from: &mut usize) -> Option<Step> {
        let mut at = *from + self.seen;
        while let Some(&byte) = input.get(at) {
            let rest = input.get(at..).unwrap_or_default();
            let taken = match byte {
                // Only right behind the call: further off it is prose.
                b'}' | b']' if at == *from => {
                    sink.repaired_behind(Mend::ExtraCloser.describe());
                    1
                }
                _ if byte.is_ascii_whitespace() && at - *from < LONGEST_HEADER => {
                    at += 1;
                    continue;
                }
                b'`' if self.in_fence && rest.starts_with(FENCE) => {
                    self.in_fence = false;
                    FENCE.len()
                }
                b'`' if self.in_fence && FENCE.starts_with(rest) && !last => {
                    self.seen = at - *from;
                    return Some(Step::More);
                }
                _ => return Some(self.over(sink)),
            };
            at += taken;
            sink.markup(at - *from);
            *from = at;
            self.seen = 0;
            return None;
        }
        self.seen = at - *from;
        Some(if last { self.over(sink) } else { Step::More })
    }

    fn over(&self, sink: &mut dyn Sink) -> Step {
        if self.in_fence {
            sink.repaired_behind(OPEN_FENCE);
        }
        Step::Done
    }
}

impl Body for Named {
    fn step(&mut self, input: &[u8], last: bool, sink: &mut dyn Sink) -> Step {
        let mut from = 0;
        // The way that nearly all pieces of a long string take.
        if self.place == Place::Arguments
            && self.seen == 0
            && let Some(arguments) = &mut self.arguments
        {
            let text = arguments.glide(input);
            if !text.is_empty() {
                sink.arguments(text, text.len());
                if text.len() == input.len() && !last {
                    return Step::More;
                }
                from = text.len();
            }
        }
        self.go(input, last, sink, &mut from).unwrap_or_else(|failed| failed)
    }

    fn hurry(&mut self) {
        if let Some(arguments) = &mut self.arguments {
            arguments.hurry();
        }
        self.tail.hurry();
    }

    fn straight<'a>(&mut self, input: &'a [u8]) -> &'a str {
        match &mut self.arguments {
            Some(arguments) if self.place == Place::Arguments && self.seen == 0 => arguments.glide(input),
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::probe::*, *};

    type Said = (String, Option<String>, String, Option<bool>);

    fn read(make: &dyn Fn() -> Box<dyn Body>, text: &str) -> (Said, Step) {
        let (mut probe, step) = every_way(make, &Probe::new(), text.as_bytes());
        assert_eq!(probe.calls.len(), 1, "{text}");
        let call = probe.calls.remove(0);
        ((call.name, call.id, call.json, call.complete), step)
    }

    fn said(name: &str, id: Option<&str>, json: &str, complete: bool) -> Said {
        (name.to_owned(), id.map(str::to_owned), json.to_owned(), Some(complete))
    }

    #[test]
    fn mistral_with_and_without_its_separator_and_id() {
        let make: &dyn Fn() -> Box<dyn Body> = &|| Box::new(Named::new("", &["[ARGS]", ""], false, false, "[CALL_ID]"));
        for text in [r#"f[ARGS]{"a": 1}"#, r#"f{"a": 1}"#, "f [ARGS] {\"a\": 1}}\n", "f\n{\"a\": 1}[TOOL_CALLS]"] {
            assert_eq!(read(make, text), (said("f", None, r#"{"a": 1}"#, true), Step::Done), "{text}");
        }
        assert_eq!(
            read(make, r#"f[CALL_ID]abc12[ARGS]{"a": 1}"#),
            (said("f", Some("abc12"), r#"{"a": 1}"#, true), Step::Done)
        );
        assert_eq!(read(make, r#"f[ARGS]{"a": 1"#).0, said("f", None, r#"{"a": "#, false));
    }

    #[test]
    fn kimi_with_its_index() {
        let make: &dyn Fn() -> Box<dyn Body> =
            &|| Box::new(Named::new("functions.", &["<|tool_call_argument_begin|>"], false, true, ""));
        let json = r#"{"a": "<|tool_call_end|>"}"#;
        for (head, id) in [("functions.f:0", Some("functions.f:0")), ("f:12", Some("f:12")), (" functions.f ", None)] {
            let text = format!("{head}<|tool_call_argument_begin|>{json}<|tool_call_end|>");
            assert_eq!(read(make, &text), (said("f", id, json, true), Step::Done), "{text}");
        }
        assert_eq!(
            read(make, "functions.f:0<|tool_call_argument_begin|><|tool_call_end|>").0,
            said("f", Some("functions.f:0"), "{}", true)
        );
    }

    #[test]
    fn deepseek_with_and_without_its_fence() {
        let make: &dyn Fn() -> Box<dyn Body> =
            &|| Box::new(Named::new("function<｜tool▁sep｜>", &["\n"], true, false, ""));
        let json = r#"{"a": "```"}"#;
        for text in [
            format!("function<｜tool▁sep｜>f\n```json\n{json}\n```<｜tool▁call▁end｜>"),
            format!("f\n```\n{json}\n```\n"),
            format!("function<｜tool▁sep｜>f\n{json}<｜tool▁call▁end｜>"),
            format!("function<｜tool▁sep｜>f```json{json}```<｜tool▁call▁end｜>"),
        ] {
            assert_eq!(read(make, &text), (said("f", None, json, true), Step::Done), "{text}");
        }
        let text = "function<｜tool▁sep｜>f\n```json\n{\"a\": [1\n```<｜tool▁call▁end｜>";
        assert_eq!(read(make, text).0, said("f", None, "{\"a\": [1\n]}", true));
    }
}
