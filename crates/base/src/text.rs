//! Text as characters: those that nobody sees, and the one that ends a paragraph within a line.

/// Ends a paragraph within a line, as where a page is written without line breaks: the lines of a file stay counted as
/// they are.
pub const PARAGRAPH: char = '\u{2029}';

/// Characters that nobody sees and that change how others are read.
pub const fn is_hidden(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}')
}
