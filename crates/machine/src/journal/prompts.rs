//! Prompts of a run, one after the other: how much of each is the one before, byte for byte, and what changed where it
//! is not. Providers keep prompts by their beginnings, so what changed is what a cache missed.

use std::collections::HashMap;

use serde::Serialize;

use super::read::{Journal, JournalLine};
use crate::{Command, EventKind, Id, Machine, Notice, Purpose, Tree};
use loopwright_base::{error::Result, json::Raw, message::Usage, request::Request};

/// The prompt of a request that a run made. Sizes are bytes of the canonical form: tools, instructions, messages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prompt {
    /// The number of the command.
    pub id: Id,
    /// The sub-agent that asked; `None` for the run itself.
    pub agent: Option<String>,
    /// Who asked.
    pub purpose: &'static str,
    /// The model.
    pub model: String,
    /// The size.
    pub bytes: usize,
    /// The part at the front that is that of the request before of the same agent, purpose and model.
    pub same: usize,
    /// The size of that request; `None` for a first one.
    pub before: Option<usize>,
    /// The place of the first difference, if it is not behind the end of the request before.
    pub changed: Option<String>,
    /// A compaction made this prompt.
    pub compacted: bool,
    /// The numbers of the provider, once it has answered.
    pub usage: Option<Usage>,
}

/// The prompts of a journal, in their order.
pub fn prompts(journal: &str) -> Result<Vec<Prompt>> {
    let journal = Journal::read(journal)?;
    let mut tree = Tree::new(journal.machine);
    let mut found: Vec<Prompt> = Vec::new();
    let mut last: HashMap<(Option<String>, &'static str, String), Request> = HashMap::new();
    for JournalLine { event, .. } in journal.lines {
        if let EventKind::Generated { id, response } = &event.kind
            && let Some(prompt) = found.iter_mut().rev().find(|prompt| prompt.id == *id)
        {
            prompt.usage = Some(response.usage);
        }
        let commands = tree.step(event);
        let compacted =
            commands.iter().any(|command| matches!(command, Command::Emit { notice: Notice::Compacted { .. } }));
        for command in commands {
            let Command::Generate { id, purpose, request, .. } = command else { continue };
            let agent = tree.agent_of(id).map(|place| place.path.clone());
            let key = (agent.clone(), purpose.name(), request.model.clone());
            let before = last.get(&key);
            let (same, changed) = before.map_or((0, None), |before| compared(before, &request));
            found.push(Prompt {
                id,
                agent,
                purpose: purpose.name(),
                model: request.model.clone(),
                bytes: size(&request),
                same,
                before: before.map(size),
                changed,
                compacted: compacted && purpose == Purpose::Executor,
                usage: None,
            });
            last.insert(key, *request);
        }
    }
    Ok(found)
}

/// The parts of a prompt before the messages: where each stands, and its text.
fn front(request: &Request) -> Vec<(String, String)> {
    let tools = request.tools.iter().enumerate();
    let tools = tools.map(|(at, tool)| (format!("tools[{at}]"), Raw::of(tool).text().to_owned()));
    let system = request.system.iter().map(|message| ("system".to_owned(), Raw::of(&**message).text().to_owned()));
    tools.chain(system).collect()
}

fn size(request: &Request) -> usize {
    front(request).iter().map(|(_, text)| text.len()).sum::<usize>() + request.messages.bytes()
}

/// How many bytes two prompts begin with alike, and where they first differ; nowhere if the second goes on behind the
/// end of the first.
fn compared(before: &Request, now: &Request) -> (usize, Option<String>) {
    let (old, new) = (front(before), front(now));
    let mut same = 0;
    for at in 0..old.len().max(new.len()) {
        match (old.get(at), new.get(at)) {
            (Some((_, old)), Some((_, new))) if old == new => same += new.len(),
            (Some((_, old)), Some((place, new))) => return (same + alike(old, new), Some(place.clone())),
            (old, new) => return (same, new.or(old).map(|(place, _)| place.clone())),
        }
    }
    for at in 0..before.messages.len() {
        let (Some(old), Some(new)) = (before.messages.json_of(at), now.messages.json_of(at)) else {
            return (same, Some(format!("messages[{at}]")));
        };
        if old != new {
            return (same + alike(&old, &new), Some(format!("messages[{at}]")));
        }
        same += new.len();
    }
    (same, None)
}

fn alike(old: &str, new: &str) -> usize {
    old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count()
}
