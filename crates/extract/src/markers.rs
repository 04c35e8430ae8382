//! The markers of a parser, compiled from the table: a vectorised search for where one may begin, a trie that says
//! which it is, and what each may mean. Built once for all dialects and shared.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use aho_corasick::{AhoCorasick, MatchKind, Span, packed};

use super::dialect::{
    Dialect, First, Frame, Inert, Reasoning, call_separators, expected, frames, inert_regions, reasoning_markups, rows,
    turn_ends,
};

/// What a marker may mean.
#[derive(Debug, Clone, Copy)]
pub(super) enum Role {
    /// Opens a section of calls.
    Section(&'static Dialect),
    /// Opens a call.
    Call(&'static Dialect),
    /// Is the first piece of a call that has no opener of its own; the body gets it too.
    Bodied(&'static Dialect),
    /// Closes a call.
    CallClose(&'static Dialect),
    /// Closes a section.
    SectionClose(&'static Dialect),
    /// Opens reasoning.
    ReasonOpen(&'static Reasoning),
    /// Closes reasoning.
    ReasonClose(&'static Reasoning),
    /// Opens an echoed result.
    Inert(&'static Inert),
    /// Closes an echoed result.
    InertClose(&'static Inert),
    /// Opens a frame around visible text.
    FrameOpen(&'static Frame),
    /// Closes a frame.
    FrameClose,
    /// Ends a turn, if nothing follows.
    TurnEnd,
    /// Stands within calls, and nowhere else.
    Within,
    /// Begins a message of which only the whole header says whose it is; calls only where the dialect is armed.
    Message(Option<&'static Dialect>),
}

impl Role {
    /// The dialect whose calls it opens.
    pub(super) fn opens(self) -> Option<&'static Dialect> {
        match self {
            Self::Section(dialect) | Self::Call(dialect) | Self::Bodied(dialect) => Some(dialect),
            Self::Message(dialect) => dialect,
            _ => None,
        }
    }
}

/// All that one string may mean, in the order of the table.
#[derive(Debug)]
struct Marker {
    text: &'static str,
    roles: Vec<Role>,
}

#[derive(Debug, Default)]
struct Node {
    next: Vec<(u8, usize)>,
    marker: Option<usize>,
}

/// How far into the trie a held beginning has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Walk {
    node: usize,
    length: usize,
    /// The markers that were met, the longest last: where each ends, and which it is.
    met: [(usize, usize); MOST],
    count: usize,
}

/// No more markers begin with each other; a test counts them.
const MOST: usize = 6;

impl Walk {
    /// How many bytes were followed.
    pub(super) const fn length(self) -> usize {
        self.length
    }
}

#[derive(Debug)]
enum Search {
    Packed(packed::Searcher),
    Automaton(Box<AhoCorasick>),
    Nothing,
}

/// The armed markers.
#[derive(Debug)]
pub(super) struct Markers {
    search: Search,
    /// The first three bytes of every marker.
    heads: Vec<[u8; 3]>,
    /// The bytes that any of them begins with.
    begins: Box<[bool; 256]>,
    nodes: Vec<Node>,
    rows: Vec<Marker>,
    /// The dialects that need no marker.
    pub(super) bare: Vec<&'static Dialect>,
}

/// Markers that were compiled for dialects by their names.
struct NamedSet {
    names: Vec<String>,
    bare: bool,
    markers: Arc<Markers>,
}

/// So many sets are kept.
const MOST_SETS: usize = 32;

/// The shortest piece of a marker that is searched for; no marker is shorter.
pub(super) const HEAD: usize = 3;
/// What is shorter is searched byte by byte.
pub(super) const SHORT: usize = 32;

impl Markers {
    /// The markers of these dialects (`None`: all), and all of reasoning, results and frames. Those that are ordinary
    /// words are armed where they were named or `bare` asks for them.
    pub(super) fn of(names: Option<&[&str]>, bare: bool) -> Arc<Self> {
        static ALL: OnceLock<Arc<Markers>> = OnceLock::new();
        static ALL_AND_BARE: OnceLock<Arc<Markers>> = OnceLock::new();
        static NO_CALLS: OnceLock<Arc<Markers>> = OnceLock::new();
        static EXPECTED: OnceLock<Arc<Markers>> = OnceLock::new();
        match (names, bare) {
            (None, false) => ALL.get_or_init(|| Arc::new(Self::build(None, false))).clone(),
            (None, true) => ALL_AND_BARE.get_or_init(|| Arc::new(Self::build(None, true))).clone(),
            (Some([]), false) => NO_CALLS.get_or_init(|| Arc::new(Self::build(names, false))).clone(),
            (Some(own), _) if std::ptr::eq(own, expected()) => {
                EXPECTED.get_or_init(|| Arc::new(Self::build(names, true))).clone()
            }
            (Some(names), _) => Self::of_named(names, bare),
        }
    }

    /// The markers of these dialects. The last sets that were asked for are kept: whoever names dialects names the same
    /// for each reply.
    fn of_named(names: &[&str], bare: bool) -> Arc<Self> {
        static RECENT: Mutex<Vec<NamedSet>> = Mutex::new(Vec::new());
        let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = recent.iter().find(|known| known.bare == bare && known.names == names) {
            return known.markers.clone();
        }
        let markers = Arc::new(Self::build(Some(names), bare));
        if recent.len() >= MOST_SETS {
            recent.remove(0);
        }
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        recent.push(NamedSet { names, bare, markers: markers.clone() });
        markers
    }

    fn build(names: Option<&[&str]>, bare: bool) -> Self {
        let mut this = Self {
            search: Search::Nothing,
            heads: Vec::new(),
            begins: Box::new([false; 256]),
            nodes: vec![Node::default()],
            rows: Vec::new(),
            bare: Vec::new(),
        };
        for dialect in rows() {
            if names.is_some_and(|names| !names.iter().any(|name| dialect.answers_to(name))) {
                continue;
            }
            let markerless = dialect.open.iter().all(|open| open.is_empty()) && dialect.section.is_none();
            if dialect.bare && markerless {
                this.bare.push(dialect);
                continue;
            }
            if dialect.bare && !bare && names.is_none() {
                continue;
            }
            this.arm(dialect);
        }
        this.all(turn_ends(), Role::TurnEnd);
        if names.is_none_or(|names| !names.is_empty()) {
            this.all(call_separators(), Role::Within);
        }
        for reasoning in reasoning_markups() {
            this.all(reasoning.open, Role::ReasonOpen(reasoning));
            this.all(reasoning.close, Role::ReasonClose(reasoning));
        }
        for inert in inert_regions() {
            this.all(inert.open, Role::Inert(inert));
            this.all(inert.close, Role::InertClose(inert));
        }
        for frame in frames() {
            this.all(frame.open, Role::FrameOpen(frame));
            this.all(frame.close, Role::FrameClose);
        }
        let message = rows().find(|dialect| dialect.name == "harmony");
        let armed =
            message.filter(|dialect| names.is_none_or(|names| names.iter().any(|name| dialect.answers_to(name))));
        this.all(&["<|start|>", "<|channel|>"], Role::Message(armed));
        let mut heads: Vec<[u8; 3]> =
            this.rows.iter().filter_map(|marker| marker.text.as_bytes().first_chunk().copied()).collect();
        heads.extend([*b"```", *b"~~~"]);
        heads.sort_unstable();
        heads.dedup();
        for head in &heads {
            if let Some(begins) = this.begins.get_mut(usize::from(head[0])) {
                *begins = true;
            }
        }
        this.search = search(&heads);
        this.heads = heads;
        this
    }

    fn arm(&mut self, dialect: &'static Dialect) {
        if let Some((open, close)) = dialect.section {
            self.all(open, Role::Section(dialect));
            self.all(close, Role::SectionClose(dialect));
        }
        self.all(dialect.open, Role::Call(dialect));
        self.all(dialect.close, Role::CallClose(dialect));
        let bodied = dialect.open.contains(&"") || (dialect.open.is_empty() && dialect.section_optional);
        if bodied && let First::OneOf(strings) | First::NamedThen(strings, _) = dialect.first {
            self.all(strings, Role::Bodied(dialect));
        }
    }

    fn all(&mut self, strings: &[&'static str], role: Role) {
        for text in strings {
            self.add(text, role);
        }
    }

    fn add(&mut self, text: &'static str, role: Role) {
        if text.len() < HEAD {
            return;
        }
        let mut at = 0;
        for byte in text.bytes() {
            at = if let Some(next) = self.step(at, byte) {
                next
            } else {
                let new = self.nodes.len();
                self.nodes.push(Node::default());
                if let Some(node) = self.nodes.get_mut(at) {
                    node.next.push((byte, new));
                }
                new
            };
        }
        let fresh = self.rows.len();
        let Some(node) = self.nodes.get_mut(at) else { return };
        let index = *node.marker.get_or_insert(fresh);
        if index == fresh {
            self.rows.push(Marker { text, roles: Vec::new() });
        }
        if let Some(marker) = self.rows.get_mut(index) {
            marker.roles.push(role);
        }
    }

    fn step(&self, node: usize, byte: u8) -> Option<usize> {
        self.nodes.get(node)?.next.iter().find(|(on, _)| *on == byte).map(|(_, next)| *next)
    }

    /// Whether any marker begins with this byte.
    pub(super) fn begins(&self, byte: u8) -> bool {
        self.begins.get(usize::from(byte)) == Some(&true)
    }

    /// Where the next marker, or code fence, may begin in `input[from..to]`.
    pub(super) fn find(&self, input: &[u8], from: usize, to: usize) -> Option<usize> {
        if from >= to || to > input.len() {
            return None;
        }
        if to - from < SHORT {
            // A delta: the search's own way for so little is slower than looking.
            let rest = input.get(from..to)?;
            return rest
                .windows(HEAD)
                .position(|head| {
                    head.first().is_some_and(|first| self.begins.get(usize::from(*first)) == Some(&true))
                        && self.heads.iter().any(|other| other == head)
                })
                .map(|at| from + at);
        }
        match &self.search {
            Search::Packed(search) => search.find_in(input, Span { start: from, end: to }).map(|found| found.start()),
            Search::Automaton(search) => {
                search.find(aho_corasick::Input::new(input).range(from..to)).map(|found| found.start())
            }
            Search::Nothing => None,
        }
    }

    /// How many bytes at the end of `input` may be the beginning of a marker that `find` can't see yet.
    pub(super) fn tail(&self, input: &[u8]) -> usize {
        for length in (1..HEAD).rev() {
            let Some(from) = input.len().checked_sub(length) else { continue };
            let end = input.get(from..).unwrap_or_default();
            let first = end.first().map_or(0, |first| usize::from(*first));
            if self.begins.get(first) == Some(&true) && self.heads.iter().any(|head| head.starts_with(end)) {
                return length;
            }
        }
        0
    }

    /// Goes on from `walk`, which has seen the first bytes of `input`. `true`: a longer marker may still come of it.
    pub(super) fn walk(&self, walk: &mut Walk, input: &[u8]) -> bool {
        for byte in input.get(walk.length..).unwrap_or_default() {
            match self.step(walk.node, *byte) {
                Some(next) => {
                    (walk.node, walk.length) = (next, walk.length + 1);
                    if let Some(marker) = self.nodes.get(next).and_then(|node| node.marker)
                        && let Some(met) = walk.met.get_mut(walk.count)
                    {
                        *met = (walk.length, marker);
                        walk.count += 1;
                    }
                }
                None => return false,
            }
        }
        self.nodes.get(walk.node).is_some_and(|node| !node.next.is_empty())
    }

    /// The longest marker that was met and is shorter than `below`, its length and what it may mean.
    pub(super) fn longest(&self, walk: &Walk, below: usize) -> Option<(usize, &[Role])> {
        let met = walk.met.get(..walk.count).unwrap_or_default();
        let (length, marker) = *met.iter().rev().find(|(length, _)| *length < below)?;
        Some((length, &self.rows.get(marker)?.roles))
    }
}

/// A search that is fast on prose. The packed searcher has eight buckets or sixteen, and takes for a candidate whatever
/// matches, nibble by nibble, heads of one bucket: heads that look unlike each other must not share one, or ordinary
/// words are candidates. It gives the n-th pattern to the bucket n modulo their number, so patterns are repeated where
/// a bucket has fewer than others.
fn search(heads: &[[u8; 3]]) -> Search {
    const BUCKETS: usize = 8;
    let mut buckets: [Vec<[u8; 3]>; BUCKETS] = Default::default();
    let (mut letters, mut angles) = (0, 0);
    for head in heads {
        let bucket = match head[0] {
            b'a'..=b'z' | b'A'..=b'Z' => {
                letters += 1;
                letters % 2
            }
            b'`' | b'~' => 2,
            b'<' => {
                angles += 1;
                4 + angles % 4
            }
            _ => 3,
        };
        if let Some(bucket) = buckets.get_mut(bucket) {
            bucket.push(*head);
        }
    }
    let rounds = buckets.iter().map(Vec::len).max().unwrap_or_default();
    let filler = heads.first().copied().unwrap_or_default();
    let patterns: Vec<[u8; 3]> = (0..rounds)
        .flat_map(|round| {
            buckets.iter().map(move |bucket| bucket.get(round).or(bucket.first()).copied().unwrap_or(filler))
        })
        .collect();
    let packed = |patterns: &[[u8; 3]]| {
        packed::Config::new()
            .match_kind(packed::MatchKind::LeftmostFirst)
            .heuristic_pattern_limits(false)
            .builder()
            .extend(patterns)
            .build()
    };
    match packed(&patterns).or_else(|| packed(heads)) {
        Some(search) => Search::Packed(search),
        None => AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .build(heads)
            .map_or(Search::Nothing, |search| Search::Automaton(Box::new(search))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_markers_begin_with_each_other_than_a_walk_can_remember() {
        let markers = Markers::of(None, true);
        for row in &markers.rows {
            let mut walk = Walk::default();
            markers.walk(&mut walk, row.text.as_bytes());
            assert!(walk.count < MOST, "{}", row.text);
            assert_eq!(markers.longest(&walk, usize::MAX).map(|(length, _)| length), Some(row.text.len()));
        }
    }
}
