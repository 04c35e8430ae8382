//! What a reply says the model will do next.
//!
//! A step is a sentence in which the writer announces an act of its own ("I'll read the file", "Next: run the tests").
//! Offers, conditions on the reader, refusals, habits, the past and questions are none, nor is what stands in code or
//! quotations. A step that was followed by something else is not the next one any more.

use std::{ops::Range, sync::LazyLock};

use loopwright_lexicon::reading::{Kind, Phrases, Reading, Sentence, Side, Token, Words};

/// What the model says it will do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextStep {
    /// The place of the sentence in the text.
    pub sentence: Range<usize>,
    /// The place of the words that announce it.
    pub cue: Range<usize>,
    /// The place of what will be done.
    pub step: Range<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cue {
    /// A verb in its plain form follows: `i will`.
    Verb,
    /// A verb follows, and no sentence may stand behind: `let me`.
    Let,
    /// A verb in `-ing` or plain form follows: `next`.
    Label,
    /// A present tense follows: `next i`.
    Present,
    /// A colon and a verb follow: `next:`.
    Named,
    /// As `Verb`, where a sentence begins and nobody is named: `going to`.
    Opening,
}

static CUES: LazyLock<Phrases<Cue>> = LazyLock::new(|| {
    Phrases::new(&[
        (
            Cue::Verb,
            "next i will|now i will|then i will|first i will|next we will|now we will|then we will|next i am going to|now i am going to|next i need to|\
             now i need to|first i need to|next i have to|i will|i will now|i will then|i will next|i will first|i will also|i will just|i will quickly|i will start by\
             |i will begin by|i am going to|i am now going to|i am about to|i plan to|i intend to|i now plan to|i need to\
             |i now need to|i still need to|i first need to|i also need to|i have to|i still have to|i should|i should now\
             |i should first|i should also|i must|i must now|i must first|i want to|i now want to|i can now|we will|we will now\
             |we are going to|we need to|we now need to|we should|we should now|we still need to|we must|i shall|we shall\
             |my next step is to|the next step is to|next step is to|my next action is to|my plan is to|the plan is to\
             |next on the list is to|next on my list is to|time to|now to|what i will do next is|i will need to|we will need to|i will now need to|\
             i will also need to|i will first need to|i will have to|we will have to|what is next is to|as a next step i will|the first step is to|first step is to\
             |my first step is to|the next thing to do is to|i am starting to|next up is to",
        ),
        (
            Cue::Let,
            "let me|let me now|let me first|let me also|let me just|let me quickly|let me next|let us|let us now|let us first",
        ),
        (
            Cue::Label,
            "next step|next steps|my next step|my next steps|the next step|immediate next step|next action|my next action|next up|up next|\
             next on my list|next on the list|what is next|what comes next|now i am|next i am|i am now|plan|my plan",
        ),
        (Cue::Named, "next|now|then|first|todo|to do"),
        (
            Cue::Opening,
            "will|will now|will next|will then|will first|going to|now going to|gonna|about to|proceeding to|continuing to|moving on to",
        ),
        (Cue::Present, "next i|then i|now i|next we|i next|i now"),
    ])
});

/// Words between the cue and its verb.
static ADVERBS: LazyLock<Words> = LazyLock::new(|| {
    Words::new(
        "now|then|next|also|first|just|quickly|still|again|therefore|simply|begin|carefully|immediately|\
    instead|only|briefly|go|ahead|and|try|to|start|by|proceed|continue|directly|finally|thus|i|will",
    )
});

/// What stands behind a cue and announces nothing that will be done: states, courtesies, refusals, habits.
static NOT_STEPS: LazyLock<Phrases<()>> = LazyLock::new(|| {
    Phrases::new(&[(
        (),
        "know|not|never|always|no longer|be|be happy|be glad|be here|happily|gladly|assume|admit|say|ask|ask you|keep in mind|\
         keep that in mind|keep this in mind|remember|wait|await|stand by|stop here|leave it|leave that|leave this|leave the|\
         leave you|let you|defer|have|need|need you|need your|need more|need to know|need the|miss|hope|apologize|\
         apologise|repeat myself|understand|know more|know which|know what|know whether|appreciate|recommend|suggest|\
         love|like|prefer|help|help you|assist|assist you|clarify|keep you|take that as|take it as|take this as|do|confirm with you|check with you|point out|note|\
         mention|emphasize|stress|be clear|be honest|hear|say that|do my best|gladly help|only|stay|mean|think|believe|\
         see|guess|expect|respect|suppose|want|both|all|each|use it|get back to you|pause here|stop now|stop",
    )])
});

