//! Patterns of paths as rules write them, and how they are held against a path: `*`, `**`, `?`, braces.
//! Where the path itself holds wildcards or variables, a match may be a perhaps. Time is bounded by both lengths.

use super::{LONGEST, Match, Place, Token, drive, normal, tidy};

/// A pattern of a rule.
#[derive(Clone, Debug)]
pub(in crate::policy) struct PathPattern {
    /// The readings of its braces.
    readings: Vec<Vec<Token>>,
    /// `**/…`: in any folder.
    anywhere: bool,
}

impl PathPattern {
    /// A pattern as it stands in a rule. Without a wildcard it means the path and all below it.
    pub(in crate::policy) fn new(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("the path is empty".to_owned());
        }
        if text.chars().count() > LONGEST {
            return Err(format!("the path has more than {LONGEST} characters"));
        }
        let mut readings = Vec::new();
        for reading in braces(text)? {
            let anywhere = reading.starts_with("**/");
            let rooted = if anywhere || reading == "**" {
                reading
            } else if let Some(rest) =
                reading.strip_prefix("$HOME").filter(|rest| rest.is_empty() || rest.starts_with('/'))
            {
                tidy("~", rest)
            } else if let Some(rest) = reading.strip_prefix("~/").or_else(|| (reading == "~").then_some("")) {
                tidy("~", rest)
            } else if reading.starts_with('/') {
                normal(&reading)
            } else if reading.starts_with('~') {
                return Err(format!("{text:?} names somebody's home; write ~/… or the whole path"));
            } else if drive(&reading) {
                format!("/{}", normal(&reading.replace('\\', "/")).trim_start_matches('/'))
            } else {
                tidy(".", &reading)
            };
            if rooted.starts_with("..") {
                return Err(format!("{text:?} leads out of the workspace; write the whole path"));
            }
            let plain = !rooted.contains(['*', '?']);
            let mut tokens = tokens(&rooted, false);
            if plain {
                if rooted != "/" {
                    readings.push(tokens.clone());
                    tokens.push(Token::Char('/'));
                }
                tokens.push(Token::Stars);
            } else if let Some(root) = rooted.strip_suffix("/**") {
                // `folder/**` is the folder, too.
                readings.push(self::tokens(root, false));
            }
            readings.push(tokens);
        }
        let anywhere = text.starts_with("**");
        Ok(Self { readings, anywhere })
    }

    pub(in crate::policy) fn matches(&self, place: &Place) -> Match {
        let mut best = Match::No;
        for form in &place.forms {
            if form.len() > LONGEST * 4 {
                return Match::Perhaps;
            }
            let path = tokens(form, place.loose);
            // A word that is a variable and no more may be any path: such words are no reason.
            if !path.iter().any(|token| matches!(token, Token::Char(c) if !matches!(c, '/' | '.' | '~' | ' ')))
                && place.loose
            {
                continue;
            }
            for reading in &self.readings {
                // Below a sign, `**/x` means what is below it.
                let opaque = covers(reading, &path) || (self.anywhere && covers(reading, &with_slash(&path)));
                if opaque {
                    return Match::Yes;
                }
                if place.loose && meets(reading, &path) {
                    best = Match::Perhaps;
                }
            }
        }
        for form in &place.perhaps {
            let path = tokens(form, true);
            if self.readings.iter().any(|reading| meets(reading, &path)) {
                best = Match::Perhaps;
            }
        }
        best
    }
}

/// A path of one part has no slash in front that `**/` could take.
fn with_slash(path: &[Token]) -> Vec<Token> {
    std::iter::once(Token::Char('/')).chain(path.iter().copied()).collect()
}

pub(super) fn tokens(text: &str, variables: bool) -> Vec<Token> {
    let mut found = Vec::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '*' => {
                let mut token = Token::Star;
                while chars.next_if_eq(&'*').is_some() {
                    token = Token::Stars;
                }
                // `**/` takes no folder, too.
                if token == Token::Stars
                    && !variables
                    && chars.peek() == Some(&'/')
                    && found.last() == Some(&Token::Char('/'))
                {
                    chars.next();
                }
                found.push(token);
            }
            '?' => found.push(Token::One),
            '[' if variables => {
                while chars.next().is_some_and(|c| c != ']') {}
                found.push(Token::One);
            }
            '$' | '`' | '{' if variables => {
                // A variable, a substitution, braces: anything; its name is no part of the path.
                let close = match (c, chars.peek()) {
                    ('`', _) => Some('`'),
                    ('$', Some('(')) => Some(')'),
                    ('$', Some('{')) => Some('}'),
                    _ => None,
                };
                if let Some(close) = close {
                    inside(&mut chars, close);
                    found.push(Token::Stars);
                    continue;
                }
                while chars.next_if(|c| !matches!(c, '/' | '.')).is_some() {}
                found.push(Token::Stars);
            }
            c => found.push(Token::Char(c)),
        }
    }
    found
}

