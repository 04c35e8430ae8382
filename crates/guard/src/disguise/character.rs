//! Characters that a person can't see, or that change what a person reads: which they are, and where they belong.
//!
//! The properties are Unicode's own. What belongs where it stands is no disguise: joiners in emoji and in scripts that
//! join, variation selectors behind what has variants, marks of direction beside letters that run from right to left.

use icu_properties::{
    CodePointMapData, CodePointSetData,
    props::{
        BidiClass, BidiControl, CanonicalCombiningClass, DefaultIgnorableCodePoint, EastAsianWidth, Emoji,
        EmojiModifier, ExtendedPictographic, GeneralCategory, JoiningType, LineBreak, PrependedConcatenationMark,
        Script, UnifiedIdeograph,
    },
};

/// What a character does to whoever reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deceit {
    Reorders,
    Tag,
    Control,
    Unseen,
    Blank,
    Break,
    Unknown,
}

impl Deceit {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Reorders => "which changes the order in which a text is shown",
            Self::Tag => "a tag, which nobody sees and a model reads",
            Self::Control => "which a terminal obeys",
            Self::Unseen => "which nobody sees",
            Self::Blank => "which looks like a blank and is none",
            Self::Break => "which breaks a line where it is shown",
            Self::Unknown => "of which nobody knows how it is shown",
        }
    }
}

/// A character that is not what it seems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Odd {
    /// Its first byte.
    pub(super) at: usize,
    pub(super) character: char,
    pub(super) kind: Deceit,
}

/// The characters of a text that are not what they seem. In a `word` — a path, a name, a word of a command — more is
/// odd than in prose, where a blank that holds words together does no harm.
pub(super) fn odd(text: &str, word: bool) -> impl Iterator<Item = Odd> + '_ {
    let plain = text.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~'));
    let characters = if plain { "" } else { text }.char_indices();
    characters.filter_map(move |(at, character)| {
        let kind = kind_of(character)?;
        let (before, after) = (&text[..at], &text[at + character.len_utf8()..]);
        let belongs = belongs(before, character, after) || !word && belongs_in_prose(text, before, character, after);
        (!belongs).then_some(Odd { at, character, kind })
    })
}

fn kind_of(c: char) -> Option<Deceit> {
    if matches!(c, '\n' | '\t' | ' '..='~') {
        return None;
    }
    if c.is_control() {
        return Some(Deceit::Control);
    }
    if CodePointSetData::new::<BidiControl>().contains(c) {
        return Some(Deceit::Reorders);
    }
    if is_tag(c) {
        return Some(Deceit::Tag);
    }
    if CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c) {
        return Some(Deceit::Unseen);
    }
    match CodePointMapData::<GeneralCategory>::new().get(c) {
        GeneralCategory::SpaceSeparator => Some(Deceit::Blank),
        GeneralCategory::LineSeparator | GeneralCategory::ParagraphSeparator => Some(Deceit::Break),
        // Signs of Arabic numbers and of hieroglyphs are seen.
        GeneralCategory::Format => {
            let seen = CodePointSetData::new::<PrependedConcatenationMark>().contains(c)
                || script(c) == Script::EgyptianHieroglyphs;
            (!seen).then_some(Deceit::Unseen)
        }
        GeneralCategory::PrivateUse => Some(Deceit::Unknown),
        // Pictures have places that are kept for them.
        GeneralCategory::Unassigned => (!pictures(c)).then_some(Deceit::Unknown),
        // A pattern of Braille without a dot.
        _ => (c == '\u{2800}').then_some(Deceit::Blank),
    }
}

/// Whether a character is where its script or its picture needs it.
fn belongs(before: &str, c: char, after: &str) -> bool {
    let (last, next) = (before.chars().next_back(), after.chars().next());
    match c {
        '\u{200d}' => joins_pictures(before, next) || joins_letters(last, next),
        '\u{200c}' => joins_letters(last, next),
        '\u{fe0e}' | '\u{fe0f}' => last.is_some_and(|last| {
            // The keycap behind a digit is a picture, the digit alone is none.
            let keycap = !last.is_ascii() || next == Some('\u{20e3}');
            keycap && CodePointSetData::new::<Emoji>().contains(last)
        }),
        '\u{fe00}'..='\u{fe0d}' | '\u{e0100}'..='\u{e01ef}' => {
            last.is_some_and(|last| CodePointSetData::new::<UnifiedIdeograph>().contains(last))
        }
        '\u{180b}'..='\u{180f}' => last.is_some_and(|last| script(last) == Script::Mongolian),
        '\u{3000}' => [last, next].into_iter().flatten().any(is_wide),
        _ if is_tag(c) => is_flag(before, c, after),
        _ => false,
    }
}

/// Whether a character does no harm among words, where it stands.
fn belongs_in_prose(text: &str, before: &str, c: char, after: &str) -> bool {
    match c {
        '\r' => after.starts_with('\n'),
        '\u{feff}' => before.is_empty(),
        '\u{200e}' | '\u{200f}' | '\u{61c}' => text.chars().take(LOOKED_AT).any(runs_leftwards),
        // Between words of scripts that write none apart.
        '\u{200b}' => {
            let near = [before.chars().next_back(), after.chars().next()];
            near.into_iter().flatten().any(|c| CodePointMapData::<LineBreak>::new().get(c) == LineBreak::ComplexContext)
        }
        c => kind_of(c) == Some(Deceit::Blank),
    }
}

/// Characters that are looked at for a letter that runs from right to left.
const LOOKED_AT: usize = 4_096;
/// Tags of a flag: a region's letters and digits, and the sign of the end.
const TAGS_OF_A_FLAG: usize = 7;

const fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// Whether a tag is one of a flag's: a black flag, the letters of a region, the sign of the end.
fn is_flag(before: &str, c: char, after: &str) -> bool {
    const END: char = '\u{e007f}';
    let letter = |c: char| matches!(c, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}');
    let behind = before.chars().rev().take(TAGS_OF_A_FLAG).take_while(|c| letter(*c)).count();
    let flag = before.chars().rev().nth(behind) == Some('\u{1f3f4}');
    let ahead = after.chars().take(TAGS_OF_A_FLAG).take_while(|c| letter(*c)).count();
    let ends = if c == END { behind > 0 } else { letter(c) && after.chars().nth(ahead) == Some(END) };
    flag && ends && behind + ahead < TAGS_OF_A_FLAG
}

/// Whether a picture stands on both sides, with what changes its look.
fn joins_pictures(before: &str, next: Option<char>) -> bool {
    let changes = |c: &char| *c == '\u{fe0f}' || CodePointSetData::new::<EmojiModifier>().contains(*c);
    let last = before.chars().rev().take(3).find(|c| !changes(c));
    last.is_some_and(pictures) && next.is_some_and(pictures)
}

/// Whether a joiner changes how the letters beside it look: behind a virama, or between letters that join.
fn joins_letters(last: Option<char>, next: Option<char>) -> bool {
    let (Some(last), Some(next)) = (last, next) else { return false };
    let virama = CodePointMapData::<CanonicalCombiningClass>::new().get(last) == CanonicalCombiningClass::Virama;
    let joins = |c: char| {
        let joining = CodePointMapData::<JoiningType>::new().get(c);
        matches!(joining, JoiningType::DualJoining | JoiningType::LeftJoining | JoiningType::RightJoining)
    };
    virama && next.is_alphabetic() || joins(last) && joins(next)
}

fn pictures(c: char) -> bool {
    CodePointSetData::new::<ExtendedPictographic>().contains(c)
}

pub(super) fn script(c: char) -> Script {
    CodePointMapData::<Script>::new().get(c)
}

fn is_wide(c: char) -> bool {
    let width = CodePointMapData::<EastAsianWidth>::new().get(c);
    c != '\u{3000}' && matches!(width, EastAsianWidth::Wide | EastAsianWidth::Fullwidth)
}

fn runs_leftwards(c: char) -> bool {
    matches!(CodePointMapData::<BidiClass>::new().get(c), BidiClass::RightToLeft | BidiClass::ArabicLetter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, word: bool) -> Vec<Deceit> {
        odd(text, word).map(|odd| odd.kind).collect()
    }

    #[test]
    fn g10_what_nobody_sees_is_found() {
        for (text, kind) in [
            ("a\u{202e}b", Deceit::Reorders),
            ("a\u{2066}b\u{2069}", Deceit::Reorders),
            ("a\u{61c}b", Deceit::Reorders),
            ("a\u{e0061}\u{e0062}", Deceit::Tag),
            ("\u{1b}[31m", Deceit::Control),
            ("a\rb", Deceit::Control),
            ("a\u{85}b", Deceit::Control),
            ("a\u{200b}b", Deceit::Unseen),
            ("a\u{200d}b", Deceit::Unseen),
            ("a\u{2060}b", Deceit::Unseen),
            ("a\u{ad}b", Deceit::Unseen),
            ("a\u{fe0f}", Deceit::Unseen),
            ("1\u{fe0f}", Deceit::Unseen),
            ("a\u{e0101}", Deceit::Unseen),
            ("😀\u{fe0f}\u{fe0f}", Deceit::Unseen),
            ("a\u{3164}b", Deceit::Unseen),
            ("a\u{34f}b", Deceit::Unseen),
            ("a\u{fff9}b", Deceit::Unseen),
            ("a\u{180e}b", Deceit::Unseen),
            ("a\u{2028}b", Deceit::Break),
            ("a\u{a0}b", Deceit::Blank),
            ("a\u{3000}b", Deceit::Blank),
            ("a\u{2800}b", Deceit::Blank),
            ("a\u{e000}b", Deceit::Unknown),
            ("a\u{378}b", Deceit::Unknown),
        ] {
            assert!(found(text, true).contains(&kind), "{text:?}: {:?}", found(text, true));
        }
        // A flag of a region has few tags: what is more is no flag.
        let long: String = ('\u{e0061}'..='\u{e0070}').collect();
        assert!(!found(&format!("\u{1f3f4}{long}\u{e007f}"), false).is_empty());
    }

    #[test]
    fn g10_what_belongs_is_not_found() {
        for text in [
            "plain text",
            "naïve Straße Łódź İstanbul ısı",
            "отчёт за год",
            "報告書.txt",
            "한국어 日本語",
            "मर्‌म क्‍ष",
            "می‌خواهم",
            "שלום עולם",
            "👩‍👩‍👧‍👦 🏳️‍🌈 ❤️ 1️⃣ 👍🏽 👩🏽‍🚀 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
            "修正　テスト",
            "葛\u{e0100}城",
            "e\u{301}",
        ] {
            assert_eq!(odd(text, true).collect::<Vec<_>>(), [], "{text}");
        }
        for text in ["a\r\nb", "\u{feff}a", "ça va\u{a0}?", "אב\u{200f}!", "ภาษา\u{200b}ไทย"] {
            assert_eq!(odd(text, false).collect::<Vec<_>>(), [], "{text:?}");
            assert_ne!(odd(text, true).collect::<Vec<_>>(), [], "{text:?}");
        }
    }
}