/// Somebody else has to act or agree first.
static CONDITIONS: LazyLock<Phrases<()>> = LazyLock::new(|| {
    Phrases::new(&[(
        (),
        "if you|once you|when you|whenever you|after you|as soon as you|until you|unless you|should you|provided you|\
         if needed|if necessary|if desired|if required|if that works|if that is ok|if this looks|if that sounds|\
         with your permission|with your approval|upon your|once approved|once confirmed|if approved|if i can help|\
         once i have your|once i have the|once i receive|when i have your|in the future|from now on|going forward|\
         next time|in future|i would|i could|i can also|happy to|not going to|for you to|if so|if not|if it would help|\
         if ever|in that case|every time|whenever|on request|you will need to",
    )])
});

/// Behind a step these say why, or are courtesies: the step is still the next thing.
static SUPPORT: LazyLock<Phrases<()>> = LazyLock::new(|| {
    Phrases::new(&[(
        (),
        "this will|this should|this would|this lets|this allows|this way|that will|that should|that way|that would|it will|it should|\
         these will|let me know|please wait|one moment|a moment|stand by|hang tight|bear with me|please hold|so we|so i|so that|\
         because|since|here is my plan|here is the plan|here goes|first|i will report back|i will let you|i will keep you|\
         i will be|this ensures|this gives|this helps|this tells|thanks|thank you|sorry|just a moment|just a second",
    )])
});

/// A step that begins so comes after the one before it.
static LATER: LazyLock<Phrases<()>> = LazyLock::new(|| {
    Phrases::new(&[(
        (),
        "then|after that|after this|afterwards|finally|lastly|second|secondly|third|thirdly|once|when|later|and then|\
         following that|as a last step|after i|after which|i will then|we will then|i will also|i will finally|also|additionally",
    )])
});

/// What a reply says the model will do next, if it says so and has not gone on to something else.
pub fn next_step(text: &str) -> Option<NextStep> {
    next_step_in(&Reading::of(text, Side::Tail))
}

pub(super) fn next_step_in(reading: &Reading) -> Option<NextStep> {
    let mut found: Option<NextStep> = None;
    // Items of a list may be the plan that a step ends in.
    let mut items: Option<&Sentence> = None;
    for (at, sentence) in reading.sentences.iter().enumerate().rev() {
        if sentence.mark == '?' {
            return found.filter(|_| !asks_to_go(reading, sentence));
        }
        let tokens = reading.words(sentence);
        if sentence.heading {
            match found {
                Some(_) => return found,
                None if at + 1 == reading.sentences.len() => return None,
                None => {}
            }
        }
        match step_in(reading, sentence, tokens) {
            Some(mut step) => {
                if let Some(first) = items.filter(|_| sentence.mark == ':' && step.step.is_empty()) {
                    step.step = first.bytes.clone();
                    step.sentence.end = first.bytes.end;
                }
                if step.step.is_empty() {
                    return found;
                }
                if let Some(later) = &found {
                    let behind = reading.sentences.iter().find(|s| s.bytes.start == later.sentence.start);
                    let follows = behind.is_some_and(|s| LATER.at(reading.words(s), 0).is_some() || s.item);
                    if !follows {
                        return found;
                    }
                }
                found = Some(step);
            }
            None if found.is_some() => return found,
            None if sentence.item && (items.is_some() || at + 1 == reading.sentences.len()) => items = Some(sentence),
            None if items.is_some() => return None,
            None if SUPPORT.at(tokens, 0).is_some() => {}
            None => return None,
        }
    }
    found
}