/// Goes behind the sign that closes a substitution, and those within.
fn inside(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, close: char) {
    let mut depth = 0_usize;
    for c in chars.by_ref() {
        depth += usize::from(close == ')' && c == '(');
        if c == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return;
            }
        }
    }
}

/// Whether `pattern` takes every reading of `path`: wildcards of the path are characters that only wildcards take.
pub(super) fn covers(pattern: &[Token], path: &[Token]) -> bool {
    let takes = |token: Token, given: Token| match (token, given) {
        (Token::Char(a), Token::Char(b)) => a == b,
        (Token::One, Token::Char(c)) => c != '/',
        (Token::One, given) => given == Token::One,
        _ => false,
    };
    // The usual matching of wildcards with one way back, to the last `Star` or `Stars`.
    let (mut at, mut seen) = (0, 0);
    let mut back: Vec<(usize, usize, bool)> = Vec::new();
    loop {
        match pattern.get(at) {
            Some(token @ (Token::Star | Token::Stars)) => {
                let all = *token == Token::Stars;
                // Of two ways back of the same kind the later one is enough; `Stars` forgets all before it.
                if all {
                    back.clear();
                } else {
                    back.retain(|(_, _, all)| *all);
                }
                back.push((at, seen, all));
                at += 1;
                continue;
            }
            Some(token) if path.get(seen).is_some_and(|given| takes(*token, *given)) => {
                at += 1;
                seen += 1;
                continue;
            }
            None if seen == path.len() => return true,
            _ => {}
        }
        loop {
            let Some((star, eaten, all)) = back.last_mut() else { return false };
            let more = match path.get(*eaten) {
                None => false,
                Some(Token::Char('/') | Token::Stars) => *all,
                Some(_) => true,
            };
            if more {
                *eaten += 1;
                (at, seen) = (*star + 1, *eaten);
                break;
            }
            back.pop();
        }
    }
}

/// Whether some reading of both is the same.
fn meets(a: &[Token], b: &[Token]) -> bool {
    if a.len() > LONGEST || b.len() > LONGEST {
        return true;
    }
    let wild = |token: &Token| matches!(token, Token::Star | Token::Stars);
    let single = |x: Token, y: Token| match (x, y) {
        (Token::Char(x), Token::Char(y)) => x == y,
        (Token::Char('/'), Token::One) | (Token::One, Token::Char('/')) => false,
        _ => true,
    };
    let takes = |star: Token, other: Token| star == Token::Stars || other != Token::Char('/');
    let mut row = vec![false; b.len() + 1];
    row[0] = true;
    for (at, token) in b.iter().enumerate() {
        row[at + 1] = row[at] && wild(token);
    }
    for x in a {
        let before = row.clone();
        row[0] = before[0] && wild(x);
        for (at, y) in b.iter().enumerate() {
            row[at + 1] = match (wild(x), wild(y)) {
                (true, true) => row[at] || before[at + 1] || before[at],
                (true, false) => before[at + 1] || (takes(*x, *y) && row[at]),
                (false, true) => row[at] || (takes(*y, *x) && before[at + 1]),
                (false, false) => before[at] && single(*x, *y),
            };
        }
    }
    row.last().copied().unwrap_or(false)
}

/// The readings of `{a,b}`; no braces inside braces.
fn braces(text: &str) -> Result<Vec<String>, String> {
    let mut readings = vec![String::new()];
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, after) = rest.split_at(open);
        let Some(close) = after.find('}') else { return Err(format!("{text:?} opens a brace and does not close it")) };
        let choices: Vec<&str> = after.get(1..close).unwrap_or_default().split(',').collect();
        if readings.len() * choices.len() > 64 {
            return Err(format!("{text:?} has more than 64 readings"));
        }
        readings = readings
            .iter()
            .flat_map(|reading| choices.iter().map(move |choice| format!("{reading}{before}{choice}")))
            .collect();
        rest = after.get(close + 1..).unwrap_or_default();
    }
    for reading in &mut readings {
        reading.push_str(rest);
    }
    Ok(readings)
}
