//! What belongs to a person: mail addresses, telephone numbers, cards, accounts, numbers with an authority. A form
//! alone is not enough: a card and an account pass their checks, a number says its country, an address is somebody's.

use std::ops::Range;

use super::{super::names, shape};

fn at(text: &[u8], place: usize) -> u8 {
    text.get(place).copied().unwrap_or(0)
}

/// The mail address around the `@` at this place, if it is a person's.
pub(super) fn mail(text: &[u8], sign: usize) -> Option<Range<usize>> {
    let mut start = sign;
    while start > 0
        && sign - start < 65
        && (text[start - 1].is_ascii_alphanumeric() || matches!(text[start - 1], b'.' | b'_' | b'-' | b'+'))
    {
        start -= 1;
    }
    while start < sign && matches!(text[start], b'.' | b'-' | b'+') {
        start += 1;
    }
    if start == sign || sign - start > 64 || text[sign - 1] == b'.' {
        return None;
    }
    // A part of an address of a page, or of a remote.
    if start > 0
        && matches!(text[start - 1], b'/' | b':' | b'@' | b'\\' | b'=' | b'&' | b'%')
        && !text[..start].ends_with(b"mailto:")
        && matches!(text[start - 1], b'/' | b'@')
    {
        return None;
    }
    let mut end = sign + 1;
    let mut dot = None;
    while end - sign < 254 && (at(text, end).is_ascii_alphanumeric() || matches!(at(text, end), b'-' | b'.')) {
        if text[end] == b'.' {
            if !at(text, end + 1).is_ascii_alphanumeric() {
                break;
            }
            dot = Some(end);
        }
        end += 1;
    }
    let dot = dot?;
    let top = text.get(dot + 1..end)?;
    if !(2..=18).contains(&top.len())
        || !top.iter().all(u8::is_ascii_alphabetic)
        || matches!(at(text, end), b':' | b'/' | b'@' | b'(')
    {
        return None;
    }
    let top = String::from_utf8_lossy(top).to_ascii_lowercase();
    let domain = String::from_utf8_lossy(&text[sign + 1..end]).to_ascii_lowercase();
    let local = String::from_utf8_lossy(&text[start..sign]).to_ascii_lowercase();
    let set_apart = names::has("personal.tops_apart", &top)
        || domain.contains("noreply")
        || domain.split('.').any(|part| names::has("personal.domains_apart", part));
    let nobody = names::has("personal.nobody", &local)
        || local.split(['+', '.', '-', '_']).next().is_some_and(|first| names::has("personal.nobody", first))
        || local.contains("noreply");
    (!names::has("personal.files", &top) && !set_apart && !nobody).then_some(start..end)
}

/// What a run of digits that begins at this place is, with its span.
pub(super) fn digits(text: &[u8], start: usize) -> Option<(&'static str, Range<usize>)> {
    let before = if start == 0 { 0 } else { text[start - 1] };
    if before == b'+' {
        return phone(text, start - 1).map(|span| ("phone-number", span));
    }
    if before.is_ascii_uppercase() {
        return iban(text, start).map(|span| ("iban", span));
    }
    if before.is_ascii_alphanumeric()
        || matches!(before, b'_' | b'.' | b'-' | b'/' | b'=' | b'%' | b'#' | b'$' | b'&' | b'+')
            && !matches!(before, b'=')
    {
        return None;
    }
    if let Some(span) = card(text, start) {
        return Some(("card-number", span));
    }
    if let Some(span) = social_security(text, start) {
        return Some(("national-id", span));
    }
    national_phone(text, start).map(|span| ("phone-number", span))
}

/// Whether one of these words stands right before, with nothing but a sign between.
fn behind_phone_word(text: &[u8], start: usize) -> bool {
    let before = &text[start.saturating_sub(24)..start];
    let end = before
        .iter()
        .rposition(|byte| !matches!(byte, b' ' | b':' | b'.' | b'=' | b'"' | b'\'' | b'(' | b'#' | b'>'))
        .map_or(0, |at| at + 1);
    // The number may go on from its word, as an argument does; it has to be set off at least.
    end < before.len()
        && names::list("personal.phone_words").iter().any(|word| {
            let Some(at) = end.checked_sub(word.len()) else { return false };
            before[at..end].eq_ignore_ascii_case(word.as_bytes())
                && (at == 0 || !before[at - 1].is_ascii_alphanumeric())
        })
}