/// A question before a step that asks the reader whether to take it.
fn asks_to_go(reading: &Reading, sentence: &Sentence) -> bool {
    reading.words(sentence).iter().any(|token| matches!(token.word.as_str(), "shall" | "should"))
}

fn step_in(reading: &Reading, sentence: &Sentence, tokens: &[Token]) -> Option<NextStep> {
    if CONDITIONS.find(tokens).is_some() {
        return None;
    }
    for at in 0..tokens.len() {
        let starts_clause = at == 0
            || tokens.get(at).is_some_and(|token| token.after_mark)
            || tokens.get(at - 1).is_some_and(|token| {
                matches!(
                    token.word.as_str(),
                    "and"
                        | "so"
                        | "then"
                        | "but"
                        | "now"
                        | "next"
                        | "first"
                        | "ok"
                        | "okay"
                        | "great"
                        | "finally"
                        | "therefore"
                        | "instead"
                        | "done"
                        | "good"
                        | "alright"
                        | "right"
                        | "well"
                        | "perfect"
                        | "also"
                        | "again"
                )
            });
        if !starts_clause {
            continue;
        }
        if let Some((cue, length)) = CUES.at(tokens, at).filter(|(cue, length)| match cue {
            Cue::Opening => at == 0,
            Cue::Named => {
                let (last, next) = (tokens.get(at + length - 1), tokens.get(at + length));
                at == 0
                    && matches!((last, next), (Some(last), Some(next)) if reading.colon_between(last.end, next.start)
                        && next.kind == Kind::Plain
                        && !matches!(
                            next.word.as_str(),
                            "it" | "this" | "that" | "there" | "you" | "we" | "i" | "they" | "he" | "she" | "no" | "nothing" | "none" | "everything" | "all" | "your"
                        ))
            }
            _ => true,
        }) {
            if let Some(step) = behind(reading, sentence, tokens, at, length, cue) {
                return Some(step);
            }
        } else if at <= 1 && is_doing(sentence, tokens, at) {
            return place(sentence, tokens, at, at, at);
        } else if at == 0
            && matches!(tokens, [who, are, ..] if matches!((who.word.as_str(), are.word.as_str()), ("i", "am") | ("we", "are")))
            && is_doing(sentence, &tokens[2..], 0)
        {
            // "I'm reading the file now."
            return place(sentence, tokens, 0, 0, 2);
        }
    }
    None
}

/// "Now checking the logs", "Running the tests now", "Reading the file…".
fn is_doing(sentence: &Sentence, tokens: &[Token], at: usize) -> bool {
    let gerund = |token: &Token| {
        token.kind == Kind::Plain
            && token.word.len() > 5
            && token.word.ends_with("ing")
            && !matches!(
                token.word.as_str(),
                "during"
                    | "nothing"
                    | "something"
                    | "everything"
                    | "anything"
                    | "interesting"
                    | "missing"
                    | "pending"
                    | "according"
                    | "including"
                    | "assuming"
                    | "remaining"
                    | "existing"
                    | "considering"
                    | "regarding"
                    | "waiting"
                    | "looking"
                    | "surprising"
                    | "following"
                    | "evening"
                    | "morning"
                    | "string"
            )
    };
    let Some(first) = tokens.get(at).filter(|token| gerund(token)) else { return false };
    let now_before =
        at == 1 && tokens.first().is_some_and(|token| matches!(token.word.as_str(), "now" | "next" | "currently"));
    let now_behind = at == 0 && tokens.last().is_some_and(|token| token.word == "now");
    let trails = at == 0 && sentence.mark == '…' && tokens.len() <= 12;
    (now_before && tokens.len() > 2) || (now_behind && tokens.len() > 2) || (trails && first.capital)
}

