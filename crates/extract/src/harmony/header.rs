//! The header of a message of gpt-oss: roles, channels, recipients and a format, in any order and however garbled. Says
//! whose the message's content is; looks at no byte twice and at no more than a few hundred.

const START: &[u8] = b"<|start|>";
const CHANNEL: &[u8] = b"<|channel|>";
pub(super) const CONSTRAIN: &[u8] = b"<|constrain|>";
pub(super) const MESSAGE: &[u8] = b"<|message|>";
/// What names the tool a message goes to.
const RECIPIENT: &[u8] = b"to=functions.";
/// Whom text goes to.
const PERSON: &[u8] = b"user";
/// What ends a message.
pub(super) const ENDS: [&str; 4] = ["<|call|>", "<|end|>", "<|return|>", "<|start|>"];
/// No header is longer, nor one of its words.
pub(super) const LONGEST: usize = 512;
const LONGEST_WORD: usize = 128;
/// No markup of another dialect is longer that may have strayed into a header.
const LONGEST_STRAY: usize = 48;

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
pub(in super::super) enum Head {
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
pub(in super::super) struct Header {
    at: usize,
    /// How much of the word at hand was seen.
    word: usize,
    next: Next,
    channel: Option<Channel>,
    recipient: Option<(usize, usize)>,
    /// Whether a role or a channel was named.
    known: bool,
    /// Whether it was garbled so that it had to be guessed whose the message is.
    odd: bool,
    /// Whether markup of another dialect stood in it.
    stray: bool,
}

impl Default for Header {
    fn default() -> Self {
        Self {
            at: 0,
            word: 0,
            next: Next::Anything,
            channel: None,
            recipient: None,
            known: false,
            odd: false,
            stray: false,
        }
    }
}

/// Whether `input` begins with `marker`; `None` if it still may.
pub(super) fn begins(input: &[u8], marker: &[u8], last: bool) -> Option<bool> {
    if input.starts_with(marker) {
        Some(true)
    } else if !last && marker.starts_with(input) {
        None
    } else {
        Some(false)
    }
}

/// How long the markup of another dialect is that `input` begins with; 0 if none does, `None` if one still may.
fn stray(input: &[u8]) -> Option<usize> {
    let most = input.get(1..input.len().min(LONGEST_STRAY)).unwrap_or_default();
    match most.iter().position(|byte| matches!(byte, b'<' | b'>' | b'{' | b'\n')) {
        Some(end) if most.get(end) == Some(&b'>') => Some(end + 2),
        None if input.len() < LONGEST_STRAY => None,
        _ => Some(0),
    }
}

/// Whether `input` begins with what ends a message; `None` if it still may.
pub(super) fn ended(input: &[u8], last: bool) -> Option<bool> {
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
    pub(in super::super) fn read(&mut self, input: &[u8], last: bool) -> Head {
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
                        match (open, last) {
                            (false, _) => {}
                            (true, false) => return Head::More,
                            (true, true) => return self.cut(input.len()),
                        }
                        if !self.known || self.stray {
                            return Head::No;
                        }
                        match stray(rest) {
                            None if !last => return Head::More,
                            None | Some(0) => return Head::No,
                            Some(length) => self.at += length,
                        }
                        self.stray = true;
                        continue;
                    };
                    match marker {
                        START => self.next = Next::Role,
                        CHANNEL => self.next = Next::Channel,
                        CONSTRAIN => self.next = Next::Anything,
                        MESSAGE => return self.end(self.at + marker.len()),
                        _ if self.stray => return Head::No,
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
                    if length == 0
                        && self.known
                        && !self.stray
                        && matches!(byte, b']' | b'}' | b')' | b'"' | b'\'' | b'`')
                    {
                        self.stray = true;
                        self.at += 1;
                        continue;
                    }
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

    /// Whether it had to be guessed whose the message is.
    pub(super) const fn odd(&self) -> bool {
        self.odd || self.stray
    }

    /// How many bytes it looked at.
    pub(in super::super) const fn seen(&self) -> usize {
        self.at + self.word
    }

    /// Takes one word; `false` if it can't stand here.
    fn word(&mut self, word: &[u8]) -> bool {
        let next = std::mem::replace(&mut self.next, Next::Anything);
        let (from, to) = (self.at, self.at + word.len());
        // The header of a message that broke off, and the next one's recipient right behind.
        if let Some(inner) = word.windows(RECIPIENT.len()).rposition(|part| part == RECIPIENT).filter(|at| *at > 0) {
            self.odd = true;
            self.recipient = Some((from + inner + 3, to));
            return true;
        }
        if let Some(name) = word.strip_prefix(b"to=") {
            if name.is_empty() {
                self.next = Next::Recipient;
            } else if name == PERSON {
                self.known = true;
            } else {
                self.odd |= self.recipient.is_some();
                self.recipient = Some((from + 3, to));
            }
            return true;
        }
        if self.known && matches!(word, b"to" | b"=") {
            self.odd = true;
            self.next = Next::Recipient;
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
                self.odd |= word != b"assistant";
                return word.starts_with(b"assistant");
            }
            Next::Recipient => self.recipient = Some((from, to)),
            Next::Channel => {
                self.known = true;
                self.channel = channel.or(Some(Channel::Unknown));
            }
            Next::Anything if self.known && self.recipient.is_none() && is_tool(word) => {
                self.odd = true;
                self.recipient = Some((from, to));
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
            _ if self.stray => Head::No,
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

/// Whether a word names a tool by itself.
fn is_tool(word: &[u8]) -> bool {
    word.strip_prefix(b"functions.").is_some_and(|name| !name.is_empty())
}

fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || byte >= 0x80
        || matches!(byte, b'_' | b'.' | b'-' | b'/' | b':' | b'=' | b'+' | b'$' | b'@')
}
