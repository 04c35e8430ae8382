//! A look for a string in what comes in pieces.

/// Looks for a string, in steps: of an input that grew at its end it looks again at no more than what may be the
/// string's beginning.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seek {
    at: usize,
}

impl Seek {
    /// Where the string begins.
    pub(crate) fn step(&mut self, needle: &str, input: &[u8]) -> Option<usize> {
        let needle = needle.as_bytes();
        let rest = input.get(self.at..).unwrap_or_default();
        let found = memchr::memmem::find(rest, needle);
        let before = self.at;
        self.at += rest.len() - begun(rest, needle);
        found.map(|found| before + found)
    }
}

/// How many bytes at the end of `input` are the beginning of `needle`, the longest such.
pub(crate) fn begun(input: &[u8], needle: &[u8]) -> usize {
    let most = input.len().min(needle.len().saturating_sub(1));
    (1..=most)
        .rev()
        .find(|&length| needle.starts_with(input.get(input.len() - length..).unwrap_or_default()))
        .unwrap_or(0)
}