fn behind(
    reading: &Reading,
    sentence: &Sentence,
    tokens: &[Token],
    at: usize,
    length: usize,
    cue: Cue,
) -> Option<NextStep> {
    let after = at + length;
    if cue == Cue::Label {
        // "Next step: run the tests", "Next up, the docs", "Now I'm reading".
        let last_of_cue = tokens.get(after.checked_sub(1)?)?;
        let Some(first) = tokens.get(after) else {
            return (sentence.mark == ':' && at == 0).then(|| NextStep {
                sentence: sentence.bytes.clone(),
                cue: sentence.bytes.start..last_of_cue.end,
                step: last_of_cue.end..last_of_cue.end,
            });
        };
        let doing = last_of_cue.word == "am" && first.word.ends_with("ing") && first.word.len() > 5;
        let labelled = at == 0 && first.after_mark && first.word != "up" && last_of_cue.word != "am";
        let real = !matches!(first.word.as_str(), "waiting" | "missing" | "getting" | "seeing" | "having" | "none");
        return (real && (doing || labelled)).then(|| place(sentence, tokens, at, at, after))?;
    }
    let verb = tokens.get(after);
    if let Some(verb) = verb {
        if NOT_STEPS.at(tokens, after).is_some() && !is_look(tokens, after) {
            return None;
        }
        if cue == Cue::Present
            && (matches!(
                verb.word.as_str(),
                "am" | "was"
                    | "did"
                    | "had"
                    | "have"
                    | "would"
                    | "could"
                    | "can"
                    | "see"
                    | "know"
                    | "understand"
                    | "think"
                    | "realized"
                    | "noticed"
                    | "found"
                    | "got"
                    | "do"
                    | "believe"
                    | "saw"
                    | "tried"
                    | "went"
            ) || verb.word.ends_with("ed"))
        {
            return None;
        }
        // "Let me check: there are three": done in the same breath.
        let aloud = matches!(
            verb.word.as_str(),
            "check"
                | "see"
                | "think"
                | "explain"
                | "summarize"
                | "clarify"
                | "recap"
                | "show"
                | "put"
                | "break"
                | "list"
        );
        // "Let me summarize what I did: I fixed it."
        let tells =
            matches!(verb.word.as_str(), "think" | "explain" | "summarize" | "clarify" | "recap" | "show" | "break");
        if cue == Cue::Let && tells && sentence.mark != ':' && reading.colon_between(verb.end, sentence.bytes.end) {
            return None;
        }
        let goes_on = tokens.get(after + 1).is_some_and(|next| {
            next.after_mark && !matches!(next.word.as_str(), "then" | "and" | "so" | "but" | "first" | "before")
        });
        if cue == Cue::Let && aloud && goes_on {
            return None;
        }
        if verb.kind != Kind::Plain || !verb.word.is_ascii() {
            return None;
        }
        // Behind adverbs, too, a refusal is one: "I will just not".
        let mut next = after;
        while tokens.get(next).is_some_and(|token| ADVERBS.hold(&token.word)) {
            next += 1;
            if NOT_STEPS.at(tokens, next).is_some() && !is_look(tokens, next) {
                return None;
            }
        }
        place(sentence, tokens, at, at, after)
    } else {
        // "Next, I will:" before a list.
        let last = tokens.get(after.checked_sub(1)?)?;
        (sentence.mark == ':').then(|| NextStep {
            sentence: sentence.bytes.clone(),
            cue: tokens.get(at).map_or(0, |token| token.start)..last.end,
            step: last.end..last.end,
        })
    }
}

/// "see what", "see whether", "leave a comment", "ask the database", "stop the server": acts after all.
fn is_look(tokens: &[Token], at: usize) -> bool {
    let word = |at: usize| tokens.get(at).map_or("", |token| token.word.as_str());
    match word(at) {
        "see" => matches!(word(at + 1), "what" | "whether" | "if" | "how" | "which" | "where" | "the" | "why"),
        "think" => word(at + 1) == "through",
        "help" => word(at + 1) == "by",
        "do" => !matches!(word(at + 1), "" | "so" | "that" | "it" | "my" | "what" | "as"),
        "stop" => matches!(word(at + 1), "the"),
        "use" => !matches!(word(at + 1), "it"),
        "understand" => matches!(word(at + 1), "the" | "how" | "what" | "why"),
        "have" | "leave" => matches!(word(at + 1), "a"),
        "only" => !word(at + 1).is_empty(),
        _ => false,
    }
}