/// A number without its country: in a form that nothing else has, or behind a word that says what it is.
fn national_phone(text: &[u8], start: usize) -> Option<Range<usize>> {
    let open = start > 0 && text[start - 1] == b'(';
    let mut place = start;
    let (mut digits, mut groups, mut marks, mut end) = (Vec::new(), vec![0_usize], Vec::new(), start);
    while digits.len() < 16 {
        let byte = at(text, place);
        match byte {
            b'0'..=b'9' => {
                digits.push(byte - b'0');
                if let Some(group) = groups.last_mut() {
                    *group += 1;
                }
                end = place + 1;
            }
            b' ' | b'-' | b'.' | b'/' | b')' if groups.last() != Some(&0) => {
                groups.push(0);
                marks.push(byte);
            }
            b' ' if at(text, place - 1) == b')' => {}
            _ => break,
        }
        place += 1;
    }
    if groups.last() == Some(&0) {
        groups.pop();
        marks.pop();
    }
    let head = digits.first().copied()?;
    if !ends(text, end) || distinct(&digits) < 4 || groups.len() > 7 {
        return None;
    }
    let run = digits.windows(6).any(|run| run.windows(2).all(|pair| pair[1] == pair[0] + 1));
    let same = marks.windows(2).all(|pair| pair[0] == pair[1]);
    // (415) 867-5309, 415-867-5309
    let american = groups == [3, 3, 4]
        && head > 1
        && digits.get(3).is_some_and(|digit| *digit > 1)
        && digits[..3] != [5, 5, 5]
        && digits[3..6] != [5, 5, 5]
        && (open && matches!(marks.as_slice(), [b')', b'-' | b' ' | b'.']) || !open && marks == [b'-', b'-']);
    // 01 44 27 32 98
    let french = groups == [2, 2, 2, 2, 2] && head == 0 && digits[1] > 0 && same && matches!(marks[0], b' ' | b'.');
    let told = (7..=13).contains(&digits.len())
        && (groups.len() > 1 || digits.len() >= 9)
        && !groups[..groups.len() - 1].contains(&1)
        && behind_phone_word(text, start);
    ((american || french || told) && !run).then(|| if open { start - 1..end } else { start..end })
}

/// Digits in groups, up to `most` of them; the end of the last one.
fn grouped(text: &[u8], start: usize, most: usize, marks: &[u8]) -> (Vec<u8>, usize, Vec<usize>) {
    let mut digits = Vec::with_capacity(most);
    let mut groups = vec![0];
    let mut place = start;
    let mut end = start;
    let mut mark = 0;
    while digits.len() <= most {
        let byte = at(text, place);
        if byte.is_ascii_digit() {
            digits.push(byte - b'0');
            place += 1;
            end = place;
            if let Some(group) = groups.last_mut() {
                *group += 1;
            }
        } else if marks.contains(&byte) && (mark == 0 || mark == byte) && at(text, place + 1).is_ascii_digit() {
            mark = byte;
            groups.push(0);
            place += 1;
        } else {
            break;
        }
    }
    (digits, end, groups)
}

fn ends(text: &[u8], end: usize) -> bool {
    let next = at(text, end);
    !(next.is_ascii_alphanumeric()
        || next == b'_'
        || (matches!(next, b'.' | b'-' | b'/' | b'+') && at(text, end + 1).is_ascii_alphanumeric()))
}

fn card(text: &[u8], start: usize) -> Option<Range<usize>> {
    if !matches!(at(text, start), b'2'..=b'6') {
        return None;
    }
    let (digits, end, groups) = grouped(text, start, 19, b" -");
    let length = digits.len();
    if !(13..=19).contains(&length) || !ends(text, end) || distinct(&digits) < 2 {
        return None;
    }
    // Numbers are written whole, or in groups as on the card.
    let spelled = matches!(groups.as_slice(), [_] | [4, 4, 4, 1..=7] | [4, 6, 4 | 5] | [4, 4, 4, 4, 1..=3]);
    let head = |count: usize| digits.iter().take(count).fold(0_u32, |sum, digit| sum * 10 + u32::from(*digit));
    let issued = match length {
        14 => matches!(head(2), 36 | 38 | 39) || (300..=305).contains(&head(3)),
        15 => matches!(head(2), 34 | 37),
        13 => digits[0] == 4 && groups.len() > 1,
        16 => {
            digits[0] == 4
                || (51..=55).contains(&head(2))
                || (222_100..=272_099).contains(&head(6))
                || matches!(head(2), 65 | 62)
                || head(4) == 6011
                || (644..=649).contains(&head(3))
                || (3528..=3589).contains(&head(4))
        }
        17..=19 => head(2) == 62 || (digits[0] == 4 && length == 19),
        _ => false,
    };
    (spelled && issued && shape::luhn(digits.iter().copied())).then_some(start..end)
}

