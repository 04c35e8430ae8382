//! Members that come piece by piece in a stream, as a whole answer would have them.
//!
//! The number of members is bounded and every byte is handled a bounded number of times, whatever a server sends.

use loopwright_base::{
    error::{Failure, Result},
    json::{Fields, Raw},
};

use super::{parse::Rest, response::invalid};

/// A stream may not hold more members of its own at any place.
const MAX_MEMBERS: usize = 256;

/// What came under one key.
#[derive(Debug)]
enum Piece {
    One(Raw),
    /// The elements of lists that came in pieces.
    Many(Vec<Raw>),
}

/// Members that come piece by piece.
#[derive(Debug, Default)]
pub(super) struct Gathered(Vec<(String, Piece)>);

impl Gathered {
    /// Keeps the member. A later value replaces an earlier one, `null` replaces nothing; lists are joined if `join`.
    pub(super) fn add(&mut self, key: &str, value: &str, join: bool) -> Result<(), Failure> {
        let at = self.0.iter().position(|(name, _)| name == key);
        if join
            && value.starts_with('[')
            && let Ok(mut elements) = serde_json::from_str::<Vec<Raw>>(value)
        {
            match at.and_then(|at| self.0.get_mut(at)) {
                Some((_, Piece::Many(all))) => all.append(&mut elements),
                Some((_, piece)) => *piece = Piece::Many(elements),
                None => self.push(key, Piece::Many(elements))?,
            }
            return Ok(());
        }
        match at.and_then(|at| self.0.get_mut(at)) {
            Some(_) if value == "null" => {}
            Some((_, Piece::One(old))) if old.text() == value => {}
            Some((_, piece)) => *piece = Piece::One(raw(value)),
            None => self.push(key, Piece::One(raw(value)))?,
        }
        Ok(())
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn push(&mut self, key: &str, piece: Piece) -> Result<(), Failure> {
        if self.0.len() >= MAX_MEMBERS {
            return Err(invalid("a stream has too many members", key));
        }
        self.0.push((key.to_owned(), piece));
        Ok(())
    }

    pub(super) fn add_all(&mut self, rest: &Rest<'_>, join: bool) -> Result<(), Failure> {
        rest.iter().try_for_each(|(key, value)| self.add(key, value.get(), join))
    }

    pub(super) fn fields(&self) -> Fields {
        let value = |piece: &Piece| match piece {
            Piece::One(raw) => raw.clone(),
            Piece::Many(elements) => Raw::of(elements),
        };
        self.0.iter().map(|(key, piece)| (key.clone(), value(piece))).collect()
    }
}

/// JSON that was part of a parsed event.
fn raw(text: &str) -> Raw {
    Raw::parse(text).unwrap_or_default()
}

/// Pieces of `reasoning_details` as the details they belong to: consecutive ones of the same type and index are one,
/// with their words joined and the last of everything else. A detail that came in one piece stays as it came: it may be
/// signed as it is.
pub(super) fn join_details(pieces: &Raw) -> Raw {
    struct Detail {
        /// The detail as it came, if no other piece belongs to it.
        whole: Option<Raw>,
        kind: Option<Raw>,
        index: Option<Raw>,
        words: Vec<(&'static str, String)>,
        rest: Fields,
    }
    const WORDS: [&str; 3] = ["text", "summary", "data"];
    let read = pieces.to::<Vec<Raw>>().ok();
    let read = read.and_then(|all| {
        all.into_iter().map(|raw| Some((Fields::parse(raw.text()).ok()?, raw))).collect::<Option<Vec<_>>>()
    });
    // Details of too many members are nobody's; they stay as they came.
    let Some(pieces) = read.filter(|all| all.iter().all(|(piece, _)| piece.len() <= MAX_MEMBERS)) else {
        return pieces.clone();
    };
    let mut details: Vec<Detail> = Vec::new();
    for (mut piece, raw) in pieces {
        let (kind, index) = (piece.get("type").cloned(), piece.get("index").cloned());
        let words = WORDS.into_iter().filter_map(|key| Some((key, piece.take_str(key)?))).collect::<Vec<_>>();
        match details.last_mut() {
            Some(last) if index.is_some() && last.kind == kind && last.index == index => {
                last.whole = None;
                for (key, text) in words {
                    match last.words.iter_mut().find(|(name, _)| *name == key) {
                        Some((_, all)) => all.push_str(&text),
                        None => last.words.push((key, text)),
                    }
                }
                for (key, value) in piece.iter().filter(|(_, value)| !value.is_null()).take(MAX_MEMBERS) {
                    if last.rest.len() < MAX_MEMBERS || last.rest.get(key).is_some() {
                        last.rest.set(key, value.clone());
                    }
                }
            }
            _ => details.push(Detail { whole: Some(raw), kind, index, words, rest: piece }),
        }
    }
    let joined = details.into_iter().map(|mut detail| {
        for (key, text) in &detail.words {
            detail.rest.put(key, text);
        }
        detail.whole.unwrap_or_else(|| detail.rest.to_raw())
    });
    Raw::of(&joined.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w30_a_detail_in_one_piece_stays_byte_for_byte() {
        let whole = r#"{"data": "x", "new":1.50e0, "type":"reasoning.encrypted","index":0}"#;
        let text = |words: &str| format!(r#"{{"text":"{words}","type":"reasoning.text","index":1}}"#);
        let pieces = Raw::parse(format!("[{whole},{},{}]", text("a"), text("b"))).unwrap();
        let joined = r#"{"type":"reasoning.text","index":1,"text":"ab"}"#;
        assert_eq!(join_details(&pieces).text(), format!("[{whole},{joined}]"));
    }

    #[test]
    fn details_of_many_members_take_linear_time() {
        let members = |from: usize, count: usize| {
            let list: Vec<String> = (from..from + count).map(|n| format!(r#""k{n}":{n}"#)).collect();
            format!(r#"{{"type":"t","index":0,"text":"x",{}}}"#, list.join(","))
        };
        let wide = Raw::parse(format!("[{},{}]", members(0, 50_000), members(0, 100))).unwrap();
        assert_eq!(join_details(&wide), wide);
        let pieces: Vec<String> = (0..2_000).map(|n| members(n * 200, 200)).collect();
        let joined: Vec<Fields> = join_details(&Raw::parse(format!("[{}]", pieces.join(","))).unwrap()).to().unwrap();
        assert_eq!((joined.len(), joined[0].get_str("text").unwrap().len()), (1, 2_000));
        assert!(joined[0].len() <= MAX_MEMBERS + 1);
    }
}