fn place(sentence: &Sentence, tokens: &[Token], at: usize, cue: usize, step: usize) -> Option<NextStep> {
    let first = tokens.get(cue)?;
    let cue_end = tokens.get(step.checked_sub(1).unwrap_or(at).max(cue)).map_or(first.end, |token| token.end);
    let start = tokens.get(step)?.start;
    let end = tokens.last()?.end.max(start);
    Some(NextStep { sentence: sentence.bytes.clone(), cue: first.start..cue_end, step: start..end })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(text: &str) -> Option<&str> {
        next_step(text).map(|found| &text[found.step])
    }

    #[test]
    fn c20_next_steps() {
        for (text, expected) in [
            ("I'll read the file.", "read the file"),
            ("Found it. Let me check the tests", "check the tests"),
            ("Ok.\nNext, I run it:", "run it"),
            ("The build fails. I’m going to look at `main.rs` now.", "look at `main.rs` now"),
            ("Next step: run the linter.", "run the linter"),
            ("Next steps:\n1. Read the config.\n2. Fix it.", "Read the config."),
            ("My plan is to split the module. This will make it easier to test.", "split the module"),
            ("First I'll read the config. Then I'll update the tests.", "read the config"),
            ("I looked at it. Now I need to check the logs.", "check the logs"),
            ("Let me look at the code.\n\nNow let me run the tests.", "run the tests"),
            ("To fix this, I'll add a guard.", "add a guard"),
            ("I'll run:\n```bash\ncargo test\n```", ""),
            ("Running the tests now.", "Running the tests now"),
            ("Checking the logs…", "Checking the logs"),
            ("What went wrong? Let me look at the trace.", "look at the trace"),
            ("Let's see what the tests say.", "see what the tests say"),
            ("I've read the docs; next I'll implement the parser.", "implement the parser"),
            ("I'll start by reading the current auth implementation...", "reading the current auth implementation"),
            ("I'll look at both files.", "look at both files"),
            ("I'll check each of the three modules.", "check each of the three modules"),
            ("I'm reading the file now.", "reading the file now"),
            ("My next step: update the docs.", "update the docs"),
            ("Next: read main.py.", "read main.py"),
            ("What's next: fix the flaky test.", "fix the flaky test"),
            ("I'll need to install the dependencies.", "install the dependencies"),
            ("Going to run the tests.", "run the tests"),
            ("The tests fail. I'll see why.", "see why"),
            ("I'll do a quick search.", "do a quick search"),
        ] {
            if !expected.is_empty() {
                assert_eq!(step(text), Some(expected), "{text}");
            }
        }
    }

    #[test]
    fn c20_what_is_no_next_step() {
        for text in [
            "Done.",
            "Let me know if you need more.",
            "The answer is 4.",
            "I'll read it. It says 4.",
            "",
            "…",
            "Shall I go on? I will be here.",
            "If you like, I'll add tests.",
            "I can add tests if you want.",
            "Once you confirm, I'll delete it.",
            "I will not touch the database.",
            "I won't change it.",
            "Should I run the tests?",
            "I was going to run the tests.",
            "He said \"I'll fix it\".",
            "> I'll fix it",
            "```\nI'll fix it\n```",
            "I'd be happy to help.",
            "I'll be here if anything comes up.",
            "I need more information.",
            "I need you to run this.",
            "I will always answer in French.",
            "You will see the file. You should run it.",
            "Ich werde die Datei lesen.",
            "Je vais lire le fichier.",
            "次にファイルを読みます。",
            "I'll keep that in mind. Let me know if you have more.",
            "I would read the file first.",
            "I read the file and fixed it.",
            "Then I fixed the tests.",
            "Now I see the problem.",
            "Now I understand how it works.",
            "In the future I'll use tabs.",
            "Let me check: the file has 3 lines.",
            "I'll keep you posted.",
            "I'll take that as a yes.",
            "Let me summarize what I did: I fixed the bug.",
            "I'll need to know which database you mean.",
            "The server will restart automatically.",
            "Next, restart your machine.",
            "Now: it works.",
            "Will do.",
        ] {
            assert_eq!(step(text), None, "{text}");
        }
    }
}
