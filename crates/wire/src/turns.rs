//! A history as turns of two roles that alternate, for wires that insist on it.
//!
//! The user begins, neighbours of one role are one turn, and the results of a model's turn stand first in the turn
//! behind it. A turn that came from the wire stays as it is.

use std::{borrow::Cow, collections::HashMap};

use crate::notes::note;
use loopwright_base::{
    json::Fields,
    message::{Extra, Message, Role, Wire},
    request::Entry,
};

/// How a wire writes turns: an object that ends with the list of its pieces.
pub(crate) struct TurnShape {
    pub(crate) wire: Wire,
    /// The member that holds the pieces, and the note of one that has none.
    pub(crate) pieces: &'static str,
    /// The role of the model.
    pub(crate) assistant: &'static str,
    /// A message as a turn of a request; empty if nothing of it may be sent.
    pub(crate) encode: fn(&Message) -> String,
    /// The message with the names of the calls that its results answer, by their ids, where it has others.
    pub(crate) renamed: fn(&Message, &HashMap<&str, &str>) -> Option<Message>,
    /// The turn of nobody's message: what a model said first needs something before it.
    pub(crate) opening: &'static str,
}

impl TurnShape {
    pub(crate) fn role_of(&self, message: &Message) -> &'static str {
        if message.role == Role::Assistant { self.assistant } else { "user" }
    }

    fn own<'m>(&self, message: &'m Message) -> Option<&'m Fields> {
        Extra::for_wire(message.extra.as_deref(), self.wire)
    }

    /// The turns of a history.
    pub(crate) fn turns<'a>(&'static self, entries: &'a [impl AsRef<Entry>]) -> Vec<Cow<'a, str>> {
        let mut names: HashMap<&str, &str> = HashMap::new();
        let mut turns: Vec<Turn<'_>> = Vec::new();
        for entry in entries {
            let entry = entry.as_ref();
            let message: &Message = entry.message();
            names.extend(message.tool_uses().map(|call| (&*call.id, &*call.name)));
            let renamed = (self.renamed)(message, &names);
            let text = match &renamed {
                Some(renamed) => Cow::Owned((self.encode)(renamed)),
                None => entry.written(self.wire, self.encode),
            };
            if text.is_empty() {
                continue;
            }
            let (role, came) = (self.role_of(message), self.own(message));
            let is_open = note(came).get(self.pieces).is_none();
            let message = renamed.map_or(Cow::Borrowed(message), Cow::Owned);
            match turns.last_mut() {
                Some(turn) if turn.role == role && turn.is_open && came.is_none() => {
                    turn.messages.push(message);
                    turn.texts.push(text);
                }
                _ => turns.push(Turn { shape: self, messages: vec![message], texts: vec![text], role, is_open }),
            }
        }
        let opens = turns.first().is_some_and(|turn| turn.role == self.assistant && !turn.came());
        let opening = opens.then_some(Cow::Borrowed(self.opening));
        opening.into_iter().chain(turns.into_iter().map(Turn::joined)).collect()
    }
}

/// A turn that is being put together.
struct Turn<'a> {
    shape: &'static TurnShape,
    messages: Vec<Cow<'a, Message>>,
    texts: Vec<Cow<'a, str>>,
    role: &'static str,
    /// More can be put behind its pieces.
    is_open: bool,
}

impl<'a> Turn<'a> {
    /// Whether the turn began as one of this wire, and stays as it is.
    fn came(&self) -> bool {
        self.messages.first().is_some_and(|message| self.shape.own(message).is_some())
    }

    fn joined(mut self) -> Cow<'a, str> {
        if self.texts.len() == 1 {
            return self.texts.pop().unwrap_or_default();
        }
        if !self.came() && self.messages.iter().any(|message| message.tool_results().next().is_some()) {
            // Results of one turn may stand in several messages, with words between them.
            let role = self.messages.first().map_or(Role::User, |first| first.role);
            let content = self.messages.into_iter().flat_map(|message| message.into_owned().content).collect();
            return (self.shape.encode)(&Message::new(role, content)).into();
        }
        let mut all = String::with_capacity(self.texts.iter().map(|text| text.len()).sum());
        for text in &self.texts {
            if all.is_empty() {
                all.push_str(text.strip_suffix("]}").unwrap_or(text));
                continue;
            }
            let head = format!("{{\"role\":\"{}\",\"{}\":[", self.role, self.shape.pieces);
            let pieces = text.strip_prefix(&head).unwrap_or_default();
            if !all.ends_with('[') {
                all.push(',');
            }
            all.push_str(pieces.strip_suffix("]}").unwrap_or(pieces));
        }
        all.push_str("]}");
        all.into()
    }
}
