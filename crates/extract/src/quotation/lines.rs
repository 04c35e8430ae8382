//! A form that a display has cut into lines: each may have something before it (its number, the name of its file, a
//! time, a bar, a sign of a diff, the framing of a JSON string) and behind it, the same sort of thing for all of them.
//!
//! A text may end within a form and the next go on: files are read in pages.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::plain::{LINE, LINES, Plain, is_word};

/// The longest thing before a line or between two, in bytes.
const LONGEST_GAP: usize = 256;
/// How many bytes may stand between two pages of a form: what a tool says below a page and above the next.
const LONGEST_NOTE: usize = 400;
/// How much of what stands before a line tells its sort.
const TELLING: usize = 4;
/// How much of a form that stands on one line is looked for at first.
const FRONT: usize = 8;
/// How much is looked at, in bytes, until all that may be a quotation is one: nobody shows so many pieces of a call by
/// chance.
const MOST_LOOKED: usize = 1 << 26;
/// Steps that one search in a few lines costs of the bound on work.
const GLANCE: usize = 16;

/// Texts, and where each of them ends.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) plain: Plain,
    ends: Vec<usize>,
    /// Up to here one text may go on in the next.
    pages: usize,
    looked: AtomicUsize,
}

/// Text that a display puts between two lines of a call.
#[derive(Debug, Default)]
struct Gap {
    /// Behind the first of them; unknown where a page ends.
    behind: Option<Vec<u8>>,
    /// Before the second one.
    before: Vec<u8>,
    /// Whether a line begins there.
    lined: bool,
    /// The sort of the lines that begin there: as they stand, or escaped how often.
    line: u8,
}

impl Texts {
    pub(super) fn take(&mut self, text: &str) {
        self.plain.take(text);
        self.ends.push(self.plain.text.len());
    }

    /// Says that the texts that come are no pages.
    pub(super) fn apart(&mut self) {
        self.pages = self.plain.text.len();
    }

    /// Whether a form stands there, and what follows it is as it must be.
    pub(super) fn holds(&self, form: &Plain, follows: impl Fn(usize) -> bool) -> bool {
        let text = self.plain.text.as_slice();
        !form.text.is_empty()
            && (memchr::memmem::find_iter(text, &form.text).any(|at| self.look(1) || follows(at + form.text.len()))
                || self.holds_lines(&form.lines(), &follows)
                || LINES
                    .into_iter()
                    .any(|line| self.plain.lines & line != 0 && self.holds_cut(&form.text, line, &follows)))
    }

    /// Where the text ends that goes on at `at`.
    pub(super) fn end(&self, at: usize) -> usize {
        self.ends.get(self.ends.partition_point(|end| *end < at)).copied().unwrap_or(at)
    }

    /// Counts bytes that are looked at; whether these are too many.
    fn look(&self, bytes: usize) -> bool {
        self.looked.fetch_add(bytes, Ordering::Relaxed) > MOST_LOOKED
    }

    /// Whether the lines stand behind each other with the same between them.
    fn holds_lines(&self, lines: &[&[u8]], follows: &impl Fn(usize) -> bool) -> bool {
        let [first, second, rest @ ..] = lines else { return false };
        let text = self.plain.text.as_slice();
        if rest.iter().any(|line| memchr::memmem::find(text, line).is_none()) {
            return false;
        }
        memchr::memmem::find_iter(text, first).any(|at| {
            let end = at + first.len();
            self.places(end, second).any(|place| {
                let begins_so = |gap: &Gap| !gap.lined || self.begins_so(at, LINE, &gap.before);
                let Some(mut gap) = self.gap((end, place), LINE, None).filter(begins_so) else { return self.look(0) };
                let last = rest.iter().try_fold(place + second.len(), |end, line| {
                    let fits = |place: usize| self.gap((end, place), LINE, Some(&gap)).map(|gap| (place, gap));
                    let (place, next) = self.places(end, line).find_map(fits)?;
                    gap.behind = gap.behind.take().or(next.behind);
                    Some(place + line.len())
                });
                self.look(0) || last.is_some_and(|last| self.ends_so(last, &gap) && follows(last))
            }) || self.look(0)
        })
    }