fn distinct(digits: &[u8]) -> usize {
    (0..10).filter(|digit| digits.contains(digit)).count()
}

/// The length of an account number by its country.
fn iban_length(country: &[u8]) -> Option<usize> {
    let of = |entry: &String| {
        entry
            .as_bytes()
            .strip_prefix(country)?
            .iter()
            .try_fold(0, |all, digit| digit.is_ascii_digit().then(|| all * 10 + usize::from(*digit - b'0')))
    };
    names::list("personal.iban_lengths").iter().filter(|_| country.len() == 2).find_map(of)
}

fn iban(text: &[u8], digits: usize) -> Option<Range<usize>> {
    let start = digits.checked_sub(2)?;
    if start > 0 && (text[start - 1].is_ascii_alphanumeric() || text[start - 1] == b'_') {
        return None;
    }
    let length = iban_length(text.get(start..digits)?)?;
    let mut account = Vec::with_capacity(length);
    let mut place = start;
    while account.len() < length {
        let byte = at(text, place);
        if byte.is_ascii_digit() || byte.is_ascii_uppercase() {
            account.push(byte);
        } else if byte != b' ' || !account.len().is_multiple_of(4) || at(text, place - 1) == b' ' {
            return None;
        }
        place += 1;
    }
    (ends(text, place) && shape::mod97(&account)).then_some(start..place)
}

fn phone(text: &[u8], start: usize) -> Option<Range<usize>> {
    let before = if start == 0 { b' ' } else { text[start - 1] };
    if before.is_ascii_alphanumeric()
        || matches!(before, b'+' | b'_' | b'/' | b'=' | b'-' | b')' | b']' | b'.') && !text[..start].ends_with(b"tel:")
    {
        return None;
    }
    if at(text, start + 1) == b'0' {
        return None;
    }
    // `+49 (0) 30 1234-567`: digits in groups with one mark between them.
    let mut place = start + 1;
    let (mut digits, mut groups, mut end, mut open) = (Vec::new(), 1, place, false);
    while digits.len() < 16 {
        let byte = at(text, place);
        match byte {
            b'0'..=b'9' => {
                digits.push(byte - b'0');
                end = place + 1;
            }
            b' ' | b'-' | b'.' | b'(' | b')'
                if !matches!((at(text, place - 1), byte), (b' ', b' ') | (b'-' | b'.', _)) =>
            {
                if byte == b'(' {
                    if open {
                        break;
                    }
                    open = true;
                }
                if at(text, place - 1).is_ascii_digit() {
                    groups += 1;
                }
                if groups > 7 {
                    break;
                }
            }
            _ => break,
        }
        place += 1;
    }
    let plausible = (9..=15).contains(&digits.len()) && distinct(&digits) >= 4 && ends(text, end);
    // Numbers kept for films and examples.
    let film = digits.windows(3).any(|three| three == [5, 5, 5]) && digits.first() == Some(&1);
    (plausible && !film && !digits.windows(8).any(|run| run.windows(2).all(|pair| pair[1] == pair[0] + 1)))
        .then_some(start..end)
}

/// A number of the social security of the United States, written in three groups, from the ranges that are given out.
fn social_security(text: &[u8], start: usize) -> Option<Range<usize>> {
    let number = text.get(start..start + 11)?;
    let formed = number
        .iter()
        .enumerate()
        .all(|(at, byte)| if matches!(at, 3 | 6) { *byte == b'-' } else { byte.is_ascii_digit() });
    if !formed || !ends(text, start + 11) {
        return None;
    }
    let [a, b, c] = [&number[..3], &number[4..6], &number[7..]];
    let known = number == b"078-05-1120" || number == b"219-09-9999" || number == b"123-45-6789";
    (a != b"000" && a != b"666" && a[0] != b'9' && b != b"00" && c != b"0000" && !known).then_some(start..start + 11)
}
