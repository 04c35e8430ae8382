//! What a request is about: code, destruction, looking around, reading up, planning.

use std::{collections::HashMap, sync::LazyLock};

use super::{
    signals::{Reader, is_code_name, is_content, marked},
    words::{ALL_OF_IT, Act, Mark, PRONOUNS, among, of_code, of_data, stem_of},
};
use loopwright_lexicon::reading::{Kind, Token, Words};

impl Reader<'_> {
    pub(super) fn code(&mut self) {
        let reading = self.reading;
        let mut strong: Option<usize> = None;
        let mut weak = 0;
        for (at, token) in reading.tokens.iter().enumerate() {
            let sure = match token.kind {
                Kind::Code => true,
                Kind::Name => is_code_name(&token.word),
                _ => match of_code(stem_of(&token.word, &mut self.stems)) {
                    Some(true) => true,
                    Some(false) => {
                        weak += 1;
                        false
                    }
                    None => false,
                },
            };
            if sure && strong.is_none() {
                strong = Some(at);
            }
        }
        let acts_on_code = self.acts.iter().find(|found| found.act == Act::Code).map(|found| found.own.clone());
        let sure_act = acts_on_code.clone().filter(|own| {
            // "fix dinner", "program the oven": only with something of code, except where no other meaning is.
            reading.tokens.get(own.start).is_some_and(|token| among("refactor|debug|reimplement|lint|memoize|deduplicate|modularize|typecheck|dockerize|containerize|rebase|bisect|transpile|backport|rebase|monkeypatch|hotfix", token))
        });
        let code_block = reading.has_blocks && self.message.contains("```");
        self.seen.signals.is_code_task =
            strong.is_some() || sure_act.is_some() || weak >= 2 || code_block || (weak >= 1 && acts_on_code.is_some());
        if self.seen.signals.is_code_task {
            match (sure_act, strong) {
                (Some(own), _) => self.note_tokens("code_task", own),
                (None, Some(at)) => self.note_tokens("code_task", at..at + 1),
                _ => {}
            }
        }
        let changes = self.acts.iter().any(|found| {
            let acts_on = |tokens: &[Token], stems: &mut HashMap<String, String>| {
                tokens.iter().any(|token| match token.kind {
                    Kind::Code => true,
                    Kind::Name => is_code_name(&token.word),
                    _ => of_code(stem_of(&token.word, stems)).is_some(),
                })
            };
            match found.act {
                Act::Code => true,
                Act::Change => acts_on(self.object(found), &mut HashMap::new()),
                // A file, a table, a cache: gone or not, no code has changed.
                Act::Remove | Act::Destroy => {
                    let object = self.object(found);
                    let data = object.iter().any(|token| of_data(stem_of(&token.word, &mut HashMap::new())));
                    is_piece_of_code(object) || (acts_on(object, &mut HashMap::new()) && !data)
                }
                _ => false,
            }
        });
        // "Fix it", and what was said before is code.
        let refers = self.context_of_code
            && self.acts.iter().any(|found| {
                let object = self.object(found);
                matches!(found.act, Act::Code | Act::Change)
                    && (object.is_empty() || object.iter().take(2).any(|token| PRONOUNS.hold(&token.word)))
                    && !object.iter().any(|token| among("into|to", token))
            });
        self.seen.signals.is_code_task |= refers;
        self.seen.changes_code = refers || (changes && self.seen.signals.is_code_task);
        let broken = reading.tokens.iter().position(|token| {
            among("bug|broken|fails|failing|crash|crashes|crashing|crashed|regression|segfault|segfaults|exception|traceback|error|errors|bugs|hangs|leaks|undefined|deadlock", token)
        });
        if let Some(at) = broken
            && self.acts.is_empty()
            && !self.seen.signals.is_question
            && self.seen.signals.is_code_task
        {
            self.seen.reports_defect = true;
            self.note_tokens("defect", at..at + 1);
        }
    }

    pub(super) fn destruction(&mut self) {
        let mut own = Vec::new();
        let mut irreversible = false;
        for found in &self.acts {
            let object = self.object(found);
            let data = object.iter().any(|token| of_data(stem_of(&token.word, &mut self.stems)));
            let head_is_code = is_piece_of_code(object);
            let inline = object.iter().any(|token| {
                token.kind == Kind::Code
                    && is_destructive_code(self.message.get(token.start..token.end).unwrap_or_default())
            });
            let code_names = object.iter().any(|token| token.kind != Kind::Plain);
            match found.act {
                Act::Destroy => {
                    own.push(found.own.clone());
                    irreversible |= !head_is_code;
                }
                Act::Remove
                    if (data && !head_is_code)
                        || (object.iter().any(|t| ALL_OF_IT.hold(&t.word)) && !head_is_code && !code_names) =>
                {
                    own.push(found.own.clone());
                    irreversible = true;
                }
                _ if inline => {
                    own.push(found.own.clone());
                    irreversible = true;
                }
                _ => {}
            }
        }
        for tokens in own {
            self.seen.signals.is_destructive = true;
            self.note_tokens("destructive", tokens);
        }
        for found in &self.acts {
            if found.act == Act::Outward {
                let everyday = self.object(found).iter().any(|token| {
                    among("test|tests|song|joke|function|flag|loop|script|tests|query|command|program", token)
                });
                irreversible |= !everyday;
            }
        }
        let mark = marked(&self.reading.tokens, Mark::Irreversible);
        if let Some((at, length)) = mark.filter(|_| !self.acts.is_empty()) {
            irreversible = true;
            self.note_tokens("irreversible", at..at + length);
        }
        self.seen.signals.is_irreversible = irreversible;
    }

    pub(super) fn looking(&mut self) {
        let exploring = marked(&self.reading.tokens, Mark::Exploring);
        let mut research = None;
        let mut explore = None;
        for found in &self.acts {
            let object = self.object(found);
            match found.act {
                // "Find out how sessions are stored in this repo": looking around, not reading up.
                Act::Research
                    if exploring.is_some()
                        || self.acts.iter().any(|one| one.act == Act::Explore)
                            && self
                                .reading
                                .tokens
                                .get(found.own.start)
                                .is_some_and(|token| among("find|analyze|analyse|study|assess|evaluate", token)) =>
                {
                    explore = explore.or(Some(found.own.clone()));
                }
                Act::Research => research = research.or(Some(found.own.clone())),
                Act::Explore => {
                    let asks = object.iter().any(|token| among("why|how|where|which|what|whether|who|whatever", token));
                    let deep = self.reading.tokens.get(found.own.start).is_some_and(|token| among("explore|investigate|trace|inspect|scan|diagnose|audit|grep|hunt|scour|pinpoint|browse|dig|track|poke|get|familiarize|walk|map|examine|understand|uncover|survey", token));
                    let of_code = object
                        .iter()
                        .any(|token| token.kind != Kind::Plain || of_code(&stem_plain(&token.word)).is_some());
                    let wide =
                        object.iter().any(|token| among("all|every|any|codebase|repo|repository|project", token));
                    if asks || deep || of_code || wide || exploring.is_some() {
                        explore = explore.or(Some(found.own.clone()));
                    }
                }
                _ => {}
            }
        }
        // "Explain how the codebase is organised": looking, whatever the verb.
        if explore.is_none()
            && let Some((at, length)) = exploring
            && self.acts.iter().any(|found| {
                found.act == Act::Other
                    && self
                        .object(found)
                        .iter()
                        .any(|t| among("how|where|which|overview|structure|what|architecture|why", t))
            })
            && self.reading.tokens.iter().any(|t| {
                among(
                    "codebase|repo|repository|project|code|source|modules|files|places|usages|uses|references|callers",
                    t,
                )
            })
        {
            explore = Some(at..at + length);
        }
        if let Some(own) = research {
            self.seen.signals.is_research = true;
            self.note_tokens("research", own);
        }
        if let Some(own) = explore {
            self.seen.signals.is_exploratory = true;
            self.note_tokens("exploratory", own);
        }
    }

    pub(super) fn planning(&mut self) {
        let plan = self.acts.iter().find(|found| found.act == Act::Plan).map(|found| found.own.clone());
        let product = marked(&self.reading.tokens, Mark::Planning).map(|(at, length)| at..at + length);
        let makes = self.acts.iter().any(|found| matches!(found.act, Act::Change | Act::Other | Act::Plan));
        let own = plan.or_else(|| product.filter(|_| makes && !self.seen.signals.is_question));
        if let Some(own) = own {
            self.seen.signals.is_planning_task = true;
            self.note_tokens("planning_task", own);
        }
    }
}

