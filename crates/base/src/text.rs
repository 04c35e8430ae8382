//! Text as characters: how it is cut to a length, which of them nobody sees, and the one that ends a paragraph within a
//! line.

/// Ends a paragraph within a line, as where a page is written without line breaks: the lines of a file stay counted as
/// they are.
pub const PARAGRAPH: char = '\u{2029}';

/// Characters that nobody sees and that change how others are read.
pub const fn is_hidden(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}')
}

/// The last boundary between characters at or before `at`; the end of a shorter text. (`str::floor_char_boundary` needs
/// Rust 1.91.)
pub fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The first boundary between characters at or behind `at`; the end of a shorter text.
pub fn ceil_boundary(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// The beginning of a text: at most so many bytes, whole characters.
pub fn head(text: &str, bytes: usize) -> &str {
    text.get(..floor_boundary(text, bytes)).unwrap_or_default()
}

/// The end of a text: at most so many bytes, whole characters.
pub fn tail(text: &str, bytes: usize) -> &str {
    text.get(ceil_boundary(text, text.len().saturating_sub(bytes))..).unwrap_or_default()
}

/// A text in pieces of at least so many bytes each, as few as whole characters allow; the last may be shorter.
pub fn pieces(text: &str, bytes: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, others) = rest.split_at(ceil_boundary(rest, bytes.max(1)));
        rest = others;
        Some(piece).filter(|piece| !piece.is_empty())
    })
}

/// The first characters of a text, at most so many.
pub fn first(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// The first characters of a text, at most so many, with `…` behind them where there were more.
pub fn clip(text: &str, characters: usize) -> String {
    let start = first(text, characters);
    if start.len() < text.len() { format!("{start}…") } else { start.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        let text = "aé中🦀";
        let heads = ["", "a", "a", "aé", "aé", "aé", "aé中", "aé中", "aé中", "aé中", text, text];
        let tails = ["", "", "", "", "🦀", "🦀", "🦀", "中🦀", "中🦀", "é中🦀", text, text];
        for (bytes, (start, end)) in heads.into_iter().zip(tails).enumerate() {
            assert_eq!((head(text, bytes), tail(text, bytes)), (start, end), "{bytes}");
            assert_eq!(pieces(text, bytes).collect::<String>(), text);
            assert!(pieces(text, bytes).all(|piece| !piece.is_empty() && piece.len() < bytes.max(1) + 4));
        }
        assert_eq!(pieces(text, 2).collect::<Vec<_>>(), ["aé", "中", "🦀"]);
        assert_eq!((head(text, usize::MAX), tail(text, usize::MAX)), (text, text));
    }

    #[test]
    fn a_mark_stands_behind_what_was_clipped_and_nothing_else() {
        for (characters, start, clipped) in
            [(0, "", "…"), (1, "é", "é…"), (3, "é中🦀", "é中🦀"), (usize::MAX, "é中🦀", "é中🦀")]
        {
            assert_eq!((first("é中🦀", characters), clip("é中🦀", characters).as_str()), (start, clipped));
        }
        assert_eq!((first("", 0), clip("", 0).as_str()), ("", ""));
    }
}
