//! Whether a request says what it is about: references to nothing, and acts without a target.

use std::{ops::Range, sync::LazyLock};

use super::{
    signals::{Reader, is_content},
    words::{ALL_OF_IT, AT_HAND, Act, MANY, NAMELESS, PRONOUNS, among},
};
use loopwright_lexicon::reading::{Kind, Token, Words};

impl Reader<'_> {
    pub(super) fn ambiguity(&mut self) {
        if self.context || self.seen.signals.is_conversational {
            return;
        }
        let tokens = &self.reading.tokens;
        if tokens.iter().all(|t| !t.word.chars().any(char::is_alphanumeric) && t.kind == Kind::Plain) {
            self.seen.signals.is_ambiguous = true;
            self.seen.question = Some("What would you like to have done?".to_owned());
            return;
        }
        if self.reading.has_blocks || self.asks_about_what_is_at_hand() {
            return;
        }
        let mut hit: Option<(Range<usize>, String)> = None;
        for found in &self.acts {
            let Some(first) = tokens.get(found.own.start) else { continue };
            let own = tokens.get(found.own.clone()).unwrap_or_default();
            let verb = own.iter().map(|t| t.word.as_str()).collect::<Vec<_>>().join(" ");
            let object = self.object(found);
            let behind = tokens.get(found.end..).unwrap_or_default();
            let antecedent = tokens.get(..found.own.start).unwrap_or_default().iter().enumerate().any(|(at, t)| {
                (t.kind != Kind::Plain || is_content(t))
                    && !NAMELESS.hold(&t.word)
                    && !ALL_OF_IT.hold(&t.word)
                    && !self.acts.iter().any(|one| one.own.contains(&at))
                    && !among("please|help|hey|hi|hello|quickly|just|now|anyone|maybe", t)
            });
            let named = object.iter().any(|t| t.kind != Kind::Plain);
            let content: Vec<&Token> =
                object.iter().filter(|t| t.kind != Kind::Plain || (is_content(t) && !VAGUE.hold(&t.word))).collect();
            // "Translate this: good morning."
            let given = object.iter().skip(1).any(|t| t.after_mark && is_content(t))
                && object.iter().take(3).any(|t| among("this|these|following|below", t))
                || behind.iter().any(|t| t.kind == Kind::Quote)
                || (self.reading.sentences.get(found.sentence).is_some_and(|s| s.mark == ':') && !behind.is_empty());
            if antecedent || given {
                continue;
            }
            let destroys = matches!(found.act, Act::Destroy | Act::Remove);
            let head =
                object.iter().find(|t| !among("all|of|the|a|an|to|with|for|in|on|at|up|my|our|your|please|just", t));
            let pronoun = head.filter(|t| PRONOUNS.hold(&t.word));
            if named && pronoun.is_none() {
                continue;
            }
            let next = head.and_then(|head| object.iter().skip_while(|t| t.start != head.start).nth(1));
            if let Some(pronoun) = pronoun {
                let at = tokens.iter().position(|t| t.start == pronoun.start).unwrap_or(found.own.end);
                let noun = next.filter(|t| is_content(t) && !t.after_mark);
                let demonstrative = among("this|that|these|those", pronoun);
                if demonstrative && noun.is_some_and(|t| AT_HAND.hold(&t.word)) {
                    continue;
                }
                if demonstrative && noun.is_some() {
                    // "this function", and none is shown; "that the tests pass" is no reference.
                    let reference = content.len() <= 3
                        && !among("check|ensure|verify|make|confirm|say|tell|show|explain that", first);
                    if reference && hit.is_none() {
                        let name = noun.map_or("", |t| t.word.as_str());
                        hit = Some((at..at + 2, format!("Which {name} do you mean?")));
                    }
                    continue;
                }
                // "that the tests pass" is a clause; "that again" is a reference.
                let clause = pronoun.word == "that"
                    && next.is_some_and(|t| {
                        is_content(t) || among("the|a|an|all|it|there|every|my|our|your|no|each|you|we|i", t)
                    })
                    && !next.is_some_and(|t| VAGUE.hold(&t.word));
                if content.len() < 3 && !clause && hit.is_none() {
                    hit = Some((at..at + 1, format!("What does “{}” refer to?", pronoun.word)));
                }
                continue;
            }
            let nameless = (!content.is_empty() && content.iter().all(|t| NAMELESS.hold(&t.word)))
                || (content.first().is_some_and(|t| NAMELESS.hold(&t.word))
                    && object.iter().any(|t| among("talked|discussed|mentioned|said|spoke", t)));
            let transitive = !matches!(found.act, Act::Other)
                || among(
                    "summarize|summarise|explain|describe|proofread|rephrase|paraphrase|review|convert|calculate|verify|define|open|save|export|import",
                    first,
                );
            let all = object.iter().any(|t| ALL_OF_IT.hold(&t.word));
            let many = destroys
                && content.len() == 1
                && content.iter().all(|t| MANY.hold(&t.word))
                && !object.iter().any(|t| among("my|our|all|every|whole|entire", t));
            let nothing = content.is_empty()
                && (transitive || all || among("do|help|handle|use|make|give|try|start|check|get|keep", first))
                && !among(
                    "search|explore|look|browse|go|run|test|plan|call|order|post|program|code|move|turn|set|build|deploy|launch|file|patch|bring",
                    first,
                );
            let bare_help = first.word == "help" && content.is_empty() && self.acts.len() == 1;
            if (nothing || nameless || many || bare_help)
                && hit.is_none()
                && !(content.is_empty() && self.acts.len() > 1 && !destroys)
            {
                let question = if destroys {
                    format!("What exactly should I {verb}?")
                } else if bare_help {
                    "What do you need help with?".to_owned()
                } else if nameless {
                    let name = content.first().map_or("it", |t| t.word.as_str());
                    format!("Which {name} do you mean?")
                } else {
                    format!("What should I {verb}?")
                };
                let end = if content.is_empty() { found.own.end } else { found.end };
                hit = Some((found.own.start..end, question));
            }
        }
        if self.acts.is_empty() && hit.is_none() {
            hit = self.empty_words();
        }
        if let Some((own, question)) = hit {
            self.seen.signals.is_ambiguous = true;
            self.note_tokens("ambiguous", own);
            self.seen.question = Some(question);
        }
    }

    /// "What does this do?", "can you explain how this works?": "this" points at what lies open, the folder that is
    /// worked in, and looking there costs nothing. "It" and "that" point back at words, and "what does this mean?" at
    /// a text that is missing.
    fn asks_about_what_is_at_hand(&self) -> bool {
        let tokens = &self.reading.tokens;
        let Some(at) = tokens.iter().position(|t| among("this|these|here", t)) else { return false };
        let asked = tokens[..at].iter().any(|t| among("what|how|why|where", t));
        let works = tokens[at + 1..]
            .iter()
            .any(|t| among("do|does|work|works|run|runs|contain|contains|for|about|organized|organised|structured", t));
        let only_tells =
            |own: &[Token]| own.iter().all(|t| among("explain|describe|tell|show|walk|run|work|do|help", t));
        asked && works && self.acts.iter().all(|act| tokens.get(act.own.clone()).is_some_and(only_tells))
    }

    /// A question or a remark about nothing: "how does it work?", "it's broken", "something with the thing".
    pub(super) fn empty_words(&self) -> Option<(Range<usize>, String)> {
        let tokens = &self.reading.tokens;
        let telling = tokens
            .iter()
            .filter(|t| t.kind != Kind::Plain || (is_content(t) && !NAMELESS.hold(&t.word) && !ALL_OF_IT.hold(&t.word) && !VAGUE.hold(&t.word)))
            .filter(|t| !among("work|works|working|happen|happens|happened|mean|means|broken|wrong|go|goes|going|wait|still|doing|help|need|want|fails|failing|like|look|looks|weird|bad|slow|good|right|possible|come|say|said|think|thing|fix|idea", t))
            .count();
        if telling > 0 {
            return None;
        }
        let at = tokens.iter().position(|t| {
            PRONOUNS.hold(&t.word)
                || NAMELESS.hold(&t.word)
                || among("something|anything|stuff|everything|whatever|somehow", t)
        });
        let personal = tokens.iter().any(|t| among("you|your|yourself|i|me|my", t))
            && !tokens.iter().any(|t| among("help|something|stuff|thing|things|that|this|it", t));
        if personal {
            return None;
        }
        if let Some(at) = at {
            let word = tokens.get(at).map_or("it", |t| t.word.as_str());
            return Some((at..at + 1, format!("What does “{word}” refer to?")));
        }
        let short = tokens.len() <= 4;
        (short && self.seen.content <= 1 && tokens.iter().any(|t| among("why|how|help|when|where|what|which|who", t)))
            .then(|| (0..tokens.len(), "What would you like to know?".to_owned()))
    }
}

/// Words that say no more of what is wanted.
static VAGUE: LazyLock<Words> = LazyLock::new(|| {
    Words::new(
        "better|nicer|good|great|changes|change|improvements|improvement|stuff|things|thing|something|somehow|whatever|asap|quickly|now|again|\
    properly|right|work|working|usual|magic|faster|cleaner|please|today|carefully|immediately|permanently|somewhere|anything|everything|nice|prettier|bit|little|lot|way|some|done|up|pretty|awesome|well|real|quick|forever|completely|entirely|ready|cool|safely",
    )
});