fn is_destructive_code(code: &str) -> bool {
    let lower = code.trim_matches('`').trim().to_lowercase();
    [
        "rm ",
        "sudo rm",
        "drop ",
        "delete ",
        "truncate ",
        "git reset --hard",
        "git push --force",
        "git push -f",
        "git clean -",
        "mkfs",
        "dd if=",
        "shred ",
    ]
    .iter()
    .any(|start| lower.starts_with(start))
}

/// Whether what an act is on is a piece of a text of code: to take it out is to edit.
fn is_piece_of_code(object: &[Token]) -> bool {
    static PIECES: LazyLock<Words> = LazyLock::new(|| {
        Words::new(
            "unused|dead|import|imports|function|functions|comment|comments|line|lines|whitespace|parameter|parameters|button|class|method|variable|variables|semicolon|semicolons|dependency|argument|flag|warning|warnings|test|tests|redundant|duplicate|duplicated|trailing|print|prints|debug|word|words|sentence|paragraph|section|space|spaces|field|spacing|punctuation|accents|background|stop|typo|deprecated",
        )
    });
    object
        .iter()
        .find(|token| token.kind != Kind::Plain || is_content(token))
        .is_some_and(|token| PIECES.hold(&token.word))
}

fn stem_plain(word: &str) -> String {
    loopwright_lexicon::words::terms(word).into_iter().next().unwrap_or_default()
}