    /// Where a line may stand that follows what ends at `end`.
    fn places<'a>(&'a self, end: usize, line: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        let page = self.end(end);
        let paged = page - end <= LONGEST_NOTE && page < self.pages;
        let most = if paged { self.pages.min(page + LONGEST_NOTE) } else { page.min(end + LONGEST_GAP) };
        let to = most.max(page.min(end + LONGEST_GAP)) + line.len();
        let within = self.plain.get(end..to.min(self.plain.text.len()));
        self.look(GLANCE);
        memchr::memmem::find_iter(within, line).map(move |at| end + at)
    }

    /// What stands between two places, if that may stand between two lines, and between others stands `known`.
    fn gap(&self, (from, to): (usize, usize), line: u8, known: Option<&Gap>) -> Option<Gap> {
        self.look(to - from);
        if from < to && !(self.plain.parts(from) && self.plain.parts(to)) {
            return None;
        }
        let page = self.end(from);
        let paged = page < to || page == from;
        if paged && to >= self.pages {
            return None;
        }
        let between = self.sort(from, to, line);
        let mut segments = between.split(|token| *token == b'^');
        let behind = segments.next().unwrap_or_default();
        let Some(last) = segments.next_back() else {
            // The framing of a string, or nothing.
            let quote = |token: Option<&u8>| token.is_some_and(|token| matches!(token, b'"' | b'\''));
            let listed = matches!(behind, [_, b',', _]) || behind.contains(&b'{');
            let framed = quote(behind.first()) && quote(behind.last()) && listed;
            let before = behind.to_vec();
            let gap = Gap { behind: Some(Vec::new()), before, lined: false, line: LINE };
            let joined = gap.before.is_empty();
            let fits = known.is_none_or(|known| known.before == gap.before || joined && known.before == b"^");
            return (fits && (framed || joined)).then_some(gap);
        };
        let before = telling(last);
        // A line with nothing on it may stand between.
        let blank = |segment: &[u8]| {
            segment.is_empty() || segment.strip_suffix(behind).is_some_and(|segment| telling(segment) == before)
        };
        if !paged && !segments.all(blank) {
            return None;
        }
        if let Some(known) = known {
            let joined = !known.lined && known.before.is_empty() && before == b"^";
            let same = known.before == before
                && (paged || known.behind.as_ref().is_none_or(|other| other.as_slice() == behind));
            if !same && !joined {
                return None;
            }
        }
        let lines = LINES.into_iter().filter(|sort| (from..=to).any(|at| self.plain.has(at, *sort & line)));
        let line = lines.fold(0, |lines, sort| lines | sort);
        Some(Gap { behind: (!paged).then(|| behind.to_vec()), before, lined: true, line })
    }

    /// Whether the line on which a form begins at `at` begins as the others do.
    fn begins_so(&self, at: usize, line: u8, before: &[u8]) -> bool {
        let earliest = at.saturating_sub(LONGEST_GAP);
        let Some(start) = (earliest..=at).rev().find(|start| self.plain.has(*start, LINE)) else { return true };
        self.look(at - start);
        let head = self.sort(start, at, line);
        let begins = memchr::memmem::find(&head, before).is_some();
        // The first of them may begin within a string.
        let string =
            head.rsplit(|token| matches!(token, b'"' | b'\'')).next().filter(|string| string.len() < head.len());
        begins
            || before.strip_prefix(b"^").is_some_and(|before| string.is_some_and(|string| string.starts_with(before)))
    }

    /// Whether the line on which a form ends at `at` ends as the others do.
    fn ends_so(&self, at: usize, gap: &Gap) -> bool {
        let Some(token) = gap.behind.as_ref().and_then(|behind| behind.first()) else { return true };
        let most = self.end(at).min(at + LONGEST_GAP);
        // An escaped line within a value is none of those that were shown.
        let end = (at..most).find(|end| self.plain.has(*end, gap.line)).unwrap_or(most);
        self.look(end - at);
        // What parts lines may lack behind the last of them.
        end == at || self.sort(at, end, gap.line).contains(token)
    }

    /// The sort of what stands between two places, and where such lines begin: words are alike, and so are `:` and `-`.
    fn sort(&self, from: usize, to: usize, line: u8) -> Vec<u8> {
        let mut tokens = Vec::new();
        for (at, byte) in (from..).zip(self.plain.get(from..to)) {
            if self.plain.has(at, line) {
                tokens.push(b'^');
            }
            match byte {
                byte if is_word(*byte) => {
                    if at == from
                        || !self.plain.get(at - 1..at).iter().all(|byte| is_word(*byte))
                        || self.plain.parts(at)
                    {
                        tokens.push(b'a');
                    }
                }
                b'^' => tokens.push(b'~'),
                // `grep` writes either.
                b':' => tokens.push(b'-'),
                byte => tokens.push(*byte),
            }
        }
        if self.plain.has(to, line) && to < self.plain.text.len() {
            tokens.push(b'^');
        }
        tokens
    }

    /// Whether a form stands there that was cut into such lines elsewhere than where it has lines itself.
    fn holds_cut(&self, form: &[u8], line: u8, follows: &impl Fn(usize) -> bool) -> bool {
        let Some((front, rest)) = form.split_at_checked(FRONT) else { return false };
        memchr::memmem::find_iter(&self.plain.text, front).any(|at| {
            let (from, left) = self.straight(at + front.len(), rest, line);
            // A line with nothing before it is like others that have nothing before them.
            let plain = self.plain.has(at, line);
            let mut places = self.openings((from, line), left).filter(|place| !plain || self.plain.has(*place, line));
            let found = places.any(|place| {
                let differs =
                    |gap: &Gap| gap.before.len() > 1 || gap.behind.as_ref().is_some_and(|behind| !behind.is_empty());
                let gap = self.gap((from, place), line, None).filter(|gap| gap.lined && differs(gap));
                let last = gap.filter(|gap| self.begins_so(at, line, &gap.before)).and_then(|gap| {
                    let last = self.goes_on(place, left, line, &gap)?;
                    (self.ends_so(last, &gap) && follows(last)).then_some(last)
                });
                last.is_some() || self.look(0)
            });
            found || self.look(0)
        })
    }

    /// Follows a form up to what differs, or to where a line begins; gives where that is, and what is left of the form.
    fn straight<'a>(&self, at: usize, form: &'a [u8], line: u8) -> (usize, &'a [u8]) {
        let text = self.plain.text.get(at..).unwrap_or_default();
        let same = text.iter().zip(form).enumerate();
        let length = same.take_while(|(past, (one, other))| one == other && !self.plain.has(at + past, line)).count();
        self.look(length + 1);
        (at + length, form.get(length..).unwrap_or_default())
    }

    /// Where what is left of a form may go on behind `from`: a line of it, or enough to be no chance.
    fn openings<'a>(&'a self, (from, line): (usize, u8), left: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        self.look(GLANCE);
        (from + 1..from + LONGEST_GAP).filter(move |at| {
            left.first().is_some_and(|byte| self.plain.text.get(*at) == Some(byte)) && {
                let (end, rest) = self.straight(at + 1, left.get(1..).unwrap_or_default(), line);
                end - at >= TELLING || rest.is_empty() || (end..=end + TELLING).any(|end| self.plain.has(end, line))
            }
        })
    }

    /// Follows a form over lines with the same between them, from where the second of these goes on; gives where it
    /// ends.
    fn goes_on(&self, at: usize, form: &[u8], line: u8, gap: &Gap) -> Option<usize> {
        // A line begins where something stands before it, and not here.
        let (mut at, mut left) = (at + 1, form.get(1..)?);
        loop {
            let (from, rest) = self.straight(at, left, line);
            if rest.is_empty() {
                return Some(from);
            }
            let place =
                self.openings((from, line), rest).find(|place| self.gap((from, *place), line, Some(gap)).is_some())?;
            (at, left) = (place + 1, rest.get(1..)?);
        }
    }
}

