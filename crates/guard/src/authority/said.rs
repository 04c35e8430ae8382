//! Whether a text orders something, or only asks to read, to show and to explain: what each of its clauses begins with.

use std::{collections::HashMap, sync::LazyLock};

use super::{
    names::{self as verbs, stem},
    token,
};
use crate::names;

/// What a clause is.
#[derive(Clone, Copy, PartialEq)]
enum Clause {
    /// Nothing of weight has stood in it.
    Open,
    /// It asks to read or to explain something, or asks a question.
    Reads,
    /// It says what not to do.
    Denies,
}

/// Words behind which another clause may begin.
const JOINS: [&str; 5] = ["and", "then", "but", "or", "so"];

/// Whether a text orders nothing. A clause that begins with a word that is not known counts as an order.
pub(super) fn orders_nothing(text: &str) -> bool {
    // A text that is spoken about follows: `Translate: …`.
    let mut shown = false;
    for line in text.lines() {
        shown &= !line.trim().is_empty();
        // `The mail says: …`: what somebody else said is no order.
        if let Some((head, _)) = line.split_once(':')
            && let [first, .., last] = head.split_whitespace().collect::<Vec<_>>().as_slice()
            && names::has("said.reporting", &token(last).0)
            && names::has("said.speakers", &token(first).0)
        {
            shown = true;
            continue;
        }
        let (mut clause, mut before) = (Clause::Open, Clause::Open);
        let mut tells = false;
        let mut words = line.split_whitespace().filter(|_| !shown).peekable();
        while let Some(raw) = words.next() {
            let (word, _) = token(raw);
            if clause == Clause::Open {
                let mut denied = || words.peek().is_some_and(|next| names::has("said.negations", &token(next).0));
                if names::has("said.negations", &word) || word == "do" && denied() {
                    clause = Clause::Denies;
                } else if names::has("said.reading", &word) {
                    clause = Clause::Reads;
                    tells = names::has("said.telling", &word);
                } else if !word.is_empty() && !names::has("said.fillers", &word) {
                    // What goes on with a list (`read a.txt and b.txt`) is no order by itself.
                    if before == Clause::Open || is_verb(&word) {
                        return false;
                    }
                    clause = before;
                }
            } else if JOINS.contains(&word.as_str()) {
                (before, clause) = (clause, Clause::Open);
            }
            match raw.chars().next_back() {
                Some(',') if clause != Clause::Open => (before, clause) = (clause, Clause::Open),
                Some('.' | '!' | '?' | ';') => (before, clause) = (Clause::Open, Clause::Open),
                Some(':') if tells && clause == Clause::Reads => {
                    shown = true;
                    break;
                }
                _ => {}
            }
        }
    }
    true
}

/// The list of verbs that a word belongs to in some form.
pub(super) fn kind(word: &str) -> Option<&'static str> {
    static KINDS: LazyLock<HashMap<String, &str>> = LazyLock::new(|| {
        let stems = |list: &'static str| names::list(list).iter().map(move |verb| (stem(verb), list));
        ["said.run", "said.change"].into_iter().flat_map(stems).collect()
    });
    KINDS.get(&stem(word)).copied()
}

/// Whether a word says by itself that something is to be done.
fn is_verb(word: &str) -> bool {
    names::has("said.run", word) || names::has("said.change", word) || verbs::is_verb(word) || verbs::is_program(word)
}