/// What tells the sort of what stands before a line.
fn telling(tokens: &[u8]) -> Vec<u8> {
    let mut told = [b"^", tokens].concat();
    told.drain(..told.len().saturating_sub(TELLING));
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(shown: &str) -> Texts {
        let mut texts = Texts::default();
        texts.take(shown);
        texts.apart();
        texts
    }

    #[test]
    fn g7_what_is_looked_at_grows_in_line_with_what_was_shown() {
        let form = "<tool_call>\n<function=f>\n<parameter=a>\n5\n</parameter>\n</function>\n</tool_call>";
        let front = &form[..form.find("</function>").unwrap()];
        let pieces = [
            "<tool_call>\n".to_owned(),
            format!("{front}\n"),
            format!("7\t{}\n", front.replace('\n', "\n7\t")),
            form.replace('5', "-5"),
            front.replace('\n', "\\n"),
        ];
        for piece in pieces {
            let looked = |times: usize| {
                let texts = texts(&piece.repeat(times));
                assert!(!texts.holds(&Plain::of(form.as_bytes()), |_| true), "{piece}");
                texts.looked.into_inner()
            };
            let (some, more) = (looked(60), looked(240));
            assert!(some > 0 && more < 5 * some, "{piece}: {some}, {more}");
        }
    }

    #[test]
    fn g7_a_call_in_a_table_or_in_lines_of_markup_is_shown_whatever_its_values_escape() {
        let form = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"1\\n2 \\\"b\\\"\"}}\n</tool_call>";
        let table: Vec<_> = form.lines().map(|line| format!("| {line} |")).collect();
        let shown = [
            table.join("\n"),
            format!("{:?}", table.join("\n")),
            format!("* {} ;", form.replace('\n', " ;\n* ")),
            form.replace('\n', "<br>\n"),
            form.replace('\n', "<BR />"),
            form.replace('<', "&lt;").replace('>', "&gt;").replace('\n', "<br/>") + "</p>",
            form.replace('\n', " ;\n"),
        ];
        for shown in shown {
            // What is seen of the call while it is written, as well.
            for end in [form.len(), form.find("\\n2").unwrap(), form.find("\"argu").unwrap()] {
                let form = Plain::of(&form.as_bytes()[..end]);
                assert!(texts(&shown).holds(&form, |_| true), "{end} of {shown}");
            }
            assert!(!texts(&shown.replace('f', "g")).holds(&Plain::of(form.as_bytes()), |_| true), "{shown}");
        }
    }

    #[test]
    fn g7_beyond_what_is_looked_at_all_that_may_be_a_quotation_is_one() {
        let texts = texts("<tool_call>\nx\n");
        let form = Plain::of(b"<tool_call>\ny\nx");
        assert!(!texts.holds(&form, |_| true));
        texts.looked.store(MOST_LOOKED + 1, Ordering::Relaxed);
        assert!(texts.holds(&form, |_| true));
        assert!(!texts.holds(&Plain::of(b"[TOOL_CALLS]f[ARGS]{}"), |_| true));
    }
}
